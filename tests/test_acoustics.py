"""Spreading and absorption: the tables of ISO 9613, a peer implementation, and waveforms."""

import functools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from pcenlib import atmospheric_absorption, propagate, spreading_loss
from pcenlib.acoustics import relaxation_frequencies

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
    [("sr", 0), ("sr", -1), ("distance", 0.9), ("distance", np.inf), ("distance", np.nan), ("humidity", 0)],
)
def test_bad_propagation_is_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name} must"):
        propagate(**{"x": [1.0], "sr": SR, "distance": 10, name: value})
