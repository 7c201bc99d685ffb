"""Mean time between false alarms at half recall (section 3.2), from values of a detection function.

Stage one finds the threshold that half of the calls exceed, `threshold_at_recall`. Stage two counts how often
recordings without calls exceed it, `mtbfa`. A value is an alarm if it is strictly above the threshold.

An experiment has many thresholds: one for each distance, group of calls and detector. `count_exceedances` counts the
alarms of a recording at all of them in one pass, and `merge_counts` adds up recordings.
"""

import functools
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy

from pcenlib.core.checks import FloatArray, as_finite_floats, as_real_floats, check_range

__all__ = [
    "Counts",
    "chance_mtbfa",
    "count_exceedances",
    "exceedance",
    "format_mtbfa",
    "merge_counts",
    "mtbfa",
    "poisson_interval",
    "threshold_at_recall",
]

UNITS = {"h": 3600.0, "min": 60.0, "s": 1.0, "ms": 1e-3}

Counting = Literal["frames", "peaks"]


def threshold_at_recall(values: npt.ArrayLike, recall: float = 0.5, *, lower: bool = False) -> float:
    """Threshold that a given share of the calls exceeds: stage one.

    Parameters
    ----------
    values : array_like
        One value for each call: the maximum of the detection function over its clip.
    recall : float
        Share of calls to find, in [0, 1].
    lower : bool
        If two values are equally good, like the two middle ones of an even number, whether to take the lower one, as
        the authors' code does, instead of their mean.

    Returns
    -------
    float
        The quantile of `values` at ``1 - recall``: by default the median. At most the share `recall` of the values is
        above it, and at least that share is at or above it.
    """
    check_range("recall", recall, 0, 1)
    method: Literal["inverted_cdf", "averaged_inverted_cdf"] = "inverted_cdf" if lower else "averaged_inverted_cdf"
    return float(np.quantile(_check_values(values), 1 - recall, method=method))


