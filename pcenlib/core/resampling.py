"""The bootstrap: how much a result would change with other calls or other recordings.

A resample has as many things as there are, drawn with replacement: `resample` is the one way to draw. `resamples` draws
many and puts what was measured first, and `interval` holds 95 % of the others. The bootstrap knows only what was
measured, so a rare sound that was not recorded is in no resample.
"""

import numpy as np
import numpy.typing as npt

__all__ = ["CONFIDENCE", "N_RESAMPLES", "TAILS", "interval", "resample", "resamples"]


Indices = npt.NDArray[np.int64]

N_RESAMPLES = 1000
CONFIDENCE = 0.95
TAILS = [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]


def resample(n: int, rng: np.random.Generator) -> Indices:
    """Which of n things are in one resample: n of them, drawn with replacement."""
    return rng.integers(n, size=n)


def resamples(n: int, rng: np.random.Generator) -> Indices:
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
    values : array_like, shape (draw,)
        The value as measured, and that of each resample; ``inf`` is allowed.

    Returns
    -------
    dict of str to float
        The value by its name, and the ends of the interval with ``_low`` and ``_high`` after it.
    """
    values = np.asarray(values, dtype=float)
    # Nothing is interpolated: halfway between a time and "longer than the recordings" there is no number.
    low, high = np.quantile(values[1:], TAILS, method="inverted_cdf")
    return {name: float(values[0]), f"{name}_low": float(low), f"{name}_high": float(high)}
