"""Noises as waveforms at the source, before any distance: hiss, wind, rain, insects and clicks.

Each function is deterministic given its random generator. Steady noises have a root mean square of 1; bursts, drops and
clicks peak around 1. Whoever mixes them sets the levels. Lengths are in samples, and rates per second.
"""

import numpy as np
import numpy.typing as npt
import scipy

from pcenlib.core.checks import check_count, check_range

__all__ = ["clicks", "insects", "irregular_level", "noise", "noise_burst", "pulsation", "rain", "wind"]

Waveform = npt.NDArray[np.float64]

CARRIERS = (3000.0, 8000.0)  # between which crickets sing, in hertz


def noise(n_samples: int, sr: int, rng: np.random.Generator, *, slope: float = 0.0, fmin: float = 20.0) -> Waveform:
    """Gaussian noise whose power spectral density changes by `slope` dB an octave: 0 is white, -3 is pink.

    Parameters
    ----------
    n_samples, sr : int
        Length, and samples per second.
    rng : numpy.random.Generator
        Source of the noise.
    slope : float
        Change of the power spectral density, in dB an octave.
    fmin : float
        Frequency in hertz below which the density stays as it is there.

    Returns
    -------
    ndarray, shape (n_samples,)
        Noise with a root mean square of 1.
    """
    check_count("n_samples", n_samples)
    check_range("sr", sr, 0, open_low=True)
    check_range("slope", slope, -np.inf)
    check_range("fmin", fmin, 0, sr / 2, open_low=True)
    n_fft = n_samples if slope == 0 else scipy.fft.next_fast_len(n_samples, real=True)
    x = rng.standard_normal(n_fft)
    if slope != 0:
        octaves = np.log2(np.maximum(scipy.fft.rfftfreq(n_fft, 1 / sr), fmin) / fmin)
        x = scipy.fft.irfft(scipy.fft.rfft(x) * 10 ** (slope * octaves / 20), n_fft)[:n_samples]
    return x / np.sqrt(np.mean(x**2))


def noise_burst(
    sr: int, rng: np.random.Generator, *, fmin: float = 1000.0, fmax: float = 10000.0, duration: float = 0.2
) -> Waveform:
    """A hiss that fills a band of frequencies evenly: the plainest call that spans several octaves.

    Parameters
    ----------
    sr : int
        Samples per second.
    rng : numpy.random.Generator
        Source of the hiss.
    fmin, fmax : float
        Lowest and highest frequency, in hertz.
    duration : float
        In seconds, of which 10 ms are a fade at either end.

    Returns
    -------
    ndarray
        The burst, with a peak of 1.
    """
    check_range("fmax", fmax, 0, sr / 2, open_low=True)
    check_range("fmin", fmin, 0, fmax)
    check_range("duration", duration, 0.02)
    n_samples = round(duration * sr)
    frequency = scipy.fft.rfftfreq(n_samples, 1 / sr)
    inside = (frequency >= fmin) & (frequency <= fmax)
    if not inside.any():
        raise ValueError(f"fmin and fmax must be at least {1 / duration:g} Hz apart, got {fmin:g} and {fmax:g}")
    hiss = scipy.fft.irfft(scipy.fft.rfft(rng.standard_normal(n_samples)) * inside, n_samples)
    time = np.arange(n_samples) / sr
    burst = np.clip(np.minimum(time, duration - time) / 0.010, 0, 1) * hiss
    return burst / np.abs(burst).max()


def pulsation(
    n_samples: int, sr: int, *, period: float, active: float = 0.5, depth: float = 1.0, phase: float = 0.0
) -> Waveform:
    """The gain of a source that is switched on and off, as a propeller or a piston does with the noise of a ship.

    Parameters
    ----------
    n_samples, sr : int
        Length, and samples per second.
    period : float
        Time from one activation to the next, in seconds.
    active : float
        Share of the period during which the source is on, in ]0, 1].
    depth : float
        1 switches the source off between activations, 0 leaves it on.
    phase : float
        Share of the first period that has passed when the waveform begins, in [0, 1].

    Returns
    -------
    ndarray, shape (n_samples,)
        1 while the source is on, ``1 - depth`` while it is off.
    """
    check_count("n_samples", n_samples)
    check_range("sr", sr, 0, open_low=True)
    check_range("period", period, 0, open_low=True)
    check_range("active", active, 0, 1, open_low=True)
    check_range("depth", depth, 0, 1)
    check_range("phase", phase, 0, 1)
    on = (np.arange(n_samples) / (sr * period) + phase) % 1 < active
    return np.where(on, 1.0, 1 - depth)


