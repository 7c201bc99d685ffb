"""What happens to sound along its path: spreading, absorption, foliage, echoes and reverberation.

Distances are meters, frequencies hertz, attenuations decibels.
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import scipy

from pcenlib.core.checks import check_range, check_waveform

__all__ = [
    "atmospheric_absorption",
    "foliage_loss",
    "propagate",
    "propagate_in_sea",
    "reflect",
    "relaxation_frequencies",
    "reverberate",
    "seawater_absorption",
    "spreading_loss",
]

REFERENCE_PRESSURE = 101.325  # kPa
REFERENCE_TEMPERATURE = 293.15  # K
TRIPLE_POINT = 273.16  # K

# Dense foliage, ISO 9613-2:1996, table A.1: octave bands in hertz; dB on a path of 10 to 20 m; dB/m from 20 to 200 m.
OCTAVES = (63, 125, 250, 500, 1000, 2000, 4000, 8000)
FOLIAGE_SHORT = (0, 0, 1, 1, 1, 1, 2, 3)
FOLIAGE_LONG = (0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.09, 0.12)


def spreading_loss(
    distance: npt.ArrayLike, *, reference: float = 1.0, exponent: float = 2.0
) -> npt.NDArray[np.float64]:
    r"""Level lost between the reference distance and a farther one, because the same energy fills more space.

    .. math:: 10\, n \log_{10} \frac{d}{d_\mathrm{ref}}

    A spherical wave has n = 2, a pressure in proportion to 1/d (section 2.1): 6 dB for each doubling. Between the
    surface and the floor of a shallow sea, a wave that has become cylindrical has n = 1.

    Parameters
    ----------
    distance : array_like
        Distance from the source, in meters; positive.
    reference : float
        Distance at which the loss is 0 dB, in meters.
    exponent : float
        Power n of the distance with which intensity falls.

    Returns
    -------
    ndarray
        Loss in dB; negative nearer than the reference.
    """
    check_range("reference", reference, 0, open_low=True)
    check_range("exponent", exponent, 0)
    distance = np.asarray(distance, dtype=np.float64)
    if not np.all(np.isfinite(distance) & (distance > 0)):
        raise ValueError("distance must be finite and positive, in meters")
    return 10 * exponent * np.log10(distance / reference)


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

    Examples
    --------
    >>> float(round(1000 * atmospheric_absorption(1000), 2))  # dB/km at 20 degrees Celsius and 70 %
    4.98
    """
    oxygen, nitrogen = relaxation_frequencies(temperature=temperature, humidity=humidity, pressure=pressure)
    frequency = _check_frequency(frequency)
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
    """Frequencies at which oxygen and nitrogen absorb most energy per cycle, ISO 9613-1:1993, equations 3 and 4.

    Parameters
    ----------
    temperature, humidity, pressure : float
        Weather, as for `atmospheric_absorption`.

    Returns
    -------
    oxygen, nitrogen : float
        In hertz.
    """
    check_range("temperature", temperature, -73, 100)
    check_range("humidity", humidity, 0, 100, open_low=True)
    check_range("pressure", pressure, 0, 200, open_low=True)
    kelvin = temperature + 273.15
    warmth = kelvin / REFERENCE_TEMPERATURE
    squeeze = pressure / REFERENCE_PRESSURE
    # Molar concentration of water vapor, in per cent (annex B).
    saturation = 10 ** (4.6151 - 6.8346 * (TRIPLE_POINT / kelvin) ** 1.261)
    vapour = humidity * saturation / squeeze
    oxygen = squeeze * (24 + 4.04e4 * vapour * (0.02 + vapour) / (0.391 + vapour))
    nitrogen = squeeze * warmth**-0.5 * (9 + 280 * vapour * math.exp(-4.170 * (warmth ** (-1 / 3) - 1)))
    return oxygen, nitrogen


def foliage_loss(frequency: npt.ArrayLike, *, path: float) -> npt.NDArray[np.float64]:
    """Level in dB lost on a path of so many meters through dense foliage, ISO 9613-2:1996, table A.1.

    Between the octave bands of the standard, the loss is interpolated in octaves. Nothing is lost below 10 m. A path
    above 200 m counts as 200 m, as in the standard, because sound also travels above the trees.
    """
    check_range("path", path, 0)
    frequency = _check_frequency(frequency)
    short, long = (np.asarray(loss, dtype=np.float64) for loss in (FOLIAGE_SHORT, FOLIAGE_LONG))
    loss = np.zeros(len(OCTAVES)) if path < 10 else short if path < 20 else long * min(path, 200.0)
    return np.interp(np.log2(np.maximum(frequency, 1)), np.log2(OCTAVES), loss)


