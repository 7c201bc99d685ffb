"""What chapters make of an experiment's table: ratios of detectors, detection ranges; and how a run is
described."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcenlib.evaluation import Counts, detection_range, mtbfa_ratio, mtbfa_table
from pcenlib.experiments import NIGHTHAWK_PAPER, NIGHTHAWK_RELEASED, SCALES, check_run
from pcenlib.stored import describe

DETECTORS = ["averaged_flux", "max_pooled_flux", "max_pooled_pcen"]


def experiment(alarms, **columns):
    """A table at two distances, of one bird; alarms of the three detectors at each distance."""
    rows = [(d, "bird 1", detector, 1.0) for d in (30.0, 100.0) for detector in DETECTORS]
    thresholds = pd.DataFrame(rows, columns=["distance", "group", "detector", "threshold"])
    counts = Counts(1000, {detector: [near, far] for detector, near, far in zip(DETECTORS, *alarms, strict=True)})
    return mtbfa_table(thresholds, counts, hop=0.5).assign(**columns)


# Ratios


def test_ratio_by_hand():
    found = mtbfa_ratio(experiment([(20, 8, 4), (30, 60, 60)]))
    assert found.columns.tolist() == ["distance", "group", "ratio"]
    assert found["ratio"].tolist() == [5.0, 0.5]


def test_ratio_is_that_of_the_times():
    table = experiment([(20, 8, 4), (30, 60, 7)])
    times = table.pivot(index=["distance", "group"], columns="detector", values="mtbfa")
    expected = times["max_pooled_flux"] / times["averaged_flux"]
    assert mtbfa_ratio(table, "max_pooled_flux")["ratio"].tolist() == pytest.approx(expected.tolist())


def test_ratio_keeps_what_else_tells_rows_apart():
    tables = [experiment([(20, 8, 4), (30, 60, 60)], protocol="paper", seed=1)]
    tables.append(experiment([(9, 8, 3), (30, 60, 60)], protocol="paper", seed=2))
    found = mtbfa_ratio(pd.concat(tables)).set_index(["protocol", "seed", "distance"])["ratio"]
    assert found["paper", 1, 30.0] == 5
    assert found["paper", 2, 30.0] == 3


def test_ratio_without_false_alarms():
    alone, none = mtbfa_ratio(experiment([(20, 8, 0), (0, 8, 0)]))["ratio"]
    assert math.isinf(alone)
    assert math.isnan(none)


def test_ratio_needs_both_detectors():
    with pytest.raises(ValueError, match="dolphins is missing"):
        mtbfa_ratio(experiment([(1, 1, 1), (1, 1, 1)]), over="dolphins")
    with pytest.raises(ValueError, match="false_alarms"):
        mtbfa_ratio(pd.DataFrame({"distance": [1], "group": ["a"], "detector": ["averaged_flux"]}))


# Detection range


@pytest.mark.parametrize(
    ("times", "level", "distance"),
    [
        ([1000, 100, 1], 1000, 100),  # falls to the level at once
        ([1000, 100, 1], 100, 200),
        ([1000, 100, 1], 10, 250),  # halfway between the logarithms
        ([1000, 100, 1], 2000, 0),
        ([1000, 100, 1], 0.5, math.inf),
        ([1000, 1, 500], 10, 100 + 200 / 3),  # the first crossing, not the last
        ([math.inf, 100, 1], 200, 100),  # all that is known
        ([math.inf, math.inf, math.inf], 200, math.inf),
        ([math.inf, 100, 1], 10, 250),
    ],
)
def test_range_by_hand(times, level, distance):
    assert detection_range([100, 200, 300], times, level) == pytest.approx(distance)


@given(st.lists(st.floats(0.01, 1e6), min_size=2, max_size=8), st.floats(0.01, 1e6))
def test_range_lies_between_the_neighbours_of_the_crossing(times, level):
    distances = np.arange(1, len(times) + 1)
    found = detection_range(distances, times, level)
    below = [d for d, t in zip(distances, times, strict=True) if t < level]
    if not below:
        assert found == math.inf
    elif below[0] == 1:
        assert found == 0
    else:
        assert below[0] - 1 - 1e-9 <= found <= below[0] + 1e-9


@given(st.lists(st.floats(0.01, 1e6), min_size=1, max_size=8), st.floats(0.01, 1e5), st.floats(1, 10))
def test_a_higher_demand_never_reaches_farther(times, level, factor):
    distances = np.arange(len(times)) + 1
    assert detection_range(distances, times, level * factor) <= detection_range(distances, times, level) + 1e-9


@pytest.mark.parametrize(
    ("distances", "times", "level", "named"),
    [
        ([1, 1], [2, 1], 1, "distances must increase"),
        ([2, 1], [2, 1], 1, "distances must increase"),
        ([1, 2], [1], 1, "times must be as many"),
        ([], [], 1, "distances"),
        ([1, 2], [0, 1], 1, "times must be positive"),
        ([1, 2], [math.nan, 1], 1, "times must be positive"),
        ([1, 2], [2, 1], 0, "level"),
    ],
)
def test_range_refuses_what_is_no_curve(distances, times, level, named):
    with pytest.raises(ValueError, match=named):
        detection_range(distances, times, level)


# Parameters of a run


@pytest.mark.parametrize("scale", SCALES)
def test_valid_parameters(scale):
    check_run(scale=scale, seed=0, jobs=1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"scale": "papr"}, "scale must be one of default, paper, got 'papr'"),
        ({"scale": None}, "scale must be one of default, paper, got None"),
        ({"scale": ["paper"]}, "scale must be"),
        ({"seed": -1}, "seed must be an integer of at least 0, got -1"),
        ({"seed": "7"}, "seed must be an integer of at least 0, got '7'"),
        ({"seed": 1.5}, "seed must be"),
        ({"jobs": 0}, "jobs must be an integer of at least 1, got 0"),
        ({"jobs": True}, "jobs must be"),
    ],
)
def test_wrong_parameters_are_named(wrong, message):
    with pytest.raises(ValueError, match="must be") as caught:
        check_run(**{"scale": "default", "seed": 0, "jobs": 1, **wrong})
    assert message in str(caught.value)


def test_scales_are_those_of_the_paper_and_of_a_hundred_minutes():
    assert SCALES == {"default": 600, "paper": 9983}


# Descriptions


def test_descriptions_tell_protocols_apart():
    assert describe(NIGHTHAWK_PAPER) != describe(NIGHTHAWK_RELEASED)
    assert describe(NIGHTHAWK_PAPER) == describe(NIGHTHAWK_PAPER)


def test_a_last_digit_does_not_change_a_description():
    setting = NIGHTHAWK_RELEASED.setting
    again = replace(setting, fmax=float(np.nextafter(setting.fmax, 1e4)), s=float(np.nextafter(setting.s, 1)))
    assert repr(again) != repr(setting)
    assert describe(again) == describe(setting)
    assert describe(replace(setting, s=1.00001 * setting.s)) != describe(setting)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_descriptions_keep_seven_digits(number):
    assert float(describe(number)) == pytest.approx(number, rel=1e-6)
