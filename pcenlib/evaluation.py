"""Mean time between false alarms at half recall (section 3.2), from values of a detection function.

Stage one finds the threshold that half of the calls exceed; stage two counts how often recordings without any call
exceed it. A value is an alarm where it lies strictly above the threshold.
"""

import math
from typing import Literal

import numpy as np
import numpy.typing as npt

from pcenlib._checks import as_real_floats, check_range

__all__ = ["chance_mtbfa", "exceedance", "mtbfa", "threshold_at_recall"]


def threshold_at_recall(values: npt.ArrayLike, recall: float = 0.5) -> float:
    """Threshold that a given share of the calls exceeds: stage one.

    Parameters
    ----------
    values : array_like
        One value for each call: the maximum of the detection function over its clip.
    recall : float
        Share of calls to be found, in [0, 1].

    Returns
    -------
    float
        The quantile of `values` at ``1 - recall``: the median, by default. At most the share `recall` of the values
        lies above it, and at least that share at or above it.

    Notes
    -----
    Chapter *Why flux raises false alarms*.
    """
    check_range("recall", recall, 0, 1)
    return float(np.quantile(_check_values(values), 1 - recall, method="averaged_inverted_cdf"))


def mtbfa(
    values: npt.ArrayLike, threshold: float, *, hop: float, count: Literal["frames", "peaks"] = "frames"
) -> float:
    """Mean time between false alarms: stage two.

    Parameters
    ----------
    values : array_like, shape (frame,)
        Detection function of a recording without any call.
    threshold : float
        Values above it are alarms.
    hop : float
        Time between two frames, in seconds.
    count : {"frames", "peaks"}
        Whether every frame above the threshold counts, or every run of such frames once.

    Returns
    -------
    float
        Duration over number of alarms, in seconds. ``inf`` if there is none: all one knows then is that the mean time
        is probably longer than the recording, and whoever prints it says so.

    Notes
    -----
    Chapter *Why flux raises false alarms*.
    """
    values = _check_values(values)
    if values.ndim != 1:
        raise ValueError(f"values must have shape (frame,), got {values.shape}")
    check_range("threshold", threshold, -math.inf)
    check_range("hop", hop, 0, open_low=True)
    above = values > threshold
    if count == "peaks":
        alarms = int(above[0]) + np.count_nonzero(above[1:] & ~above[:-1])
    elif count == "frames":
        alarms = np.count_nonzero(above)
    else:
        raise ValueError(f"count must be 'frames' or 'peaks', got {count!r}")
    return values.size * hop / alarms if alarms else math.inf


def exceedance(values: npt.ArrayLike, thresholds: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Share of the values above each threshold: the survival function, as measured.

    Parameters
    ----------
    values : array_like
        Values of a detection function, or of one band of it, in any shape.
    thresholds : array_like
        Thresholds, in any shape and order.

    Returns
    -------
    ndarray
        Share of all values strictly above each threshold, in the shape of `thresholds`. The hop over this share is
        the mean time between false alarms, where every frame counts.

    Notes
    -----
    Chapter *Why flux raises false alarms*.

    Examples
    --------
    >>> exceedance([1, 2, 2, 4], [0, 2, 5])
    array([1.  , 0.25, 0.  ])
    """
    ordered = np.sort(_check_values(values), axis=None)
    thresholds = as_real_floats("thresholds", thresholds)
    if np.isnan(thresholds).any():
        raise ValueError("thresholds must be numbers: they hold NaN")
    return 1 - np.searchsorted(ordered, thresholds, side="right") / ordered.size


def chance_mtbfa(clip_duration: float) -> float:
    r"""Mean time between false alarms at half recall of a detector that knows nothing.

    Such a detector finds half of the clips because half of all clips, whatever they hold, contain an alarm. If alarms
    come at random at a rate :math:`\lambda`, then :math:`e^{-\lambda D} = 1/2`, and

    .. math:: \frac{1}{\lambda} = \frac{D}{\log 2}.

    Parameters
    ----------
    clip_duration : float
        Duration D of a clip that holds a call, in seconds.

    Returns
    -------
    float
        Seconds.

    Notes
    -----
    Chapter *Why flux raises false alarms*.
    """
    check_range("clip_duration", clip_duration, 0, open_low=True)
    return clip_duration / math.log(2)


def _check_values(values: npt.ArrayLike) -> npt.NDArray[np.floating]:
    array = as_real_floats("values", values)
    if array.size == 0:
        raise ValueError("values must hold at least one value")
    if not np.isfinite(array).all():
        raise ValueError("values must be finite: they hold infinity or NaN")
    return array
