"""ESC-50: five-second clips of fifty kinds of sound, of which twenty are heard outdoors (section 3.3)."""

from dataclasses import dataclass

import numpy as np

from pcenlib.datasets.download import Remote
from pcenlib.datasets.interface import Sound
from pcenlib.datasets.real import About, RealSet, read
from pcenlib.datasets.tables import rows

__all__ = ["OUTDOOR", "Esc50"]

OUTDOOR = {
    10: "rain", 11: "sea_waves", 12: "crackling_fire", 13: "crickets", 14: "chirping_birds",
    15: "water_drops", 16: "wind", 17: "pouring_water", 18: "toilet_flush", 19: "thunderstorm",
    40: "helicopter", 41: "chainsaw", 42: "siren", 43: "car_horn", 44: "engine",
    45: "train", 46: "church_bells", 47: "airplane", 48: "fireworks", 49: "hand_saw",
}  # fmt: skip
"""Names of the categories of outdoor noise by their numbers, which are the set's natural and exterior sounds."""


@dataclass(frozen=True)
class Esc50(RealSet):
    """The clips of ESC-50 in the categories of outdoor noise. The paper takes 200 of them and does not say which.

    Parameters
    ----------
    folder : path
        Where the set is.
    padded : bool
        Whether to keep the digital silence at the end of clips that were shorter than five seconds.
    """

    padded: bool = False

    about = About(
        title="ESC-50",
        key="piczak2015",
        citation="Piczak (2015). ESC: dataset for environmental sound classification. ACM Multimedia.",
        licence="Creative Commons Attribution-NonCommercial 3.0; the subset ESC-10, Attribution 3.0",
        obtain="public: https://github.com/karolpiczak/ESC-50 (0.6 GB)",
        layout="audio/<fold>-<source>-<take>-<target>.wav, meta/esc50.csv (filename, target, category, ...)",
        unit="clips",
        n_files=2000,
        sr=44100,
        duration=5.0,
        # As soundata 1.0.1 states them, and so does the benchmark HEAR.
        remotes=(
            Remote(
                file="ESC-50-master.zip",
                url="https://github.com/karoldvl/ESC-50/archive/master.zip",
                checksum="md5:7771e4b9d86d0945acce719c7a59305a",
                inside="ESC-50-master/",
            ),
        ),
    )

    def _listed(self) -> tuple[list[str], dict[str, str]]:
        names, skipped = [], {}
        for place, row in rows(self.folder / "meta" / "esc50.csv", ["filename", "target"]):
            if row["filename"].endswith(f"-{row['target']}.wav"):
                names.append(f"audio/{row['filename']}")
            else:
                skipped[place] = f"{row['filename']!r} does not end in its category, -{row['target']}.wav"
        return names, skipped

    @property
    def recordings(self) -> list[str]:
        """Names of the clips of outdoor noise, in the order of the set's table."""
        return [name for name in self._present if _number(name) in OUTDOOR]

    def recording(self, name: str) -> Sound:
        """Sound of a clip."""
        if self.padded:
            return super().recording(name)
        x, sr = read(self.folder / name)
        x = np.trim_zeros(x, "b")
        if not x.size:
            raise ValueError(f"{self.folder / name} must hold something else than digital silence")
        return Sound(x, sr)

    @staticmethod
    def category(name: str) -> str:
        """Category of a clip of outdoor noise."""
        return OUTDOOR[_number(name)]

    @staticmethod
    def source(name: str) -> str:
        """Number of the recording that a clip was cut from, `src_file` in the set's table: clips can share one."""
        return name.split("-")[1]


def _number(name: str) -> int:
    """Number of the category, the last in a name."""
    return int(name.removesuffix(".wav").rpartition("-")[2])
