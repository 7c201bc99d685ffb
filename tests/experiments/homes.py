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


PLAYBACK_SR = 44100
BEGINS = {1: -0.5, 10: -0.62, 100: -0.45}
CENTERS = (1000, 2000, 2600, 6000, 7000, 8500)
PLAYED = [("start_marker", 1.0, 1.5, 1.3, 2.7)]
PLAYED += [
    (f"sound {k}", 1.55 + 0.25 * k, 1.75 + 0.25 * k, f / 1000 - 0.2, f / 1000 + 0.2) for k, f in enumerate(CENTERS)
]
MORE = 5.0  # dB that high sounds lose between 10 and 100 m


def playback_home(home):
    """A synthetic transect of chirps in noise, each recording with its own beginning, and three scenes of noise."""
    folder = home / "playback"
    folder.mkdir(parents=True)
    copies.table(
        folder / "master_anotations.csv", ["orig.sound.file", "start", "end", "bottom.freq", "top.freq"], PLAYED
    )
    for number, (distance, begin) in enumerate(BEGINS.items()):
        x = 0.002 * white(round((PLAYED[-1][2] + begin + 0.1) * PLAYBACK_SR), seed=number)
        for name, start, end, low, high in PLAYED:
            time = np.arange(round((end - start) * PLAYBACK_SR)) / PLAYBACK_SR
            sweep = 500 * (high + low) * time + 500 * (high - low) * np.sin(2 * np.pi * 8 * time) / (2 * np.pi * 8)
            loss = MORE if low > 5 and distance == 100 else 0
            gain = 10 ** (-loss / 20) / distance * (0.5 if name == "start_marker" else 1)
            first = round((start + begin) * PLAYBACK_SR)
            x[first : first + time.size] += gain * np.sin(2 * np.pi * sweep)
        write(folder / f"sound_{distance}m.wav", x / 2, PLAYBACK_SR)
    nights = home / "night_soundscapes"
    for name in ("a_20190522_000000.wav", "a_20190522_010000.wav", "a_20190522_190000.wav"):
        copies.sound(nights / name, 10, 22000)
    return home
