"""Ambient noise of the sea and ships, measured from their waveforms."""

import numpy as np
import pytest
import scipy.signal
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib.simulation.ships import (
    TRANSIENT_LEVEL,
    TRANSIENT_RATE,
    TRANSIENT_SHAPE,
    Ship,
    sea_noise,
    ship_noise,
    ships,
)

SR = 2000


# Ambient noise


@pytest.mark.parametrize("level", [60.0, 82.0])
@pytest.mark.parametrize("slope", [0.0, -5.0])
@pytest.mark.parametrize("sr", [2000, 8000])
def test_spectral_level_at_100_hz_and_slope(level, slope, sr):
    x = sea_noise(300 * sr, sr, np.random.default_rng(0), level=level, slope=slope)
    frequency, density = scipy.signal.welch(x, sr, nperseg=2 * sr)
    for hertz in (100, 200, 400):
        near = np.abs(frequency - hertz) <= 10
        measured = 10 * np.log10(np.mean(density[near]))
        assert measured == pytest.approx(level + slope * np.log2(hertz / 100), abs=0.2)


# Ships

# Nothing but noise, from a ship that stands still.
PLAIN = {"swell": 0.0, "slope": 0.0, "tones": -200.0, "transients": 0.0, "closest": 1e6, "speed": 1e-3}


def ship_sound(seconds=600, seed=0, **ship):
    return ship_noise(seconds * SR, SR, np.random.default_rng(seed), ship=Ship(**ship))


def amplitude(power, frequency):
    """Amplitude of a cosine of this frequency in a power over time, relative to its mean."""
    time = np.arange(power.size) / SR
    return 2 * abs(np.mean(power * np.exp(-2j * np.pi * frequency * time))) / np.mean(power)


@pytest.mark.parametrize("depth", [0.2, 0.5, 1.0])
def test_shaft_and_blades_modulate_the_power(depth):
    shaft, blades = 3.0, 4
    power = ship_sound(shaft_rate=shaft, blades=blades, depth=depth, **PLAIN) ** 2
    # The square of 1 + depth (0.7 cos b + 0.3 cos s) has these cosines, over a mean of
    mean = 1 + depth**2 * (0.7**2 + 0.3**2) / 2
    expected = {
        shaft * blades: 1.4 * depth,
        shaft: 0.6 * depth,
        shaft * (blades + 1): 0.21 * depth**2,
        2 * shaft * blades: 0.245 * depth**2,
    }
    for rate, size in expected.items():
        assert amplitude(power, rate) == pytest.approx(size / mean, abs=0.01)
    for rate in (2.2, 5.1, 17.7):
        assert amplitude(power, rate) < 0.01


def test_a_depth_of_zero_modulates_nothing():
    power = ship_sound(shaft_rate=3.0, blades=4, depth=0.0, **PLAIN) ** 2
    assert max(amplitude(power, rate) for rate in (3, 6, 9, 12, 15, 24)) < 0.01


def gain_of_swell(swell, seed=0, seconds=600):
    """Gain of the swell in dB, but for a constant: the same ship, with and without it."""
    changed, steady = (ship_sound(seconds, seed, **{**PLAIN, "swell": decibels}) for decibels in (swell, 0.0))
    return 20 * np.log10(changed / steady)


@pytest.mark.parametrize("swell", [0.1, 0.5, 3.0])
def test_the_level_swells_by_its_standard_deviation(swell):
    assert np.std(gain_of_swell(swell)) == pytest.approx(swell, rel=0.05)


def test_the_swell_is_slow_and_irregular():
    rate, power = scipy.signal.welch(gain_of_swell(1.0), SR, nperseg=10 * SR)
    assert power[rate < 6].sum() > 0.9 * power.sum()
    slow = power[(rate >= 0.5) & (rate <= 2.5)]
    assert slow.max() < 3 * np.median(slow)  # no line


def test_a_swell_of_zero_switches_it_off_and_changes_nothing_else():
    ship = {"tones": 12.0, "transients": 0.3}
    one, other = (ship_sound(60, **ship, swell=swell) for swell in (0.0, 1e-9))
    assert_allclose(one, other, atol=1e-8)
    assert not np.allclose(one, ship_sound(60, **ship, swell=1.0), atol=0.01)


@pytest.mark.parametrize("slope", [-1.0, -4.0, -7.0])
def test_slope_of_the_noise(slope):
    x = ship_sound(**{**PLAIN, "slope": slope, "depth": 0.5})
    frequency, density = scipy.signal.welch(x, SR, nperseg=2048)
    kept = (frequency > 60) & (frequency < 800)
    fitted = np.polyfit(np.log2(frequency[kept]), 10 * np.log10(density[kept]), 1)[0]
    assert fitted == pytest.approx(slope, abs=0.2)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("tones", [5.0, 13.0])
def test_the_strongest_tone_over_the_noise_in_8_hertz(tones, seed):
    still = {**PLAIN, "slope": -4.0, "tones": tones}
    x = ship_sound(seed=seed, shaft_rate=5.0, blades=5, depth=0.0, **still)  # tones at multiples of 25 Hz
    power = np.abs(np.fft.rfft(x)) ** 2
    width = 600  # bins to a hertz
    over = []
    for order in range(1, 9):
        place = order * 25 * width
        noise = np.mean(np.delete(power[place - 4 * width : place + 4 * width], 4 * width))
        over.append(10 * np.log10(power[place] / (8 * width * noise)))
    assert max(over) == pytest.approx(tones, abs=0.5)
    assert np.argmax(power) % (25 * width) == 0


