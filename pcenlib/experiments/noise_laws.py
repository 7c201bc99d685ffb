r"""How often stationary Gaussian noise exceeds a threshold: the laws of the chapter *Why flux raises false alarms*.

A magnitude of such noise is the length of a Gaussian vector: of two numbers in nearly every bin of a Fourier transform
(Rayleigh's distribution), of one in the bins at zero and at half the sample rate. `degrees` says which, 2 or 1.
"""

import math

import numpy as np
import numpy.typing as npt
import scipy.special

from pcenlib.core.checks import as_real_floats, check_count, check_range
from pcenlib.core.setting import Setting

__all__ = ["flux_exceedance", "frame_coherence", "pcen_exceedance", "pooled_exceedance"]


Shares = npt.NDArray[np.float64]

# Values of the background on which its distribution is computed: so many, within so many standard deviations.
GRID_SIZE, GRID_WIDTH = 1000, 10.0
# Mean and standard deviation of a magnitude of noise whose parts have a standard deviation of 1.
MOMENTS = {
    1: (math.sqrt(2 / math.pi), math.sqrt(1 - 2 / math.pi)),
    2: (math.sqrt(math.pi / 2), math.sqrt(2 - math.pi / 2)),
}


def frame_coherence(setting: Setting) -> float:
    r"""Correlation of neighboring frames of white noise, before magnitudes are taken.

    .. math:: \rho = \frac{\sum_n w[n]\, w[n + \mathrm{hop}]}{\sum_n w[n]^2}

    Parameters
    ----------
    setting : Setting
        Window and hop.

    Returns
    -------
    float
        In [0, 1[; 1/6 for frames that overlap by half.
    """
    window = setting.window
    return float(np.sum(window[setting.hop_length :] * window[: -setting.hop_length]) / np.sum(window**2))


def flux_exceedance(thresholds: npt.ArrayLike, *, coherence: float = 0.0, degrees: int = 2) -> Shares:
    r"""Share of the frames of noise in which the flux of one band, log E[t] - log E[t-1], exceeds each threshold.

    .. math:: \frac{1}{2} \left(1 - \frac{z^2 - 1}{\sqrt{(z^2 + 1)^2 - 4 \rho^2 z^2}}\right), \qquad z = e^y

    Parameters
    ----------
    thresholds : array_like
        Values y of flux.
    coherence : float
        Correlation ρ of neighboring frames, in [0, 1[, from `frame_coherence`.
    degrees : {1, 2}
        1 for the bins at zero and at half the sample rate, where the ratio has a Cauchy distribution.

    Returns
    -------
    ndarray
        In the shape of `thresholds`. Without coherence, 1/(1 + e^(2y)).
    """
    y = as_real_floats("thresholds", thresholds).astype(np.float64)
    _check_degrees(degrees)
    check_range("coherence", coherence, 0, 1)
    if degrees == 1:
        width = np.sqrt(1 - coherence**2)
        z = np.exp(y)
        return 1 - (np.arctan((z - coherence) / width) + np.arctan((z + coherence) / width)) / np.pi
    # Divided by 2z, because a large or a small z would overflow.
    return 0.5 * (1 - np.sinh(y) / np.sqrt(np.cosh(y) ** 2 - coherence**2))


def pcen_exceedance(thresholds: npt.ArrayLike, *, s: float, degrees: int = 2) -> Shares:
    r"""Share of the frames of noise in which PCEN of one band, log(1 + E/M), exceeds each threshold.

    .. math:: P\left(\frac{E}{M} > z\right) = \mathbb{E}\bigl[P(E > z M)\bigr], \qquad z = e^y - 1

    for independent frames. The distribution of M is the one that equation 4 leaves as it is.

    Parameters
    ----------
    thresholds : array_like
        Values y of PCEN.
    s : float
        Weight of the newest frame in the background M, in ]0, 0.5].
    degrees : {1, 2}
        1 for the bins at zero and at half the sample rate.

    Returns
    -------
    ndarray
        In the shape of `thresholds`.

    Notes
    -----
    At larger s, where the background comes close to zero, the grid would be too coarse; at s = 1, PCEN has the tail of
    flux.
    """
    y = as_real_floats("thresholds", thresholds).astype(np.float64)
    check_range("s", s, 0, 0.5, open_low=True)
    _check_degrees(degrees)
    mean, deviation = MOMENTS[degrees]
    reach = GRID_WIDTH * deviation * math.sqrt(s / (2 - s))
    low, high = max(0.0, mean - reach), mean + reach
    M = low + (np.arange(GRID_SIZE) + 0.5) * (high - low) / GRID_SIZE
    step = _density((M[:, np.newaxis] - (1 - s) * M) / s, degrees)  # from each M (column) to the next (row)
    step /= step.sum(axis=0)
    weights = np.linalg.solve(np.eye(GRID_SIZE) - step + 1, np.ones(GRID_SIZE))  # those that a step leaves alone
    return np.maximum(_survival(np.multiply.outer(np.expm1(y), M), degrees) @ weights, 0.0)


def pooled_exceedance(share: npt.ArrayLike, n_bands: int) -> Shares:
    """Share of the frames in which the maximum over bands exceeds a threshold that each band exceeds in a given share.

    Parameters
    ----------
    share : array_like
        Of one band.
    n_bands : int
        How many bands, taken as independent.

    Returns
    -------
    ndarray
        1 - (1 - share)^n_bands.
    """
    check_count("n_bands", n_bands)
    with np.errstate(divide="ignore"):  # the logarithm of 0, for bands that are always above
        return -np.expm1(n_bands * np.log1p(-np.asarray(share, dtype=np.float64)))


def _density(x: Shares, degrees: int) -> Shares:
    """Of a magnitude of noise whose parts have a standard deviation of 1; 0 below 0."""
    bell = np.exp(-(x**2) / 2)
    return np.where(x < 0, 0.0, x * bell if degrees == 2 else np.sqrt(2 / np.pi) * bell)


def _survival(x: Shares, degrees: int) -> Shares:
    """Share of such magnitudes above x."""
    return np.asarray(np.exp(-(x**2) / 2) if degrees == 2 else scipy.special.erfc(x / np.sqrt(2)), dtype=np.float64)


def _check_degrees(degrees: int) -> None:
    if degrees not in (1, 2):
        raise ValueError(f"degrees must be 1 or 2, got {degrees!r}")
