"""Detectors on the playback, on a synthetic transect."""

import functools

import numpy as np
import pytest

from pcenlib.core.streaming import AVERAGED_FLUX, DETECTORS, MAX_POOLED_PCEN
from pcenlib.datasets.catalogue import find
from pcenlib.experiments import played_detection
from pcenlib.experiments.band_levels import alarm_starts
from pcenlib.experiments.intervals import cluster_draws
from tests.experiments.homes import BEGINS, CENTERS, MORE, playback_home


def test_thresholds_are_the_lowest_with_one_alarm_in_ten_seconds():
    rng = np.random.default_rng(0)
    scenes = [{name: rng.exponential(size=6000) for name in DETECTORS} for _ in range(6)]
    draws = [np.arange(6), np.array([0, 0, 0, 0, 0, 0])]
    found = played_detection.thresholds(scenes, draws)
    seconds = 6 * 6000 * played_detection.SETTING.hop
    for detector in DETECTORS:
        for draw, threshold in zip(draws, found[detector], strict=True):
            count = [
                sum(alarm_starts(scenes[k][detector], edge).size for k in draw)
                for edge in (threshold, 0.98 * threshold)
            ]
            assert count[0] <= seconds / played_detection.PERIOD < count[1]


def test_detectors_and_estimates(tmp_path, monkeypatch):
    draws = 30
    monkeypatch.setattr("pcenlib.core.resampling.N_RESAMPLES", draws)
    monkeypatch.setattr(played_detection, "cluster_draws", functools.partial(cluster_draws, n=draws))
    home = playback_home(tmp_path)
    playback, nights = find("playback", home), find("night_soundscapes", home)
    novelty = played_detection.played_novelty(playback, nights)
    assert len(novelty) == len(BEGINS) * len(CENTERS) * len(DETECTORS)
    near = novelty[(novelty["distance"] == 10) & (novelty["detector"] == MAX_POOLED_PCEN)]
    assert near["error"].notna().all()
    assert (near["error"].abs() < 0.015).all()
    assert (near["value"] > near["threshold"]).all()
    assert (novelty["floor"] > novelty["noise"]).all()
    assert novelty["chance"].between(0, 1).all()
    estimates = played_detection.played_estimates(playback, nights).set_index(["quantity", "distance", "detector"])
    assert estimates.index.is_unique
    assert (estimates["low"] <= estimates["high"]).all()
    assert estimates.loc[("bandwidth", 0, "none"), "estimate"] == pytest.approx(MORE, abs=0.4)
    assert estimates.loc[("recall", 10, MAX_POOLED_PCEN), "estimate"] == 1
    rise = (novelty["value"] - novelty["noise"]).groupby([novelty["detector"], novelty["distance"]]).mean()
    ratio = rise[AVERAGED_FLUX, 100.0] / rise[AVERAGED_FLUX, 10.0]
    assert estimates.loc[("far over near", 0, AVERAGED_FLUX), "estimate"] == pytest.approx(ratio)
