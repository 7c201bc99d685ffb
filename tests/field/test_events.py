"""From frames to events: by hand, by a slower way, and however the recording is cut into blocks."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from pcenlib.core.evaluation import count_exceedances
from pcenlib.field.events import (
    Run,
    contrast,
    end_of_event,
    match,
    moving_maximum,
    moving_mean,
    peak_bands,
    runs,
    settled,
)

functions = arrays(np.float64, st.integers(1, 60), elements=st.integers(0, 5).map(float))
gaps = st.integers(1, 8)


def cut(values, sizes):
    """Values in blocks of these sizes, over and over."""
    blocks, begin = [], 0
    while begin < len(values):
        size = sizes[len(blocks) % len(sizes)]
        blocks.append(values[begin : begin + size])
        begin += size
    return blocks


def by_the_frame(values, threshold, gap, longest):
    """The same as `runs`, frame by frame."""
    found = []
    for frame, value in enumerate(values):
        if value <= threshold:
            continue
        if not found or frame - found[-1][-1] > gap or frame - found[-1][0] >= longest:
            found.append([])
        found[-1].append(frame)
    peaks = [max(frames, key=lambda frame: values[frame]) for frames in found]
    return [Run(frames[0], frames[-1], peak, values[peak]) for frames, peak in zip(found, peaks, strict=True)]


# Runs


@given(functions, gaps, st.integers(1, 30), st.lists(st.integers(1, 20), min_size=1, max_size=5))
def test_runs_are_those_found_by_the_frame_in_blocks_of_any_size(values, gap, longest, sizes):
    expected = by_the_frame(values, 2, gap, longest)
    assert list(runs([values], 2, gap=gap, longest=longest)) == expected
    assert list(runs(cut(values, sizes), 2, gap=gap, longest=longest)) == expected


def test_runs_by_hand():
    values = [0, 3, 1, 1, 4, 0, 0, 0, 9]
    assert list(runs([values], 2, gap=3, longest=100)) == [Run(1, 4, 4, 4), Run(8, 8, 8, 9)]
    assert list(runs([values], 2, gap=2, longest=100)) == [Run(1, 1, 1, 3), Run(4, 4, 4, 4), Run(8, 8, 8, 9)]
    assert list(runs([values], 2, gap=4, longest=4)) == [Run(1, 4, 4, 4), Run(8, 8, 8, 9)]
    assert list(runs([values], 2, gap=4, longest=3)) == [Run(1, 1, 1, 3), Run(4, 4, 4, 4), Run(8, 8, 8, 9)]
    assert list(runs([values], 9, gap=1, longest=1)) == []
    assert list(runs([], 9, gap=1, longest=1)) == []


def test_a_run_is_given_as_soon_as_it_is_over():
    blocks = iter([[0, 5, 0], [0, 0, 0], [0, 0, 0]])
    assert next(runs(blocks, 1, gap=3, longest=9)) == Run(1, 1, 1, 5)
    assert len(list(blocks)) == 1


@given(functions, gaps, st.lists(st.integers(1, 20), min_size=1, max_size=5))
def test_a_moving_maximum_has_one_run_for_each(values, gap, sizes):
    thresholds = [0.5, 1.5, 2.5, 3.5, 4.5]
    blocks = ({"f": block} for block in moving_maximum(cut(values, sizes), gap))
    counts = count_exceedances(blocks, {"f": thresholds}, count="peaks").alarms["f"]
    assert list(counts) == [len(list(runs([values], one, gap=gap, longest=1000))) for one in thresholds]


@given(functions, gaps)
def test_a_moving_maximum_by_hand(values, gap):
    (maximum,) = moving_maximum([values], gap)
    assert_array_equal(maximum, [values[max(0, t - gap + 1) : t + 1].max() for t in range(len(values))])


@given(st.lists(st.integers(1, 20), min_size=1, max_size=5), st.floats(0.05, 1))
def test_the_first_frames_are_not_searched_in_blocks_of_any_size(sizes, s):
    values = np.concatenate(list(settled(cut(np.ones(70), sizes), s=s)))
    n = math.ceil(3 / s)
    assert_array_equal(values, [0] * n + [1] * (70 - n))


# Contrast and bands


def test_contrast_is_in_decibels_of_magnitude():
    for ratio in (0.5, 1, 10, 123):
        assert_allclose(contrast(math.log1p(ratio)), 20 * math.log10(ratio), atol=1e-12)


def test_bands_of_a_peak_by_hand():
    assert peak_bands([1.0]) == slice(0, 1)
    assert peak_bands([5, 6, 10, 8, 2, 9]) == slice(1, 4)
    assert peak_bands([10, 6, 2]) == slice(0, 2)
    assert peak_bands([2, 6, 10]) == slice(1, 3)


# The end of an event


def power(duration, *, before=200, after=200, loud=100.0):
    return np.concatenate([np.ones(before), np.full(duration, loud), np.ones(after)])


@pytest.mark.parametrize("duration", [1, 10, 100])
@pytest.mark.parametrize("gap", [1, 20, 60])
def test_an_event_ends_with_its_sound_although_the_function_peaks_at_its_onset(duration, gap):
    end = end_of_event(power(duration), Run(200, 200, 200, 3.0), gap=gap, complete=True)
    early = gap / 9  # when less of the gap than this is loud, its mean is less than ten times the power before
    assert 200 + duration - early - 1 <= end <= 200 + max(1, duration)


def test_a_pause_shorter_than_the_gap_does_not_end_an_event_and_a_longer_one_does():
    sound = np.concatenate([np.ones(200), np.full(50, 100.0), np.ones(30), np.full(50, 100.0), np.ones(200)])
    run = Run(200, 200, 200, 3.0)
    assert end_of_event(sound, run, gap=40, complete=True) == pytest.approx(330, abs=4)
    assert end_of_event(sound, run, gap=20, complete=True) == pytest.approx(250, abs=2)


@pytest.mark.parametrize(("after", "expected"), [(9.9, 210), (10.1, None)])
def test_an_event_ends_half_of_the_way_back_in_decibels(after, expected):
    sound = np.concatenate([np.ones(200), np.full(10, 100.0), np.full(500, after)])
    assert end_of_event(sound, Run(200, 200, 200, 3.0), gap=1, complete=False) == expected


@pytest.mark.parametrize(("after", "expected"), [(1.9, 210), (2.1, None)])
def test_a_faint_event_ends_within_three_decibels(after, expected):
    sound = np.concatenate([np.ones(200), np.full(10, 3.0), np.full(500, after)])
    assert end_of_event(sound, Run(200, 200, 200, 3.0), gap=1, complete=False) == expected


def test_half_of_the_way_is_from_the_loudest_part_of_the_event():
    sound = np.concatenate([np.ones(200), np.full(10, 5.0), np.full(10, 10000.0), np.full(10, 50.0), np.ones(100)])
    assert end_of_event(sound, Run(200, 200, 200, 3.0), gap=1, complete=True) == 220


def test_the_power_before_is_a_median_that_an_earlier_call_does_not_lift():
    sound = power(50)
    sound[20:60] = 100
    assert end_of_event(sound, Run(200, 200, 200, 3.0), gap=20, complete=True) == pytest.approx(250, abs=2)


@pytest.mark.parametrize("seed", range(5))
def test_noise_does_not_keep_an_event_going(seed):
    rng = np.random.default_rng(seed)
    sound = power(100, after=2000, loud=50.0) * rng.exponential(size=2300)
    end = end_of_event(sound, Run(200, 202, 201, 3.0), gap=40, complete=False)
    assert 290 <= end <= 302


def test_without_an_end_in_sight_more_is_needed_unless_the_recording_ends():
    sound, run = np.concatenate([np.ones(200), np.full(50, 100.0)]), Run(200, 200, 200, 3.0)
    assert end_of_event(sound, run, gap=20, complete=False) is None
    assert end_of_event(sound[:205], run, gap=20, complete=False) is None
    assert end_of_event(sound, run, gap=20, complete=True) == pytest.approx(250, abs=2)
    assert end_of_event(sound[:201], run, gap=20, complete=True) == 201


def test_a_loud_sound_long_before_does_not_blur_the_silence_around_an_event():
    rng = np.random.default_rng(0)
    loud, call = 1e6 * rng.random(300), 1e-3 * rng.random(50)
    sound = np.concatenate([loud, np.full(2000, 1e-12), call, np.full(3000, 1e-12)])
    end = end_of_event(sound, Run(2300, 2300, 2300, 3.0), gap=20, complete=True)
    assert 2340 <= end <= 2350


@given(arrays(np.float64, st.integers(0, 60), elements=st.floats(0, 1e9)), st.integers(1, 30))
def test_a_moving_mean_is_that_of_each_window(values, width):
    expected = [values[i : i + width].mean() for i in range(len(values) - width + 1)]
    assert_allclose(moving_mean(values, width), expected, rtol=1e-12)


def test_a_short_time_before_is_enough():
    assert end_of_event(power(50, before=3), Run(3, 3, 3, 3.0), gap=20, complete=True) == pytest.approx(53, abs=2)


# Matching


def test_matching_by_hand():
    correct, recalled = match([1, 2, 3, 8], [1.2, 2.9, 3.1, 5], tolerance=0.25)
    assert correct.tolist() == [True, False, True, False]
    assert recalled.tolist() == [True, True, False, False]
    for found, truth in [([], [1.0]), ([1.0], []), ([], [])]:
        correct, recalled = match(found, truth, tolerance=1)
        assert (correct.size, recalled.size) == (len(found), len(truth))
        assert not correct.any()
        assert not recalled.any()


@given(st.lists(st.integers(0, 30), max_size=8), st.lists(st.integers(0, 30), max_size=8), st.integers(0, 5))
def test_as_many_as_possible_have_a_partner(found, truth, tolerance):
    found, truth = np.sort(found), np.sort(truth)
    correct, recalled = match(found, truth, tolerance=tolerance)
    near = np.abs(np.subtract.outer(found, truth)) <= tolerance if found.size and truth.size else np.zeros((1, 1), bool)
    pairs = maximum_bipartite_matching(csr_array(near.astype(int)))
    assert correct.sum() == recalled.sum() == (pairs >= 0).sum()


# Bad input


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda: list(runs([[1]], math.nan, gap=1, longest=1)), "threshold must"),
        (lambda: list(runs([[1]], 1, gap=0, longest=1)), "gap must"),
        (lambda: list(runs([[1]], 1, gap=1, longest=0)), "longest must"),
        (lambda: list(moving_maximum([[1]], 0)), "gap must"),
        (lambda: list(settled([[1]], s=0)), "s must"),
        (lambda: contrast(0), "score must"),
        (lambda: match([1, 0], [1], tolerance=1), "found must be increasing"),
        (lambda: match([1], [[1]], tolerance=1), "truth must be increasing"),
        (lambda: match([1], [1], tolerance=-1), "tolerance must"),
        (lambda: end_of_event(np.ones(9), Run(0, 1, 1, 2.0), gap=1, complete=True), "run must lie inside the 9 frames"),
        (lambda: end_of_event(np.ones(9), Run(5, 9, 5, 2.0), gap=1, complete=True), "run must lie inside the 9 frames"),
        (lambda: end_of_event(np.ones(9), Run(5, 6, 5, 2.0), gap=0, complete=True), "gap must"),
    ],
)
def test_bad_arguments_are_refused(function, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        function()
