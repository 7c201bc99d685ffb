"""Resampling: areas, resamples and their intervals."""

import numpy as np
import pytest

from pcenlib.experiments.intervals import N_RESAMPLES, area_under_curve, interval, resample_weights, resampled


def test_area_is_the_share_of_pairs_in_order():
    rng = np.random.default_rng(0)
    calls, noise = rng.integers(0, 9, 30), rng.integers(0, 7, 40)
    pairs = [(call > other) + 0.5 * (call == other) for call in calls for other in noise]
    assert area_under_curve(calls, noise) == pytest.approx(np.mean(pairs))
    assert area_under_curve(noise, calls) == pytest.approx(1 - np.mean(pairs))
    assert area_under_curve([calls, calls + 9], [noise, noise]) == pytest.approx([np.mean(pairs), 1])


def test_resamples_come_after_what_was_measured():
    values = np.arange(5.0)
    found = resampled(values, np.random.default_rng(0))
    assert found.shape == (1 + N_RESAMPLES, 5)
    assert (found[0] == values).all()
    assert np.isin(found, values).all()
    weights = resample_weights(5, np.random.default_rng(0))
    assert (weights[0] == 1).all()
    assert (weights.sum(axis=1) == 5).all()
    assert (weights[1:] != 1).any()


def test_interval_holds_95_per_cent_of_the_resamples_and_takes_infinity():
    resamples = np.random.default_rng(0).permutation(np.arange(N_RESAMPLES, dtype=float))
    found = interval("time", [7.0, *resamples])
    inside = (resamples >= found["time_low"]) & (resamples <= found["time_high"])
    assert found["time"] == 7
    assert abs(inside.mean() - 0.95) < 0.01
    assert interval("time", np.full(1 + N_RESAMPLES, np.inf))["time_low"] == np.inf
