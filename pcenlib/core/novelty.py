r"""Spectrotemporal measures of novelty: equations 1 to 6 of the paper, on arrays.

``E`` is a magnitude spectrogram, an array of finite, non-negative numbers of shape ``(..., band, frame)``. A detection
function has shape ``(..., frame)``: as many frames as ``E``, so a frame number means the same time in both. Symbols are
the paper's: ``E``, ``M``, ``s``, ``eps``, ``alpha``, ``delta``, ``r``.

The first frame has no past, so we act as if it had always been there: the flux of frame 0 is 0 and its background is
``E`` itself. In noise, one frame is a rough guess of the background. Values settle within about 2/s frames, which a
careful user leaves out.

A band that is exactly zero in both terms of a ratio is *silence after silence*: a ratio of 1, no novelty. Sound after
exact silence is infinitely novel and gives ``inf``; nothing gives NaN. `pcenlib.spectrogram` never returns an exact
zero, so a recording gives neither.
"""

import math

import numpy as np
import numpy.typing as npt

from pcenlib.core.checks import FloatArray, as_real_floats, check_magnitudes, check_range

__all__ = [
    "averaged_flux",
    "background",
    "log_contrast",
    "max_pooled_flux",
    "max_pooled_pcen",
    "over_background",
    "pcen",
    "smoothing_coefficient",
]


def log_contrast(E: npt.ArrayLike) -> FloatArray:
    r"""Rise of each band since the last frame: the flux of equations 1 and 2 before pooling.

    .. math:: \log E[t, f] - \log E[t-1, f]

    Parameters
    ----------
    E : array_like, shape (..., band, frame)
        Magnitude spectrogram.

    Returns
    -------
    ndarray, shape (..., band, frame)
        In natural logarithm; 0 at frame 0 and in lasting silence.

    Examples
    --------
    >>> log_contrast([[1.0, np.e, np.e, 0.0, 0.0]])
    array([[  0.,   1.,   0., -inf,   0.]])
    """
    E = check_magnitudes(E)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_E = np.log(E)
        contrast = np.diff(log_E, axis=-1, prepend=log_E[..., :1])
    contrast[np.isnan(contrast)] = 0  # log 0 - log 0
    return contrast


def averaged_flux(E: npt.ArrayLike) -> FloatArray:
    r"""Averaged spectral flux, equation 1.

    .. math:: \frac{1}{N_\mathrm{fr}} \sum_f \max\bigl(\log E[t, f] - \log E[t-1, f],\ 0\bigr)

    Parameters
    ----------
    E : array_like, shape (..., band, frame)
        Magnitude spectrogram.

    Returns
    -------
    ndarray, shape (..., frame)
        Mean over bands of the rises in natural logarithm; frame 0 is 0.
    """
    return np.maximum(log_contrast(E), 0).mean(axis=-2)


def max_pooled_flux(E: npt.ArrayLike) -> FloatArray:
    r"""Max-pooled spectral flux, equation 2.

    .. math:: \max_f\ \bigl(\log E[t, f] - \log E[t-1, f]\bigr)

    Not rectified, as in the paper: if every band falls, the value is negative.

    Parameters
    ----------
    E : array_like, shape (..., band, frame)
        Magnitude spectrogram.

    Returns
    -------
    ndarray, shape (..., frame)
        Largest rise in natural logarithm over all bands; frame 0 is 0.
    """
    return log_contrast(E).max(axis=-2)


def background(E: npt.ArrayLike, *, s: float, start: npt.ArrayLike | None = None) -> FloatArray:
    r"""Background M of each band: a running average of the frames before the current one, equation 4.

    .. math:: M[t, f] = s\,E[t-1, f] + (1 - s)\,M[t-1, f], \qquad M[0, f] = E[0, f]

    `librosa.pcen` averages up to and including the current frame, so its M is this one, a frame later.

    Parameters
    ----------
    E : array_like, shape (..., band, frame)
        Magnitude spectrogram.
    s : float
        Weight of the newest frame, in ]0, 1]. `smoothing_coefficient` finds it from a period in seconds.
    start : array_like, shape (..., band), optional
        ``M[0]``, for a block that continues an earlier one: ``s * E[..., -1] + (1 - s) * M[..., -1]`` of the earlier
        block. By default, the first frame itself.

    Returns
    -------
    ndarray, shape (..., band, frame)
        M. Frame t depends on frames 0 to t - 1 alone.
    """
    from scipy.signal import lfilter  # here, because it takes longer to import than all of pcenlib

    E = check_magnitudes(E)
    check_range("s", s, 0, 1, open_low=True)
    first = E[..., :1]
    if start is not None:
        start = as_real_floats("start", start).astype(E.dtype, copy=False)
        if start.shape != E.shape[:-1]:
            raise ValueError(f"start must have shape (..., band), here {E.shape[:-1]}, got {start.shape}")
        first = start[..., np.newaxis]
        if not np.all(np.isfinite(first) & (first >= 0)):
            raise ValueError("start must be finite and non-negative, as a background is")
    # The filter's output at frame t is M[t + 1]; its memory begins at (1 - s) M[0].
    later, _ = lfilter([s], [1, s - 1], E[..., :-1], axis=-1, zi=(1 - s) * first)
    return np.concatenate([first, later], axis=-1).astype(E.dtype, copy=False)


