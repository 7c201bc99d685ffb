"""Sound on its way: the tables of ISO 9613, a peer implementation, image sources, decay times, and waveforms."""

import functools
import math
import warnings

import numpy as np
import pytest
import scipy.signal
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib import atmospheric_absorption, propagate, spreading_loss
from pcenlib.simulation.acoustics import (
    foliage_loss,
    propagate_in_sea,
    reflect,
    relaxation_frequencies,
    reverberate,
    seawater_absorption,
)

with warnings.catch_warnings():  # acoustic-toolbox registers axis scales in a way that matplotlib 3.11 deprecates
    warnings.filterwarnings("ignore", r"The scale '\w+BandScale'", PendingDeprecationWarning)
    from acoustic_toolbox.standards import iso_9613_1_1993 as peer

SR = 22050

# ISO 9613-2:1996, table 2: dB/km in octave bands from 63 Hz to 8 kHz, by temperature and relative humidity.
TABLE = {
    (10, 70): "0.1 0.4 1.0 1.9 3.7 9.7 32.8 117",
    (20, 70): "0.1 0.3 1.1 2.8 5.0 9.0 22.9 76.6",
    (30, 70): "0.1 0.3 1.0 3.1 7.4 12.7 23.1 59.3",
    (15, 20): "0.3 0.6 1.2 2.7 8.2 28.2 88.8 202",
    (15, 50): "0.1 0.5 1.2 2.2 4.2 10.8 36.2 129",
    (15, 80): "0.1 0.3 1.1 2.4 4.1 8.3 23.7 82.8",
}
# ISO 9613-2:1996, table A.1: dense foliage, in octave bands from 63 Hz to 8 kHz; dB from 10 to 20 m, then dB/m.
FOLIAGE = {"10 to 20 m": "0 0 1 1 1 1 2 3", "20 to 200 m": "0.02 0.03 0.04 0.05 0.06 0.08 0.09 0.12"}
OCTAVES = [63, 125, 250, 500, 1000, 2000, 4000, 8000]
MIDBANDS = 1000 * 10 ** (0.3 * np.arange(-4, 4))  # exact: 63.1, 125.9, ... 7943 Hz; the nominal ones do not fit
WEATHER = {
    "temperature": st.floats(-20, 50),
    "humidity": st.floats(1, 100),
    "pressure": st.floats(50, 150),
}


@functools.cache
def white(n_samples, seed=0):
    return np.random.default_rng(seed).standard_normal(n_samples)


# Absorption


@pytest.mark.parametrize(("temperature", "humidity"), TABLE)
def test_absorption_is_the_table_of_iso_9613_2(temperature, humidity):
    # The table is ISO 9613-1's, which has three significant digits, rounded once more: 4.151 is 4.15 there, 4.1 here.
    absorption = 1000 * atmospheric_absorption(MIDBANDS, temperature=temperature, humidity=humidity)
    for value, printed in zip(absorption, TABLE[temperature, humidity].split(), strict=True):
        unit = 0.1 if "." in printed else 1
        assert abs(float(f"{value:.3g}") - float(printed)) <= unit / 2 + 1e-9


@given(st.floats(20, 20000), *WEATHER.values())
def test_absorption_agrees_with_acoustic_toolbox(frequency, temperature, humidity, pressure):
    kelvin = temperature + 273.15
    vapour = peer.molar_concentration_water_vapour(humidity, peer.saturation_pressure(kelvin), pressure)
    expected = peer.attenuation_coefficient(
        pressure, kelvin, peer.REFERENCE_PRESSURE, peer.REFERENCE_TEMPERATURE,
        peer.relaxation_frequency_nitrogen(pressure, kelvin, vapour),
        peer.relaxation_frequency_oxygen(pressure, vapour),
        frequency,
    )  # fmt: skip
    actual = atmospheric_absorption(frequency, temperature=temperature, humidity=humidity, pressure=pressure)
    assert_allclose(actual, expected, rtol=1e-10)


