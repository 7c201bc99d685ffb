"""Small synthetic copies of the layouts of real data sets, one function for each: noise where they have recordings."""

import csv
import zlib

import numpy as np
import soundfile

from tests.sounds import white, write

# Table of each set that has one, and the column that names files, or values of them.
TABLES = {
    "birdvox_dcase20k": ("labels.csv", "hasbird"),
    "esc50": ("meta/esc50.csv", "filename"),
    "ccb18": ("CCB_2009Feb18to22Apr17.csv", "DistanceKm"),
    "narw": ("train.csv", "label"),
    "nighthawk": ("clips.csv", "file"),
    "flight_calls": ("annotations.csv", "call_begin"),
}


def sound(path, duration, sr, *, channels=1, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    seed = zlib.crc32(path.name.encode())
    return write(path, 0.2 * white(round(duration * sr), channels, seed=seed), sr, **options)


def table(path, columns, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([columns, *lines])


def rewritten(path, change):
    """The same file, with other samples."""
    kind = soundfile.info(path)
    x, sr = change(*soundfile.read(path, always_2d=True))
    path.unlink()
    write(path, x, sr, format=kind.format, subtype=kind.subtype)


def coni_knight(folder):
    names = [
        f"{measured}_{call}_ABC-1-{nominal}_2016070{day}_2230{call}.wav"
        for nominal, measured in ((30, 28), (500, 511))
        for day, call in ((1, 17), (1, 203), (2, 3634))
    ]
    for name in names:
        sound(folder / name, 0.7, 44100)
    return names


def birdvox_dcase20k(folder):
    items = ["53d9", "fd79", "ff3d", "0a0b"]
    for item in items:
        sound(folder / f"{item}.wav", 10, 44100)
    table(
        folder / "labels.csv", ["itemid", "datasetid", "hasbird"], [(item, "B", i % 2) for i, item in enumerate(items)]
    )
    return [f"{item}.wav" for item in items]


def esc50(folder):
    targets = {0: "dog", 10: "rain", 17: "pouring_water", 49: "hand_saw"}
    names = [f"1-{100 + target}-A-{target}.wav" for target in targets]
    for name in names:
        sound(folder / "audio" / name, 5, 44100)
    lines = [(name, 1, target, targets[target]) for name, target in zip(names, targets, strict=True)]
    table(folder / "meta" / "esc50.csv", ["filename", "fold", "target", "category"], lines)
    return [f"audio/{name}" for name in names]


def ccb18(folder):
    names = ["CCB18_20090219_001500.wav", "CCB18_20090417_234500.wav"]
    for name in names:
        x = np.tile(0.2 * white(20_000, 5, seed=len(name)), (90, 1))
        write(folder / name, x, 2000, subtype="PCM_U8")
    lines = [
        (219, 1, 1000.0, 1001.0, 0.4),
        (219, 5, 1010.5, 1012.5, 0.99),
        (219, 3, 1010.5, 1012.5, 0.5),
        (417, 4, 23.9 * 3600, 23.9 * 3600 + 1, 12.0),
        (417, 5, 23.9 * 3600, 23.9 * 3600 + 1, 12.7),
    ]
    table(folder / TABLES["ccb18"][0], ["Date", "Channel", "Begin.Time..s.", "End.Time..s.", "DistanceKm"], lines)
    return names


def shipsear(folder):
    names = ["15__10_07_13_radaUno_Pasajeros.wav", "6__10_07_13_marDeCangas_Entra.wav"]
    for name in names:
        sound(folder / name, 4, 52734)
    return names


def narw(folder):
    names = [f"train{number}.aiff" for number in (1, 7, 5999, 6000, 29999, 30000)]
    for name in names:
        sound(folder / "train" / name, 2, 2000, format="AIFF")
    table(folder / "train.csv", ["clip_name", "label"], [(name, i % 2) for i, name in enumerate(names)])
    return [f"train/{name}" for name in names]


def deepship(folder):
    names = ["Passengership/12.wav", "Tanker/12.wav", "Tanker/9.wav"]
    for name in names:
        sound(folder / name, 3, 32000, subtype="FLOAT")
    return names


def shipsear_excerpts(folder):
    names = ["0_1_2.flac", "0_1_10.flac", "2_0_1.flac"]
    for name in names:
        sound(folder / name, 5, 16000, format="FLAC")
    return names


def nighthawk(folder):
    names = ["coni_00.wav", "coni_01.wav"]
    for name in names:
        sound(folder / "audio" / name, 2.15, 24000)
    table(folder / "clips.csv", ["file", "sample_rate"], [(name, 24000) for name in names])
    return [f"audio/{name}" for name in names]


def buzzing_calls(folder, sr=24000):
    """Two files with a buzz at 1 s that is clear, and one with a steady noise alone."""
    time = np.arange(round(0.2 * sr)) / sr
    buzz = (1 + np.cos(2 * np.pi * 220 * time)) * np.sin(2 * np.pi * 3600 * time) * np.hanning(time.size)
    for number in range(3):
        x = 0.01 * white(round(2.15 * sr), seed=number)
        if number < 2:
            x[sr : sr + time.size] += 0.3 * buzz
        (folder / "audio").mkdir(parents=True, exist_ok=True)
        write(folder / "audio" / f"coni_{number:02d}.wav", x, sr)
    table(folder / "clips.csv", ["file"], [(f"coni_{number:02d}.wav",) for number in range(3)])


def night_soundscapes(folder):
    names = ["S4A03895_20190522_000000.wav", "S4A03895_20190522_001500.wav"]
    for name in names:
        sound(folder / name, 10, 22000)
    return names


def flight_calls(folder):
    """Five clips of noise: three of one species, of which two are from one recording, and two of another."""
    species = {"ALFL": ("A1", "A2", "A2"), "OVEN": ("A1", "B7")}
    lines = []
    for name, sources in species.items():
        for number, source in enumerate(sources):
            file = f"{source}_{name}_{number}.flac"
            sound(folder / "audio" / file, 2.1, 24000, format="FLAC")
            band = (1000.0, 8000) if name == "ALFL" else (5000.0, 11999)
            lines.append((file, name, source, 24000, 2.1, 1.0 + 0.01 * number, 1.06, *band))
    columns = ["file", "species", "source_recording", "sr", "clip_dur", "call_begin", "call_end", "low_hz", "high_hz"]
    table(folder / "annotations.csv", columns, lines)
    return [f"audio/{line[0]}" for line in lines]


MAKERS = {
    make.__name__: make
    for make in (
        coni_knight,
        birdvox_dcase20k,
        esc50,
        ccb18,
        shipsear,
        narw,
        deepship,
        shipsear_excerpts,
        nighthawk,
        night_soundscapes,
        flight_calls,
    )
}
