"""Callers and noises, as waveforms at the source: what is heard before any distance.

Each function is deterministic given its random generator. Callers peak near 1, steady noises have a root mean square
of 1, and the drops and clicks of intermittent ones peak around 1; levels are set by whoever mixes them.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy.fft

from pcenlib._checks import check_count, check_range

__all__ = [
    "Nighthawk",
    "clicks",
    "insects",
    "modulated_noise",
    "nighthawk_call",
    "nighthawks",
    "noise",
    "noise_burst",
    "pulsation",
    "rain",
    "wind",
]

Waveform = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Nighthawk:
    """A Common Nighthawk (*Chordeiles minor*) that calls: what its *peent* sounds like at one metre.

    The defaults are fitted to the calls in which the nocturnal flight-call recordings of Rhinehart et al. (2022) show
    the pulses clearly: measured alike, by `measurements.measure_call`, simulated calls have the medians and the spreads
    of the recorded ones. Chapter 3.1 has the table.

    Parameters
    ----------
    pulse_rate : float
        Pulses a second, too fast to be heard apart: the fine vertical lines of a spectrogram.
    start, end : float
        Centre of the resonance at the beginning and at the end of the call, in hertz.
    width : float
        Standard deviation of the resonance's gain over frequency, in hertz.
    duration : float
        In seconds.
    attack, release : float
        Time in which the call grows to its full level, and falls from it, in seconds.
    level : float
        Sound pressure level of the call's loudest moment at one metre, in dB re 20 µPa. Nobody measured it for these
        birds; 90 dB is a common figure for birds of their size (Brackenbury, 1979).

    Notes
    -----
    Chapter 3.1, *Data and spectrograms*.
    """

    pulse_rate: float = 219.0
    start: float = 4050.0
    end: float = 3350.0
    width: float = 560.0
    duration: float = 0.21
    attack: float = 0.010
    release: float = 0.010
    level: float = 90.0

    def __post_init__(self) -> None:
        for name in ("pulse_rate", "start", "end", "width", "duration", "attack", "release"):
            check_range(name, getattr(self, name), 0, open_low=True)
        check_range("level", self.level, -np.inf)


# Standard deviations between individuals and between the calls of one, each relative to the value; levels in dB.
BETWEEN_BIRDS = {"pulse_rate": 0.03, "start": 0.03, "end": 0.04, "width": 0.1, "duration": 0.08, "attack": 0.3}
BETWEEN_CALLS = {"pulse_rate": 0.01, "start": 0.01, "end": 0.015, "width": 0.05, "duration": 0.04, "attack": 0.2}
LEVELS_BETWEEN_BIRDS, LEVELS_BETWEEN_CALLS = 3.0, 2.0


def nighthawks(n_birds: int, rng: np.random.Generator) -> list[Nighthawk]:
    """Individuals that differ as real ones do.

    Parameters
    ----------
    n_birds : int
        How many.
    rng : numpy.random.Generator
        Source of the differences.

    Returns
    -------
    list of Nighthawk

    Notes
    -----
    Chapter 3.1, *Data and spectrograms*.
    """
    check_count("n_birds", n_birds)
    return [_varied(Nighthawk(), rng, BETWEEN_BIRDS, LEVELS_BETWEEN_BIRDS) for _ in range(n_birds)]


def _varied(bird: Nighthawk, rng: np.random.Generator, spread: dict[str, float], level_spread: float) -> Nighthawk:
    """A bird, or a call, that differs from another by so much."""
    changed = {name: getattr(bird, name) * np.exp(sd * rng.standard_normal()) for name, sd in spread.items()}
    return replace(bird, level=bird.level + level_spread * rng.standard_normal(), **changed)


def nighthawk_call(sr: int, rng: np.random.Generator, *, bird: Nighthawk | None = None) -> Waveform:
    """The buzzing *peent* of a Common Nighthawk (*Chordeiles minor*).

    Pulses, too fast to be heard apart, ring in a broad resonance that falls within a fifth of a second. The pulses
    are a little irregular in strength, and everything varies by a few per cent from call to call.

    Parameters
    ----------
    sr : int
        Samples per second, at least 16000, and enough for the bird's resonance.
    rng : numpy.random.Generator
        Source of the variation between calls.
    bird : Nighthawk, optional
        Who calls; by default, the median bird.

    Returns
    -------
    ndarray
        About a fifth of a second of sound, with a peak of 1.

    Notes
    -----
    Chapter 1, *Introduction*, and sections 2 and 3.
    """
    bird = bird or Nighthawk()
    check_range("sr", sr, max(16000, 2 * (max(bird.start, bird.end) + bird.width)))
    call = _varied(bird, rng, BETWEEN_CALLS, 0.0)
    time = np.arange(round(call.duration * sr)) / sr
    progress = time / call.duration
    resonance = call.start + (call.end - call.start) * progress**2
    # A pulse train is a sum of cosines at the multiples of its rate, and the resonance weighs them. Those that it never
    # leaves above -70 dB, or that the sample rate does not hold, are left out.
    low = min(call.start, call.end) - 4 * call.width
    high = min(max(call.start, call.end) + 4 * call.width, sr / 2)
    harmonics = np.arange(max(1, np.ceil(low / call.pulse_rate)), np.ceil(high / call.pulse_rate))[:, np.newaxis]
    harmonics *= call.pulse_rate
    weights = np.exp(-0.5 * ((harmonics - resonance) / call.width) ** 2)
    pulses = np.sum(weights * np.cos(2 * np.pi * harmonics * time), axis=0)
    strength = rng.normal(1, 0.2, int(call.duration * call.pulse_rate) + 2)
    irregular = np.interp(time * call.pulse_rate, np.arange(strength.size), strength)
    envelope = np.clip(np.minimum(time / call.attack, (call.duration - time) / call.release), 0, 1)
    waveform = envelope * irregular * pulses
    return waveform / np.abs(waveform).max()


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
    check_count("n_samples", n_samples)
    check_range("sr", sr, 0, open_low=True)
    check_range("slope", slope, -np.inf)
    check_range("fmin", fmin, 0, sr / 2, open_low=True)
    white = rng.standard_normal(n_samples)
    if slope == 0:
        return white / np.sqrt(np.mean(white**2))
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
    check_count("n_samples", n_samples)
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


def wind(n_samples: int, sr: int, rng: np.random.Generator, *, spread: float = 6.0, rate: float = 0.3) -> Waveform:
    """Wind in leaves and at the microphone: noise that falls by 6 dB an octave, swelling and ebbing with the gusts.

    Parameters
    ----------
    n_samples, sr : int
        Length, and samples per second.
    rng : numpy.random.Generator
        Source of the noise and of the gusts.
    spread : float
        Standard deviation of the level from gust to lull, in dB.
    rate : float
        About how many gusts come in a second.

    Returns
    -------
    ndarray, shape (n_samples,)
        Noise with a root mean square of 1.

    Notes
    -----
    Chapter 3.1, *Data and spectrograms*.
    """
    check_range("spread", spread, 0)
    check_range("rate", rate, 0, open_low=True)
    steady = noise(n_samples, sr, rng, slope=-6.0)
    # A level at random every quarter of a gust, smoothed and joined by lines, whose mean square is 4/3.
    n_knots = int(np.ceil(4 * rate * n_samples / sr)) + 1
    knots = np.convolve(rng.standard_normal(n_knots + 2), [0.5, 1.0, 0.5], mode="valid") / np.sqrt(4 / 3)
    level = np.interp(4 * rate * np.arange(n_samples) / sr, np.arange(n_knots), knots)
    gusty = steady * 10 ** (spread * level / 20)
    return gusty / np.sqrt(np.mean(gusty**2))


def clicks(
    n_samples: int,
    sr: int,
    rng: np.random.Generator,
    *,
    rate: float,
    decay: float = 0.003,
    spread: float = 6.0,
    fmin: float = 0.0,
) -> Waveform:
    """Short broadband sounds at random times: a twig, a drop, a leaf, an electric discharge.

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

    Returns
    -------
    ndarray, shape (n_samples,)
        Decaying bursts of white noise; half of them start stronger than a standard deviation of 1.

    Notes
    -----
    Chapter 3.1, *Data and spectrograms*.
    """
    check_count("n_samples", n_samples)
    check_range("sr", sr, 0, open_low=True)
    check_range("rate", rate, 0)
    check_range("decay", decay, 0, open_low=True)
    check_range("spread", spread, 0)
    check_range("fmin", fmin, 0, sr / 2)
    length = max(1, round(8 * decay * sr))
    x = np.zeros(n_samples + length)
    envelope = np.exp(-np.arange(length) / (decay * sr))
    for begin in np.sort(rng.integers(0, n_samples, rng.poisson(rate * n_samples / sr))):
        gain = 10 ** (spread * rng.standard_normal() / 20)
        x[begin : begin + length] += gain * envelope * rng.standard_normal(length)
    if fmin > 0 and x.any():
        # Before the end is cut off: what the filter spreads past one end must not enter at the other.
        n_fft = scipy.fft.next_fast_len(x.size, real=True)
        squared = scipy.fft.rfftfreq(n_fft, 1 / sr) ** 2
        x = scipy.fft.irfft(scipy.fft.rfft(x, n_fft) * squared / np.hypot(squared, fmin**2), n_fft)
    return x[:n_samples]


def rain(n_samples: int, sr: int, rng: np.random.Generator, *, rate: float = 60.0) -> Waveform:
    """Rain: single drops near the microphone, above the hiss of all the others.

    Parameters
    ----------
    n_samples, sr : int
        Length, and samples per second.
    rng : numpy.random.Generator
        Source of the drops.
    rate : float
        Near drops in a second.

    Returns
    -------
    ndarray, shape (n_samples,)
        Noise with a root mean square of 1.

    Notes
    -----
    Chapter 3.1, *Data and spectrograms*.
    """
    hiss = noise(n_samples, sr, rng)
    drops = clicks(n_samples, sr, rng, rate=rate, decay=0.0015, spread=8.0, fmin=1000.0)
    shower = hiss + 4 * drops
    return shower / np.sqrt(np.mean(shower**2))


def insects(
    n_samples: int,
    sr: int,
    rng: np.random.Generator,
    *,
    carrier: float = 4800.0,
    rate: float = 2.5,
    pulses: int = 4,
) -> Waveform:
    """A cricket: chirps of a few pure-toned pulses each.

    Parameters
    ----------
    n_samples, sr : int
        Length, and samples per second.
    rng : numpy.random.Generator
        Source of the irregularities.
    carrier : float
        Frequency of the tone, in hertz.
    rate : float
        Chirps in a second.
    pulses : int
        Pulses in a chirp, 33 a second.

    Returns
    -------
    ndarray, shape (n_samples,)
        Song with a peak of about 1.

    Notes
    -----
    Chapter 3.1, *Data and spectrograms*. Carrier, pulses and chirps are those of field crickets at 20 degrees Celsius
    (Bennet-Clark, 1989).
    """
    check_count("n_samples", n_samples)
    check_range("sr", sr, 0, open_low=True)
    check_range("carrier", carrier, 0, sr / 2, open_low=True)
    check_range("rate", rate, 0, open_low=True)
    check_count("pulses", pulses)
    period, width = 0.030, 0.016
    n_pulse = round(width * sr)
    envelope = np.hanning(n_pulse)
    x = np.zeros(n_samples)
    begin = rng.uniform(0, 1 / rate)
    while begin < n_samples / sr:
        strength = rng.normal(1, 0.1)
        for pulse in range(pulses):
            first = round((begin + pulse * period + rng.normal(0, 0.001)) * sr)
            at = np.arange(max(0, first), min(n_samples, first + n_pulse))
            tone = np.sin(2 * np.pi * carrier * rng.normal(1, 0.003) * (at - first) / sr)
            x[at] += strength * envelope[at - first] * tone
        begin += rng.normal(1, 0.05) / rate
    return x
