"""The bootstrap: intervals by resampling, for results whose clips and recordings might as well have been others.

There is one way to draw, `resample`: as many things as there are, with replacement. The first row of `resamples` is
what was measured, and `interval` takes a statistic of each row.
"""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from pcenlib.core.evaluation import Counting, count_exceedances

__all__ = ["N_RESAMPLES", "alarms_in_each", "area_under_curve", "interval", "resample", "resamples"]


Array = npt.NDArray[np.float64]

N_RESAMPLES = 200
CONFIDENCE = 0.95


def area_under_curve(positives: npt.ArrayLike, negatives: npt.ArrayLike) -> Array:
    """Area under the receiver operating characteristic: how often a positive is above a negative.

    Parameters
    ----------
    positives, negatives : array_like, shape (..., value)
        Values of a detector.

    Returns
    -------
    ndarray, shape (...)
        Share of all pairs in which the positive is larger; pairs of equals count half. 0.5 is chance.

    Examples
    --------
    >>> area_under_curve([1, 3], [0, 1])
    array(0.875)
    """
    from scipy.stats import mannwhitneyu  # here, because it takes long to import

    positives, negatives = np.asarray(positives), np.asarray(negatives)
    larger = mannwhitneyu(positives, negatives, axis=-1, method="asymptotic").statistic
    return np.asarray(larger / (positives.shape[-1] * negatives.shape[-1]), dtype=np.float64)


def resample(n: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Which of n things are in one resample: n of them, drawn with replacement."""
    return rng.integers(n, size=n)


def resamples(n: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Which of n things are in each of many resamples.

    Parameters
    ----------
    n : int
        Number of calls, recordings, or whatever might as well have been others.
    rng : numpy.random.Generator
        Source of the resamples.

    Returns
    -------
    ndarray, shape (1 + N_RESAMPLES, n)
        Indices. The first row has each thing once, for what was measured.
    """
    return np.stack([np.arange(n), *(resample(n, rng) for _ in range(N_RESAMPLES))])


def interval(name: str, values: npt.ArrayLike) -> dict[str, float]:
    """A value and the interval with 95 % of its resamples, as columns of a table.

    Parameters
    ----------
    name : str
        Name of the value.
    values : array_like, shape (1 + N_RESAMPLES,)
        The value as measured, and that of each resample; ``inf`` is allowed.

    Returns
    -------
    dict of str to float
        The value by its name, and the ends of the interval with ``_low`` and ``_high`` after it.
    """
    values = np.asarray(values, dtype=float)
    # Nothing is interpolated: halfway between a time and "longer than the recordings" there is no number.
    low, high = np.quantile(values[1:], [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], method="inverted_cdf")
    return {name: float(values[0]), f"{name}_low": float(low), f"{name}_high": float(high)}


def alarms_in_each(
    recordings: Iterable[npt.ArrayLike], thresholds: npt.ArrayLike, *, count: Counting
) -> npt.NDArray[np.int64]:
    """False alarms of one detector in each recording by itself, so recordings can be resampled.

    Parameters
    ----------
    recordings : iterable of array_like, shape (frame,)
        Detection function of each recording.
    thresholds : array_like, shape (threshold,)
        Its thresholds.
    count : {"frames", "peaks"}
        What a false alarm is.

    Returns
    -------
    ndarray, shape (threshold, recording)
    """
    counts = [count_exceedances([{"": values}], {"": thresholds}, count=count) for values in recordings]
    return np.array([each.alarms[""] for each in counts]).T
