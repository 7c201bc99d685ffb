"""Threshold at a recall, counts of alarms, mean time between false alarms, chance level."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from pcenlib import chance_mtbfa, mtbfa, threshold_at_recall
from pcenlib.core.evaluation import Counts, count_exceedances, exceedance, format_mtbfa, merge_counts, poisson_interval

VALUES = st.lists(st.floats(-1e3, 1e3) | st.integers(-2, 2), min_size=1, max_size=30)
THRESHOLDS = st.lists(st.floats(-1e3, 1e3) | st.integers(-2, 2), min_size=1, max_size=5)
COUNTING = st.sampled_from(["frames", "peaks"])

# Stage one


@pytest.mark.parametrize(
    ("values", "recall", "threshold"),
    [
        ([3, 1, 2], 0.5, 2),
        ([4, 1, 3, 2], 0.5, 2.5),
        ([1, 2, 2, 2], 0.5, 2),  # ties
        ([1, 1, 2, 3], 0.5, 1.5),
        ([7, 7, 7], 0.5, 7),
        ([7], 0.5, 7),
        ([1, 2, 3, 4], 0.0, 4),
        ([1, 2, 3, 4], 1.0, 1),
        ([1, 2, 3, 4], 0.75, 1.5),
        ([0, 1], 0.9, 0),
        ([1, 2, 3, 4, 5], 0.9, 1),
    ],
)
def test_threshold_by_hand(values, recall, threshold):
    assert threshold_at_recall(values, recall) == threshold


@given(VALUES)
def test_default_threshold_is_the_median(values):
    assert threshold_at_recall(values) == pytest.approx(np.median(values))


@given(VALUES)
def test_the_lower_threshold_is_that_of_the_released_code(values):
    assert threshold_at_recall(values, lower=True) == sorted(values, reverse=True)[len(values) // 2]


@pytest.mark.parametrize(
    ("values", "recall", "threshold"),
    [([4, 1, 3, 2], 0.5, 2), ([3, 1, 2], 0.5, 2), ([1, 2, 3, 4], 0.75, 1), ([7], 0.5, 7)],
)
def test_lower_threshold_by_hand(values, recall, threshold):
    assert threshold_at_recall(values, recall, lower=True) == threshold


@given(VALUES, st.floats(0, 1))
def test_the_lower_threshold_is_one_of_the_values_and_finds_the_recall(values, recall):
    threshold = threshold_at_recall(values, recall, lower=True)
    assert threshold in values
    assert threshold <= threshold_at_recall(values, recall) + 1e-12
    assert np.mean(np.array(values) >= threshold) >= recall - 1e-12


@given(VALUES, st.floats(0, 1))
def test_the_share_of_calls_above_the_threshold_is_the_recall(values, recall):
    threshold = threshold_at_recall(values, recall)
    assert np.mean(np.array(values) > threshold) <= recall + 1e-12
    assert np.mean(np.array(values) >= threshold) >= recall - 1e-12


@given(VALUES, st.floats(0, 1), st.floats(0, 1))
def test_more_recall_needs_a_lower_threshold(values, a, b):
    assert threshold_at_recall(values, max(a, b)) <= threshold_at_recall(values, min(a, b))


@given(VALUES, st.randoms(use_true_random=False))
def test_the_order_of_the_calls_does_not_matter(values, random):
    shuffled = random.sample(values, len(values))
    assert threshold_at_recall(shuffled) == threshold_at_recall(values)


# Stage two


@pytest.mark.parametrize(
    ("values", "frames", "peaks"),
    [
        ([0, 0, 0, 0], 0, 0),
        ([1, 1, 1, 1], 0, 0),  # at the threshold is not above it
        ([2, 2, 2, 2], 4, 1),
        ([2], 1, 1),
        ([2, 0, 0, 0], 1, 1),
        ([0, 0, 0, 2], 1, 1),
        ([2, 2, 0, 2], 3, 2),  # runs at both borders
        ([0, 2, 3, 0, 2, 0], 3, 2),
        ([2, 1, 2, 1, 2], 3, 3),
    ],
)
def test_alarms_by_hand(values, frames, peaks):
    for count, alarms in {"frames": frames, "peaks": peaks}.items():
        expected = len(values) * 0.5 / alarms if alarms else math.inf
        assert mtbfa(values, 1, hop=0.5, count=count) == expected
    assert mtbfa(values, 1, hop=0.5) == mtbfa(values, 1, hop=0.5, count="frames")


@given(VALUES, st.floats(-1e3, 1e3))
def test_alarms_are_counted_as_in_a_loop(values, threshold):
    frames = peaks = 0
    below = True
    for value in values:
        frames += value > threshold
        peaks += value > threshold and below
        below = value <= threshold
    for count, alarms in {"frames": frames, "peaks": peaks}.items():
        time = mtbfa(values, threshold, hop=0.064, count=count)
        assert time == (pytest.approx(len(values) * 0.064 / alarms) if alarms else math.inf)


@given(VALUES, st.floats(-1e3, 1e3), st.floats(1e-3, 10))
def test_time_is_proportional_to_the_hop(values, threshold, hop):
    assert mtbfa(values, threshold, hop=hop) == pytest.approx(hop * mtbfa(values, threshold, hop=1.0))


# All thresholds of all detectors at the same time


@pytest.mark.parametrize(
    ("values", "frames", "peaks"),
    [
        ([1, 1, 1], (0, 3, 0, 3), (0, 1, 0, 1)),  # all equal, and equal to a threshold
        ([0, 0, 0], (0, 0, 0, 0), (0, 0, 0, 0)),  # no false alarm
        ([3, 3, 3], (3, 3, 3, 3), (1, 1, 1, 1)),  # all frames are
        ([3], (1, 1, 1, 1), (1, 1, 1, 1)),
        ([3, 1, 3], (2, 3, 2, 3), (2, 1, 2, 1)),
        ([0, 3, 1, 0, 1], (1, 3, 1, 3), (1, 2, 1, 2)),
    ],
)
def test_counts_by_hand(values, frames, peaks):
    thresholds = {"flux": [2, 0, 1, 0]}  # in no order, and one of them twice
    assert count_exceedances([{"flux": values}], thresholds) == Counts(len(values), {"flux": frames})
    assert count_exceedances([{"flux": values}], thresholds, count="peaks") == Counts(len(values), {"flux": peaks})


@pytest.mark.parametrize(
    ("blocks", "frames", "peaks"),
    [
        ([[2], [2]], 2, 1),  # a peak across a border
        ([[0, 2], [2, 0]], 2, 1),
        ([[0, 2], [0, 2]], 2, 2),  # one that ends at a border
        ([[2, 0], [2, 0]], 2, 2),  # one that starts there
        ([[2], [0], [2]], 2, 2),
        ([[2], [2], [2]], 3, 1),  # one that spans a whole block
        ([[2], [], [2]], 2, 1),  # nothing between
        ([[], [2]], 1, 1),
    ],
)
def test_peaks_at_block_borders_by_hand(blocks, frames, peaks):
    blocks = [{"flux": block} for block in blocks]
    assert count_exceedances(blocks, {"flux": [1]}).alarms == {"flux": (frames,)}
    assert count_exceedances(blocks, {"flux": [1]}, count="peaks").alarms == {"flux": (peaks,)}


@given(VALUES, THRESHOLDS, COUNTING)
def test_all_thresholds_together_count_as_each_by_itself(values, thresholds, count):
    counts = count_exceedances([{"flux": values}], {"flux": thresholds}, count=count)
    for threshold, alarms in zip(thresholds, counts.alarms["flux"], strict=True):
        assert mtbfa(values, threshold, hop=1, count=count) == (len(values) / alarms if alarms else math.inf)


@given(VALUES, THRESHOLDS, COUNTING, st.sets(st.integers(0, 30)))
def test_any_split_into_blocks_gives_the_same_counts(values, thresholds, count, cuts):
    values = {"flux": np.array(values), "pcen": -np.array(values)}
    thresholds = {"pcen": thresholds, "flux": [*thresholds, 0]}
    blocks = [
        {name: array[begin:end] for name, array in values.items()}
        for begin, end in itertools.pairwise([0, *sorted(cuts), 31])
    ]
    whole = count_exceedances([values], thresholds, count=count)
    assert count_exceedances(iter(blocks), thresholds, count=count) == whole
    assert list(whole.alarms) == ["pcen", "flux"]


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=4), THRESHOLDS, COUNTING)
def test_merged_counts_do_not_depend_on_order_or_grouping(recordings, thresholds, count):
    recordings = [
        count_exceedances([{"flux": first}, {"flux": second}], {"flux": thresholds}, count=count)
        for first, second in recordings
    ]
    total = merge_counts(recordings)
    assert merge_counts(reversed(recordings)) == total
    assert merge_counts([recordings[0], *([merge_counts(recordings[1:])] if recordings[1:] else [])]) == total
    assert total.n_frames == sum(counts.n_frames for counts in recordings)


def test_peaks_are_not_joined_across_recordings():
    one = count_exceedances([{"flux": [2, 2]}], {"flux": [1]}, count="peaks")
    assert (one + one).alarms == {"flux": (2,)}


def test_thresholds_are_compared_in_double_precision():
    value = np.float32(0.1)  # slightly above 0.1
    assert count_exceedances([{"flux": [value]}], {"flux": [0.1]}).alarms == {"flux": (1,)}


def test_infinite_thresholds_are_exceeded_always_and_never():
    assert count_exceedances([{"flux": [1, 2]}], {"flux": [-math.inf, math.inf]}).alarms == {"flux": (2, 0)}


def test_memory_is_that_of_one_block():
    def peak(n_blocks):
        tracemalloc.start()
        blocks = ({"flux": np.full(10_000, i % 3)} for i in range(n_blocks))
        assert count_exceedances(blocks, {"flux": np.linspace(-1, 3, 100)}, count="peaks").n_frames == 10_000 * n_blocks
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    peak(2)
    assert peak(200) < 1.2 * peak(2)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.0 ms"),
        (0.0231, "23 ms"),
        (0.69, "690 ms"),
        (1.009, "1.0 s"),
        (9.96, "10 s"),
        (12, "12 s"),
        (59.4, "59 s"),
        (204, "3.4 min"),
        (6000, "1.7 h"),
        (99_720, "28 h"),
        (3.6e6, "1000 h"),
        (math.inf, "> 1.7 h"),
    ],
)
def test_times_in_words(seconds, text):
    assert format_mtbfa(seconds, 6000) == text


# Confidence


@pytest.mark.parametrize(
    ("count", "low", "high"),
    [(0, 0, 3.6889), (1, 0.0253, 5.5716), (2, 0.2422, 7.2247), (10, 4.7954, 18.3904), (100, 81.364, 121.627)],
)
def test_garwood_against_published_values(count, low, high):
    assert poisson_interval(count) == pytest.approx((low, high), abs=1e-3)


@given(st.integers(1, 10**6), st.floats(0.5, 0.999))
def test_garwood_has_half_of_the_error_in_each_tail(count, confidence):
    low, high = poisson_interval(count, confidence=confidence)
    assert scipy.stats.poisson.sf(count - 1, low) == pytest.approx((1 - confidence) / 2, rel=1e-6)
    assert scipy.stats.poisson.cdf(count, high) == pytest.approx((1 - confidence) / 2, rel=1e-6)


@pytest.mark.parametrize("expected", [0.5, 3, 20])
def test_the_interval_covers_the_truth_at_least_as_often_as_it_says(expected):
    low, high = poisson_interval(np.random.default_rng(0).poisson(expected, 20_000), confidence=0.9)
    assert np.mean((low <= expected) & (expected <= high)) > 0.9 - 4 * math.sqrt(0.09 / 20_000)


# Share above thresholds


@given(VALUES, st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=5))
def test_exceedance_is_the_share_of_values_strictly_above(values, thresholds):
    expected = [np.mean(np.array(values) > threshold) for threshold in thresholds]
    assert exceedance(values, thresholds) == pytest.approx(np.array(expected))
    assert exceedance(values, values).max() < 1  # at the threshold is not above it


@given(VALUES, st.floats(-1e3, 1e3))
def test_exceedance_is_the_hop_over_the_time_between_false_alarms(values, threshold):
    assert exceedance(values, threshold) * mtbfa(values, -2e3, hop=1) == pytest.approx(
        1 / mtbfa(values, threshold, hop=1)
    )


def test_exceedance_keeps_the_shape_of_the_thresholds_alone():
    assert exceedance(np.ones((2, 3)), np.zeros((4, 1))).shape == (4, 1)
    assert exceedance([1, 2], [-np.inf, np.inf]).tolist() == [1, 0]


# Chance


def test_half_of_all_clips_contain_an_alarm_of_a_poisson_process_at_chance():
    rng = np.random.default_rng(0)
    duration, n_clips = 0.7, 100_000
    total = n_clips * duration
    n_alarms = rng.poisson(total / chance_mtbfa(duration))
    hit = np.unique((rng.uniform(0, total, n_alarms) / duration).astype(int))
    assert hit.size / n_clips == pytest.approx(0.5, abs=4 * 0.5 / math.sqrt(n_clips))


def test_a_detector_that_knows_nothing_is_at_chance():
    # Frames of the same noise in calls and in recordings. The threshold's relative error on 1 / lambda is that of the
    # share of clips found, (1 / (2 sqrt n)) / (ln(2) / 2), and the count of the alarms adds 1 / sqrt(alarms).
    rng = np.random.default_rng(0)
    hop, frames, n_clips, n_frames = 0.01, 200, 5000, 2_000_000
    threshold = threshold_at_recall(rng.standard_normal((n_clips, frames)).max(axis=1))
    time = mtbfa(rng.standard_normal(n_frames), threshold, hop=hop)
    error = math.hypot(1 / (math.log(2) * math.sqrt(n_clips)), math.sqrt(time / (n_frames * hop)))
    assert time == pytest.approx(chance_mtbfa(frames * hop), rel=4 * error)


def test_chance_by_hand():
    assert chance_mtbfa(math.log(2)) == 1
    assert chance_mtbfa(2.0) == pytest.approx(2.885, abs=1e-3)


# Bad input


@pytest.mark.parametrize("values", [[], [np.nan, 1], [np.inf, 1], [1j], ["1"], None])
def test_bad_values_are_refused(values):
    with pytest.raises(ValueError, match=r"^values must"):
        threshold_at_recall(values)
    with pytest.raises(ValueError, match=r"^values must"):
        mtbfa(values, 1, hop=1)
    with pytest.raises(ValueError, match=r"^values must"):
        exceedance(values, 1)


@pytest.mark.parametrize("thresholds", [[np.nan, 1], "1", None])
def test_bad_thresholds_are_refused(thresholds):
    with pytest.raises(ValueError, match=r"^thresholds must"):
        exceedance([1, 2], thresholds)


@pytest.mark.parametrize("values", [1.0, [[1.0, 2.0]]])
def test_a_recording_has_one_axis(values):
    with pytest.raises(ValueError, match=r"^values must have shape \(frame,\)"):
        mtbfa(values, 1, hop=1)


@pytest.mark.parametrize("recall", [-0.1, 1.1, np.nan, "0.5", 50])
def test_bad_recall_is_refused(recall):
    with pytest.raises(ValueError, match=r"^recall must"):
        threshold_at_recall([1, 2], recall)


@pytest.mark.parametrize(
    ("name", "value"),
    [("threshold", np.nan), ("threshold", "1"), ("hop", 0), ("hop", np.inf), ("count", "runs"), ("count", None)],
)
def test_bad_counting_is_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name} must"):
        mtbfa(**{"values": [1, 2], "threshold": 1, "hop": 1, name: value})


@pytest.mark.parametrize("duration", [0, -1, np.nan, np.inf, "1"])
def test_bad_clip_duration_is_refused(duration):
    with pytest.raises(ValueError, match=r"^clip_duration must"):
        chance_mtbfa(duration)


@pytest.mark.parametrize(
    ("blocks", "thresholds", "message"),
    [
        ([], {"flux": [1]}, "blocks must hold at least one frame"),
        ([{"flux": []}], {"flux": [1]}, "blocks must hold at least one frame"),
        ([{"pcen": [1]}], {"flux": [1]}, "blocks must hold every detector .* flux is missing"),
        ([{"flux": [1], "pcen": [1, 2]}], {"flux": [1], "pcen": [1]}, "blocks must hold values of shape"),
        ([{"flux": [[1]]}], {"flux": [1]}, "blocks must hold values of shape"),
        ([{"flux": [np.nan]}], {"flux": [1]}, "blocks must be finite"),
        ([{"flux": ["1"]}], {"flux": [1]}, "blocks must hold real numbers"),
        ([{"flux": [1]}], {}, "thresholds must hold at least one detector"),
        ([{"flux": [1]}], {"flux": 1}, "thresholds must hold at least one detector, and for each an array of shape"),
        ([{"flux": [1]}], {"flux": [np.nan]}, "thresholds must be numbers"),
    ],
)
def test_bad_blocks_and_thresholds_are_refused(blocks, thresholds, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        count_exceedances(blocks, thresholds)


def test_bad_merges_are_refused():
    with pytest.raises(ValueError, match=r"^count must be 'frames' or 'peaks'"):
        count_exceedances([{"flux": [1]}], {"flux": [1]}, count="runs")
    with pytest.raises(ValueError, match=r"^counts must hold at least one recording"):
        merge_counts([])
    with pytest.raises(ValueError, match=r"^counts must be of the same thresholds"):
        Counts(1, {"flux": [1]}) + Counts(1, {"flux": [1, 2]})


@pytest.mark.parametrize(("count", "confidence"), [(-1, 0.9), (np.nan, 0.9), ("1", 0.9), (1, 0), (1, 95)])
def test_bad_intervals_are_refused(count, confidence):
    with pytest.raises(ValueError, match=r"^(count|confidence) must"):
        poisson_interval(count, confidence=confidence)


@pytest.mark.parametrize(("seconds", "duration"), [(-1, 1), (np.nan, 1), (1, 0), (1, math.inf)])
def test_bad_times_are_refused(seconds, duration):
    with pytest.raises(ValueError, match=r"^(seconds|duration) must"):
        format_mtbfa(seconds, duration)