def test_a_tone_above_half_of_the_sample_rate_is_left_out():
    still = {**PLAIN, "tones": 60.0}
    x = ship_sound(20, shaft_rate=80.0, blades=5, depth=0.0, **still)  # 400 and 800 Hz, and no 1200
    power = np.abs(np.fft.rfft(x)) ** 2
    loud = np.flatnonzero(power > 1e-6 * power.max()) / 20
    assert set(loud) == {400.0, 800.0}


def test_level_falls_with_one_over_the_distance():
    ship = {**PLAIN, "closest": 50.0, "speed": 5.0, "depth": 0.0}
    energy = sum(ship_sound(100, seed, **ship).reshape(100, SR) ** 2 for seed in range(20)).mean(axis=1)
    second = np.arange(100) + 0.5
    expected = 50**2 / (50**2 + (5 * (second - 50)) ** 2)
    assert_allclose(energy / energy[45:55].mean(), expected / expected[45:55].mean(), rtol=0.1)


@pytest.mark.parametrize("rate", [0.05, 0.3])
def test_transients_come_at_their_rate_and_change_nothing_else(rate):
    seconds, count, gap = 600, 0, 0.2
    for seed in range(4):
        with_transients = ship_sound(seconds, seed, **{**PLAIN, "transients": rate})
        without = ship_sound(seconds, seed, **PLAIN)
        gain = np.median(with_transients / without)  # both have a root mean square of 1
        differs = np.flatnonzero(np.abs(with_transients - gain * without) > 1e-9)
        count += 1 + np.sum(np.diff(differs) > gap * SR)
        assert differs.size < rate * seconds * 0.16 * SR * 1.5
    expected = 4 * seconds * rate * np.exp(-rate * (gap + 0.16))  # less those that come within the one before
    assert abs(count - expected) < 3 * np.sqrt(expected)


def test_half_of_the_transients_start_at_their_level_over_the_noise():
    with_transients, without = (ship_sound(**PLAIN | {"transients": rate}) for rate in (0.5, 0.0))
    gain = np.median(with_transients / without)
    burst = np.abs(with_transients / gain - without)  # over noise with a root mean square of 1
    begins = np.flatnonzero((burst[400:] > 1e-9) & (np.convolve(burst > 1e-9, np.ones(400))[399:-400] == 0)) + 400
    starts = [np.sqrt(np.mean(burst[begin : begin + 20] ** 2)) for begin in begins]
    assert len(starts) > 200
    # Within 10 ms a burst has decayed a little already.
    assert 20 * np.log10(np.median(starts)) == pytest.approx(TRANSIENT_LEVEL - 2.2, abs=1.5)


def test_a_seed_determines_ships():
    one, same, other = (ships(3, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert one == same != other
    assert one[:2] == ships(2, np.random.default_rng(1))
    with pytest.raises(ValueError, match=r"^n_ships must"):
        ships(0, np.random.default_rng(0))


@pytest.mark.parametrize("ship", ships(5, np.random.default_rng(0)))
def test_ships_have_a_root_mean_square_of_1_and_a_seed_determines_them(ship):
    one, same, other = (ship_noise(20 * SR, SR, np.random.default_rng(seed), ship=ship) for seed in (1, 1, 2))
    assert_array_equal(one, same)
    assert not np.allclose(one, other)
    assert np.mean(one**2) == pytest.approx(1)


def test_ships_are_those_of_the_paper():
    fleet = ships(1000, np.random.default_rng(0))
    rates = np.array([ship.shaft_rate for ship in fleet])
    blade_rates = np.array([ship.shaft_rate * ship.blades for ship in fleet])
    assert 2 <= rates.min() < 2.01  # 120 rotations a minute
    assert 19.5 < blade_rates.max() <= 20 * (1 + 1e-9)  # 1200
    assert np.median(blade_rates) < 11
    assert {ship.blades for ship in fleet} == {3, 4, 5}
    depths, swells = (np.array([getattr(ship, name) for ship in fleet]) for name in ("depth", "swell"))
    assert np.median(depths) == pytest.approx(Ship().depth, rel=0.15)
    assert 0 < depths.min() < 0.5 < depths.max() <= 0.9
    assert np.median(swells) == pytest.approx(Ship().swell, rel=0.1)


def test_few_ships_clank_most():
    rates = np.sort([ship.transients for ship in ships(20_000, np.random.default_rng(0))])
    assert np.mean(rates) == pytest.approx(TRANSIENT_RATE, rel=0.05)
    assert np.var(rates) == pytest.approx(TRANSIENT_RATE**2 / TRANSIENT_SHAPE, rel=0.1)
    assert np.median(rates) < 0.2 * TRANSIENT_RATE
    assert rates[-3000:].sum() > 0.7 * rates.sum()  # the upper 15 %


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("shaft_rate", 0),
        ("blades", 0),
        ("blades", 2.5),
        ("depth", 1.1),
        ("depth", -0.1),
        ("swell", -0.1),
        ("swell", np.nan),
        ("swell", np.inf),
        ("transients", -1),
        ("closest", 0),
        ("speed", 0),
        ("slope", np.nan),
        ("tones", np.inf),
    ],
)
def test_bad_ships_are_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name} must"):
        Ship(**{name: value})
