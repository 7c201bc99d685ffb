"""How sound fades on its way through the air: spreading, and absorption after ISO 9613-1.

Distances are metres, frequencies hertz, attenuations decibels.
"""

import math

import numpy as np
import numpy.typing as npt
import scipy

from pcenlib._checks import check_range, check_waveform

__all__ = ["atmospheric_absorption", "propagate", "relaxation_frequencies", "spreading_loss"]

REFERENCE_PRESSURE = 101.325  # kPa
REFERENCE_TEMPERATURE = 293.15  # K
TRIPLE_POINT = 273.16  # K


def spreading_loss(distance: npt.ArrayLike, *, reference: float = 1.0) -> npt.NDArray[np.float64]:
    r"""Level lost by a spherical wave between the reference distance and a farther one.

    .. math:: 20 \log_{10} \frac{d}{d_\mathrm{ref}}

    that is, a pressure in proportion to 1/d (section 2.1): 6 dB for each doubling.

    Parameters
    ----------
    distance : array_like
        Distance from the source, in metres; positive.
    reference : float
        Distance at which the loss is 0 dB, in metres.

    Returns
    -------
    ndarray
        Loss in dB; negative nearer than the reference.

    Notes
    -----
    Chapter 2.1, *Averaged spectral flux*.
    """
    check_range("reference", reference, 0, open_low=True)
    distance = np.asarray(distance, dtype=np.float64)
    if not np.all(np.isfinite(distance) & (distance > 0)):
        raise ValueError("distance must be finite and positive, in metres")
    return 20 * np.log10(distance / reference)


def atmospheric_absorption(
    frequency: npt.ArrayLike, *, temperature: float = 20.0, humidity: float = 70.0, pressure: float = 101.325
) -> npt.NDArray[np.float64]:
    r"""Absorption of a pure tone by still air, ISO 9613-1:1993, equations 3 to 5.

    Classical losses (viscosity and heat conduction) grow with the square of the frequency. Each of the two molecular
    relaxations, of oxygen and of nitrogen, adds a term that is quadratic below its own relaxation frequency and
    constant above it; humidity moves these frequencies.

    Parameters
    ----------
    frequency : array_like
        Frequency in hertz; non-negative.
    temperature : float
        Air temperature in degrees Celsius. The standard states its accuracy from -20 to 50.
    humidity : float
        Relative humidity in per cent, in ]0, 100].
    pressure : float
        Atmospheric pressure in kPa, at most 200.

    Returns
    -------
    ndarray
        Attenuation coefficient in dB/m.

    Notes
    -----
    Chapter 2.2, *Max-pooled spectral flux*.

    Examples
    --------
    >>> float(round(1000 * atmospheric_absorption(1000), 2))  # dB/km at 20 degrees Celsius and 70 %
    4.98
    """
    oxygen, nitrogen = relaxation_frequencies(temperature=temperature, humidity=humidity, pressure=pressure)
    frequency = np.asarray(frequency, dtype=np.float64)
    if not np.all(np.isfinite(frequency) & (frequency >= 0)):
        raise ValueError("frequency must be finite and non-negative, in hertz")
    kelvin = temperature + 273.15
    warmth = kelvin / REFERENCE_TEMPERATURE
    squeeze = pressure / REFERENCE_PRESSURE
    squared = frequency**2
    classical = 1.84e-11 / squeeze * warmth**0.5
    relaxation = warmth**-2.5 * (
        0.01275 * np.exp(-2239.1 / kelvin) / (oxygen + squared / oxygen)
        + 0.1068 * np.exp(-3352.0 / kelvin) / (nitrogen + squared / nitrogen)
    )
    return 8.686 * squared * (classical + relaxation)


def relaxation_frequencies(
    *, temperature: float = 20.0, humidity: float = 70.0, pressure: float = 101.325
) -> tuple[float, float]:
    """Frequencies at which oxygen and nitrogen take up most energy per cycle, ISO 9613-1:1993, equations 3 and 4.

    Parameters
    ----------
    temperature, humidity, pressure : float
        Weather, as for `atmospheric_absorption`.

    Returns
    -------
    oxygen, nitrogen : float
        In hertz.

    Notes
    -----
    Chapter 2.2, *Max-pooled spectral flux*.
    """
    check_range("temperature", temperature, -73, 100)
    check_range("humidity", humidity, 0, 100, open_low=True)
    check_range("pressure", pressure, 0, 200, open_low=True)
    kelvin = temperature + 273.15
    warmth = kelvin / REFERENCE_TEMPERATURE
    squeeze = pressure / REFERENCE_PRESSURE
    # Molar concentration of water vapour, in per cent (annex B).
    saturation = 10 ** (4.6151 - 6.8346 * (TRIPLE_POINT / kelvin) ** 1.261)
    vapour = humidity * saturation / squeeze
    oxygen = squeeze * (24 + 4.04e4 * vapour * (0.02 + vapour) / (0.391 + vapour))
    nitrogen = squeeze * warmth**-0.5 * (9 + 280 * vapour * math.exp(-4.170 * (warmth ** (-1 / 3) - 1)))
    return oxygen, nitrogen


def propagate(
    x: npt.ArrayLike,
    sr: int,
    distance: float,
    *,
    temperature: float = 20.0,
    humidity: float = 70.0,
    pressure: float = 101.325,
    reference: float = 1.0,
) -> npt.NDArray[np.float64]:
    """A waveform as it arrives at a distance: weaker by spreading, duller by absorption.

    Parameters
    ----------
    x : array_like, shape (..., sample)
        Waveform at the reference distance.
    sr : int
        Samples per second.
    distance : float
        Distance to the sensor in metres, at least `reference`.
    temperature, humidity, pressure : float
        Weather, as for `atmospheric_absorption`.
    reference : float
        Distance at which `x` was heard, in metres.

    Returns
    -------
    ndarray, shape (..., sample)
        Waveform at the sensor. The time of travel is left out, so that calls at all distances start together.

    Notes
    -----
    Chapters 1, 2.1 and 2.2. Absorption is applied as a filter of zero phase: its own delays, of the order of
    microseconds, are far below one frame.
    """
    x = check_waveform(x)
    check_range("sr", sr, 0, open_low=True)
    check_range("reference", reference, 0, open_low=True)
    check_range("distance", distance, reference)
    # Completed with zeros to twice its length: what the filter spreads past one end must not enter at the other.
    n_fft = scipy.fft.next_fast_len(2 * x.shape[-1], real=True)
    frequency = scipy.fft.rfftfreq(n_fft, 1 / sr)
    absorption = atmospheric_absorption(frequency, temperature=temperature, humidity=humidity, pressure=pressure)
    loss = spreading_loss(distance, reference=reference) + absorption * (distance - reference)
    return scipy.fft.irfft(scipy.fft.rfft(x, n_fft) * 10 ** (-loss / 20), n_fft)[..., : x.shape[-1]]
