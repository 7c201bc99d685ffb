"""The playback, on a synthetic transect: chirps in noise, each recording with its own beginning and gain."""

import functools

import numpy as np
import pytest

from pcenlib.core.streaming import AVERAGED_FLUX, DETECTORS, MAX_POOLED_PCEN
from pcenlib.datasets.catalogue import find
from pcenlib.experiments import played_sounds
from pcenlib.experiments.intervals import cluster_draws
from pcenlib.simulation.acoustics import spreading_loss
from tests import copies
from tests.sounds import white, write

SR = 44100
BEGINS = {1: -0.5, 10: -0.62, 100: -0.45}
CENTERS = (1000, 2000, 2600, 6000, 7000, 8500)
PLAYED = [("start_marker", 1.0, 1.5, 1.3, 2.7)]
PLAYED += [
    (f"sound {k}", 1.55 + 0.25 * k, 1.75 + 0.25 * k, f / 1000 - 0.2, f / 1000 + 0.2) for k, f in enumerate(CENTERS)
]
MORE = 5.0  # dB that high sounds lose between 10 and 100 m


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    folder = home / "playback"
    folder.mkdir()
    copies.table(
        folder / "master_anotations.csv", ["orig.sound.file", "start", "end", "bottom.freq", "top.freq"], PLAYED
    )
    for number, (distance, begin) in enumerate(BEGINS.items()):
        x = 0.002 * white(round((PLAYED[-1][2] + begin + 0.1) * SR), seed=number)
        for name, start, end, low, high in PLAYED:
            time = np.arange(round((end - start) * SR)) / SR
            sweep = 500 * (high + low) * time + 500 * (high - low) * np.sin(2 * np.pi * 8 * time) / (2 * np.pi * 8)
            loss = MORE if low > 5 and distance == 100 else 0
            gain = 10 ** (-loss / 20) / distance * (0.5 if name == "start_marker" else 1)
            first = round((start + begin) * SR)
            x[first : first + time.size] += gain * np.sin(2 * np.pi * sweep)
        write(folder / f"sound_{distance}m.wav", x / 2, SR)
    nights = home / "night_soundscapes"
    for name in ("a_20190522_000000.wav", "a_20190522_010000.wav", "a_20190522_190000.wav"):
        copies.sound(nights / name, 10, 22000)
    return home


def test_recordings_are_aligned(home):
    found = {each.distance: each.begin for each in played_sounds.aligned(find("playback", home))}
    assert found == pytest.approx(BEGINS, abs=0.002)


def test_levels_fall_as_they_were_made_to(home):
    table = played_sounds.played_levels(find("playback", home))
    level = table.pivot(index="frequency", columns="distance", values="level")
    fall = (level[10.0] - level[100.0]).to_numpy()
    assert fall == pytest.approx([20, 20, 20, 25, 25, 25], abs=0.4)
    first = table[table["distance"] == 1]
    assert (first["loss"] == 0).all()
    assert (table["loss"] >= spreading_loss(table["distance"])).all()
    assert table["above"].min() > played_sounds.LEAST
    assert table["chance"].mean() < 0.2


def test_thresholds_are_the_lowest_with_one_alarm_in_ten_seconds():
    rng = np.random.default_rng(0)
    scenes = [{name: rng.exponential(size=6000) for name in DETECTORS} for _ in range(6)]
    draws = [np.arange(6), np.array([0, 0, 0, 0, 0, 0])]
    found = played_sounds.thresholds(scenes, draws)
    seconds = 6 * 6000 * played_sounds.SETTING.hop
    for detector in DETECTORS:
        for draw, threshold in zip(draws, found[detector], strict=True):
            count = [
                sum(played_sounds.alarm_starts(scenes[k][detector], edge).size for k in draw)
                for edge in (threshold, 0.98 * threshold)
            ]
            assert count[0] <= seconds / played_sounds.PERIOD < count[1]


def test_detectors_and_estimates(home, monkeypatch):
    draws = 30
    monkeypatch.setattr("pcenlib.core.resampling.N_RESAMPLES", draws)
    monkeypatch.setattr(played_sounds, "cluster_draws", functools.partial(cluster_draws, n=draws))
    playback, nights = find("playback", home), find("night_soundscapes", home)
    novelty = played_sounds.played_novelty(playback, nights)
    assert len(novelty) == len(BEGINS) * len(CENTERS) * len(DETECTORS)
    near = novelty[(novelty["distance"] == 10) & (novelty["detector"] == MAX_POOLED_PCEN)]
    assert near["error"].notna().all()
    assert (near["error"].abs() < 0.015).all()
    assert (near["value"] > near["threshold"]).all()
    assert (novelty["floor"] > novelty["noise"]).all()
    assert novelty["chance"].between(0, 1).all()
    estimates = played_sounds.played_estimates(playback, nights).set_index(["quantity", "distance", "detector"])
    assert estimates.index.is_unique
    assert (estimates["low"] <= estimates["high"]).all()
    assert estimates.loc[("bandwidth", 0, "none"), "estimate"] == pytest.approx(MORE, abs=0.4)
    assert estimates.loc[("recall", 10, MAX_POOLED_PCEN), "estimate"] == 1
    rise = (novelty["value"] - novelty["noise"]).groupby([novelty["detector"], novelty["distance"]]).mean()
    ratio = rise[AVERAGED_FLUX, 100.0] / rise[AVERAGED_FLUX, 10.0]
    assert estimates.loc[("far over near", 0, AVERAGED_FLUX), "estimate"] == pytest.approx(ratio)