@given(*WEATHER.values())
def test_relaxation_frequencies_agree_with_acoustic_toolbox(temperature, humidity, pressure):
    kelvin = temperature + 273.15
    vapour = peer.molar_concentration_water_vapour(humidity, peer.saturation_pressure(kelvin), pressure)
    expected = (
        peer.relaxation_frequency_oxygen(pressure, vapour),
        peer.relaxation_frequency_nitrogen(pressure, kelvin, vapour),
    )
    actual = relaxation_frequencies(temperature=temperature, humidity=humidity, pressure=pressure)
    assert_allclose(actual, expected, rtol=1e-10)


def test_default_weather_is_20_degrees_70_per_cent_and_one_atmosphere():
    weather = {"temperature": 20, "humidity": 70, "pressure": 101.325}
    assert_allclose(atmospheric_absorption(MIDBANDS), atmospheric_absorption(MIDBANDS, **weather))


@given(st.floats(1, 10000), st.floats(1.01, 4), st.fixed_dictionaries(WEATHER))
def test_absorption_grows_with_frequency_at_most_quadratically(frequency, factor, weather):
    low, high = atmospheric_absorption([frequency, factor * frequency], **weather)
    assert low < high <= factor**2 * low * (1 + 1e-12)


def test_absorption_of_the_paper_at_1_and_10_khz():
    low, high = 1000 * atmospheric_absorption([1000, 10000])
    assert low < 5
    assert 50 < high < 200


def test_nothing_is_absorbed_at_0_hertz_and_shapes_are_kept():
    assert atmospheric_absorption(0) == 0
    assert atmospheric_absorption(np.ones((2, 3))).shape == (2, 3)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("frequency", -1),
        ("frequency", [100, np.nan]),
        ("frequency", np.inf),
        ("temperature", -274),
        ("temperature", 293.15),
        ("temperature", np.nan),
        ("humidity", 0),
        ("humidity", 101),
        ("humidity", "70"),
        ("pressure", 0),
        ("pressure", 101325),
        ("pressure", None),
    ],
)
def test_bad_weather_is_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name} must"):
        atmospheric_absorption(**{"frequency": 1000, name: value})


# Foliage


@pytest.mark.parametrize("path", [10, 15, 19.99])
def test_a_short_path_through_leaves_is_the_first_row_of_the_table(path):
    assert_allclose(foliage_loss(OCTAVES, path=path), [float(loss) for loss in FOLIAGE["10 to 20 m"].split()])


@pytest.mark.parametrize(("path", "counted"), [(20, 20), (57.5, 57.5), (200, 200), (201, 200), (5000, 200)])
def test_a_long_path_through_leaves_is_the_second_row_of_the_table(path, counted):
    expected = [counted * float(loss) for loss in FOLIAGE["20 to 200 m"].split()]
    assert_allclose(foliage_loss(OCTAVES, path=path), expected)


@pytest.mark.parametrize("path", [0, 3, 9.99])
def test_a_few_metres_of_leaves_take_nothing(path):
    assert_array_equal(foliage_loss([0, 63, 1000, 11025], path=path), 0)


def test_foliage_between_the_octaves_and_beyond_them():
    halfway = foliage_loss([1000 * math.sqrt(2), 4000 * math.sqrt(2)], path=100)  # 6 and 8 dB; 9 and 12 dB
    assert_allclose(halfway, [7, 10.5])
    assert_allclose(foliage_loss([0, 1, 20, 16000], path=100), [2, 2, 2, 12])
    assert foliage_loss(1000, path=100) == pytest.approx(6)
    assert foliage_loss(np.ones((2, 3)), path=100).shape == (2, 3)


@pytest.mark.parametrize(
    ("name", "value"),
    [("path", -1), ("path", np.nan), ("path", "10"), ("frequency", -1), ("frequency", [100, np.nan])],
)
def test_bad_foliage_is_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name} must"):
        foliage_loss(**{"frequency": 1000, "path": 50, name: value})


# Spreading