def propagate(
    x: npt.ArrayLike,
    sr: int,
    distance: float,
    *,
    temperature: float = 20.0,
    humidity: float = 70.0,
    pressure: float = 101.325,
    excess: float = 0.0,
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
        Distance to the sensor in meters, at least `reference`.
    temperature, humidity, pressure : float
        Weather, as for `atmospheric_absorption`.
    excess : float
        Further loss in dB per 100 m, the same at all frequencies: what a forest takes.
    reference : float
        Distance at which `x` was heard, in meters.

    Returns
    -------
    ndarray, shape (..., sample)
        Waveform at the sensor. The time of travel is left out, so calls at all distances start together.

    Notes
    -----
    Absorption is applied as a filter of zero phase. Its true delays are microseconds, far less than one frame.
    """
    check_range("reference", reference, 0, open_low=True)
    check_range("distance", distance, reference)
    check_range("excess", excess, -math.inf)

    def loss(frequency: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        air = atmospheric_absorption(frequency, temperature=temperature, humidity=humidity, pressure=pressure)
        spreading = spreading_loss(distance, reference=reference)
        return spreading + (air + excess / 100) * (distance - reference)

    return _attenuated(x, sr, loss)


def seawater_absorption(
    frequency: npt.ArrayLike,
    *,
    temperature: float = 8.0,
    salinity: float = 32.0,
    depth: float = 0.03,
    acidity: float = 8.0,
) -> npt.NDArray[np.float64]:
    """Absorption of a pure tone by sea water, Ainslie and McColm (1998).

    Boric acid, magnesium sulfate and pure water each absorb sound, but hardly any below 1 kHz. The defaults are for a
    shallow bay in spring. The ranges are those that the formula was fitted to.

    Parameters
    ----------
    frequency : array_like
        Frequency in hertz; non-negative.
    temperature : float
        In degrees Celsius, from -6 to 35.
    salinity : float
        In parts per thousand, from 5 to 50.
    depth : float
        In kilometers, from 0 to 7.
    acidity : float
        pH, from 7.7 to 8.3.

    Returns
    -------
    ndarray
        Attenuation coefficient in dB/m.
    """
    check_range("temperature", temperature, -6, 35)
    check_range("salinity", salinity, 5, 50)
    check_range("depth", depth, 0, 7)
    check_range("acidity", acidity, 7.7, 8.3)
    squared = (_check_frequency(frequency) / 1000) ** 2
    boron = 0.78 * math.sqrt(salinity / 35) * math.exp(temperature / 26)
    magnesium = 42 * math.exp(temperature / 17)
    decibels_per_kilometre = squared * (
        0.106 * boron / (boron**2 + squared) * math.exp((acidity - 8) / 0.56)
        + 0.52 * (1 + temperature / 43) * (salinity / 35) * magnesium / (magnesium**2 + squared) * math.exp(-depth / 6)
        + 0.00049 * math.exp(-(temperature / 27 + depth / 17))
    )
    return decibels_per_kilometre / 1000


def propagate_in_sea(
    x: npt.ArrayLike, sr: int, distance: float, *, exponent: float = 1.5, reference: float = 1.0
) -> npt.NDArray[np.float64]:
    """A waveform as it arrives at a distance under water, as `propagate` does in air.

    The `exponent` is that of `spreading_loss`: 2 in deep water, 1 far away in shallow water, 1.5 as a practical mean.
    """
    check_range("reference", reference, 0, open_low=True)
    check_range("distance", distance, reference)

    def loss(frequency: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        spreading = spreading_loss(distance, reference=reference, exponent=exponent)
        return spreading + seawater_absorption(frequency) * (distance - reference)

    return _attenuated(x, sr, loss)


def _check_frequency(frequency: npt.ArrayLike) -> npt.NDArray[np.float64]:
    array = np.asarray(frequency, dtype=np.float64)
    if not np.all(np.isfinite(array) & (array >= 0)):
        raise ValueError("frequency must be finite and non-negative, in hertz")
    return array


def _attenuated(
    x: npt.ArrayLike, sr: int, loss: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]
) -> npt.NDArray[np.float64]:
    """A waveform (..., sample) weaker by so many dB at each frequency, through a filter of zero phase."""
    x = check_waveform(x)
    check_range("sr", sr, 0, open_low=True)
    # Zero-padded to twice its length: what the filter spreads past one end must not come in at the other.
    n_fft = scipy.fft.next_fast_len(2 * x.shape[-1], real=True)
    gain = 10 ** (-loss(scipy.fft.rfftfreq(n_fft, 1 / sr)) / 20)
    return scipy.fft.irfft(scipy.fft.rfft(x, n_fft) * gain, n_fft)[..., : x.shape[-1]]


def reflect(
    x: npt.ArrayLike,
    sr: int,
    *,
    distance: float,
    source_height: float,
    sensor_height: float,
    coefficient: float,
    speed: float = 343.0,
) -> npt.NDArray[np.float64]:
    r"""A waveform with its echo from a plane: the ground, or the surface of the sea.

    The echo seems to come from the mirror image of the source. Its path is longer,

    .. math:: \sqrt{d^2 + (h_1 + h_2)^2} \quad\text{instead of}\quad \sqrt{d^2 + (h_1 - h_2)^2},

    so it arrives later and, by spreading, weaker. The two interfere.

    Parameters
    ----------
    x : array_like, shape (..., sample)
        The waveform that arrives on the direct path.
    sr : int
        Samples per second.
    distance : float
        Horizontal distance d between source and sensor, in meters.
    source_height, sensor_height : float
        Their distances from the plane, in meters.
    coefficient : float
        Share of the pressure that is reflected, in [-1, 1]; -1 for a calm sea seen from below.
    speed : float
        Speed of sound in m/s.

    Returns
    -------
    ndarray, shape (..., sample)
        Direct sound and echo together, longer than `x` by the delay of the echo.
    """
    x = check_waveform(x)
    for name, value in (("sr", sr), ("distance", distance), ("speed", speed)):
        check_range(name, value, 0, open_low=True)
    for name, value in (("source_height", source_height), ("sensor_height", sensor_height)):
        check_range(name, value, 0)
    check_range("coefficient", coefficient, -1, 1)
    direct = math.hypot(distance, source_height - sensor_height)
    reflected = math.hypot(distance, source_height + sensor_height)
    delay = (reflected - direct) / speed
    n_samples = x.shape[-1] + math.ceil(delay * sr)
    n_fft = scipy.fft.next_fast_len(2 * n_samples, real=True)
    echo = coefficient * direct / reflected * np.exp(-2j * np.pi * scipy.fft.rfftfreq(n_fft, 1 / sr) * delay)
    return scipy.fft.irfft(scipy.fft.rfft(x, n_fft) * (1 + echo), n_fft)[..., :n_samples]


def reverberate(
    x: npt.ArrayLike, sr: int, rng: np.random.Generator, *, ratio: float, decay_time: float
) -> npt.NDArray[np.float64]:
    """A waveform with the diffuse sound that trunks, leaves or a rough sea floor scatter after it.

    The scattered sound is the waveform filtered by noise that decays exponentially.

    Parameters
    ----------
    x : array_like, shape (sample,)
        The waveform that arrives on the direct path.
    sr : int
        Samples per second.
    rng : numpy.random.Generator
        Places the scatterers.
    ratio : float
        Energy of the scattered sound over that of the direct one, in dB, on average over frequency.
    decay_time : float
        Time in which the scattered sound falls by 60 dB, in seconds.

    Returns
    -------
    ndarray, shape (sample,)
        Direct and scattered sound together, longer than `x` by `decay_time`.
    """
    x = check_waveform(x)
    if x.ndim != 1:
        raise ValueError(f"x must have shape (sample,), got {x.shape}")
    check_range("sr", sr, 0, open_low=True)
    check_range("ratio", ratio, -math.inf)
    check_range("decay_time", decay_time, 0, open_low=True)
    n_tail = max(1, round(decay_time * sr))
    # Pressure falls by a factor of 1000, that is 60 dB, within the decay time.
    tail = rng.standard_normal(n_tail) * 1000.0 ** (-np.arange(n_tail) / n_tail)
    tail *= 10 ** (ratio / 20) / np.sqrt(np.sum(tail**2))
    response = np.concatenate([[1.0], tail])
    n_samples = x.size + n_tail
    n_fft = scipy.fft.next_fast_len(n_samples, real=True)
    return scipy.fft.irfft(scipy.fft.rfft(x, n_fft) * scipy.fft.rfft(response, n_fft), n_fft)[:n_samples]
