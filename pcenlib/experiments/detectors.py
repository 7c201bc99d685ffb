"""Detectors of one's own: any function of a spectrogram, for the `detectors` of a `Protocol`.

A detector is a function that takes a magnitude spectrogram E (band, frame) and returns a value for each frame, such as
`novelty.max_pooled_flux`. `chain` makes one of several steps.

Max-pooled PCEN remembers neither the shape of a call nor what the sea scatters after it. `follow_sweeps` and
`suppress_late_reverberation` do.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from pcenlib.core.checks import check_count, check_magnitudes, check_range
from pcenlib.core.setting import Setting

__all__ = ["Detector", "chain", "follow_sweeps", "suppress_late_reverberation"]


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
