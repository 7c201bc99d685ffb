"""Common Nighthawk calls among the nocturnal flight calls of Nova Scotia, to be propagated again."""

from dataclasses import dataclass

from pcenlib.datasets.interface import Clip, Sound
from pcenlib.datasets.real import About, RealSet, read
from pcenlib.datasets.tables import rows

__all__ = ["NighthawkCalls"]

# Where in a file its call is, and the clip around it, in seconds.
CALL = 1.0
DURATION = 0.7


@dataclass(frozen=True)
class NighthawkCalls(RealSet):
    """Calls near the first second of their files, with the sound before them.

    Nobody knows how far the birds were, nor which calls are of the same bird: distances are 0, for calls as they were
    recorded, and each call is a group of its own.
    """

    about = About(
        title="Nocturnal flight calls: Common Nighthawk",
        key="rhinehart2022",
        citation="Rhinehart, Kearney, Taylor, Chronister, Freeland-Haynes and Kitzes (2022). Nocturnal bird flight "
        "calls of North America, version 0.1. doi:10.5281/zenodo.7054404",
        licence="attribution; not for redistribution",
        obtain="clips of Common Nighthawk cut from https://doi.org/10.5281/zenodo.7054404, with the call at t = 1 s; "
        "to be made and put there by hand",
        layout="audio/*.wav, clips.csv (file)",
        unit="clips",
        sr=24000,
        min_duration=CALL + DURATION / 2,
    )
    clip_duration = DURATION

    def _listed(self) -> tuple[list[str], dict[str, str]]:
        return [f"audio/{row['file']}" for _, row in rows(self.folder / "clips.csv", ["file"])], {}

    @property
    def clips(self) -> list[Clip]:
        """Every call, in the order of the table."""
        return [Clip(name, 0.0, name) for name in self._present]

    def clip(self, clip: Clip) -> Sound:
        """Sound of a clip: 0.7 s around the call, after what comes before them."""
        lead = CALL - DURATION / 2
        x, sr = read(self.folder / clip.name)
        return Sound(x[: round((CALL + DURATION / 2) * sr)], sr, lead)