def over_background(E: npt.ArrayLike, *, s: float, start: npt.ArrayLike | None = None) -> FloatArray:
    r"""Each magnitude over the background of its band. PCEN is a function of it if eps = 0 and alpha = 1.

    .. math:: \frac{E[t, f]}{M[t, f]}

    Parameters
    ----------
    E, s, start
        As for `background`.

    Returns
    -------
    ndarray, shape (..., band, frame)
        1 for a constant sound and for lasting silence; frame 0 is 1.

    Examples
    --------
    >>> over_background([[1.0, 1.0, 3.0, 3.0]], s=0.5)
    array([[1. , 1. , 3. , 1.5]])
    """
    return _over(check_magnitudes(E), background(E, s=s, start=start))


def pcen(
    E: npt.ArrayLike,
    *,
    s: float,
    eps: float = 0.0,
    alpha: float = 1.0,
    delta: float = 1.0,
    r: float = 0.0,
    start: npt.ArrayLike | None = None,
) -> FloatArray:
    r"""Per-channel energy normalization, equation 3.

    .. math::

        \frac{1}{r} \left(\frac{E[t, f]}{(\varepsilon + M[t, f])^\alpha} + \delta\right)^{r} - \frac{\delta^r}{r}

    The factor 1/r is the paper's; Wang et al. (2017) and most packages leave it out. At ``r=0`` the value is the
    exact limit

    .. math:: \log\left(1 + \frac{E[t, f]}{\delta\,(\varepsilon + M[t, f])^\alpha}\right).

    Parameters
    ----------
    E, s, start
        As for `background`.
    eps : float
        Keeps the denominator away from zero; non-negative.
    alpha : float
        Strength of the gain control: 0 leaves E as it is, 1 cancels any constant gain; non-negative.
    delta : float
        Offset before compression; positive, or zero if r is positive.
    r : float
        Exponent of the compression, non-negative. 0 is the logarithm.

    Returns
    -------
    ndarray, shape (..., band, frame)
    """
    E = check_magnitudes(E)
    for name, value in {"eps": eps, "alpha": alpha, "delta": delta, "r": r}.items():
        check_range(name, value, 0)
    if delta == 0 and r == 0:
        raise ValueError("delta must be positive if r is 0: the limit divides by delta")
    ratio = _over(E, (eps + background(E, s=s, start=start)) ** alpha)
    if eps > 0:
        ratio = np.where(E == 0, E, ratio)  # silence over something, even if its power is too small for a number
    with np.errstate(over="ignore"):  # a novelty beyond the largest number is infinite
        if delta == 0:
            return ratio**r / r
        log_gain = np.log1p(ratio / delta)  # with expm1, nothing cancels for small r
        return log_gain if r == 0 else delta**r / r * np.expm1(r * log_gain)


def max_pooled_pcen(E: npt.ArrayLike, *, s: float, start: npt.ArrayLike | None = None) -> FloatArray:
    r"""Max-pooled PCEN, equation 6: the paper's detection function.

    .. math::

        \log\left(1 + \max_f
        \frac{E[t, f]}{s \sum_{\tau=0}^{\infty} (1 - s)^\tau E[t - \tau - 1, f]}\right)

    Parameters
    ----------
    E, s, start
        As for `background`.

    Returns
    -------
    ndarray, shape (..., frame)
        log 2 for a constant sound, more if some band rises above its background; frame 0 is log 2. Equal to
        ``pcen(E, s=s).max(axis=-2)``, with one logarithm per frame.
    """
    return np.log1p(over_background(E, s=s, start=start).max(axis=-2))


def smoothing_coefficient(period: float, *, hop: float) -> float:
    r"""The s whose background M cuts off at the frequency 1/period.

    .. math:: \tau^2 s^2 + s - 1 = 0, \qquad \tau = \frac{T}{2 \pi\,\mathrm{hop}}

    `librosa.pcen` solves the same equation for a time constant, without the 2 pi.

    Parameters
    ----------
    period : float
        T in seconds: contrasts much shorter than T stand out, longer ones are absorbed.
    hop : float
        Time between two frames, in seconds.

    Returns
    -------
    float
        s, in ]0, 1[. The paper's s = 0.09 is T = 100 ms for birds, its s = 0.33 is T = 1 s for whales.

    Examples
    --------
    >>> round(smoothing_coefficient(0.100, hop=32 / 22050), 4)
    0.0871
    >>> round(smoothing_coefficient(1.0, hop=0.064), 4)
    0.3293
    """
    check_range("period", period, 0, open_low=True)
    check_range("hop", hop, 0, open_low=True)
    tau = period / (2 * math.pi * hop)
    return 2 / (1 + math.sqrt(1 + 4 * tau**2))  # the positive root; nothing cancels if tau is small


def _over(E: FloatArray, M: FloatArray) -> FloatArray:
    """E / M, where silence over silence is 1."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = E / M
    ratio[np.isnan(ratio)] = 1  # 0 / 0
    return ratio
