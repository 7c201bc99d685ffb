"""Callers and noises, as waveforms at the source: what is heard before any distance.

Each function is deterministic given its random generator. Callers peak near 1, noises have a root mean square of 1;
levels are set by whoever mixes them.
"""

import numpy as np
import numpy.typing as npt
import scipy.fft

from pcenlib._checks import check_range

__all__ = ["modulated_noise", "nighthawk_call", "noise", "noise_burst", "pulsation", "scops_owl_hoot"]

Waveform = npt.NDArray[np.float64]


def nighthawk_call(sr: int, rng: np.random.Generator) -> Waveform:
    """The buzzing *peent* of a Common Nighthawk (*Chordeiles minor*).

    Pulses at about 214 a second, too fast to be heard apart, ring in a broad resonance that falls from 4 to 3.3 kHz
    within a fifth of a second. The figures are those of the clearest calls of the nocturnal flight-call recordings
    of Rhinehart et al. (2022); pulse rate, resonance and duration vary by a few per cent from call to call.

    Parameters
    ----------
    sr : int
        Samples per second, at least 16000.
    rng : numpy.random.Generator
        Source of the variation between calls.

    Returns
    -------
    ndarray
        About 0.21 s of sound, with a peak of 1.

    Notes
    -----
    Chapter 1, *Introduction*, and section 2.
    """
    check_range("sr", sr, 16000)
    pulse_rate, start, end, duration = np.array([214, 4000, 3300, 0.21]) * rng.normal(1, 0.03, 4)
    time = np.arange(round(duration * sr)) / sr
    progress = time / duration
    resonance = start + (end - start) * progress**2
    harmonics = np.arange(8, 36)[:, np.newaxis] * pulse_rate
    # A pulse train is a sum of cosines at the multiples of its rate; the resonance weighs them.
    weights = np.exp(-0.5 * ((harmonics - resonance) / 450) ** 2)
    pulses = np.sum(weights * np.cos(2 * np.pi * harmonics * time), axis=0)
    envelope = np.clip(np.minimum(time / 0.010, (duration - time) / 0.008), 0, 1)
    call = envelope * pulses
    return call / np.abs(call).max()


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

    Notes
    -----
    Chapter 2.1, *Averaged spectral flux*, and the chapters that need a background.
    """
    check_range("n_samples", n_samples, 1)
    check_range("sr", sr, 0, open_low=True)
    check_range("slope", slope, -np.inf)
    check_range("fmin", fmin, 0, sr / 2, open_low=True)
    white = rng.standard_normal(n_samples)
    octaves = np.log2(np.maximum(scipy.fft.rfftfreq(n_samples, 1 / sr), fmin) / fmin)
    coloured = scipy.fft.irfft(scipy.fft.rfft(white) * 10 ** (slope * octaves / 20), n_samples)
    return coloured / np.sqrt(np.mean(coloured**2))


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

    Notes
    -----
    Chapter 2.2, *Max-pooled spectral flux*.
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

    Notes
    -----
    Chapter 4.2, *The log(3/2) of ship noise*.
    """
    check_range("n_samples", n_samples, 1)
    check_range("sr", sr, 0, open_low=True)
    check_range("period", period, 0, open_low=True)
    check_range("active", active, 0, 1, open_low=True)
    check_range("depth", depth, 0, 1)
    check_range("phase", phase, 0, 1)
    on = (np.arange(n_samples) / (sr * period) + phase) % 1 < active
    return np.where(on, 1.0, 1 - depth)


def modulated_noise(
    n_samples: int,
    sr: int,
    rng: np.random.Generator,
    *,
    period: float,
    active: float = 0.5,
    depth: float = 1.0,
    phase: float = 0.0,
    slope: float = 0.0,
) -> Waveform:
    """Noise switched on and off: the simplest ship.

    Parameters
    ----------
    n_samples, sr : int
        Length, and samples per second.
    rng : numpy.random.Generator
        Source of the noise.
    period, active, depth, phase : float
        When it is on, as for `pulsation`.
    slope : float
        Change of the power spectral density, in dB an octave, as for `noise`.

    Returns
    -------
    ndarray, shape (n_samples,)
        Noise with a root mean square of 1 while it is on.

    Notes
    -----
    Chapter 4.2, *The log(3/2) of ship noise*.
    """
    gain = pulsation(n_samples, sr, period=period, active=active, depth=depth, phase=phase)
    return gain * noise(n_samples, sr, rng, slope=slope)


def scops_owl_hoot(sr: int, rng: np.random.Generator) -> Waveform:
    """The whistled hoot of a Eurasian Scops Owl (*Otus scops*), one of those that it gives every three seconds or so.

    A pure tone near 1.3 kHz of a quarter of a second that falls quickly at first. Duration and frequency vary by a few
    per cent from hoot to hoot, as they differ between males (Galeotti and Sacchi, 2001).

    Parameters
    ----------
    sr : int
        Samples per second, at least 4000.
    rng : numpy.random.Generator
        Source of the variation between hoots.

    Returns
    -------
    ndarray
        About 0.25 s of sound, with a peak near 1.

    Notes
    -----
    Chapter *Your own recordings*, as an animal that the paper does not speak of.
    """
    check_range("sr", sr, 4000)
    frequency, duration = np.array([1300, 0.25]) * rng.normal(1, 0.04, 2)
    time = np.arange(round(duration * sr)) / sr
    phase = 2 * np.pi * np.cumsum(frequency * (1 + 0.15 * np.exp(-time / 0.02))) / sr
    return np.clip(np.minimum(time / 0.015, (duration - time) / 0.040), 0, 1) * np.sin(phase)
