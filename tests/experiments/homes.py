"""Data homes with small synthetic copies of the data sets."""

import numpy as np

from pcenlib import RIGHT_WHALE
from tests import copies
from tests.sounds import white, write

SR = RIGHT_WHALE.sr


def home_of(tmp_path, *names):
    for name in names:
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        copies.MAKERS[name](tmp_path / name)
    return tmp_path


def whales_home(tmp_path, *, n=12):
    """Noise clips, calls that are a loud tone in the same noise, and quiet ships."""
    folder = tmp_path / "narw"
    lines = []
    for number in range(1, 2 * n + 1):
        x = 0.01 * white(2 * SR, seed=number)
        label = number % 2
        if label:
            tone = np.hanning(SR // 2) * np.sin(2 * np.pi * 150 * np.arange(SR // 2) / SR)
            x[SR : SR + SR // 2] += (0.003 if number % 4 == 1 else 0.2) * tone
        path = folder / "train" / f"train{number}.aiff"
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, x, SR, format="AIFF")
        lines.append((path.name, label))
    copies.table(folder / "train.csv", ["clip_name", "label"], lines)
    for number in range(3):
        copies.sound(tmp_path / "deepship" / "Tug" / f"{number}.wav", 6, 32000, subtype="FLOAT")
    return tmp_path
