"""The sea: absorption against another formula, propagation, up-calls, ambient noise and ships, from their waveforms."""

import numpy as np
import pytest
import scipy.signal
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib import spreading_loss
from pcenlib.simulation.acoustics import propagate_in_sea, seawater_absorption
from pcenlib.simulation.callers import UP_CALL_LEVELS, UP_CALL_SPREAD, UpCall, up_call, up_calls
from pcenlib.simulation.noises import Ship, sea_noise, ship_noise, ships

SR = 2000

# Temperature, salinity, depth and acidity of the seas of Ainslie and McColm (1998), and of the default.
SEAS = {
    "Pacific": (4, 34, 1, 7.7),
    "Red Sea": (22, 40, 0.2, 8.2),
    "Arctic": (-1.5, 30, 0, 8.2),
    "Baltic": (4, 8, 0, 7.9),
    "default": (8, 32, 0.03, 8.0),
}


# Absorption


def francois_garrison(kilohertz, temperature, salinity, depth, acidity):
    """Absorption in dB/km, Francois and Garrison (1982), part II: the formula that Ainslie and McColm simplify."""
    metres = 1000 * depth
    speed = 1412 + 3.21 * temperature + 1.19 * salinity + 0.0167 * metres
    boric = 8.86 / speed * 10 ** (0.78 * acidity - 5)
    boric_relaxation = 2.8 * np.sqrt(salinity / 35) * 10 ** (4 - 1245 / (273 + temperature))
    magnesium = 21.44 * salinity / speed * (1 + 0.025 * temperature) * (1 - 1.37e-4 * metres + 6.2e-9 * metres**2)
    magnesium_relaxation = 8.17 * 10 ** (8 - 1990 / (273 + temperature)) / (1 + 0.0018 * (salinity - 35))
    if temperature <= 20:
        water = np.polyval([-1.50e-8, 9.11e-7, -2.59e-5, 4.937e-4], temperature)
    else:
        water = np.polyval([-6.5e-10, 1.45e-7, -1.146e-5, 3.964e-4], temperature)
    water *= 1 - 3.83e-5 * metres + 4.9e-10 * metres**2
    squared = kilohertz**2
    return squared * (
        boric * boric_relaxation / (boric_relaxation**2 + squared)
        + magnesium * magnesium_relaxation / (magnesium_relaxation**2 + squared)
        + water
    )


def absorption(kilohertz, sea):
    """In dB/km."""
    names = ("temperature", "salinity", "depth", "acidity")
    return 1000 * seawater_absorption(1000 * np.asarray(kilohertz), **dict(zip(names, sea, strict=True)))


@pytest.mark.parametrize("sea", SEAS.values(), ids=SEAS.keys())
def test_absorption_agrees_with_francois_and_garrison_to_ten_per_cent(sea):
    kilohertz = np.geomspace(0.1, 1000, 81)
    assert_allclose(absorption(kilohertz, sea), francois_garrison(kilohertz, *sea), rtol=0.1)


@given(st.floats(0.1, 100), st.tuples(st.floats(0, 20), st.floats(30, 38), st.floats(0, 1), st.floats(7.7, 8.3)))
def test_absorption_agrees_in_every_usual_sea(kilohertz, sea):
    assert float(absorption(kilohertz, sea)) == pytest.approx(francois_garrison(kilohertz, *sea), rel=0.1)


def test_absorption_deep_down_as_measured():
    # Fisher and Simmons (1977), table IV: 0.52 dB/km at 10 kHz, in water of 4 degrees under 500 atmospheres.
    assert float(absorption(10, (4, 35, 4.99, 8.0))) == pytest.approx(0.52, rel=0.15)


def test_absorption_is_next_to_nothing_for_a_whale():
    assert 20e3 * seawater_absorption(200) < 0.2  # dB over the 20 km of the experiment


def test_absorption_is_quadratic_far_below_the_relaxations_and_grows():
    low = seawater_absorption([10, 20])
    assert low[1] / low[0] == pytest.approx(4, rel=1e-3)
    assert seawater_absorption(0) == 0
    assert np.all(np.diff(seawater_absorption(np.geomspace(10, 1e6, 200))) > 0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("frequency", -1),
        ("frequency", np.nan),
        ("temperature", 36),
        ("salinity", 4),
        ("depth", -0.1),
        ("depth", 8),
        ("acidity", 7),
    ],
)
def test_bad_seas_are_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name} must"):
        seawater_absorption(**{"frequency": 100, name: value})


# Spreading


@given(st.floats(0, 3), st.floats(0.1, 1e5), st.floats(0.1, 100))
def test_intensity_falls_with_the_power_of_the_distance(exponent, distance, reference):
    loss = spreading_loss(distance, reference=reference, exponent=exponent)
    assert 10 ** (-float(loss) / 10) == pytest.approx((distance / reference) ** -exponent, rel=1e-9)


def test_doublings_cost_three_decibels_on_a_cylinder_and_six_on_a_sphere():
    for exponent, decibels in ((1, 3.01), (1.5, 4.52), (2, 6.02)):
        steps = np.diff(spreading_loss([1, 2, 4, 8], exponent=exponent))
        assert_allclose(steps, decibels, atol=0.005)
    assert spreading_loss(7, exponent=0) == 0


def test_a_negative_exponent_is_refused():
    with pytest.raises(ValueError, match=r"^exponent must"):
        spreading_loss(10, exponent=-1)


