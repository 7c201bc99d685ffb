"""What a call, a night or a ship sounds like, in numbers: the same measurements on recorded and on simulated sound.

A call is the loudest sound of a clip within a band. Everything is measured on what it adds to the background, which is
taken from the sound before it. Of a night, all that matters here is what detection functions make of it. A ship is all
of its recording.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from pcenlib.core.checks import check_range, check_waveform
from pcenlib.core.setting import Setting
from pcenlib.core.spectrogram import spectrogram

__all__ = [
    "MODULATION_RATES",
    "THIRD_OCTAVES",
    "CallMeasurements",
    "ShipMeasurements",
    "SweepMeasurements",
    "measure_call",
    "measure_ship",
    "measure_sweep",
]

Power = npt.NDArray[np.float64]

# Powers are smoothed over so many seconds: longer than a period of a voice's pulses, shorter than a call.
SMOOTHING = 0.010
# A call may be interrupted for so many seconds.
GAP = 0.030

THIRD_OCTAVES = 50 * 2 ** (np.arange(13) / 3)
"""Centers of the bands of a ship's long-term spectrum, from 50 to 800 Hz."""

MODULATION_RATES = np.arange(1, 20.5, 0.5)
"""Rates at which a ship's level may fluctuate, in hertz."""


class CallMeasurements(NamedTuple):
    """Measurements of one call; times in seconds, frequencies in hertz, levels in decibels."""

    onset: float
    """When its power first comes within `drop` dB of its peak."""
    duration: float
    """From then until it falls below that for good."""
    attack: float
    """Rise of its power from 10 to 50 % of its median, including some 2 ms that are the smoothing's."""
    low: float
    """Frequency that 5 % of its energy is below."""
    centre: float
    """Frequency that half of its energy is below."""
    high: float
    """Frequency that 95 % of its energy is below."""
    start: float
    """Mean frequency of the first third."""
    end: float
    """Mean frequency of the last third."""
    pulse_rate: float
    """Pulses a second, the strongest rhythm of its envelope."""
    striation: float
    """How strong that rhythm is, as the peak of the envelope's spectrum over its median."""
    contrast: float
    """What its peak adds to the power of the background, over that power; of a weak call, the noise at its peak too."""