@given(st.floats(0.1, 1e4), st.floats(0.1, 100))
def test_spreading_loses_6_dB_for_each_doubling(distance, reference):  # noqa: N802
    near, far = spreading_loss([distance, 2 * distance], reference=reference)
    assert far - near == pytest.approx(6.0206, abs=1e-4)


def test_spreading_by_hand():
    assert_allclose(spreading_loss([1, 10, 1000, 0.1]), [0, 20, 60, -20], atol=1e-12)
    assert spreading_loss(300, reference=30) == pytest.approx(20)


@pytest.mark.parametrize("distance", [0, -1, [1, 0], np.nan, np.inf])
def test_bad_distances_are_refused(distance):
    with pytest.raises(ValueError, match=r"^distance must"):
        spreading_loss(distance)


@pytest.mark.parametrize("reference", [0, -1, np.nan, np.inf, "1"])
def test_bad_references_are_refused(reference):
    with pytest.raises(ValueError, match=r"^reference must"):
        spreading_loss(1, reference=reference)
    with pytest.raises(ValueError, match=r"^reference must"):
        propagate([1.0], SR, 10, reference=reference)


# Propagation


@given(st.floats(300, 10000), st.floats(1, 300), st.fixed_dictionaries(WEATHER))
def test_a_tone_loses_spreading_and_absorption(frequency, distance, weather):
    x = np.hanning(8192) * np.sin(2 * np.pi * frequency * np.arange(8192) / SR)
    y = propagate(x, SR, distance, **weather)
    loss = 10 * math.log10(np.sum(x**2) / np.sum(y**2))
    expected = spreading_loss(distance) + (distance - 1) * atmospheric_absorption(frequency, **weather)
    assert loss == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("frequency", [500, 2000, 3500, 8000])
@pytest.mark.parametrize("excess", [-1, 0.5, 8])
def test_a_tone_loses_what_a_forest_takes_as_well(frequency, excess):
    x = np.hanning(8192) * np.sin(2 * np.pi * frequency * np.arange(8192) / SR)
    bare, leafy = propagate(x, SR, 300), propagate(x, SR, 300, excess=excess)
    loss = 10 * math.log10(np.sum(bare**2) / np.sum(leafy**2))
    assert loss == pytest.approx(excess * 2.99, abs=0.01)


@given(st.floats(1, 100), st.floats(0, 200), st.floats(0, 200), st.fixed_dictionaries(WEATHER))
def test_two_stretches_equal_the_whole_way(reference, first, second, weather):
    x = np.pad(white(1000), 1000)  # room on both sides for what the filter spreads
    near, far = reference + first, reference + first + second
    stop = propagate(propagate(x, SR, near, reference=reference, **weather), SR, far, reference=near, **weather)
    direct = propagate(x, SR, far, reference=reference, **weather)
    assert_allclose(stop, direct, atol=1e-4 * np.abs(direct).max())


@pytest.mark.parametrize("reference", [0.5, 1.0, 30.0])
def test_nothing_is_lost_at_the_reference_distance(reference):
    assert_allclose(propagate(white(999), SR, reference, reference=reference), white(999), atol=1e-12)


@given(st.floats(-10, 10), st.floats(-10, 10), st.floats(1, 1000))
def test_propagation_is_linear(a, b, distance):
    x, y = white(501), white(501, seed=1)
    together = propagate(a * x + b * y, SR, distance)
    assert_allclose(together, a * propagate(x, SR, distance) + b * propagate(y, SR, distance), atol=1e-11)


@pytest.mark.parametrize(("impulse", "far_end"), [(0, slice(-300, None)), (-1, slice(300))])
def test_what_passes_one_end_does_not_enter_at_the_other(impulse, far_end):
    x = np.zeros(1000)
    x[impulse] = 1
    y = propagate(x, SR, 500)
    assert np.abs(y).argmax() == np.abs(x).argmax()
    assert np.abs(y[far_end]).max() < 1e-4 * np.abs(y).max()


def test_the_time_of_travel_is_left_out_and_nothing_is_delayed():
    x = np.zeros(1001)
    x[500] = 1
    y = propagate(x, SR, 300)
    assert y.argmax() == 500
    assert_allclose(y, y[::-1], atol=1e-12)


