"""Threshold at a recall, mean time between false alarms, chance level."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcenlib import chance_mtbfa, mtbfa, threshold_at_recall
from pcenlib.evaluation import exceedance

VALUES = st.lists(st.floats(-1e3, 1e3) | st.integers(-2, 2), min_size=1, max_size=30)

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
