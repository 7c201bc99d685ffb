"""Indices of nights, a day and flight calls, on sounds where one knows what must come out."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import soundfile
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib.core.spectrogram import read_spectrogram, spectrogram
from pcenlib.datasets import simulated_night
from pcenlib.datasets.catalogue import find
from pcenlib.datasets.interface import Sound
from pcenlib.datasets.simulated_night import SimulatedNight
from pcenlib.experiments import soundscapes
from pcenlib.experiments.indices import INDICES, indices, indices_by_minute
from pcenlib.experiments.soundscapes import (
    EXPERIMENTS,
    LONG_NIGHT,
    SEEDED,
    SETTING,
    UNIT,
    by_index,
    call_bands,
    cells_with_a_call,
    shares_higher,
)
from tests.experiments.homes import home_of
from tests.sounds import white, write

DAY = EXPERIMENTS["soundscape-day"]
CALLS = EXPERIMENTS["flight-call-indices"]


# Cells


def test_a_nighthawk_is_within_its_bands():
    frequencies = SETTING.frequencies[call_bands(SETTING)]
    assert frequencies.min() > 2700
    assert frequencies.max() < 4700
    assert np.all(np.abs(frequencies[:, np.newaxis] - [3350, 4050]).min(axis=0) < 300)


def test_cells_with_a_call_are_its_minute_and_bands():
    night = SimulatedNight(seed=5)
    cells = cells_with_a_call(night, SETTING)
    assert cells.shape == (60, SETTING.n_bands)
    minutes = sorted({event.minute for event in night.events})
    assert_array_equal(np.flatnonzero(cells.any(axis=1)), minutes)
    assert_array_equal(cells[minutes[0]], call_bands(SETTING))
    near = cells_with_a_call(night, SETTING, farthest=100.0)
    assert 0 < near.sum() < cells.sum()
    assert not np.any(near & ~cells)


# Nights


def test_the_long_night_has_each_weather_with_and_without_calls():
    assert len(LONG_NIGHT.hours) == 8
    assert {event.minute // 60 for event in LONG_NIGHT.events} == {1, 3, 5, 7}
    assert list(SEEDED["night-hours"].seeds) == list(range(2019, 2029))


def test_a_call_that_stands_out_has_a_larger_area(monkeypatch):
    night = SimulatedNight(seed=5)
    cells = cells_with_a_call(night, SETTING).astype(float)
    values = np.stack([cells, -cells, np.zeros_like(cells), cells], axis=1)
    monkeypatch.setattr(soundscapes, "_of_night", lambda *_: values)
    table = soundscapes.areas_of_cells(night, SETTING).set_index(["cells", "index"])
    assert_allclose(table.loc["all", "area"][list(INDICES)], [1, 0, 0.5, 1])
    assert table.loc[("all", INDICES[0]), "n_calls"] == cells.sum()
    assert table.loc[("within 100 m", INDICES[0]), "area"] == 1


def test_a_night_is_its_stretches_minute_by_minute(monkeypatch):
    monkeypatch.setattr(simulated_night, "STRETCH", 30)
    monkeypatch.setattr("pcenlib.experiments.indices.MINUTE", 1.0)
    small = replace(SETTING, n_bands=3)
    calls, sounds = [], [Sound(0.1 * white(round(3.5 * SETTING.sr), seed=k), SETTING.sr, 0.5) for k in (1, 2)]

    def heard(_, name):
        calls.append(name)
        return sounds[len(calls) - 1]

    monkeypatch.setattr(SimulatedNight, "recording", heard)
    table = soundscapes.indices_of_night(SimulatedNight(), small)
    assert calls == ["minute 0000", "minute 0030"]
    assert table["minute"].tolist() == list(range(6))
    values = by_index(table, unit=UNIT)
    assert list(values) == list(INDICES)
    assert values["peak PCEN"].shape == (6, 3)
    last = list(indices_by_minute(sounds[1].source, small, lead=0.5))[-1]
    for index, expected in zip(INDICES, last, strict=True):
        assert_allclose(values[index][-1], expected, atol=UNIT / 2)


# A day


def test_a_day_has_its_times_and_the_indices_of_each_scene(tmp_path):
    home = home_of(tmp_path, "night_soundscapes")
    scenes = find("night_soundscapes", home)
    table = DAY.run(scenes)
    assert table["time"].tolist() == [0.0, 0.25]
    assert set(DAY.tolerances) == set(table.columns) - {"time"}
    x, sr = soundfile.read(home / "night_soundscapes" / scenes.recordings[1])
    values = by_index(table)
    E = read_spectrogram(x, SETTING, sr=sr)
    for index, expected in zip(INDICES, indices(E, s=SETTING.s), strict=True):
        assert_allclose(values[index][1], expected, rtol=1e-6)


# Flight calls


@pytest.fixture
def calling(tmp_path):
    """Flight calls of which each is a loud tone of 50 ms in the middle of its band, at its annotated onset."""
    home = home_of(tmp_path, "flight_calls")
    found = find("flight_calls", home)
    for name, call in found.calls.items():
        path = home / "flight_calls" / name
        x, sr = soundfile.read(path)
        time = np.arange(round(0.05 * sr)) / sr
        first = round(call.begin * sr)
        x[first : first + time.size] += 0.5 * np.sin(2 * np.pi * 6000 * time)
        path.unlink()
        write(path, x, sr, format="FLAC")
    return found


def test_a_call_concentrates_energy_and_lowers_mean_pcen(calling):
    table = CALLS.run(calling)
    assert len(table) == 5
    assert table["source"].tolist() == [call.source for call in calling.calls.values()]
    assert np.all(np.abs(table["frames"] * SETTING.hop - 1) < 0.03)
    for index, sign in (("concentration", 1), ("mean PCEN", -1), ("peak PCEN", 1)):
        assert np.all(sign * (table[f"{index} with"] - table[f"{index} before"]) > 0), index
    assert set(CALLS.tolerances) == set(table.columns) - {"clip", "source", "species"}


def test_position_in_a_clip_gives_nothing_away():
    """In noise without any call, the second second is no more novel than the first."""
    rng = np.random.default_rng(1)
    setting, higher = SETTING.with_bands(8, 9), []
    for x in rng.standard_normal((150, round(1.0 * SETTING.sr))):
        E = spectrogram(x, setting)
        half = E.shape[1] // 2
        parts = indices(E[:, :half], s=SETTING.s), indices(E, s=SETTING.s, past=half)
        higher.append((parts[1] > parts[0]).mean(axis=1))
    assert_allclose(np.mean(higher, axis=0), 0.5, atol=0.1)


def test_shares_and_ratios_by_hand():
    higher = {INDICES[0]: [1, 0, 1, 0], INDICES[1]: [1, 1, 1, 1], INDICES[2]: [0, 0, 0, 0], INDICES[3]: [1, 1, 0, 0]}
    table = pd.DataFrame({"source": ["a", "a", "b", "b"]})
    for index, values in higher.items():
        table[f"{index} before"], table[f"{index} with"] = 0.5, values
    found = shares_higher(table).set_index("index")
    assert_allclose(found["share"], [0.5, 1, 0, 0.5])
    assert_allclose(found["ratio"], [1, 2, 0, 1])
    # Each source has one of two clips higher in acoustic complexity, so no draw of sources differs.
    assert_allclose(found.loc[INDICES[1], ["ratio_low", "ratio_high"]].astype(float), 2)
    assert_allclose(found.loc[INDICES[3], ["share_low", "share_high"]].astype(float), [0, 1])