def wind(n_samples: int, sr: int, rng: np.random.Generator, *, spread: float = 6.0, rate: float = 0.3) -> Waveform:
    """Wind in leaves and at the microphone: noise that falls by 6 dB an octave and swells with the gusts.

    About `rate` gusts come in a second; `spread` is the standard deviation of the level in dB.
    """
    check_range("spread", spread, 0)
    check_range("rate", rate, 0, open_low=True)
    steady = noise(n_samples, sr, rng, slope=-6.0)
    level = spread * irregular_level(n_samples, sr, rng, rate)
    gusty = steady * 10 ** (level / 20)
    return gusty / np.sqrt(np.mean(gusty**2))


def irregular_level(n_samples: int, sr: int, rng: np.random.Generator, rate: float) -> Waveform:
    """A random level that rises about `rate` times a second, with a mean of 0 and a mean square of 1."""
    # A random value every quarter of a swing, smoothed and joined by lines, whose mean square is 4/3.
    n_knots = int(np.ceil(4 * rate * n_samples / sr)) + 1
    knots = np.convolve(rng.standard_normal(n_knots + 2), [0.5, 1.0, 0.5], mode="valid") / np.sqrt(4 / 3)
    return np.interp(4 * rate * np.arange(n_samples) / sr, np.arange(n_knots), knots)


def clicks(
    n_samples: int,
    sr: int,
    rng: np.random.Generator,
    *,
    rate: float,
    decay: float = 0.003,
    spread: float = 6.0,
    fmin: float = 0.0,
    octaves: float | None = None,
) -> Waveform:
    """Short sounds at random times: a twig, a drop, a leaf, an electric discharge.

    Parameters
    ----------
    n_samples, sr : int
        Length, and samples per second.
    rng : numpy.random.Generator
        Source of the clicks.
    rate : float
        How many come in a second, on average; their times are independent.
    decay : float
        Time in which a click falls by a factor of e, in seconds.
    spread : float
        Standard deviation of their levels, in dB.
    fmin : float
        Frequency in hertz below which they hold little.
    octaves : float, optional
        Width of the band that a click fills, from a quarter of this to four times as much. Each click has another band
        above `fmin`. By default, clicks are white.

    Returns
    -------
    ndarray, shape (n_samples,)
        Decaying bursts of noise; half of them start stronger than a standard deviation of 1.
    """
    check_count("n_samples", n_samples)
    check_range("sr", sr, 0, open_low=True)
    check_range("rate", rate, 0)
    check_range("decay", decay, 0, open_low=True)
    check_range("spread", spread, 0)
    check_range("fmin", fmin, 0, sr / 2)
    if octaves is not None:
        check_range("octaves", octaves, 0, open_low=True)
    length = max(1, round(8 * decay * sr))
    x = np.zeros(n_samples + length)
    envelope = np.exp(-np.arange(length) / (decay * sr))
    for begin in np.sort(rng.integers(0, n_samples, rng.poisson(rate * n_samples / sr))):
        gain = 10 ** (spread * rng.standard_normal() / 20)
        burst = rng.standard_normal(length)
        if octaves is not None:
            width, low = octaves * 4 ** rng.uniform(-1, 1), max(fmin, sr / length)
            burst = _resonance(burst, sr, octaves=width, centre=np.exp(rng.uniform(np.log(low), np.log(sr / 2))))
        x[begin : begin + length] += gain * envelope * burst
    if fmin > 0 and x.any():
        # Before the end is cut off: what the filter spreads past one end must not come in at the other.
        n_fft = scipy.fft.next_fast_len(x.size, real=True)
        squared = scipy.fft.rfftfreq(n_fft, 1 / sr) ** 2
        x = scipy.fft.irfft(scipy.fft.rfft(x, n_fft) * squared / np.hypot(squared, fmin**2), n_fft)
    return x[:n_samples]