def test_axes_and_types_of_waveforms():
    x = np.round(1000 * white(600)).astype(np.int16).reshape(2, 3, 100)
    y = propagate(x, SR, 50)
    assert (y.shape, y.dtype) == ((2, 3, 100), np.float64)
    for index in np.ndindex(2, 3):
        assert_allclose(y[index], propagate(x[index].astype(np.float64), SR, 50), atol=1e-12)


@pytest.mark.parametrize("x", [1.0, [], np.ones((0, 3)), [np.nan], [np.inf], [1j], ["1"]])
def test_bad_waveforms_are_refused(x):
    with pytest.raises(ValueError, match=r"^x must"):
        propagate(x, SR, 10)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sr", 0),
        ("sr", -1),
        ("distance", 0.9),
        ("distance", np.inf),
        ("distance", np.nan),
        ("humidity", 0),
        ("excess", np.nan),
    ],
)
def test_bad_propagation_is_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name} must"):
        propagate(**{"x": [1.0], "sr": SR, "distance": 10, name: value})


# Echoes


def path_lengths(distance, source_height, sensor_height):
    """The direct way, and the one by way of the mirror image of the source."""
    sensor = np.array([distance, sensor_height])
    return [np.linalg.norm(sensor - [0, height]) for height in (source_height, -source_height)]


@pytest.mark.parametrize("coefficient", [0.7, -1.0])
def test_an_echo_by_hand(coefficient):
    # 3 m straight, 5 m by way of the ground: 2 m, or 10 ms at 200 m/s, or 10 samples later.
    x = np.array([1.0, -2.0, 0.5])
    y = reflect(x, 1000, distance=3, source_height=2, sensor_height=2, coefficient=coefficient, speed=200)
    assert y.shape == (13,)
    assert_allclose(y, np.pad(x, (0, 10)) + 3 / 5 * coefficient * np.pad(x, (10, 0)), atol=1e-12)


def test_an_echo_between_two_samples():
    direct, reflected = path_lengths(40, 3, 1.5)
    delay = (reflected - direct) / 343
    time = np.arange(600) / SR
    y = reflect(pulse(time - 0.01), SR, distance=40, source_height=3, sensor_height=1.5, coefficient=0.8)
    time = np.arange(y.size) / SR
    expected = pulse(time - 0.01) + 0.8 * direct / reflected * pulse(time - 0.01 - delay)
    assert y.size == 600 + math.ceil(delay * SR)
    assert_allclose(y, expected, atol=1e-9)


def pulse(time):
    """A tone of 2 kHz in a Gaussian envelope that leaves nothing near half of the sample rate."""
    return np.exp(-0.5 * (time / 0.0004) ** 2) * np.cos(2 * np.pi * 2000 * time)


@pytest.mark.parametrize("coefficient", [0.9, -0.9])
@pytest.mark.parametrize("order", [0, 1, 2, 5])
def test_minima_and_maxima_of_two_way_interference(coefficient, order):
    # Half a period of difference, and any number of whole ones, cancel; the surface may add half a period itself.
    geometry = {"distance": 50, "source_height": 4, "sensor_height": 1.5}
    direct, reflected = path_lengths(**geometry)
    period = (reflected - direct) / 343
    amplitude = 0.9 * direct / reflected
    for shift, gain in ((0.0, 1 + np.sign(coefficient) * amplitude), (0.5, 1 - np.sign(coefficient) * amplitude)):
        frequency = (1 + order + shift) / period
        x = np.sin(2 * np.pi * frequency * np.arange(20000) / SR)
        y = reflect(x, SR, coefficient=coefficient, **geometry)
        steady = slice(2000, 18000)
        assert np.std(y[steady]) / np.std(x[steady]) == pytest.approx(gain, abs=2e-3)


