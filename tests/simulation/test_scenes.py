"""Nights and seas: levels, shares and arrivals."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib.simulation.acoustics import propagate_in_sea
from pcenlib.simulation.scenes import Night, Sea, mixed, pascals

SR = 22050
NOISES = ("background", "self_noise", "wind", "rain", "insects", "clicks")
QUIET = Night(**dict.fromkeys(NOISES, -np.inf))


def rms(x):
    return np.sqrt(np.mean(np.square(x)))


def noise_of(night, seconds=1.0, seed=0):
    return night.noise(round(seconds * SR), SR, np.random.default_rng(seed))


def only(name, level=40.0, **options):
    return dataclasses.replace(QUIET, **{name: level, "rainy": 1.0, "singing": 1.0, **options})


@pytest.mark.parametrize(("level", "pressure"), [(94.0, 1.0), (74.0, 0.1), (0.0, 20e-6)])
def test_levels_are_decibels_above_20_micropascals(level, pressure):
    assert pascals(level) == pytest.approx(pressure, rel=0.01)


@pytest.mark.parametrize("name", ["background", "self_noise", "wind", "rain"])
@pytest.mark.parametrize("level", [20.0, 50.0])
def test_levels_of_steady_noises(name, level):
    assert 20 * np.log10(rms(noise_of(only(name, level, spread=0.0))) / 20e-6) == pytest.approx(level)


@pytest.mark.parametrize("name", ["insects", "clicks"])
def test_levels_of_intermittent_noises(name):
    quiet, loud = (noise_of(only(name, level, spread=0.0, click_rate=20.0), 3) for level in (40.0, 60.0))
    assert_allclose(loud, 10 * quiet, atol=1e-12)
    assert 0.5 < np.abs(quiet).max() / pascals(40) < 40  # of a click, several times its standard deviation


@pytest.mark.parametrize("spread", [0.0, 3.0])
@pytest.mark.parametrize("name", ["background", "rain"])
def test_levels_vary_from_scene_to_scene(name, spread):
    night = only(name, spread=spread)
    levels = [20 * np.log10(rms(noise_of(night, 0.01, seed)) / 20e-6) for seed in range(300)]
    assert np.mean(levels) == pytest.approx(40, abs=0.6)
    assert np.std(levels) == pytest.approx(spread, rel=0.12, abs=1e-9)


@pytest.mark.parametrize("name", NOISES)
def test_a_night_with_one_noise_more_is_otherwise_the_same_night(name):
    night = Night(rainy=1.0, singing=1.0, click_rate=5.0)
    without = dataclasses.replace(night, **{name: -np.inf})
    alone = dataclasses.replace(QUIET, rainy=1.0, singing=1.0, click_rate=5.0, **{name: getattr(night, name)})
    assert rms(noise_of(alone)) > 0
    assert_allclose(noise_of(night) - noise_of(without), noise_of(alone), atol=1e-15)


@pytest.mark.parametrize(("name", "share"), [("rain", "rainy"), ("insects", "singing")])
def test_rain_and_insects_are_there_in_their_share_of_the_scenes(name, share):
    for expected in (0.0, 0.3, 1.0):
        night = dataclasses.replace(only(name), **{share: expected, "chirps": 50.0})
        there = [noise_of(night, 0.05, seed).any() for seed in range(300)]
        assert np.mean(there) == pytest.approx(expected, abs=0.08)
    # It does not matter to the other noises whether it rains.
    wet, dry = (dataclasses.replace(QUIET, background=30.0, **{share: value}) for value in (1.0, 0.0))
    assert_array_equal(noise_of(wet), noise_of(dry))


def test_rates_are_those_of_the_night():
    slow, fast = (only("clicks", click_rate=rate) for rate in (2.0, 40.0))
    energies = [np.mean([rms(noise_of(night, 1, seed)) ** 2 for seed in range(30)]) for night in (slow, fast)]
    assert energies[1] / energies[0] == pytest.approx(20, rel=0.6)
    for name, rate in (("insects", "chirps"), ("rain", "drops"), ("wind", "gusts")):
        assert not np.array_equal(noise_of(only(name, **{rate: 1.5})), noise_of(only(name, **{rate: 8.0})))


def test_colours_of_the_background():
    def octave(night, low):
        power = np.abs(np.fft.rfft(noise_of(night, 20))) ** 2
        frequency = np.fft.rfftfreq(20 * SR, 1 / SR)
        return 10 * np.log10(power[(frequency >= low) & (frequency < 2 * low)].sum())

    assert octave(only("background"), 400) == pytest.approx(octave(only("background"), 3200), abs=0.4)  # pink
    assert octave(only("self_noise"), 3200) - octave(only("self_noise"), 400) == pytest.approx(9, abs=0.4)  # white


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", -100),
        ("humidity", 0),
        *((name, value) for name in ("rainy", "singing") for value in (-0.1, 1.1, np.nan)),
        *((name, value) for name in ("decay_time", "gusts", "chirps") for value in (0, -1)),
        *((name, value) for name in ("drops", "click_rate", "spread", "scatter") for value in (-1, np.nan)),
        ("reverberation", 0),
        ("excess", np.nan),
        *((name, value) for name in NOISES for value in (np.nan, np.inf)),
    ],
)
def test_bad_nights_are_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name} must"):
        Night(**{name: value})


@pytest.mark.parametrize(("begin", "expected"), [(0, [2, 3, 1, 1]), (3, [1, 1, 1, 2]), (4, [1, 1, 1, 1])])
def test_a_call_is_mixed_into_noise_and_ends_with_it(begin, expected):
    noise = np.ones(4)
    assert_array_equal(mixed(noise, np.array([1.0, 2.0]), begin), expected)
    assert_array_equal(noise, np.ones(4))


def test_a_call_in_the_sea_has_the_energy_that_spreading_leaves_it_scattered_or_not():
    call = np.random.default_rng(0).standard_normal(4000)
    straight = Sea(reverberation=None).arriving(call, 2000, 5000.0, np.random.default_rng(1))
    assert_array_equal(straight, propagate_in_sea(call, 2000, 5000.0, exponent=Sea().exponent))
    scattered = Sea().arriving(call, 2000, 5000.0, np.random.default_rng(1))
    assert scattered.size > straight.size
    assert np.sum(scattered**2) == pytest.approx(np.sum(straight**2), rel=0.1)
