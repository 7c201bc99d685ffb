r"""Acoustic indices: a minute of sound in a band as one number, and three of them as the colors of a picture.

Three indices are functions of E alone, and a recording's gain cancels in all of them. `acoustic_complexity` is a sum
of changes over a sum of magnitudes. `concentration` is 1 minus an entropy over time. `mean_pcen` is the mean of the
paper's PCEN over its resting value log 2, where

.. math:: \varepsilon = 0,\quad \alpha = 1,\quad \delta = 1,\quad r = 0.

Nothing is subtracted for noise. Noise has a mean of its own, below 0, which depends on s and on how much a band
fluctuates, but not on its level: a constant in each band, and constants do not change what can be told apart there.

Whatever the sound, mean PCEN is at most 0 in the long run if s is below a half. Let x be E/M. Equation 4 is
M[t+1] = M[t] (1 - s + s x[t]), so the logarithms of 1 - s + s x add up to the change of log M. And log((1 + x)/2) is
at most log(1 - s + s x) / (2 s), with equality at x = 1, because it is a concave function of it. So

.. math:: \sum_{t=0}^{T-1} \log\frac{1 + E[t]/M[t]}{2} \le \frac{1}{2s} \log\frac{M[T]}{M[0]}.

What PCEN gains at an onset, it loses afterwards, while the background forgets. `peak_pcen` keeps the gain.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from pcenlib.core.checks import check_magnitudes, check_range
from pcenlib.core.novelty import pcen
from pcenlib.core.recordings import Source, info, is_file
from pcenlib.core.setting import Setting
from pcenlib.core.spectrogram import read_spectrogram

__all__ = [
    "INDICES",
    "MINUTE",
    "acoustic_complexity",
    "concentration",
    "false_color",
    "indices",
    "indices_by_minute",
    "mean_pcen",
    "peak_pcen",
    "settling_frames",
]

Array = npt.NDArray[np.floating]

INDICES = ("acoustic complexity", "concentration", "mean PCEN", "peak PCEN")
"""What tables and figures call the indices, in the order of `indices`."""

MINUTE = 60.0
"""Seconds that become one value."""


def acoustic_complexity(E: npt.ArrayLike) -> Array:
    r"""Acoustic complexity index of each band (Pieretti et al., 2011).

    .. math:: \frac{\sum_t |E[t+1, f] - E[t, f]|}{\sum_t E[t, f]}

    Parameters
    ----------
    E : array_like, shape (..., band, frame)
        Magnitude spectrogram.

    Returns
    -------
    ndarray, shape (..., band)
        0 for a constant sound and for silence, at most 2.

    Examples
    --------
    >>> acoustic_complexity([[1.0, 1.0, 3.0, 1.0, 1.0]]).round(3)
    array([0.571])
    """
    E = check_magnitudes(E)
    total = E.sum(axis=-1)
    return np.abs(np.diff(E, axis=-1)).sum(axis=-1) / np.where(total > 0, total, 1)


def concentration(E: npt.ArrayLike) -> Array:
    r"""How much the energy of each band is concentrated in time: 1 minus its temporal entropy (Towsey et al., 2014).

    .. math:: 1 + \frac{1}{\log T} \sum_t p[t, f] \log p[t, f], \qquad p[t, f] = \frac{E[t, f]^2}{\sum_u E[u, f]^2}

    Parameters
    ----------
    E : array_like, shape (..., band, frame)
        Magnitude spectrogram of at least two frames.

    Returns
    -------
    ndarray, shape (..., band)
        0 if all frames have the same energy, 1 if one frame has it all; 0 for silence.

    Examples
    --------
    >>> concentration([[1.0, 1.0], [0.0, 2.0]])
    array([0., 1.])
    """
    from scipy.special import entr  # here, because it takes long to import

    E = check_magnitudes(E)
    if E.shape[-1] < 2:
        raise ValueError(f"E must have at least two frames, got shape {E.shape}")
    largest = E.max(axis=-1, keepdims=True)
    energy = (E / np.where(largest > 0, largest, 1)) ** 2
    total = energy.sum(axis=-1, keepdims=True)
    entropy = entr(energy / np.where(total > 0, total, 1)).sum(axis=-1) / math.log(E.shape[-1])
    return np.where(total[..., 0] > 0, np.maximum(1 - entropy, 0), 0)


def mean_pcen(P: Array) -> Array:
    """Mean over frames of PCEN (..., band, frame) from `pcen` with its defaults, over its resting value log 2."""
    return P.mean(axis=-1) - math.log(2)


def peak_pcen(P: Array) -> Array:
    """Largest PCEN (..., band, frame) of each band, over its resting value log 2: its sharpest onset."""
    return P.max(axis=-1) - math.log(2)


def settling_frames(s: float) -> int:
    """Frames after which the background has forgotten how it started, but for a part in twenty thousand."""
    check_range("s", s, 0, 1, open_low=True)
    return math.ceil(10 / s)


def indices(E: npt.ArrayLike, *, s: float, past: int = 0) -> Array:
    """All of `INDICES` for each band.

    Parameters
    ----------
    E : array_like, shape (band, frame)
        Magnitude spectrogram.
    s : float
        As for `background`.
    past : int
        Frames at the start that belong to the past: the background settles there, and nothing else is made of them. If
        they are fewer than `settling_frames`, E is preceded by its mirror image.

    Returns
    -------
    ndarray, shape (index, band)
    """
    E = check_magnitudes(E)
    if E.ndim != 2 or not 0 <= past < E.shape[-1] - 1:
        raise ValueError(f"E must have the shape (band, frame) with two frames after the past, got {E.shape}, {past}")
    missing = min(max(0, settling_frames(s) - past), E.shape[-1] - 1)
    now = E[:, past:]
    P = pcen(np.concatenate([E[:, missing:0:-1], E], axis=1), s=s)[:, missing + past :]
    return np.stack([acoustic_complexity(now), concentration(now), mean_pcen(P), peak_pcen(P)])


def indices_by_minute(
    source: Source, setting: Setting, *, sr: int | None = None, channel: int | None = None, lead: float = 0.0
) -> Iterator[Array]:
    """All of `INDICES` for each whole minute of a recording of any length, in constant memory.

    Parameters
    ----------
    source, setting, sr, channel
        As for `detection_functions`.
    lead : float
        Seconds at the start that were heard before the first minute.

    Returns
    -------
    iterator of ndarray, shape (index, band)
        Of the frames that begin within each minute. One minute is in memory at a time. It is read with
        `settling_frames` of the sound before it, so PCEN's background has settled when it begins. What is left at the
        end, less than a minute, is left out.
    """
    recording = info(source, sr=sr if is_file(source) else sr or setting.sr)
    n_samples = int(recording.n_samples * Fraction(setting.sr, recording.sr))
    n_minutes = math.floor((n_samples / setting.sr - lead) / MINUTE + 1e-9)
    begins = [math.ceil((lead + MINUTE * minute) / setting.hop) for minute in range(n_minutes + 1)]
    for first, last in itertools.pairwise(begins):
        past = min(first, settling_frames(setting.s))
        last = min(last, setting.n_frames(n_samples))  # the last windows of a recording may not fit in it
        E = read_spectrogram(source, setting, sr=sr, channel=channel, first=first - past, last=last)
        yield indices(E, s=setting.s, past=past)


def false_color(channels: Sequence[npt.ArrayLike], *, quantiles: tuple[float, float]) -> Array:
    """A picture whose red, green and blue are three indices.

    Parameters
    ----------
    channels : sequence of three array_like, shape (time, band)
        What becomes red, green and blue.
    quantiles : (float, float)
        Each index, less the median of each band, is 0 at the first quantile over the whole picture, and 1 at the
        second. What is beyond is cut off.

    Returns
    -------
    ndarray, shape (band, time, 3)
        Colors from 0 to 1.
    """
    if len(channels) != 3:
        raise ValueError(f"channels must be three, for red, green and blue, got {len(channels)}")
    scaled = []
    for channel in channels:
        values = np.asarray(channel, dtype=np.float64)
        values = values - np.median(values, axis=0)
        low, high = np.quantile(values, quantiles)
        scaled.append(np.clip((values - low) / (high - low or 1), 0, 1).T)
    return np.stack(scaled, axis=-1)
