"""What chapters make of an experiment's table: ratios of detectors and of protocols, detection ranges."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcenlib.core.evaluation import Counts
from pcenlib.experiments.tables import (
    bounded_ratio,
    detection_range,
    equal_range,
    mtbfa_ratio,
    mtbfa_table,
    protocol_factors,
)

DETECTORS = ["averaged flux", "max-pooled flux", "max-pooled PCEN"]


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
    expected = times["max-pooled flux"] / times["averaged flux"]
    assert mtbfa_ratio(table, "max-pooled flux")["ratio"].tolist() == pytest.approx(expected.tolist())


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
        mtbfa_ratio(pd.DataFrame({"distance": [1], "group": ["a"], "detector": ["averaged flux"]}))


# Ratios of medians


def medians(pcen, flux, **columns):
    """Medians over groups at one distance, in recordings of 100 seconds."""
    times = {"max-pooled PCEN": pcen, "averaged flux": flux}
    rows = [(30.0, name, 5, 0, 100.0, time, time, time) for name, time in times.items()]
    names = ["distance", "detector", "n_groups", "n_censored", "duration", "mtbfa", "mtbfa_low", "mtbfa_high"]
    return pd.DataFrame(rows, columns=names).assign(**columns)


@pytest.mark.parametrize(
    ("pcen", "flux", "ratio", "text"),
    [
        (50, 20, 2.5, "2.5"),
        (96, 1, 96, "96"),
        (9.51, 1, 9.51, "10"),
        (1, 80, 1 / 80, "0.013"),
        (math.inf, 20, 5, ">5"),
        (20, math.inf, 0.2, "<0.2"),
        (math.inf, math.inf, math.nan, "?"),
    ],
)
def test_bounded_ratio_by_hand(pcen, flux, ratio, text):
    (row,) = bounded_ratio(medians(pcen, flux)).itertuples()
    assert row == (30.0, pytest.approx(ratio, nan_ok=True), text)
    (row,) = bounded_ratio(medians(flux, pcen), "averaged flux", over="max-pooled PCEN").itertuples()
    assert row.text == text


def test_bounded_ratio_keeps_what_else_tells_rows_apart():
    found = bounded_ratio(pd.concat([medians(50, 20, kind="wind", level=0), medians(8, 20, kind="wind", level=9)]))
    assert found.index.names == ["distance", "kind", "level"]
    assert found["text"].tolist() == ["2.5", "0.4"]


def test_bounded_ratio_and_equal_range_need_both_detectors():
    for function in (bounded_ratio, equal_range):
        with pytest.raises(ValueError, match="dolphins is missing"):
            function(medians(1, 1), over="dolphins")


# Factors of protocols


def of_protocols(**alarms):
    """Two seeds, three birds: false alarms of PCEN under each protocol, in 60 seconds."""
    rows = [
        (30.0, f"bird {bird}", "max-pooled PCEN", seed, name, 60 / n if n else math.inf)
        for name, seeds in alarms.items()
        for seed, birds in enumerate(seeds)
        for bird, n in enumerate(birds)
    ]
    return pd.DataFrame(rows, columns=["distance", "group", "detector", "seed", "protocol", "mtbfa"])


def test_factors_are_medians_over_birds_then_over_seeds():
    table = of_protocols(
        base=[(8, 8, 8), (6, 6, 6)],
        worse=[(16, 16, 80), (6, 18, 24)],
        better=[(4, 2, 1), (1, 1, 1)],
    )
    found = protocol_factors(table, ["worse", "better"], base="base")
    assert found.index.tolist() == [(name, 30.0, "max-pooled PCEN") for name in ("worse", "better")]
    assert found.loc["worse"].to_numpy()[0] == pytest.approx([(1 / 2 + 1 / 3) / 2, 1 / 3, 1 / 2])
    assert found.loc["better"].to_numpy()[0] == pytest.approx([5, 4, 6])


def test_factors_without_false_alarms():
    table = of_protocols(base=[(4, 4, 4), (0, 0, 0), (0, 0, 8)], other=[(0, 0, 4), (2, 2, 2), (0, 0, 2)])
    (row,) = protocol_factors(table, ["other"], base="base").itertuples(index=False)
    assert row == (4, 0, math.inf)  # of no alarm left, none before, and one bird that counts


def test_factors_need_their_protocols():
    with pytest.raises(ValueError, match="porpoise is missing"):
        protocol_factors(of_protocols(base=[(1, 1, 1)]), ["base"], base="porpoise")


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


@pytest.mark.parametrize(
    ("flux", "distance"),
    [(100, 60), (10, 75), (0.5, math.inf), (2000, 0), (math.inf, math.nan)],
)
def test_equal_range_is_that_of_the_others_nearest_time(flux, distance):
    places = zip((30.0, 60.0, 90.0), (1000, 100, 1), (flux, 0.1, 0.1), strict=True)
    table = pd.concat([medians(pcen, other).assign(distance=d) for d, pcen, other in places])
    assert equal_range(table) == pytest.approx(distance, nan_ok=True)
