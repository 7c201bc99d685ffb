"""MP3, on simulated calls."""

import numpy as np
import pytest

from pcenlib.datasets.nighthawk import SimulatedNighthawk
from pcenlib.experiments.coding import coded, coding_effects


def test_coding_keeps_times_and_level():
    sr = 22050
    time = np.arange(sr) / sr
    x = 1e-4 * np.sin(2 * np.pi * 3000 * time) * (time > 0.5)
    y = coded(x, sr, gain=1000.0)
    assert y.shape == x.shape
    assert np.abs(y - x)[sr // 2 + 500 : -500].max() < 1e-5
    assert np.abs(np.flatnonzero(np.abs(y) > 5e-5)[0] - sr // 2) < 200
    assert np.abs(y - x).max() > 0


def test_effects_are_of_the_same_clips():
    dataset = SimulatedNighthawk(seed=1, n_calls=2, distances=(30, 100))
    found = coding_effects(dataset, gain=100.0)
    assert len(found) == 4 * 8
    assert set(found["distance"]) == {30.0, 100.0}
    level = found[found["quantity"] == "level, 2 to 6.5 kHz"]
    assert (level["before"] - level["after"]).abs().max() == pytest.approx(0.5, abs=0.5)
    near, far = level.groupby("distance")["before"].mean()
    assert near > far
