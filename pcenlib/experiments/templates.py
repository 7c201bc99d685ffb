"""Template matching: how alike a short picture of sound and each stretch of a long one are.

A template is a stretch of a spectrogram around one recorded call. It slides along another spectrogram, and at each
place the two are correlated. What the pictures show is a choice: log magnitudes, log magnitudes over a background, or
PCEN. `REPRESENTATIONS` has three backgrounds, each with and without the 1 of PCEN's log(1 + E/M).
"""

import numpy as np
import numpy.typing as npt

from pcenlib.core.checks import as_finite_floats, check_count, check_magnitudes
from pcenlib.core.novelty import over_background
from pcenlib.core.setting import Setting

__all__ = ["REPRESENTATIONS", "frames_between", "loudest_stretch", "match", "over_median", "representations"]

Array = npt.NDArray[np.float64]

LOG, OVER_MEDIAN, PLUS_MEDIAN = "log magnitude", "log(E/median)", "log(1 + E/median)"
OVER_M, PCEN, SLOWER_OVER_M, SLOWER_PCEN = "log(E/M)", "PCEN", "slower log(E/M)", "slower PCEN"

REPRESENTATIONS = (LOG, OVER_MEDIAN, PLUS_MEDIAN, OVER_M, PCEN, SLOWER_OVER_M, SLOWER_PCEN)
"""Names of what `representations` returns, in its order."""

CONSTANT = 1e-12  # what has less variance, relative to the largest power, has no shape


def match(templates: npt.ArrayLike, image: npt.ArrayLike) -> Array:
    r"""Normalized cross-correlation of templates with each stretch of an image, along time.

    .. math:: \frac{\sum (T - \bar T)\,(X_k - \bar X_k)}{\sqrt{\sum (T - \bar T)^2 \sum (X_k - \bar X_k)^2}}

    The sums are over all bands and frames, the bars are means over all bands and frames, and :math:`X_k` is the stretch
    of the image that begins at frame k and is as long as the template.

    Parameters
    ----------
    templates : array_like, shape (..., band, n)
        One template, or several of one length.
    image : array_like, shape (band, frame)
        Picture with the same bands, and at least as long.

    Returns
    -------
    ndarray, shape (..., shift)
        Scores from -1 to 1: 1 where the stretch is a times the template plus b, with a > 0. A constant stretch, or a
        constant template, has no shape: its score is 0.

    Examples
    --------
    >>> match([[0, 0, 3], [3, 0, 0]], [[5, 5, 5, 11, 5], [5, 11, 5, 5, 5]]).round(2)
    array([-0.32,  1.  , -0.32])
    """
    T, X = as_finite_floats("templates", templates), as_finite_floats("image", image)
    n_frames = T.shape[-1] if T.ndim >= 2 else 0
    if X.ndim != 2 or not n_frames or T.shape[-2] != X.shape[0] or n_frames > X.shape[1]:
        raise ValueError(
            "templates (..., band, n) and image (band, frame) must have the same bands, and the image must be at least "
            f"as long, got shapes {T.shape} and {X.shape}"
        )
    n_shifts = X.shape[1] - n_frames + 1
    size = X.shape[0] * n_frames
    largest = size * (X**2).max(), (T**2).sum(axis=(-2, -1))[..., np.newaxis]
    X = X - X.mean()  # scores do not change, and less cancels in the sums of squares
    centered = T - T.mean(axis=(-2, -1), keepdims=True)
    # A product of matrices for each frame of the template: no copy of every stretch is ever made.
    products = sum(centered[..., k] @ X[:, k : k + n_shifts] for k in range(n_frames))
    sums, squares = (
        np.lib.stride_tricks.sliding_window_view(each.sum(axis=0), n_frames).sum(axis=1) for each in (X, X**2)
    )
    powers = squares - sums**2 / size, (centered**2).sum(axis=(-2, -1))[..., np.newaxis]
    varies = [power > CONSTANT * most for power, most in zip(powers, largest, strict=True)]
    norms = [np.sqrt(np.where(each, power, 1.0)) for each, power in zip(varies, powers, strict=True)]
    return np.asarray(np.where(varies[0] & varies[1], products / (norms[0] * norms[1]), 0.0))


def over_median(E: npt.ArrayLike, *, n_frames: int | None = None) -> Array:
    """Each magnitude over the median of its band: a background that looks at the future, too.

    Parameters
    ----------
    E : array_like, shape (..., band, frame)
        Magnitudes, nowhere zero.
    n_frames : int, optional
        Number of frames around each that the median is taken over; the picture is continued by its reflection. By
        default all frames.

    Returns
    -------
    ndarray, shape (..., band, frame)
    """
    from scipy.ndimage import median_filter  # here, because it takes long to import

    E = check_magnitudes(E)
    if n_frames is None:
        return np.asarray(E / np.median(E, axis=-1, keepdims=True))
    check_count("n_frames", n_frames)
    return np.asarray(E / median_filter(E, size=(*[1] * (E.ndim - 1), n_frames), mode="reflect"))


def representations(
    E: npt.ArrayLike, *, s: float, slower: float, lead: int = 0, n_frames: int | None = None
) -> dict[str, Array]:
    """What templates are compared on.

    Parameters
    ----------
    E : array_like, shape (..., band, frame)
        Magnitudes, nowhere zero.
    s, slower : float
        Coefficients of two backgrounds M, as for `background`.
    lead : int
        Number of frames at the beginning for M to settle, which are then left out.
    n_frames : int, optional
        For the median, as for `over_median`.

    Returns
    -------
    dict of str to ndarray, shape (..., band, frame - lead)
        By the names of `REPRESENTATIONS`: log E, then log(E/B) and log(1 + E/B) for each background B, which is the
        median, M, and a slower M. With B = M, log(1 + E/B) is PCEN.
    """
    E = check_magnitudes(E)
    own = E[..., lead:]
    ratios: list[npt.NDArray[np.floating]] = [over_median(own, n_frames=n_frames)]
    ratios += [over_background(E, s=each)[..., lead:] for each in (s, slower)]
    pictures = [np.log(own)] + [of(ratio) for ratio in ratios for of in (np.log, np.log1p)]
    return dict(zip(REPRESENTATIONS, pictures, strict=True))


def loudest_stretch(E: npt.ArrayLike, n_frames: int) -> slice:
    """Frames of the stretch of that many frames with the most energy, all bands together."""
    E = check_magnitudes(E)
    check_count("n_frames", n_frames)
    if E.ndim != 2 or n_frames > E.shape[1]:
        raise ValueError(f"E (band, frame) must have at least n_frames = {n_frames} frames, got shape {E.shape}")
    energy = np.lib.stride_tricks.sliding_window_view((E**2).sum(axis=0), n_frames).sum(axis=1)
    first = int(energy.argmax())
    return slice(first, first + n_frames)


def frames_between(setting: Setting, begin: float, end: float) -> slice:
    """Frames whose centers are from one time to another, in seconds from the start; at least one."""
    half = setting.win_length / 2 / setting.sr
    first = max(0, int(np.ceil((begin - half) / setting.hop)))
    return slice(first, max(first + 1, int(np.floor((end - half) / setting.hop)) + 1))
