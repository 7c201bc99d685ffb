"""BirdVox-DCASE-20k: ten-second scenes of autumn nights, of which 9983 hold no bird (section 3.3)."""

from dataclasses import dataclass
from functools import cached_property

from pcenlib.datasets.download import Remote
from pcenlib.datasets.real import About, RealSet, rows

__all__ = ["BirdVox"]


COLUMNS = ("itemid", "hasbird")


@dataclass(frozen=True)
class BirdVox(RealSet):
    """The scenes of BirdVox-DCASE-20k without a bird.

    Notes
    -----
    A set that soundata downloaded has the layout that is asked for here.
    """

    about = About(
        title="BirdVox-DCASE-20k",
        key="lostanlen2018",
        citation="Lostanlen, Salamon, Farnsworth, Kelling and Bello (2018). BirdVox-full-night: a dataset and "
        "benchmark for avian flight call detection. ICASSP. doi:10.5281/zenodo.1208080",
        licence="Creative Commons Attribution 4.0 by its own text; soundata states Attribution-NonCommercial 4.0",
        obtain="public: https://zenodo.org/records/1208080 (sounds, 15.4 GB) and "
        "https://ndownloader.figshare.com/files/10853300 (labels, to be saved as labels.csv). No checksum of the "
        "labels is known, so that they are not downloaded here: soundata 1.0.1 states the same one for them, for the "
        "sounds and for files of other sets",
        layout="<itemid>.wav, or wav/<itemid>.wav, and one CSV file with columns itemid, hasbird",
        unit="scenes",
        n_files=20000,
        sr=44100,
        duration=10.0,
        remotes=(Remote(file="BirdVox-DCASE-20k.zip", record="1208080"),),
    )

    @cached_property
    def _labels(self) -> tuple[dict[str, bool], dict[str, str]]:
        """Whether there is a bird in each file, and lines that do not say so."""
        tables = sorted(self.folder.glob("*.csv"))
        if len(tables) > 1:
            raise ValueError(f"{self.folder} must hold one CSV file with labels, not {len(tables)}")
        labels, skipped = {}, {}
        for place, row in rows(tables[0] if tables else self.folder / "labels.csv", COLUMNS):
            name = f"{row['itemid']}.wav"
            if (self.folder / "wav" / name).exists():
                name = f"wav/{name}"
            if row["hasbird"] not in ("0", "1") or not row["itemid"] or name in labels:
                skipped[place] = f"must name a file once and say 0 or 1, got {row['itemid']!r} and {row['hasbird']!r}"
            else:
                labels[name] = row["hasbird"] == "1"
        return labels, skipped

    def _listed(self) -> tuple[list[str], dict[str, str]]:
        labels, skipped = self._labels
        return list(labels), skipped

    @property
    def recordings(self) -> list[str]:
        """Scenes without a bird, in the order of the labels."""
        labels, _ = self._labels
        return [name for name in self._present if not labels[name]]
