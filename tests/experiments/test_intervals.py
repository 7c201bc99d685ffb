"""Resampling: areas, resamples and their intervals."""

import numpy as np
import pytest

from pcenlib.experiments.intervals import N_RESAMPLES, area_under_curve, interval, resample, resamples


def test_area_is_the_share_of_pairs_in_order():
    rng = np.random.default_rng(0)
    calls, noise = rng.integers(0, 9, 30), rng.integers(0, 7, 40)
    pairs = [(call > other) + 0.5 * (call == other) for call in calls for other in noise]
    assert area_under_curve(calls, noise) == pytest.approx(np.mean(pairs))
    assert area_under_curve(noise, calls) == pytest.approx(1 - np.mean(pairs))
    assert area_under_curve([calls, calls + 9], [noise, noise]) == pytest.approx([np.mean(pairs), 1])


def test_resamples_come_after_what_was_measured():
    found = resamples(5, np.random.default_rng(0))
    assert found.shape == (1 + N_RESAMPLES, 5)
    assert found[0].tolist() == [0, 1, 2, 3, 4]
    assert set(found.ravel()) == set(range(5))
    assert any(len(set(row)) < 5 for row in found[1:].tolist())


def test_resamples_are_drawn_one_after_the_other_by_the_one_way_there_is():
    found, rng = resamples(7, np.random.default_rng(0)), np.random.default_rng(0)
    assert all((row == resample(7, rng)).all() for row in found[1:])


def test_interval_holds_95_per_cent_of_the_resamples_and_takes_infinity():
    resamples = np.random.default_rng(0).permutation(np.arange(N_RESAMPLES, dtype=float))
    found = interval("time", [7.0, *resamples])
    inside = (resamples >= found["time_low"]) & (resamples <= found["time_high"])
    assert found["time"] == 7
    assert abs(inside.mean() - 0.95) < 0.01
    assert interval("time", np.full(1 + N_RESAMPLES, np.inf))["time_low"] == np.inf
