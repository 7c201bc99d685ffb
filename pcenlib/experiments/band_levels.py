"""Levels of sounds in their own bands, with the noise taken off, and where alarms begin near them."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["LEAST", "BandPower", "Level", "alarm_starts", "errors", "lag"]

Array = npt.NDArray[np.float64]

LEAST = 3.0
"""Decibels above the noise that a sound needs for its level to count."""


class BandPower:
    """Mean power of a waveform within a band, between any two times.

    Parameters
    ----------
    x : ndarray, shape (sample,)
        The waveform.
    sr : int
        Samples per second.
    low, high : float
        Ends of the band in hertz, sharp.
    """

    def __init__(self, x: npt.NDArray[np.floating], sr: int, low: float, high: float) -> None:
        import scipy.fft

        n_fft = scipy.fft.next_fast_len(x.size, real=True)
        spectrum = scipy.fft.rfft(x, n_fft)
        frequency = scipy.fft.rfftfreq(n_fft, 1 / sr)
        spectrum[(frequency < low) | (frequency > high)] = 0
        self.sr = sr
        self._energy = np.concatenate([[0.0], np.cumsum(scipy.fft.irfft(spectrum, n_fft)[: x.size] ** 2)])

    def __call__(self, begin: npt.ArrayLike, end: npt.ArrayLike) -> Array:
        """Mean power from one time to another, in seconds; what is beyond the waveform does not count."""
        first, last = (
            np.clip(np.round(np.asarray(t) * self.sr).astype(int), 0, self._energy.size - 1) for t in (begin, end)
        )
        if np.any(last <= first):
            raise ValueError("begin must be before end, and a part between them within the waveform")
        return np.asarray((self._energy[last] - self._energy[first]) / (last - first))


class Level(NamedTuple):
    """A level in decibels re the unit of the waveform, and how far it is above the noise."""

    level: float
    """Of the sound without the noise; NaN if sound and noise are not `LEAST` above the noise."""
    noise: float
    """Of the noise alone."""
    above: float
    """Of sound and noise together above the noise, in dB."""

    @classmethod
    def of(cls, total: float, noise: float) -> "Level":
        """From the mean power of sound and noise together, and of noise alone."""
        above = 10 * np.log10(total / noise)
        level = 10 * np.log10(total - noise) if above >= LEAST else np.nan
        return cls(float(level), float(10 * np.log10(noise)), float(above))


def lag(
    x: npt.NDArray[np.floating],
    reference: npt.NDArray[np.floating],
    sr: int,
    *,
    band: tuple[float, float],
    most: float,
) -> float:
    """Seconds by which a waveform is behind a reference: where their cross-correlation within a band is largest.

    Parameters
    ----------
    x, reference : ndarray, shape (sample,)
        Two waveforms.
    sr : int
        Samples per second.
    band : (float, float)
        Frequencies that count, in hertz.
    most : float
        Largest lag to look at, to either side, in seconds.

    Returns
    -------
    float
    """
    import scipy.fft

    n_fft = scipy.fft.next_fast_len(x.size + reference.size, real=True)
    cross = scipy.fft.rfft(x, n_fft) * np.conj(scipy.fft.rfft(reference, n_fft))
    frequency = scipy.fft.rfftfreq(n_fft, 1 / sr)
    cross[(frequency < band[0]) | (frequency > band[1])] = 0
    lags = np.arange(-round(most * sr), round(most * sr) + 1)
    return float(lags[np.abs(scipy.fft.irfft(cross, n_fft)[lags]).argmax()] / sr)


def alarm_starts(values: npt.ArrayLike, threshold: float) -> npt.NDArray[np.int64]:
    """First frame of each run of values above a threshold.

    Examples
    --------
    >>> alarm_starts([0, 2, 2, 0, 3], 1)
    array([1, 4])
    """
    above = np.asarray(values) > threshold
    return np.flatnonzero(above & ~np.concatenate([[False], above[:-1]]))


def errors(starts: npt.ArrayLike, onsets: npt.ArrayLike, *, tolerance: float) -> Array:
    """Time from each onset to the alarm that is nearest to it, in seconds; NaN if none is within the tolerance.

    Examples
    --------
    >>> errors([0.9, 1.02, 5.0], [1.0, 3.0], tolerance=0.05).round(2)
    array([0.02,  nan])
    """
    starts, onsets = np.asarray(starts, dtype=float), np.asarray(onsets, dtype=float)
    if starts.size == 0:
        return np.full(onsets.shape, np.nan)
    away = starts - onsets[:, np.newaxis]
    nearest = away[np.arange(onsets.size), np.abs(away).argmin(axis=1)]
    return np.where(np.abs(nearest) <= tolerance, nearest, np.nan)