def mtbfa(values: npt.ArrayLike, threshold: float, *, hop: float, count: Counting = "frames") -> float:
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
        Duration over number of alarms, in seconds; ``inf`` without alarms. All we know then is that the mean time is
        probably longer than the recording, and `format_mtbfa` says so.
    """
    values = _check_values(values)
    if values.ndim != 1:
        raise ValueError(f"values must have shape (frame,), got {values.shape}")
    check_range("threshold", threshold, -math.inf)
    check_range("hop", hop, 0, open_low=True)
    (alarms,) = count_exceedances([{"": values}], {"": [threshold]}, count=count).alarms[""]
    return values.size * hop / alarms if alarms else math.inf


@dataclass(frozen=True)
class Counts:
    """Alarms of one or of several recordings; ``a + b`` adds up two.

    Counts are integers, so a sum does not depend on the order of the recordings.

    Parameters
    ----------
    n_frames : int
        Number of frames.
    alarms : mapping of str to sequence of int
        For each detector, the number of alarms at each of its thresholds, in the order of the thresholds.
    """

    n_frames: int
    alarms: Mapping[str, Sequence[int]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "alarms", {detector: tuple(alarms) for detector, alarms in self.alarms.items()})

    @property
    def sizes(self) -> dict[str, int]:
        """Number of thresholds of each detector."""
        return {detector: len(alarms) for detector, alarms in self.alarms.items()}

    def __add__(self, other: "Counts") -> "Counts":
        if self.sizes != other.sizes:
            raise ValueError(f"counts must be of the same thresholds, got {self.sizes} and {other.sizes} of them")
        alarms = {name: tuple(map(operator.add, mine, other.alarms[name])) for name, mine in self.alarms.items()}
        return Counts(self.n_frames + other.n_frames, alarms)


def count_exceedances(
    blocks: Iterable[Mapping[str, npt.ArrayLike]],
    thresholds: Mapping[str, npt.ArrayLike],
    *,
    count: Counting = "frames",
) -> Counts:
    """Alarms of one recording at all thresholds of all detectors, in one pass and in constant memory.

    Parameters
    ----------
    blocks : iterable of mappings of str to array_like, shape (frame,)
        The recording in consecutive blocks of frames of any length: for each detector, its values.
    thresholds : mapping of str to array_like, shape (threshold,)
        For each detector, its thresholds in any order.
    count : {"frames", "peaks"}
        Whether every frame above a threshold counts, or every run of such frames once. A run may span blocks.

    Returns
    -------
    Counts
        The same for any size of blocks.

    Examples
    --------
    >>> blocks = [{"flux": [0, 2, 3]}, {"flux": [3, 1, 2]}]
    >>> count_exceedances(blocks, {"flux": [1, 2]}).alarms
    {'flux': (4, 2)}
    >>> count_exceedances(blocks, {"flux": [1, 2]}, count="peaks").alarms
    {'flux': (2, 1)}
    """
    if count not in ("frames", "peaks"):
        raise ValueError(f"count must be 'frames' or 'peaks', got {count!r}")
    given = {detector: _check_thresholds(values) for detector, values in thresholds.items()}
    if not given or any(values.ndim != 1 for values in given.values()):
        raise ValueError("thresholds must hold at least one detector, and for each an array of shape (threshold,)")
    edges = {detector: np.sort(values) for detector, values in given.items()}
    crossings = {detector: np.zeros(values.size + 1, dtype=np.int64) for detector, values in given.items()}
    last = dict.fromkeys(given, 0)
    n_frames = 0
    for block in blocks:
        values = _check_block(block, given)
        n_frames += len(values[0])
        for detector, of_detector in zip(given, values, strict=True):
            # A rank is the number of thresholds below a value. A rise from rank a to b crosses thresholds a to b - 1.
            ranks = np.searchsorted(edges[detector], of_detector)
            # To count frames, each starts below every threshold; to count peaks, from the frame before.
            before = np.zeros_like(ranks)
            if count == "peaks" and ranks.size:
                before = np.concatenate([[last[detector]], ranks[:-1]])
                last[detector] = ranks[-1]
            up = ranks > before
            for crossed, sign in ((before[up], 1), (ranks[up], -1)):
                crossings[detector] += sign * np.bincount(crossed, minlength=crossings[detector].size)
    if n_frames == 0:
        raise ValueError("blocks must hold at least one frame")
    alarms = {
        detector: np.cumsum(crossings[detector])[np.searchsorted(edges[detector], values)].tolist()
        for detector, values in given.items()
    }
    return Counts(n_frames, alarms)


def merge_counts(counts: Iterable[Counts]) -> Counts:
    """Alarms of several recordings together.

    Parameters
    ----------
    counts : iterable of Counts
        One for each recording, at the same thresholds.

    Returns
    -------
    Counts
        Their sum. A run at the end of one recording is never joined to one at the start of the next.
    """
    counts = iter(counts)
    first = next(counts, None)
    if first is None:
        raise ValueError("counts must hold at least one recording")
    return functools.reduce(operator.add, counts, first)


def poisson_interval(
    count: npt.ArrayLike, *, confidence: float = 0.95
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    r"""Garwood's exact confidence interval for the expected number of events, from the number that was counted.

    .. math:: P(N \ge n \mid \mu_{\mathrm{low}}) = P(N \le n \mid \mu_{\mathrm{high}}) = (1 - \mathrm{confidence})/2

    Events must be independent, at one rate. False alarms seldom are: frames come in runs, and peaks in showers of rain
    or passages of a ship. The interval is too narrow then; `pcenlib.experiments.intervals` resamples clusters instead.

    Parameters
    ----------
    count : array_like
        Numbers of events n.
    confidence : float
        At least the probability that the interval covers the truth, in ]0, 1].

    Returns
    -------
    low, high : ndarray
        In the shape of `count`; `low` is 0 where `count` is.

    Examples
    --------
    >>> low, high = poisson_interval([0, 10])
    >>> low.round(3), high.round(3)
    (array([0.   , 4.795]), array([ 3.689, 18.39 ]))
    """
    n = as_finite_floats("count", count).astype(np.float64)
    if (n < 0).any():
        raise ValueError("count must hold non-negative numbers")
    check_range("confidence", confidence, 0, 1, open_low=True)
    tail = (1 - confidence) / 2
    low = np.where(n > 0, scipy.special.gammaincinv(np.maximum(n, 1), tail), 0.0)
    return low, np.asarray(scipy.special.gammainccinv(n + 1, tail), dtype=np.float64)


def format_mtbfa(seconds: float, duration: float) -> str:
    """A mean time between false alarms in words.

    Parameters
    ----------
    seconds : float
        The time, or ``inf`` if there was no false alarm.
    duration : float
        Duration of the recordings, in seconds.

    Returns
    -------
    str
        In milliseconds, seconds, minutes or hours.

    Examples
    --------
    >>> format_mtbfa(204, 6000), format_mtbfa(math.inf, 6000)
    ('3.4 min', '> 1.7 h')
    """
    check_range("duration", duration, 0, open_low=True)
    if seconds == math.inf:
        return f"> {format_mtbfa(duration, duration)}"
    check_range("seconds", seconds, 0)
    unit, size = next((unit, size) for unit, size in UNITS.items() if seconds >= size or unit == "ms")
    return f"{seconds / size:.{1 if seconds < 9.95 * size else 0}f} {unit}"


def chance_mtbfa(clip_duration: float) -> float:
    r"""Mean time between false alarms at half recall of a detector that knows nothing.

    Such a detector finds half of the calls because half of all clips, with or without a call, contain an alarm. If
    alarms come at random at a rate :math:`\lambda`, then :math:`e^{-\lambda D} = 1/2`, so

    .. math:: \frac{1}{\lambda} = \frac{D}{\log 2}.

    Parameters
    ----------
    clip_duration : float
        Duration D of a clip that holds a call, in seconds.

    Returns
    -------
    float
        Seconds.
    """
    check_range("clip_duration", clip_duration, 0, open_low=True)
    return clip_duration / math.log(2)


def exceedance(values: npt.ArrayLike, thresholds: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Share of the values above each threshold: the empirical survival function.

    Parameters
    ----------
    values : array_like
        Values of a detection function, or of one band of it, in any shape.
    thresholds : array_like
        Thresholds, in any shape and order.

    Returns
    -------
    ndarray
        Share of all values strictly above each threshold, in the shape of `thresholds`. If every frame counts, the hop
        over this share is the mean time between false alarms.

    Examples
    --------
    >>> exceedance([1, 2, 2, 4], [0, 2, 5])
    array([1.  , 0.25, 0.  ])
    """
    ordered = np.sort(_check_values(values), axis=None)
    return 1 - np.searchsorted(ordered, _check_thresholds(thresholds), side="right") / ordered.size


def _check_values(values: npt.ArrayLike) -> FloatArray:
    array = as_finite_floats("values", values)
    if array.size == 0:
        raise ValueError("values must hold at least one value")
    return array


def _check_thresholds(thresholds: npt.ArrayLike) -> FloatArray:
    array = as_real_floats("thresholds", thresholds)
    if np.isnan(array).any():
        raise ValueError("thresholds must be numbers: they hold NaN")
    return array


def _check_block(block: Mapping[str, npt.ArrayLike], detectors: Iterable[str]) -> list[FloatArray]:
    """Values of each detector in a block, all of one length."""
    missing = [detector for detector in detectors if detector not in block]
    if missing:
        raise ValueError(f"blocks must hold every detector that has thresholds: {', '.join(missing)} is missing")
    values = [as_finite_floats("blocks", block[detector]) for detector in detectors]
    shapes = {array.shape for array in values}
    if len(shapes) != 1 or values[0].ndim != 1:
        raise ValueError(f"blocks must hold values of shape (frame,), the same for each detector, got {shapes}")
    return values
