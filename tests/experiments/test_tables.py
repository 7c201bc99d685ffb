"""Tables of experiments by hand, ratios of detectors and of protocols, detection ranges."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcenlib.core.evaluation import Counts, count_exceedances, merge_counts
from pcenlib.experiments.tables import (
    bounded_ratio,
    calibrate,
    detection_range,
    detection_ranges,
    in_order,
    medians_in_words,
    mtbfa_table,
    over_groups,
    protocol_factors,
    ratio_range,
    readable,
    thresholds_by_detector,
)

DETECTORS = ["averaged flux", "max-pooled flux", "max-pooled PCEN"]


def experiment(alarms, **columns):
    """A table at two distances, of one bird; alarms of the three detectors at each distance."""
    rows = [(d, "bird 1", detector, 1.0) for d in (30.0, 100.0) for detector in DETECTORS]
    thresholds = pd.DataFrame(rows, columns=["distance", "group", "detector", "threshold"])
    counts = Counts(1000, {detector: [near, far] for detector, near, far in zip(DETECTORS, *alarms, strict=True)})
    return mtbfa_table(thresholds, counts, hop=0.5).assign(**columns)


# Thresholds, times and medians


def positives():
    rows = itertools.product([30, 300], ["a", "b"], ["flux", "pcen"], [1, 2, 3])
    table = pd.DataFrame(rows, columns=["distance", "group", "detector", "value"])
    table["value"] *= table["detector"].map({"flux": 1, "pcen": 10}) * table["group"].map({"a": 1, "b": 2})
    return in_order(table)[::-1]


def test_thresholds_for_each_distance_group_and_detector():
    table = calibrate(positives())
    assert list(table.columns) == ["distance", "group", "detector", "threshold"]
    assert table["threshold"].tolist() == [2, 20, 4, 40] * 2
    assert table["distance"].tolist() == [30] * 4 + [300] * 4
    assert calibrate(positives(), recall=1)["threshold"].tolist() == [1, 10, 2, 20] * 2
    assert calibrate(positives()[positives()["value"] != 2], lower=True)["threshold"].tolist()[0] == 1
    assert thresholds_by_detector(table) == {"flux": [2, 4, 2, 4], "pcen": [20, 40, 20, 40]}


@pytest.mark.parametrize("order", [1, -1])
def test_mtbfa_table_by_hand(order):
    thresholds = calibrate(positives()).iloc[:4][::order]
    blocks = [{"flux": [3, 3, 5, 5], "pcen": [0, 21, 0, 21]}]
    counts = count_exceedances(blocks, thresholds_by_detector(thresholds))
    table = mtbfa_table(thresholds, counts, hop=0.5)
    keys = ["distance", "group", "detector"]
    assert list(table.columns) == [*keys, "threshold", "false_alarms", "duration", "mtbfa"]
    table = table[::order]
    assert table["false_alarms"].tolist() == [4, 2, 2, 0]
    assert table["duration"].tolist() == [2.0] * 4
    assert table["mtbfa"].tolist() == [0.5, 1, 1, math.inf]


def test_duration_is_that_of_all_frames():
    thresholds = calibrate(positives())
    blocks = [{"flux": np.zeros(7), "pcen": np.zeros(7)}, {"flux": np.zeros(5), "pcen": np.zeros(5)}]
    recording = count_exceedances(blocks, thresholds_by_detector(thresholds))
    table = mtbfa_table(thresholds, merge_counts([recording] * 3), hop=0.064)
    assert table["duration"].unique() == pytest.approx([36 * 0.064])


def groups(*times):
    rows = [(30, name, "flux", 100.0, time) for name, time in zip("abcdefgh", times, strict=False)]
    return pd.DataFrame(rows, columns=["distance", "group", "detector", "duration", "mtbfa"])


@pytest.mark.parametrize(
    ("times", "low", "median", "high"),
    [
        ([3, 1, 2, 5, 4], 2, 3, 4),
        ([7], 7, 7, 7),
        ([7, 7, 7, 7], 7, 7, 7),
        ([1, 2, 3, 4], 1, 2, 3),
        ([3, math.inf, 2, 1, math.inf], 2, 3, math.inf),
        ([3, math.inf, 2, math.inf, math.inf], 3, math.inf, math.inf),
        ([1, 2, math.inf, math.inf], 1, 2, math.inf),  # never halfway to infinity
        ([math.inf] * 5, math.inf, math.inf, math.inf),
    ],
)
def test_quartiles_over_groups_by_hand(times, low, median, high):
    (row,) = over_groups(groups(*times)).to_dict("records")
    assert row == {
        **{"distance": 30, "detector": "flux", "n_groups": len(times), "n_censored": times.count(math.inf)},
        **{"duration": 100, "mtbfa": median, "mtbfa_low": low, "mtbfa_high": high},
    }


def test_quartiles_of_five_groups_are_numpys():
    times = np.random.default_rng(0).exponential(size=(20, 5))
    table = over_groups(pd.concat([groups(*row).assign(distance=i) for i, row in enumerate(times)]))
    expected = np.quantile(times, [0.25, 0.5, 0.75], axis=1).T
    assert table[["mtbfa_low", "mtbfa", "mtbfa_high"]].to_numpy().tolist() == expected.tolist()


def test_groups_of_each_distance_and_detector_are_kept_apart():
    thresholds = calibrate(positives())
    counts = count_exceedances([{"flux": [3, 5], "pcen": [30, 0]}], thresholds_by_detector(thresholds))
    table = over_groups(mtbfa_table(thresholds, counts, hop=1))
    assert table[["distance", "detector"]].to_numpy().tolist() == [
        [30, "flux"],
        [30, "pcen"],
        [300, "flux"],
        [300, "pcen"],
    ]
    assert table["mtbfa_high"].tolist() == [2, math.inf] * 2
    assert table["n_censored"].tolist() == [0, 1] * 2


def test_groups_are_pooled_over_what_is_not_named():
    first, second = groups(1, 2, 3), groups(4, 5)
    table = pd.concat([first.assign(protocol="b", seed=1), second.assign(protocol="b", seed=2)])
    table = pd.concat([table, first.assign(protocol="a", seed=1)])
    pooled = over_groups(table, by=["protocol"])
    assert pooled[["protocol", "n_groups", "mtbfa"]].to_numpy().tolist() == [["a", 3, 2], ["b", 5, 3]]
    by_seed = over_groups(table, by=["protocol", "seed"])
    assert by_seed["mtbfa"].tolist() == [2, 2, 4]
    with pytest.raises(ValueError, match="night is missing"):
        over_groups(table, by=["night"])


def test_medians_in_words_in_rows_and_columns():
    table = pd.concat([groups(1, 2, 3).assign(protocol="b"), groups(math.inf, math.inf).assign(protocol="a")])
    wide = medians_in_words(table, columns=["protocol", "detector"])
    assert wide.index.tolist() == [30]
    assert wide.to_dict("records") == [{("a", "flux"): "> 1.7 min", ("b", "flux"): "2.0 s"}]
    long = medians_in_words(table, index=["protocol", "distance"])
    assert long["flux"].to_dict() == {("a", 30): "> 1.7 min", ("b", 30): "2.0 s"}


def test_a_censored_time_is_never_shown_as_a_number():
    thresholds = calibrate(positives())
    counts = count_exceedances([{"flux": [0, 0], "pcen": [30, 0]}], thresholds_by_detector(thresholds))
    table = mtbfa_table(thresholds, counts, hop=60)
    shown = readable(table)
    assert shown["mtbfa"].tolist() == ["> 2.0 min", "2.0 min", "> 2.0 min", "> 2.0 min"] * 2
    assert shown["duration"].tolist() == ["2.0 min"] * 8
    assert "inf" not in shown.to_string()
    assert "inf" not in readable(over_groups(table)).to_string()


def test_bad_tables_are_refused():
    with pytest.raises(ValueError, match=r"^positives must have the columns .*: value is missing"):
        calibrate(positives().drop(columns="value"))
    with pytest.raises(ValueError, match=r"^positives must have at least one row"):
        calibrate(positives()[:0])
    with pytest.raises(ValueError, match=r"^positives must .* no value missing"):
        calibrate(positives().assign(group=[None, *"a" * 23]))
    with pytest.raises(ValueError, match=r"^recall must"):
        calibrate(positives(), recall=50)
    with pytest.raises(ValueError, match=r"^hop must"):
        mtbfa_table(calibrate(positives()), Counts(1, {"flux": [1] * 4, "pcen": [1] * 4}), hop=0)
    with pytest.raises(ValueError, match=r"^table must have the columns .*: duration, mtbfa is missing"):
        over_groups(calibrate(positives()))
    with pytest.raises(ValueError, match=r"^counts must be of the table's thresholds"):
        mtbfa_table(calibrate(positives()), Counts(1, {"flux": [1]}), hop=1)


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


def test_bounded_ratio_needs_both_detectors():
    with pytest.raises(ValueError, match="dolphins is missing"):
        bounded_ratio(medians(1, 1), over="dolphins")


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


def test_ranges_of_each_detector_in_each_experiment():
    near, far = experiment([(20, 8, 4), (40, 60, 20)]), experiment([(5, 8, 1), (20, 60, 2)])
    table = pd.concat([near.assign(protocol="b"), far.assign(protocol="a")]).sample(frac=1, random_state=1)
    found = detection_ranges(table, 30.0, by=["protocol"])
    assert found.index.names == ["protocol", "detector"]
    for protocol, part in table.groupby("protocol"):
        for detector, rows in part.sort_values("distance").groupby("detector"):
            assert found[protocol, detector] == detection_range(rows["distance"], rows["mtbfa"], 30.0)
    alone = detection_ranges(near, 30.0)
    assert alone.index.tolist() == DETECTORS
    assert alone["averaged flux"] == 0


@pytest.mark.parametrize(
    ("values", "distance"),
    [([8, 8, 8, 1 / 8, 1 / 8, 1 / 8], 3.5), ([1 / 8] * 6, 0), ([8, 8, 1 / 8, 8, 8, 8], math.inf)],
)
def test_ratio_range_is_where_the_smoothed_ratios_fall_to_the_level(values, distance):
    index = pd.MultiIndex.from_product([["paper"], np.arange(1.0, 7.0)], names=["protocol", "distance"])
    assert ratio_range(pd.Series(values, index)) == pytest.approx(distance)


def test_ratio_range_takes_ratios_without_limit_for_a_thousand():
    index = pd.Index([1.0, 2.0, 3.0, 4.0], name="distance")
    limited, without = ([1000, 1000, 0.001, 0.001], [math.inf, math.inf, 0, 0])
    assert ratio_range(pd.Series(without, index), 2.0) == ratio_range(pd.Series(limited, index), 2.0)
