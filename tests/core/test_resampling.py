"""The bootstrap: what is drawn, and the interval of the draws."""

import numpy as np

from pcenlib.core.resampling import N_RESAMPLES, interval, resample, resamples


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
