"""CONI-Knight: 64 calls of five Common Nighthawks, each recorded at eleven distances (section 3.1)."""

import re
from dataclasses import dataclass

from pcenlib.datasets.interface import Clip
from pcenlib.datasets.real import About, RealSet, wav_files

__all__ = ["ConiKnight"]

# Distance as measured, number of the vocalization, station and nominal distance, date and time.
NAME = re.compile(
    r"(?P<measured>\d+)_(?P<call>\d+)_[^_-]+-[^_-]+-(?P<distance>\d+)_(?P<date>\d{8})_\d{4}[^/]*\.wav", re.IGNORECASE
)


@dataclass(frozen=True)
class ConiKnight(RealSet):
    """The 704 clips of CONI-Knight, of 0.7 s each.

    The distance is the nominal one of the sensor, as in figure 2: eleven values. Names do not tell the five birds
    apart; groups are days of recording. There is no sound before the clips.
    """

    about = About(
        title="CONI-Knight",
        key="knight2018",
        citation="Knight and Bayne (2018). Classification threshold and training data affect the quality and utility "
        "of focal species data processed with automated audio-recognition software. Bioacoustics.",
        licence="not published; on request",
        obtain="ask the authors of the paper (Lostanlen et al., 2019) or Elly Knight for the 704 clips of CONI-Knight",
        layout="<metres measured>_<vocalization>_<prefix>-<prefix>-<nominal metres>_<yyyymmdd>_<hhmm...>.wav",
        unit="clips",
        n_files=704,
        duration=0.7,
    )
    clip_duration = 0.7

    def _listed(self) -> tuple[list[str], dict[str, str]]:
        names = wav_files(self.folder)
        strange = {name: f"must be named {self.about.layout}" for name in names if not NAME.fullmatch(name)}
        return [name for name in names if name not in strange], strange

    @property
    def clips(self) -> list[Clip]:
        """Every clip, by distance, then by vocalization."""
        found = [(name, NAME.fullmatch(name)) for name in self._present]
        clips = [Clip(name, float(match["distance"]), match["date"]) for name, match in found if match]
        return sorted(clips, key=lambda clip: (clip.distance, clip.name))