def measure_call(
    x: npt.ArrayLike, sr: int, *, band: tuple[float, float], pulse_rates: tuple[float, float], drop: float = 6.0
) -> CallMeasurements:
    """Measure the loudest call of a clip.

    Parameters
    ----------
    x : array_like, shape (sample,)
        A clip with one call, and background for at least 50 ms before it and for half of its length.
    sr : int
        Samples per second.
    band : (float, float)
        Lowest and highest frequency to look at, in hertz.
    pulse_rates : (float, float)
        Lowest and highest rate of pulses to look for, in hertz.
    drop : float
        How far below its peak the call begins and ends, in dB.

    Returns
    -------
    CallMeasurements
    """
    from scipy.signal import butter, hilbert, sosfiltfilt  # here, because it takes long to import

    x = check_waveform(x)
    if x.ndim != 1:
        raise ValueError(f"x must have shape (sample,), got {x.shape}")
    check_range("sr", sr, 0, open_low=True)
    check_range("drop", drop, 0, open_low=True)
    _check_pair("band", band, sr / 2)
    _check_pair("pulse_rates", pulse_rates, sr / 2)
    window = np.hanning(round(SMOOTHING * sr) + 2)[1:-1]
    margin = window.size
    if x.size < 5 * margin:
        raise ValueError(f"x must be at least {5 * SMOOTHING:g} s long, got {x.size / sr:g} s")
    filtered = sosfiltfilt(butter(4, band, "bandpass", fs=sr, output="sos"), x)
    power = np.convolve(np.abs(hilbert(filtered)) ** 2, window / window.sum(), mode="same")
    peak = margin + int(power[margin:-margin].argmax())
    background = float(np.median(power))
    excess = power - background
    if excess[peak] <= 0:
        raise ValueError("x must hold a call above its background, got one of constant power")
    first, last = _around(excess > excess[peak] * 10 ** (-drop / 10), peak, round(GAP * sr))
    call = filtered[first : last + 1]
    before = filtered[: max(first - round(0.05 * sr), 2 * margin)]
    third = max(1, call.size // 3)
    low, centre, high = _quantiles(*_excess_spectrum(call, before, sr, band), (0.05, 0.5, 0.95))
    rate, striation = _rhythm(np.abs(hilbert(call)), sr, pulse_rates)
    with np.errstate(divide="ignore"):  # a background of digital silence
        contrast = float(10 * np.log10(excess[peak] / background))
    return CallMeasurements(
        onset=first / sr,
        duration=(last - first) / sr,
        attack=_rise(excess, first, float(np.median(excess[first : last + 1]))) / sr,
        low=low,
        centre=centre,
        high=high,
        start=_mean_frequency(*_excess_spectrum(call[:third], before, sr, band)),
        end=_mean_frequency(*_excess_spectrum(call[-third:], before, sr, band)),
        pulse_rate=rate,
        striation=striation,
        contrast=contrast,
    )


def _check_pair(name: str, pair: tuple[float, float], below: float) -> None:
    if not 0 < pair[0] < pair[1] < below:
        raise ValueError(f"{name} must be two frequencies, rising, between 0 and {below:g} Hz, got {pair}")


def _around(inside: npt.NDArray[np.bool_], place: int, gap: int) -> tuple[int, int]:
    """First and last sample of the stretch around a place, across interruptions shorter than the gap."""
    members = np.flatnonzero(inside)
    breaks = np.flatnonzero(np.diff(members) > gap)
    run = np.searchsorted(members[breaks], place)
    edges = np.concatenate([[-1], breaks, [members.size - 1]])
    return int(members[edges[run] + 1]), int(members[edges[run + 1]])


def _rise(excess: Power, first: int, plateau: float) -> int:
    """Samples that the power takes to rise from 10 to 50 % of the plateau, around the onset."""
    later = first + int((excess[first:] > 0.5 * plateau).argmax())
    tenth, half = (np.flatnonzero(excess[:later] < share * plateau) for share in (0.1, 0.5))
    return int(half[-1] - tenth[-1]) if tenth.size else later


def _excess_spectrum(call: Power, before: Power, sr: int, band: tuple[float, float]) -> tuple[Power, Power]:
    """Frequencies within the band, and the power density there that the background does not explain."""
    from scipy.signal import periodogram, welch

    frequency, density = periodogram(call, sr, window="hann", nfft=max(call.size, 4096), detrend=False)
    bins, background = welch(before, sr, nperseg=min(1024, before.size), detrend=False)
    inside = (frequency >= band[0]) & (frequency <= band[1])
    frequency = frequency[inside]
    return frequency, np.maximum(density[inside] - np.interp(frequency, bins, background), 0)


def _quantiles(frequency: Power, density: Power, shares: tuple[float, ...]) -> list[float]:
    total = np.cumsum(density)
    middles = total - density / 2  # half of a bin's energy is below the bin's own frequency
    return [float(np.interp(share * total[-1], middles, frequency)) for share in shares]


def _mean_frequency(frequency: Power, density: Power) -> float:
    return float(np.sum(frequency * density) / np.sum(density))


def _rhythm(envelope: Power, sr: int, rates: tuple[float, float]) -> tuple[float, float]:
    """Rate of the strongest periodicity of an envelope, and how far it stands out."""
    n_fft = max(2**15, scipy.fft.next_fast_len(envelope.size, real=True))
    spectrum = np.abs(scipy.fft.rfft((envelope - envelope.mean()) * np.hanning(envelope.size), n_fft))
    rate = scipy.fft.rfftfreq(n_fft, 1 / sr)
    inside = (rate >= rates[0]) & (rate <= rates[1])
    best = int(spectrum[inside].argmax())
    return float(rate[inside][best]), float(spectrum[inside][best] / np.median(spectrum[inside]))


class SweepMeasurements(NamedTuple):
    """Measurements of one tone that rises; times in seconds, frequencies in hertz, levels in decibels."""

    onset: float
    """When it begins."""
    duration: float
    """How long it lasts."""
    start: float
    """Its frequency at the beginning."""
    end: float
    """Its frequency at the end."""
    curvature: float
    """The power of time with which the frequency rises."""
    contrast: float
    """Mean level along the sweep, over the median of each frequency."""
    harmonic: float
    """The same along twice its frequency, less the contrast."""


def measure_sweep(
    x: npt.ArrayLike,
    sr: int,
    *,
    starts: npt.ArrayLike,
    ends: npt.ArrayLike,
    durations: npt.ArrayLike,
    curvatures: npt.ArrayLike,
    win_length: int = 256,
) -> SweepMeasurements:
    r"""Find the rising tone that fits a clip best.

    Along each candidate that rises, end > start,

    .. math:: f(t) = \mathrm{start} + (\mathrm{end} - \mathrm{start})\,(t / \mathrm{duration})^{\mathrm{curvature}}

    and at each onset, the level over the median of each frequency is averaged, between -5 and 20 dB, so neither one
    loud moment nor one gap decides. The best has the largest average times the square root of its duration, because the
    average over a long stretch of noise is closer to zero.

    Parameters
    ----------
    x : array_like, shape (sample,)
        A clip with one sweep.
    sr : int
        Samples per second.
    starts, ends : array_like
        Frequencies to try, in hertz.
    durations : array_like
        Durations to try, in seconds.
    curvatures : array_like
        Powers of time to try.
    win_length : int
        Length of the Hann window in samples; windows are an eighth of it apart.

    Returns
    -------
    SweepMeasurements
    """
    setting = Setting(
        sr=sr,
        win_length=win_length,
        hop_length=win_length // 8,
        n_fft=2 * win_length,
        n_bands=win_length + 1,
        fmin=0,
        fmax=sr / 2,
        scale="linear",
        s=1.0,
    )
    level = 20 * np.log10(spectrogram(x, setting))
    level -= np.median(level, axis=1, keepdims=True)
    level = np.clip(level, -5, 20)
    start, end, curvature = (
        values.ravel() for values in np.meshgrid(*map(np.asarray, (starts, ends, curvatures)), indexing="ij")
    )
    rising = end > start
    if not rising.any():
        raise ValueError(f"ends must reach above the lowest of starts, got {ends!r} and {starts!r}")
    start, end, curvature = start[rising], end[rising], curvature[rising]
    progress = np.linspace(0, 1, 24)
    path = start[:, np.newaxis] + (end - start)[:, np.newaxis] * progress ** curvature[:, np.newaxis]
    bins = np.rint(path / setting.bin_width).astype(np.intp)
    best: tuple[float, int, int, float] | None = None
    for duration in np.asarray(durations, dtype=np.float64):
        steps = np.rint(progress * duration / setting.hop).astype(np.intp)
        for first in range(level.shape[1] - int(steps[-1])):
            fits = level[bins, first + steps].mean(axis=1)
            candidate = int(fits.argmax())
            score = float(fits[candidate]) * math.sqrt(duration)
            if best is None or score > best[0]:
                best = score, candidate, first, float(duration)
    if best is None:
        raise ValueError(f"durations must be shorter than x, {np.size(x) / sr:g} s, got {durations!r}")
    _, candidate, first, duration = best
    frames = first + np.rint(progress * duration / setting.hop).astype(np.intp)
    contrast = float(level[bins[candidate], frames].mean())
    doubled = level[np.minimum(2 * bins[candidate], level.shape[0] - 1), frames].mean()
    return SweepMeasurements(
        onset=float(setting.times(first + 1)[-1]),
        duration=duration,
        start=float(start[candidate]),
        end=float(end[candidate]),
        curvature=float(curvature[candidate]),
        contrast=contrast,
        harmonic=float(doubled) - contrast,
    )


class ShipMeasurements(NamedTuple):
    """Measurements of the noise of one ship; frequencies in hertz, levels in decibels."""

    slope: float
    """Change of its power spectral density in dB an octave, from 50 to 800 Hz."""
    rate: float
    """Rate at which its level fluctuates most."""
    excess: float
    """How far that rate stands out of its modulation spectrum."""
    levels: Power
    """Power spectral density in each of `THIRD_OCTAVES`, over their mean."""
    modulation: Power
    """Modulation spectrum at each of `MODULATION_RATES`, over its median."""


def measure_ship(x: npt.ArrayLike, sr: int) -> ShipMeasurements:
    """Measure the long-term spectrum of a ship and the rhythm of its noise.

    The modulation spectrum is the power spectrum of the level over time, where the level is the mean of the
    logarithmic powers of all bins from 100 to 900 Hz, in windows of 32 ms: neither a tone nor one loud moment weighs
    more than anything else.

    Parameters
    ----------
    x : array_like, shape (sample,)
        The noise of a ship, at least four seconds of it.
    sr : int
        Samples per second, at least 2000.

    Returns
    -------
    ShipMeasurements
    """
    from scipy.signal import spectrogram as powers  # here, because it takes long to import
    from scipy.signal import welch

    x = check_waveform(x)
    if x.ndim != 1:
        raise ValueError(f"x must have shape (sample,), got {x.shape}")
    check_range("sr", sr, 2000)
    check_range("the duration of x", x.size / sr, 4)
    frequency, density = welch(x, sr, nperseg=round(0.512 * sr), detrend=False)
    edges = THIRD_OCTAVES[:, np.newaxis] * 2.0 ** np.array([-1 / 6, 1 / 6])
    levels = np.array([density[(frequency >= low) & (frequency < high)].mean() for low, high in edges])
    levels = 10 * np.log10(levels / levels.mean())
    # Windows of 32 ms, 8 ms apart, in stretches of 2 s: rates half a hertz apart.
    hop = round(0.008 * sr)
    bins, _, power = powers(x, sr, nperseg=4 * hop, noverlap=3 * hop, detrend=False)
    level = 10 * np.log10(power[(bins >= 100) & (bins <= 900)]).mean(axis=0)
    rates, fluctuation = welch(level, sr / hop, nperseg=round(2 * sr / hop))
    modulation = 10 * np.log10(np.interp(MODULATION_RATES, rates, fluctuation))
    modulation -= np.median(modulation)
    strongest = int(modulation.argmax())
    return ShipMeasurements(
        slope=float(np.polyfit(np.log2(THIRD_OCTAVES), levels, 1)[0]),
        rate=float(MODULATION_RATES[strongest]),
        excess=float(modulation[strongest]),
        levels=levels,
        modulation=modulation,
    )
