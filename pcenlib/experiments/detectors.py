"""Detectors of one's own: any function of a spectrogram, for the `detectors` of a `Protocol`.

A detector is a function that takes a magnitude spectrogram E (band, frame) and returns a value for each frame, such as
`novelty.max_pooled_flux`. `chain` makes one of several steps.

Most detectors are made of two parts, and `chain` joins them. A *contrast* says how far each band rises above a floor:
above one earlier frame (`lagged_contrast`, `superflux_contrast`), above its running median (`over_median`), or above
what all bands do at that time (`minus_band_median`). A *pooling* makes one value of each frame: `largest`, `mean_rise`
or `mean_over_bands`. A floor knows the past alone, so every detector can run while the sound comes in.

Max-pooled PCEN remembers neither the shape of a call nor what the sea scatters after it. `follow_sweeps` and
`suppress_late_reverberation` do.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from pcenlib.core.checks import check_count, check_magnitudes, check_range
from pcenlib.core.setting import Setting

__all__ = [
    "Detector",
    "band_energy",
    "chain",
    "follow_sweeps",
    "lagged_contrast",
    "largest",
    "mean_over_bands",
    "mean_rise",
    "minus_band_median",
    "moving_mean",
    "over_median",
    "superflux_contrast",
    "suppress_late_reverberation",
]


FloatArray = npt.NDArray[np.floating]
Detector = Callable[[FloatArray], FloatArray]
"""From E to a value for each frame."""

# At most so much is taken away from a magnitude: 20 dB.
SUPPRESSION_FLOOR = 0.1


def chain(E: FloatArray, *, steps: Iterable[Callable[[FloatArray], FloatArray]]) -> FloatArray:
    """One step after the other, each on what the one before returned.

    Parameters
    ----------
    E : ndarray, shape (band, frame)
        Magnitude spectrogram.
    steps : iterable of callables
        The last returns a value for each frame. ``functools.partial(chain, steps=...)`` is a detector, and can be sent
        to other processes if all steps can.

    Returns
    -------
    ndarray, shape (frame,)

    Examples
    --------
    >>> chain(np.array([[1.0, 2.0], [3.0, 1.0]]), steps=[np.square, lambda E: E.max(axis=0)])
    array([9., 4.])
    """
    for step in steps:
        E = step(E)
    return E


def lagged_contrast(E: npt.ArrayLike, *, lag: int) -> FloatArray:
    r"""Rise of each band since some frames ago: flux that compares frames whose windows need not overlap.

    .. math:: \log E[t, f] - \log E[t - \mathrm{lag}, f]

    Parameters
    ----------
    E : array_like, shape (..., band, frame)
        Magnitude spectrogram.
    lag : int
        Number of frames; 1 is `novelty.log_contrast`. What was before the first frame was like it.

    Returns
    -------
    ndarray, shape (..., band, frame)
        In natural logarithm.
    """
    check_count("lag", lag)
    return _rise(E, lambda logs: logs, lag)


def superflux_contrast(E: npt.ArrayLike, *, lag: int, reach: int = 1) -> FloatArray:
    r"""Rise of each band above the largest of its neighbors some frames ago: SuperFlux, after Böck and Widmer (2013).

    .. math:: \log E[t, f] - \max_{|k| \le \mathrm{reach}} \log E[t - \mathrm{lag}, f + k]

    A tone that moves to the next band is no rise. Theirs is the sum over bands of what is positive of it, which is
    `mean_rise` times the number of bands.

    Parameters
    ----------
    E : array_like, shape (..., band, frame)
        Magnitude spectrogram.
    lag : int
        As for `lagged_contrast`.
    reach : int
        Number of neighbors on either side; theirs is 1.

    Returns
    -------
    ndarray, shape (..., band, frame)
        In natural logarithm. Before it, they add 1 to magnitudes that depend on the gain of the recording; we do not.
    """
    from scipy.ndimage import maximum_filter1d  # here, because it takes long to import

    check_count("lag", lag)
    check_count("reach", reach)
    return _rise(E, lambda logs: maximum_filter1d(logs, 2 * reach + 1, axis=-2, mode="nearest"), lag)


def _rise(E: npt.ArrayLike, earlier: Callable[[FloatArray], FloatArray], lag: int) -> FloatArray:
    """Logarithms, less what a function makes of those that many frames ago."""
    logs = _logarithms(E)
    floor = earlier(logs)
    first = np.repeat(floor[..., :1], min(lag, logs.shape[-1]), axis=-1)
    return logs - np.concatenate([first, floor[..., :-lag]], axis=-1)


def _logarithms(E: npt.ArrayLike) -> FloatArray:
    """Natural logarithms of magnitudes above zero, as all spectrograms of recordings are."""
    E = check_magnitudes(E)
    if not (E > 0).all():
        raise ValueError("E must be positive: its logarithm is taken")
    return np.log(E)


def over_median(E: npt.ArrayLike, *, n_frames: int) -> FloatArray:
    r"""Rise of each band above its running median: a floor that what is short does not lift.

    .. math:: \log E[t, f] - \log \operatorname{median}\bigl(E[t - n, f], \ldots, E[t - 1, f]\bigr)

    With `band_energy` before it, this is the first stage of the band-limited energy detector of Raven (Charif et al.
    2010), with the median for its percentile of the noise.

    Parameters
    ----------
    E : array_like, shape (..., band, frame)
        Magnitude spectrogram.
    n_frames : int
        Number n of frames of the past; of an even number, the upper of the two middle ones is taken. What was before
        the first frame was like it.

    Returns
    -------
    ndarray, shape (..., band, frame)
        In natural logarithm; 0 at frame 0.
    """
    from scipy.ndimage import median_filter  # here, because it takes long to import

    check_count("n_frames", n_frames)
    logs = _logarithms(E)
    floor = np.empty_like(logs)
    # The filter is centered: its value half a window on is of the frames before this one. It is far faster on one row
    # at a time than on all.
    past = np.concatenate([np.repeat(logs[..., :1], n_frames, axis=-1), logs], axis=-1)
    now = slice(n_frames // 2, n_frames // 2 + logs.shape[-1])
    for band in np.ndindex(logs.shape[:-1]):
        floor[band] = median_filter(past[band], n_frames, mode="nearest")[now]
    return logs - floor


def minus_band_median(contrast: npt.ArrayLike) -> FloatArray:
    r"""What each band has beyond the middle one of all bands at that time.

    A bang rises in all bands at once, and leaves little. It is a rank detector of radar, an order-statistic CFAR
    (Rohling 1983), along frequency: the noise next door says what to expect.

    Parameters
    ----------
    contrast : array_like, shape (..., band, frame)
        Any contrast, such as those of this module or PCEN.

    Returns
    -------
    ndarray, shape (..., band, frame)
    """
    contrast = np.asarray(contrast)
    return contrast - np.median(contrast, axis=-2, keepdims=True)


def band_energy(E: npt.ArrayLike) -> FloatArray:
    """One band from all: the root of their mean square, shape (..., 1, frame)."""
    return np.sqrt(np.mean(check_magnitudes(E) ** 2, axis=-2, keepdims=True))


def moving_mean(values: npt.ArrayLike, *, n_frames: int) -> FloatArray:
    """Mean of the last frames, the current one among them.

    Parameters
    ----------
    values : array_like, shape (..., frame)
        What to average.
    n_frames : int
        Number of frames. What was before the first was like it.

    Returns
    -------
    ndarray, shape (..., frame)
    """
    from scipy.ndimage import uniform_filter1d  # here, because it takes long to import

    check_count("n_frames", n_frames)
    return np.asarray(
        uniform_filter1d(np.asarray(values), n_frames, axis=-1, mode="nearest", origin=(n_frames - 1) // 2)
    )


def largest(contrast: npt.ArrayLike) -> FloatArray:
    """The largest of all bands, shape (..., frame)."""
    return np.asarray(contrast).max(axis=-2)


def mean_rise(contrast: npt.ArrayLike) -> FloatArray:
    """Mean over bands of what is positive, as in averaged flux, shape (..., frame)."""
    return np.maximum(contrast, 0).mean(axis=-2)


def mean_over_bands(contrast: npt.ArrayLike) -> FloatArray:
    """Mean over bands, shape (..., frame)."""
    return np.asarray(contrast).mean(axis=-2)


def follow_sweeps(
    P: npt.ArrayLike,
    *,
    setting: Setting,
    starts: npt.ArrayLike,
    ends: npt.ArrayLike,
    durations: npt.ArrayLike,
    curvatures: npt.ArrayLike,
    n_steps: int = 12,
) -> FloatArray:
    r"""Mean along the rising line that fits best, of all lines that begin at each frame.

    .. math:: \max_k \frac{1}{N} \sum_{n=0}^{N-1} P\bigl[t + \tau_n d_k,\ f_k(\tau_n)\bigr], \qquad
              f_k(\tau) = \mathrm{start}_k + (\mathrm{end}_k - \mathrm{start}_k)\, \tau^{c_k}, \qquad
              \tau_n = \frac{n}{N - 1}

    Parameters
    ----------
    P : array_like, shape (band, frame)
        What to add up, such as PCEN.
    setting : Setting
        Gives times and frequencies; on the linear scale.
    starts, ends : array_like
        Frequencies of the lines, in hertz; of all pairs, those that rise are followed.
    durations : array_like
        Their durations d, in seconds.
    curvatures : array_like
        Their curvatures c, as for `callers.UpCall`.
    n_steps : int
        Number N of places along a line.

    Returns
    -------
    ndarray, shape (frame,)
        At each frame the mean of the best line that begins there. Lines end with P; frames too near to its end for
        any line have the smallest value of P.

    Notes
    -----
    `measurements.measure_sweep` uses the same lines to measure a call.
    """
    P = np.asarray(P)
    if setting.scale != "linear" or P.ndim != 2 or P.shape[0] != setting.n_bands:
        raise ValueError(f"P must have the shape (band, frame) of a setting on the linear scale, got {P.shape}")
    check_count("n_steps", n_steps)
    progress = np.linspace(0, 1, n_steps)
    pairs = [(start, end) for start in np.ravel(starts) for end in np.ravel(ends) if end > start]
    lines = {
        tuple(np.rint((start + (end - start) * progress**curvature) / setting.bin_width).astype(int))
        for start, end in pairs
        for curvature in np.ravel(curvatures)
    }
    bands = np.array(sorted(lines)) - setting.first_bin
    if bands.size == 0 or bands.min() < 0 or bands.max() >= setting.n_bands:
        low, high = setting.frequencies[[0, -1]]
        raise ValueError(f"starts and ends must rise, and be within the bands from {low:g} to {high:g} Hz")
    best = np.full(P.shape[1], P.min(), dtype=np.float64)
    for duration in np.ravel(durations):
        check_range("durations", duration, 0, open_low=True)
        steps = np.rint(progress * duration / setting.hop).astype(int)
        n_begins = P.shape[1] - int(steps[-1])
        if n_begins <= 0:
            continue
        for line in bands:
            mean = sum(P[band, step : step + n_begins] for band, step in zip(line, steps, strict=True)) / n_steps
            np.maximum(best[:n_begins], mean, out=best[:n_begins])
    return best


def suppress_late_reverberation(
    E: npt.ArrayLike, *, decay_time: float, hop: float, delay: int = 2, s: float = 0.33
) -> FloatArray:
    r"""Magnitudes without what is expected of late reverberation, after Lebart et al. (2001).

    Scattered sound falls by 60 dB within the decay time T, so the power of some frames ago predicts the late
    reverberation R of now. What is left is

    .. math:: E \sqrt{\max\Bigl(1 - \frac{R}{E^2},\ \frac{1}{100}\Bigr)}, \qquad
              R[t] = 10^{-6\, \mathrm{delay} \cdot \mathrm{hop} / T}\, \overline{E^2}[t - \mathrm{delay}]

    where the bar is a running average that forgets with the coefficient s.

    Parameters
    ----------
    E : array_like, shape (..., band, frame)
        Magnitude spectrogram.
    decay_time : float
        T, in seconds.
    hop : float
        Time between two frames, in seconds.
    delay : int
        Frames after which reverberation counts as late.
    s : float
        Weight of the newest frame in the running average, in ]0, 1].

    Returns
    -------
    ndarray, shape (..., band, frame)
        At most E, and at least a tenth of it.
    """
    from scipy.signal import lfilter  # here, because it takes long to import

    E = check_magnitudes(E)
    check_range("decay_time", decay_time, 0, open_low=True)
    check_range("hop", hop, 0, open_low=True)
    check_count("delay", delay)
    check_range("s", s, 0, 1, open_low=True)
    power = E**2
    smooth: Any = lfilter([s], [1, s - 1], power, axis=-1)
    late = np.zeros_like(power)
    late[..., delay:] = 10 ** (-6 * delay * hop / decay_time) * smooth[..., :-delay]
    kept = np.maximum(power - late, 0)
    return np.maximum(np.sqrt(kept), SUPPRESSION_FLOOR * E)