@pytest.mark.parametrize("exponent", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("distance", [1.0, 500.0, 20000.0])
def test_a_tone_arrives_weaker_by_spreading_and_absorption(exponent, distance):
    sr, frequency = 20000, 5000
    x = np.sin(2 * np.pi * frequency * np.arange(sr) / sr)
    y = propagate_in_sea(x, sr, distance, exponent=exponent)
    assert y.shape == x.shape
    expected = 10 * exponent * np.log10(distance) + seawater_absorption(frequency) * (distance - 1)
    middle = slice(sr // 4, -sr // 4)
    assert 10 * np.log10(np.mean(x[middle] ** 2) / np.mean(y[middle] ** 2)) == pytest.approx(expected, abs=0.01)


def test_distance_dulls_noise_as_absorption_says():
    sr, distance = 20000, 5000
    x = np.random.default_rng(0).standard_normal(10 * sr)
    frequency, before = scipy.signal.welch(x, sr)
    _, after = scipy.signal.welch(propagate_in_sea(x, sr, distance), sr)
    loss = 10 * np.log10(before / after)[1:-1]
    expected = spreading_loss(distance, exponent=1.5) + seawater_absorption(frequency[1:-1]) * (distance - 1)
    assert_allclose(loss, expected, atol=0.1)
    assert loss[-1] - loss[0] > 3


def test_a_sound_at_its_reference_distance_is_itself():
    x = np.random.default_rng(0).standard_normal((2, 100))
    assert_allclose(propagate_in_sea(x, SR, 30, reference=30), x, atol=1e-12)
    with pytest.raises(ValueError, match=r"^distance must"):
        propagate_in_sea(x, SR, 29, reference=30)


# Up-calls


def instantaneous_frequency(x, sr):
    return np.diff(np.unwrap(np.angle(scipy.signal.hilbert(x)))) * sr / (2 * np.pi)


@pytest.mark.parametrize("curvature", [0.7, 1.0, 1.5, 2.5])
def test_frequency_rises_as_the_power_of_time(curvature):
    sr = 8000
    call = UpCall(start=90, end=220, duration=1.2, curvature=curvature, harmonic=-200)
    frequency = instantaneous_frequency(up_call(call, sr), sr)
    progress = (np.arange(frequency.size) + 0.5) / sr / call.duration
    middle = (progress > 0.1) & (progress < 0.9)
    assert_allclose(frequency[middle], (90 + 130 * progress**curvature)[middle], atol=1.5)


def test_a_call_that_falls_is_one_whose_end_is_below_its_start():
    frequency = instantaneous_frequency(up_call(UpCall(start=200, end=100, harmonic=-200), SR), SR)
    assert frequency[200] > 180
    assert frequency[-200] < 140


@pytest.mark.parametrize("harmonic", [-30.0, -10.0, 0.0])
def test_second_harmonic(harmonic):
    sr = 8000
    x = up_call(UpCall(start=99.99, end=100.01, duration=4, harmonic=harmonic), sr)
    spectrum = np.abs(np.fft.rfft(x * np.hanning(x.size)))
    first, second = (spectrum[round(f * 4)] for f in (100, 200))
    assert 20 * np.log10(second / first) == pytest.approx(harmonic, abs=0.1)


@pytest.mark.parametrize("sr", [1000, 2000, 22050])
def test_length_and_fades_of_a_call(sr):
    call = UpCall(harmonic=-200)
    x = up_call(call, sr)
    assert x.size == round(call.duration * sr)
    assert x[0] == 0
    assert 0.98 < np.abs(x).max() <= 1
    faded = round(0.15 * x.size / 2)  # at half of the fade
    envelope = np.abs(scipy.signal.hilbert(x))
    assert envelope[faded] == pytest.approx(0.5, abs=0.1)
    assert envelope[-faded] == pytest.approx(0.5, abs=0.1)


def test_a_rate_too_low_for_a_call_is_refused():
    with pytest.raises(ValueError, match=r"^sr must"):
        up_call(UpCall(), 800)


def test_calls_differ_as_much_as_they_should():
    calls = up_calls(2000, np.random.default_rng(0))
    typical = UpCall()
    for name, spread in UP_CALL_SPREAD.items():
        logs = np.log([getattr(call, name) for call in calls])
        assert np.exp(np.median(logs)) == pytest.approx(getattr(typical, name), rel=0.03)
        assert np.std(logs) == pytest.approx(spread, rel=0.1)
    levels = [call.level for call in calls]
    assert np.mean(levels) == pytest.approx(typical.level, abs=0.3)
    assert np.std(levels) == pytest.approx(UP_CALL_LEVELS, rel=0.1)
    assert min(call.end / call.start for call in calls) >= np.sqrt(2) * (1 - 1e-12)


def test_a_seed_determines_calls_and_ships():
    for many in (up_calls, ships):
        one, same, other = (many(3, np.random.default_rng(seed)) for seed in (1, 1, 2))
        assert one == same != other
        assert one[:2] == many(2, np.random.default_rng(1))
        with pytest.raises(ValueError, match=r"^n_\w+ must"):
            many(0, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("name", "value"),
    [("start", 0), ("end", -1), ("duration", 0), ("curvature", 0), ("harmonic", np.nan), ("level", np.inf)],
)
def test_bad_calls_are_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name} must"):
        UpCall(**{name: value})


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
    assert 0.01 <= min(ship.transients for ship in fleet) < max(ship.transients for ship in fleet) <= 0.2


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