def test_far_from_a_calm_sea_sound_falls_by_12_dB_for_each_doubling():  # noqa: N802
    # Lloyd's mirror: source and image cancel but for their difference in time, which falls as 1/d, as spreading does.
    x = np.hanning(4000) * np.sin(2 * np.pi * 100 * np.arange(4000) / 2000)
    levels = []
    for distance in (2000, 4000, 8000):
        y = reflect(x, 2000, distance=distance, source_height=5, sensor_height=10, coefficient=-1, speed=1500)
        levels.append(10 * np.log10(np.sum(y**2)) - spreading_loss(distance))
    assert_allclose(np.diff(levels), -12.04, atol=0.05)


def test_a_source_on_the_ground_is_doubled_and_a_ground_that_takes_all_is_not_there():
    assert_allclose(
        reflect(white(500), SR, distance=9, source_height=0, sensor_height=2, coefficient=1), 2 * white(500)
    )
    y = reflect(white(500), SR, distance=9, source_height=1, sensor_height=2, coefficient=0)
    assert_allclose(y[:500], white(500), atol=1e-12)
    assert_allclose(y[500:], 0, atol=1e-12)


def test_source_and_sensor_can_change_places():
    there, back = (
        reflect(white(500), SR, distance=9, source_height=a, sensor_height=b, coefficient=0.5)
        for a, b in ((1, 4), (4, 1))
    )
    assert_array_equal(there, back)


def test_what_an_echo_spreads_past_the_end_does_not_enter_at_the_start():
    x = np.zeros(1000)
    x[-1] = 1
    y = reflect(x, SR, distance=9, source_height=1, sensor_height=2, coefficient=1)
    assert np.abs(y[-30:]).max() > 0.5
    assert np.abs(y[:500]).max() < 1e-3


def test_echoes_of_several_waveforms():
    options = {"distance": 9, "source_height": 3, "sensor_height": 2, "coefficient": 0.5}
    x = white(600).reshape(2, 3, 100)
    y = reflect(x, SR, **options)
    for index in np.ndindex(2, 3):
        assert_allclose(y[index], reflect(x[index], SR, **options), atol=1e-12)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x", []),
        ("sr", 0),
        ("distance", 0),
        ("source_height", -1),
        ("sensor_height", -0.1),
        ("coefficient", 1.1),
        ("coefficient", -1.1),
        ("speed", 0),
        ("speed", np.inf),
    ],
)
def test_bad_echoes_are_refused(name, value):
    geometry = {"distance": 10, "source_height": 1, "sensor_height": 1, "coefficient": 0.5}
    with pytest.raises(ValueError, match=f"^{name} must"):
        reflect(**{"x": [1.0], "sr": SR, **geometry, name: value})


# Reverberation


def scattered(ratio, decay_time, sr=SR, seed=0):
    """What comes after the direct sound, for an impulse."""
    response = reverberate([1.0], sr, np.random.default_rng(seed), ratio=ratio, decay_time=decay_time)
    assert response[0] == pytest.approx(1)
    return response[1:]


@pytest.mark.parametrize("ratio", [-20.0, 0.0, 7.0])
@pytest.mark.parametrize("decay_time", [0.05, 0.5])
def test_scattered_energy_over_direct_energy(ratio, decay_time):
    assert 10 * np.log10(np.sum(scattered(ratio, decay_time) ** 2)) == pytest.approx(ratio, abs=1e-9)


@pytest.mark.parametrize("ratio", [-10.0, 3.0])
def test_energy_of_a_noise_in_reverberation(ratio):
    energies = []
    for seed in range(20):
        y = reverberate(white(20000, seed), SR, np.random.default_rng(100 + seed), ratio=ratio, decay_time=0.1)
        energies.append(np.sum(y**2) / np.sum(white(20000, seed) ** 2))
    assert np.mean(energies) == pytest.approx(1 + 10 ** (ratio / 10), rel=0.02)