def _resonance(white: Waveform, sr: int, *, octaves: float, centre: float) -> Waveform:
    """White noise in a band of so many octaves around a frequency; its power stays the same."""
    frequency = scipy.fft.rfftfreq(white.size, 1 / sr)
    # The width of a bell curve is that of the rectangle with its height and area: sqrt(2 pi) standard deviations.
    gain = np.exp(-np.pi * (np.log2(np.maximum(frequency, frequency[1]) / centre) / octaves) ** 2)
    return scipy.fft.irfft(scipy.fft.rfft(white) * gain / np.sqrt(np.mean(gain**2)), white.size)


def rain(
    n_samples: int, sr: int, rng: np.random.Generator, *, rate: float = 100.0, level: float = 0.0, spread: float = 6.0
) -> Waveform:
    """Rain: single drops near the microphone above the hiss of all the others.

    Parameters
    ----------
    n_samples, sr : int
        Length, and samples per second.
    rng : numpy.random.Generator
        Source of the rain.
    rate : float
        How many drops fall in a second. They are `clicks`, in bands of about an octave.
    level, spread : float
        Level at which half of the drops start over the hiss, in dB: its mean and its standard deviation from one rain
        to the next. All three are fitted to the rain of ESC-50; chapter 3.1 has the comparison.

    Returns
    -------
    ndarray, shape (n_samples,)
        Rain with a root mean square of 1.
    """
    check_range("level", level, -np.inf)
    check_range("spread", spread, 0)
    gain = 10 ** (rng.normal(level, spread) / 20)
    hiss = noise(n_samples, sr, rng)
    shower = hiss + gain * clicks(n_samples, sr, rng, rate=rate, decay=0.0015, fmin=1000.0, octaves=1.0)
    return shower / np.sqrt(np.mean(shower**2))


def insects(
    n_samples: int,
    sr: int,
    rng: np.random.Generator,
    *,
    singers: int = 4,
    rate: float = 2.5,
    octaves: float = 0.4,
    spread: float = 14.0,
) -> Waveform:
    """Crickets and their kin: chirps of a few pulses each, or trills, in a narrow band of every singer's own.

    Carriers from 3 to 8 kHz, 25 to 60 pulses a second and 2 to 8 pulses a chirp are those of crickets
    (Bennet-Clark, 1989). The number of singers, their bands and levels are fitted to the crickets of ESC-50.

    Parameters
    ----------
    n_samples, sr : int
        Length, and samples per second, more than twice the highest carrier.
    rng : numpy.random.Generator
        Source of the songs.
    singers : int
        How many sing.
    rate : float
        Chirps a second of a usual singer; from 0.6 to 1.6 times as many of others.
    octaves : float
        Width of the band that a song fills, from a quarter of this to four times as much.
    spread : float
        Standard deviation of their levels, in dB.

    Returns
    -------
    ndarray, shape (n_samples,)
        Half of the singers have a root mean square of more than 1 at the height of a pulse.
    """
    check_count("n_samples", n_samples)
    check_range("sr", sr, 2 * CARRIERS[1], open_low=True)
    check_count("singers", singers)
    check_range("rate", rate, 0, open_low=True)
    check_range("octaves", octaves, 0, open_low=True)
    check_range("spread", spread, 0)
    time = np.arange(n_samples) / sr
    total = np.zeros(n_samples)
    for own in rng.spawn(singers):
        gain, width = 10 ** (spread * own.standard_normal() / 20), octaves * 4 ** own.uniform(-1, 1)
        carrier, chirps = np.exp(own.uniform(*np.log(CARRIERS))), rate * own.uniform(0.6, 1.6)
        pulses, pulse_rate = own.integers(2, 9), own.uniform(25, 60)
        within = (chirps * time + own.random()) % 1 / chirps  # seconds since the chirp began
        pulse = np.sin(np.pi * np.minimum(pulse_rate * within % 1 / 0.55, 1)) ** 2
        hiss = own.standard_normal(scipy.fft.next_fast_len(n_samples, real=True))
        song = _resonance(hiss, sr, octaves=width, centre=carrier)[:n_samples]
        total += gain * pulse * (within < pulses / pulse_rate) * song
    return total
