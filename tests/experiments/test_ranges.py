"""Detection ranges: losses and their inverse, mixtures of noises, thresholds, recall at a rate of false alarms."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib import RIGHT_WHALE, propagate
from pcenlib.datasets.right_whale import SimulatedRightWhale
from pcenlib.experiments.ranges import (
    RecallCurve,
    fit_recall,
    mixed_rate,
    path_length,
    path_loss,
    range_interval,
    recall_curves,
    share_found,
    threshold_at_rate,
)

WAY = {"excess": 1.3, "temperature": 15.0, "humidity": 70.0}

# Losses


@pytest.mark.parametrize("distance", [1.0, 60.0, 150.0, 400.0])
def test_loss_is_that_of_a_tone_on_its_way(distance):
    sr, frequency = 22050, 3800.0
    tone = np.sin(2 * np.pi * frequency * np.arange(sr) / sr) * np.hanning(sr)
    arrived = propagate(tone, sr, distance, temperature=15, humidity=70, excess=1.3)
    lost = 10 * np.log10(np.sum(tone**2) / np.sum(arrived**2))
    assert path_loss(distance, frequency, **WAY) == pytest.approx(lost, abs=1e-3)


def test_loss_has_the_shape_of_the_distances():
    distances = np.array([[1.0, 10.0], [100.0, 1000.0]])
    loss = path_loss(distances, 4000.0)
    assert loss.shape == (2, 2)
    assert loss[0, 0] == 0
    assert loss[0, 1] == pytest.approx(20, abs=0.3)


@pytest.mark.parametrize("way", [{}, WAY])
def test_length_undoes_loss(way):
    distances = np.array([3.0, 30.0, 150.0, 333.0, 1000.0])
    assert_allclose(path_length(path_loss(distances, 4000.0, **way), 4000.0, **way), distances, rtol=1e-3)


def test_length_ends_somewhere():
    assert_array_equal(path_length([-5.0, 0.0, 1e6], 4000.0), [1, 1, 5000])


@pytest.mark.parametrize(("distance", "excess"), [(0.5, 0.0), (np.inf, 0.0), (10.0, -1.5)])
def test_losses_refuse_what_is_no_way(distance, excess):
    with pytest.raises(ValueError, match=r"(distance|excess) must be"):
        path_loss(distance, 4000.0, excess=excess)


# Mixtures

RATES = {
    "steady": [[8, 2, 0], [12, 2, 0]],
    "rain": [[110, 52, 10]],
    "clicks": [[20, 12, 6], [30, 12, 2]],
}


def test_a_calm_night_is_the_steady_noise():
    assert_array_equal(mixed_rate(RATES, {}), [10, 2, 0])


def test_noises_add_up():
    assert_allclose(mixed_rate(RATES, {"rain": 0.1, "clicks": 0.5}), [10 + 10 + 7.5, 2 + 5 + 5, 0 + 1 + 2])


def test_always_raining_is_rain():
    assert_allclose(mixed_rate(RATES, {"rain": 1}), [110, 52, 10])


def test_a_mixture_never_rises_and_is_never_negative():
    rates = {"steady": [[5, 3, 1]], "odd": [[0, 4, 0]]}
    assert_allclose(mixed_rate(rates, {"odd": 1}), [0, 0, 0])


def test_redrawn_scenes_scatter_about_the_mean():
    rng = np.random.default_rng(0)
    drawn = np.array([mixed_rate(RATES, {"clicks": 0.5}, rng=rng) for _ in range(400)])
    assert_allclose(drawn.mean(axis=0), mixed_rate(RATES, {"clicks": 0.5}), rtol=0.05)
    assert drawn[:, 0].std() > 0


@pytest.mark.parametrize(
    ("rates", "shares", "message"),
    [(RATES, {"hail": 0.1}, "hail is missing"), ({"steady": [1, 2]}, {}, "shape"), (RATES, {"rain": -1}, "shares")],
)
def test_mixtures_refuse_what_they_cannot_mix(rates, shares, message):
    with pytest.raises(ValueError, match=message):
        mixed_rate(rates, shares)


# Thresholds


def test_threshold_lies_between_neighbours_on_a_logarithmic_scale():
    assert threshold_at_rate(10, [1000, 100, 1], [1, 2, 3]) == pytest.approx(2.5)
    assert threshold_at_rate(100, [1000, 100, 1], [1, 2, 3]) == 2


def test_a_threshold_without_alarms_is_enough():
    assert threshold_at_rate(0.5, [10, 1, 0, 0], [1, 2, 3, 4]) == 3


@pytest.mark.parametrize("rate", [2000, 0.1])
def test_a_rate_must_be_within_those_known(rate):
    with pytest.raises(ValueError, match="rate must be between 1 and 1000"):
        threshold_at_rate(rate, [1000, 100, 1], [1, 2, 3])


def test_rates_must_fall():
    with pytest.raises(ValueError, match="rates fall"):
        threshold_at_rate(1, [1, 2], [1, 2])


# Recall


def test_finds_the_level_that_half_of_the_calls_need():
    rng = np.random.default_rng(0)
    levels = rng.uniform(20, 70, (60, 10))
    values = levels + rng.logistic(0, 2, levels.shape)  # exceeds a threshold by a logistic curve of scale 2
    thresholds = np.arange(30.0, 60)
    rates = {"steady": np.exp(45 - thresholds)[np.newaxis].repeat(5, axis=0)}
    options = {"rate": 1.0, "shares": {}, "n_draws": 30}
    curves = recall_curves(levels, values, rates, thresholds, rng=rng, **options)
    assert len(curves) == 31
    assert all(isinstance(curve, RecallCurve) for curve in curves)
    halves = np.array([curve.half for curve in curves])
    assert halves[0] == pytest.approx(45, abs=0.7)
    assert 0.05 < halves[1:].std() < 0.7


def test_more_false_alarms_make_softer_calls_heard():
    rng = np.random.default_rng(1)
    levels = rng.uniform(20, 70, (40, 10))
    values = levels + rng.logistic(0, 2, levels.shape)
    thresholds = np.arange(30.0, 60)
    rates = {"steady": np.exp(45 - thresholds)[np.newaxis]}
    strict, lax = (
        recall_curves(levels, values, rates, thresholds, rate=rate, shares={}, n_draws=0, rng=rng)[0]
        for rate in (1.0, np.exp(5))
    )
    assert strict.half - lax.half == pytest.approx(5, abs=1)


def test_a_seed_is_as_good_as_a_generator():
    levels = np.random.default_rng(1).uniform(20, 70, (10, 5))
    case = levels, levels + np.sin(levels), {"steady": [[9.0, 1.0, 0.1]]}, [30.0, 45.0, 60.0]
    options = {"rate": 1.0, "shares": {}, "n_draws": 3}
    assert recall_curves(*case, rng=7, **options) == recall_curves(*case, rng=np.random.default_rng(7), **options)


def test_an_interval_of_ranges_is_that_of_the_levels():
    curves = [RecallCurve(half, 2.0) for half in (40.0, *np.linspace(38, 42, 41))]
    distance, low, high = range_interval(curves, 90.0, 3800.0, **WAY)
    assert distance == path_length(50.0, 3800.0, **WAY)
    assert path_length(48.0, 3800.0, **WAY) < low < path_length(48.3, 3800.0, **WAY)
    assert path_length(51.7, 3800.0, **WAY) < high < path_length(52.0, 3800.0, **WAY)


def test_calls_and_values_must_match():
    with pytest.raises(ValueError, match="levels and values"):
        recall_curves(
            [[1.0]], [[1.0, 2.0]], RATES, [1, 2, 3], rate=1, shares={}, n_draws=0, rng=np.random.default_rng()
        )


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


# Whales


def test_fewer_up_calls_are_found_from_farther_away():
    whales = SimulatedRightWhale(n_bins=2, n_days=4, n_calls=3)
    distances = (1000.0, 5000.0, 20000.0)
    shares = share_found(whales, distances, setting=RIGHT_WHALE, threshold=2.35)
    assert shares.shape == (3,)
    assert list(shares) == sorted(shares, reverse=True)
    assert_allclose(shares * 12 % 1, 0, atol=1e-9)  # of the twelve in the nearest bin
    assert_array_equal(share_found(whales, distances, setting=RIGHT_WHALE, threshold=0.0), 1)
    assert_array_equal(share_found(whales, distances, setting=RIGHT_WHALE, threshold=99.0), 0)


def test_up_calls_are_found_as_far_away_as_a_buoy_and_a_glider_found_recorded_ones():
    # Johnson et al. (2022): a probability of 0.33 at 6.2 km for a buoy and at 8.6 to 13.4 km for a glider, of 0.10 at
    # 14.4 km and at 22.6 to 27.5 km. The threshold is that of about one false alarm a minute.
    whales = SimulatedRightWhale(seed=0, n_bins=1, n_days=25, n_calls=4)
    near, middle, far = share_found(whales, (6200.0, 13400.0, 27500.0), setting=RIGHT_WHALE, threshold=2.35)
    assert near > 0.3
    assert 0.1 < middle < 0.33
    assert far < 0.15
