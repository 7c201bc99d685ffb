"""Recall against level, and false alarms at any threshold: what a detection range is made of."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pandas.testing import assert_frame_equal

from pcenlib import NIGHTHAWK, detection_functions
from pcenlib.core.evaluation import count_exceedances
from pcenlib.datasets.nighthawk import SimulatedNighthawk
from pcenlib.experiments.evaluate import count_alarms
from pcenlib.experiments.protocols import NIGHTHAWK_PAPER, Protocol
from pcenlib.experiments.ranges import RecallCurve, fit_recall

# Recall


def test_a_curve_is_a_half_at_its_half():
    curve = RecallCurve(half=40.0, scale=2.0)
    assert curve(40) == 0.5
    assert_allclose(curve([38, 42]), [1 / (1 + np.e), np.e / (1 + np.e)])


@pytest.mark.parametrize(("half", "scale"), [(35.0, 2.0), (50.0, 0.7)])
def test_finds_the_curve_that_made_the_calls(half, scale):
    rng = np.random.default_rng(0)
    levels = rng.uniform(20, 70, 20000)
    detected = rng.random(levels.size) < RecallCurve(half, scale)(levels)
    found = fit_recall(levels, detected)
    assert found.half == pytest.approx(half, abs=0.1)
    assert found.scale == pytest.approx(scale, rel=0.06)


def test_is_the_most_likely_curve():
    rng = np.random.default_rng(1)
    levels = rng.normal(40, 8, 200)
    detected = rng.random(200) < RecallCurve(42.0, 3.0)(levels)

    def log_likelihood(half, scale):
        p = RecallCurve(half, scale)(levels)
        return np.sum(np.log(np.where(detected, p, 1 - p)))

    best = fit_recall(levels, detected)
    for half, scale in [(0.05, 1), (-0.05, 1), (0, 1.02), (0, 0.98)]:
        assert log_likelihood(best.half + half, best.scale * scale) < log_likelihood(*best)


def test_moves_with_the_levels():
    levels, detected = np.array([1, 2, 3, 4, 5, 6.0]), np.array([0, 0, 1, 0, 1, 1], bool)
    near, far = fit_recall(levels, detected), fit_recall(levels + 50, detected)
    assert near.half == pytest.approx(3.5, abs=1e-4)  # the calls are symmetric about it
    assert far == pytest.approx((near.half + 50, near.scale), rel=1e-4)


def test_calls_of_one_odds_need_no_second_step():
    curve = fit_recall([1, 2, 1, 2, 1, 2], [False, True, False, True, True, False])
    assert curve.half == pytest.approx(1.5)


def test_a_clean_cut_lies_between():
    curve = fit_recall([10, 20, 30, 40], [False, False, True, True])
    assert 20 < curve.half < 30
    assert_allclose(curve([10, 20, 30, 40]), [0, 0, 1, 1], atol=1e-3)


@pytest.mark.parametrize(
    ("levels", "detected", "message"),
    [
        ([1, 2], [True, True], "found and missed"),
        ([1, 2], [False, False], "found and missed"),
        ([1, 2, 3], [True, False], "same shape"),
        ([1, np.nan], [True, False], "finite"),
        ([1, 2], [True, False], "higher levels"),
    ],
)
def test_errors_name_what_is_wrong(levels, detected, message):
    with pytest.raises(ValueError, match=message):
        fit_recall(levels, detected)


# False alarms

SIMULATED = SimulatedNighthawk(seed=5, n_calls=1, n_scenes=2)
SLOW = Protocol(setting=replace(NIGHTHAWK, s=0.03), skip_recording=400, count="frames")
THRESHOLDS = {"max_pooled_pcen": [1.4, 1.2], "averaged_flux": [0.15]}


def test_alarms_are_those_of_each_recording():
    table = count_alarms(SIMULATED, {"slow": SLOW}, THRESHOLDS, jobs=1)
    assert len(table) == 2 * 3
    functions = detection_functions(SIMULATED.recording("scene 0001").source, SLOW.setting)
    expected = count_exceedances([{k: v[400:] for k, v in functions._asdict().items()}], THRESHOLDS)
    rows = table[table["recording"] == "scene 0001"]
    for detector, alarms in expected.alarms.items():
        of_detector = rows[rows["detector"] == detector]
        assert tuple(of_detector["false_alarms"]) == alarms
        assert tuple(of_detector["threshold"]) == tuple(THRESHOLDS[detector])
    assert_allclose(rows["duration"], expected.n_frames * NIGHTHAWK.hop)


def test_one_and_two_workers_count_the_same():
    protocols = {"paper": NIGHTHAWK_PAPER, "slow": SLOW}
    one, two = (count_alarms(SIMULATED, protocols, THRESHOLDS, jobs=jobs) for jobs in (1, 2))
    assert_frame_equal(one, two)
    assert set(one["protocol"]) == {"paper", "slow"}


def test_needs_a_protocol():
    with pytest.raises(ValueError, match="protocols must hold"):
        count_alarms(SIMULATED, {}, THRESHOLDS)