@pytest.mark.parametrize("sr", [2000, 22050])
@pytest.mark.parametrize("decay_time", [0.5, 2.0])
def test_decay_time_by_schroeder_integration(sr, decay_time):
    # ISO 3382: a line through the backward integral of the squared response, from -5 to -25 dB, continued to -60 dB.
    times = []
    for seed in range(10):
        left = np.cumsum(scattered(0.0, decay_time, sr, seed)[::-1] ** 2)[::-1]
        level = 10 * np.log10(left / left[0])
        kept = (level <= -5) & (level >= -25)
        slope = np.polyfit(np.flatnonzero(kept) / sr, level[kept], 1)[0]
        times.append(-60 / slope)
    assert np.mean(times) == pytest.approx(decay_time, rel=0.02)


def test_scattered_sound_is_as_white_as_noise():
    power = np.mean([np.abs(np.fft.rfft(scattered(0.0, 0.2, seed=seed))) ** 2 for seed in range(50)], axis=0)
    low, middle, high = (part.mean() for part in np.array_split(power, 3))
    assert_allclose([low, middle, high], power.mean(), rtol=0.05)


def test_reverberation_follows_the_sound_and_is_a_filter():
    options = {"ratio": 0.0, "decay_time": 0.05}
    x = np.pad(white(500), (300, 0))
    y = reverberate(x, SR, np.random.default_rng(0), **options)
    assert y.size == x.size + round(0.05 * SR)
    assert_allclose(y[:300], 0, atol=1e-12)
    assert_allclose(y, np.convolve(x, np.concatenate([[1], scattered(**options)])), atol=1e-10)


def test_a_seed_determines_where_the_scatterers_stand():
    first, again, other = (scattered(0.0, 0.1, seed=seed) for seed in (1, 1, 2))
    assert_array_equal(first, again)
    assert not np.allclose(first, other)


@pytest.mark.parametrize(
    ("name", "value"),
    [("x", []), ("x", [[1.0]]), ("sr", 0), ("ratio", np.nan), ("ratio", np.inf), ("decay_time", 0)],
)
def test_bad_reverberation_is_refused(name, value):
    options = {"x": [1.0], "sr": SR, "rng": np.random.default_rng(0), "ratio": 0.0, "decay_time": 0.1}
    with pytest.raises(ValueError, match=f"^{name} must"):
        reverberate(**{**options, name: value})


# The sea

# Temperature, salinity, depth and acidity of the seas of Ainslie and McColm (1998), and of the default.
SEAS = {
    "Pacific": (4, 34, 1, 7.7),
    "Red Sea": (22, 40, 0.2, 8.2),
    "Arctic": (-1.5, 30, 0, 8.2),
    "Baltic": (4, 8, 0, 7.9),
    "default": (8, 32, 0.03, 8.0),
}


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


def sea_absorption(kilohertz, sea):
    """In dB/km."""
    names = ("temperature", "salinity", "depth", "acidity")
    return 1000 * seawater_absorption(1000 * np.asarray(kilohertz), **dict(zip(names, sea, strict=True)))


@pytest.mark.parametrize("sea", SEAS.values(), ids=SEAS.keys())
def test_sea_absorption_agrees_with_francois_and_garrison_to_ten_per_cent(sea):
    kilohertz = np.geomspace(0.1, 1000, 81)
    assert_allclose(sea_absorption(kilohertz, sea), francois_garrison(kilohertz, *sea), rtol=0.1)


@given(st.floats(0.1, 100), st.tuples(st.floats(0, 20), st.floats(30, 38), st.floats(0, 1), st.floats(7.7, 8.3)))
def test_sea_absorption_agrees_in_every_usual_sea(kilohertz, sea):
    assert float(sea_absorption(kilohertz, sea)) == pytest.approx(francois_garrison(kilohertz, *sea), rel=0.1)


def test_sea_absorption_deep_down_as_measured():
    # Fisher and Simmons (1977), table IV: 0.52 dB/km at 10 kHz, in water of 4 degrees under 500 atmospheres.
    assert float(sea_absorption(10, (4, 35, 4.99, 8.0))) == pytest.approx(0.52, rel=0.15)


def test_sea_absorption_is_next_to_nothing_for_a_whale():
    assert 20e3 * seawater_absorption(200) < 0.2  # dB over the 20 km of the experiment


def test_sea_absorption_is_quadratic_far_below_the_relaxations_and_grows():
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
