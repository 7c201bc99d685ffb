"""BirdVox-DCASE-20k: ten-second scenes of autumn nights, of which 9983 hold no bird (section 3.3)."""

from dataclasses import dataclass
from functools import cached_property

from pcenlib.datasets.download import Remote
from pcenlib.datasets.real import About, RealSet
from pcenlib.datasets.tables import labels, only_table

__all__ = ["BirdVox"]

COLUMNS = ("itemid", "hasbird")


@dataclass(frozen=True)
class BirdVox(RealSet):
    """The scenes of BirdVox-DCASE-20k without a bird, in the layout that soundata downloads."""

    about = About(
        title="BirdVox-DCASE-20k",
        key="lostanlen2018dcase20k",
        citation="Lostanlen, Salamon, Farnsworth, Kelling and Bello (2018). BirdVox-DCASE-20k: a dataset for bird "
        "audio detection in 10-second clips. doi:10.5281/zenodo.1208080",
        licence="Creative Commons Attribution 4.0 by its own text; soundata states Attribution-NonCommercial 4.0",
        obtain="public: https://zenodo.org/records/1208080 (sounds, 15.4 GB) and "
        "https://ndownloader.figshare.com/files/10853300 (labels, to be saved as labels.csv). No checksum of the "
        "labels is known, so they are not downloaded here: soundata 1.0.1 states the same one for them, for the "
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
        found, skipped = labels(only_table(self.folder, "labels.csv"), COLUMNS)
        names = {item: f"{item}.wav" for item in found}
        inside = {item: f"wav/{name}" for item, name in names.items() if (self.folder / "wav" / name).exists()}
        return {(names | inside)[item]: bird for item, bird in found.items()}, skipped

    def _listed(self) -> tuple[list[str], dict[str, str]]:
        found, skipped = self._labels
        return list(found), skipped

    @property
    def recordings(self) -> list[str]:
        """Scenes without a bird, in the order of the labels."""
        return [name for name in self._present if not self._labels[0][name]]
