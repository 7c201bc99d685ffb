"""Measurements of ships, and the stored ones of recorded passages."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcenlib.experiments import stored
from pcenlib.simulation import noises
from pcenlib.simulation.measurements import MODULATION_RATES, THIRD_OCTAVES, measure_ship

SR = 2000


def noise(*, slope=0.0, rate=None, depth=0.0, seconds=20, sr=SR, seed=0):
    """Noise whose amplitude swings at a rate."""
    x = noises.noise(seconds * sr, sr, np.random.default_rng(seed), slope=slope)
    return x if rate is None else x * (1 + depth * np.cos(2 * np.pi * rate * np.arange(x.size) / sr))


@given(slope=st.floats(-8, 3), seed=st.integers(0, 100))
def test_slope_is_that_of_the_noise(slope, seed):
    assert measure_ship(noise(slope=slope, seed=seed), SR).slope == pytest.approx(slope, abs=0.5)


@given(rate=st.sampled_from(MODULATION_RATES[4:]), seed=st.integers(0, 100))
def test_rate_of_a_deep_modulation_is_found_and_stands_out(rate, seed):
    found = measure_ship(noise(slope=-4, rate=rate, depth=0.7, seed=seed), SR)
    assert found.rate == pytest.approx(rate, abs=0.5)
    assert found.excess > 12


def test_deeper_modulation_stands_out_further():
    excesses = [measure_ship(noise(rate=7, depth=depth), SR).excess for depth in (0.1, 0.2, 0.4, 0.8)]
    assert excesses == sorted(excesses)


def test_steady_noise_has_no_rhythm():
    assert max(measure_ship(noise(seed=seed), SR).excess for seed in range(10)) < 6


def test_levels_are_over_their_mean_and_modulation_over_its_median():
    found = measure_ship(noise(slope=-4, rate=5, depth=0.5), SR)
    assert found.levels.shape == THIRD_OCTAVES.shape
    assert np.mean(10 ** (found.levels / 10)) == pytest.approx(1)
    assert found.modulation.shape == MODULATION_RATES.shape
    assert np.median(found.modulation) == 0
    assert found.modulation.max() == found.excess


def test_gain_and_sample_rate_do_not_matter():
    x = noise(slope=-4, rate=5, depth=0.5, sr=8000)
    one, other = measure_ship(x, 8000), measure_ship(30 * x, 8000)
    assert other.levels == pytest.approx(one.levels)
    assert other.modulation == pytest.approx(one.modulation)
    assert (one.rate, one.slope) == (5, pytest.approx(-4, abs=0.5))


def test_a_tone_and_a_slam_hardly_matter():
    x = noise(slope=-4, rate=6, depth=0.4)
    with_both = x + 5 * np.sin(2 * np.pi * 250 * np.arange(x.size) / SR)
    with_both[20000:20040] += 50
    found = measure_ship(with_both, SR)
    assert found.rate == 6
    assert found.excess > 12


@pytest.mark.parametrize(
    ("x", "sr", "message"),
    [
        (np.ones((2, 9000)), SR, "shape"),
        (np.ones(9000), 1000, "sr"),
        (np.ones(7000), SR, "duration of x"),
    ],
)
def test_refuses(x, sr, message):
    with pytest.raises(ValueError, match=message):
        measure_ship(x, sr)


def test_stored_passages_have_every_column_that_the_chapter_shows():
    table = stored.load("ship-passages").table
    assert len(table) == 15
    assert table.filter(like="level_").shape[1] == THIRD_OCTAVES.size
    assert table.filter(like="modulation_").shape[1] == MODULATION_RATES.size
    assert (table["excess"] == table.filter(like="modulation_").max(axis=1)).all()


def test_ships_are_fitted_to_the_recorded_passages():
    table = stored.load("ship-passages").table
    rng, found = np.random.default_rng(0), []
    for number, ship in enumerate(noises.ships(180, rng)):
        n_samples = round(SR * table["duration"].iloc[number % len(table)])
        found.append(measure_ship(noises.ship_noise(n_samples, SR, rng, ship=ship), SR))
    excess, rate = (np.array([getattr(ship, name) for ship in found]) for name in ("excess", "rate"))
    assert np.median([ship.slope for ship in found]) == pytest.approx(np.median(table["slope"]), abs=0.5)
    shares = [0.25, 0.5, 0.75]
    assert np.quantile(excess, shares) == pytest.approx(np.quantile(table["excess"], shares), abs=1.5)
    assert np.mean(rate < 5) == pytest.approx(np.mean(table["rate"] < 5), abs=0.15)
    recorded = np.median(table.filter(like="modulation_"), axis=0)
    simulated = np.median([ship.modulation for ship in found], axis=0)
    for low in range(4):  # in steps of 5 Hz
        inside = np.floor(MODULATION_RATES / 5) == low
        assert np.mean(simulated[inside]) == pytest.approx(np.mean(recorded[inside]), abs=1)
