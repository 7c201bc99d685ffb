"""Mean time between false alarms at half recall (section 3.2), from values of a detection function.

Stage one finds the threshold that half of the calls exceed; stage two counts how often recordings without any call
exceed it. A value is an alarm where it lies strictly above the threshold.

An experiment has a threshold for each distance, group of calls and detector. It goes through four steps: `calibrate`
makes a table of thresholds, `count_exceedances` counts the alarms of one recording at all of them together,
`merge_counts` adds up recordings, `mtbfa_table` joins thresholds and counts. Tables are tidy pandas data frames, one
row for each distance, group and detector.
"""

import functools
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from pcenlib._checks import as_real_floats, check_columns, check_range

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Counts",
    "RecallCurve",
    "calibrate",
    "chance_mtbfa",
    "count_exceedances",
    "exceedance",
    "fit_recall",
    "format_mtbfa",
    "medians_in_words",
    "merge_counts",
    "mtbfa",
    "mtbfa_table",
    "over_groups",
    "poisson_interval",
    "readable",
    "threshold_at_recall",
    "thresholds_by_detector",
]

KEYS = ["distance", "group", "detector"]
MEASURED = ["threshold", "false_alarms", "duration", "mtbfa", "mtbfa_low", "mtbfa_high"]
UNITS = {"h": 3600.0, "min": 60.0, "s": 1.0, "ms": 1e-3}

Counting = Literal["frames", "peaks"]


def threshold_at_recall(values: npt.ArrayLike, recall: float = 0.5, *, lower: bool = False) -> float:
    """Threshold that a given share of the calls exceeds: stage one.

    Parameters
    ----------
    values : array_like
        One value for each call: the maximum of the detection function over its clip.
    recall : float
        Share of calls to be found, in [0, 1].
    lower : bool
        Where two values are equally good, such as the two middle ones of an even number, whether to take the lower
        one, as the authors' code does, instead of their mean.

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
    method: Literal["inverted_cdf", "averaged_inverted_cdf"] = "inverted_cdf" if lower else "averaged_inverted_cdf"
    return float(np.quantile(_check_values(values), 1 - recall, method=method))


def calibrate(positives: "pd.DataFrame", *, recall: float = 0.5, lower: bool = False) -> "pd.DataFrame":
    """Threshold of each detector for each distance and group: stage one, as a table.

    Parameters
    ----------
    positives : DataFrame
        One row for each call and detector, with columns `distance`, `group`, `detector` and `value`: the maximum of
        the detection function over the clip.
    recall, lower
        As for `threshold_at_recall`.

    Returns
    -------
    DataFrame
        Columns `distance`, `group`, `detector`, `threshold`, one row for each combination that has calls, sorted.

    Notes
    -----
    Chapter 3.2, *The evaluation procedure*.
    """
    check_columns("positives", positives, [*KEYS, "value"])
    values = positives.groupby(KEYS)["value"]
    return values.agg(lambda group: threshold_at_recall(group, recall, lower=lower)).rename("threshold").reset_index()


def thresholds_by_detector(thresholds: "pd.DataFrame") -> dict[str, list[float]]:
    """Thresholds of a table of `calibrate`, as `count_exceedances` takes them and in the table's order.

    Parameters
    ----------
    thresholds : DataFrame
        With columns `detector` and `threshold`.

    Returns
    -------
    dict of str to list of float
        The thresholds of each detector.

    Notes
    -----
    Chapter 3.2, *The evaluation procedure*.
    """
    check_columns("thresholds", thresholds, ["detector", "threshold"])
    return {str(detector): group.tolist() for detector, group in thresholds.groupby("detector")["threshold"]}


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
    (alarms,) = count_exceedances([{"": values}], {"": [threshold]}, count=count).alarms[""]
    return values.size * hop / alarms if alarms else math.inf


@dataclass(frozen=True)
class Counts:
    """Alarms of one or of several recordings; ``a + b`` adds up two.

    Parameters
    ----------
    n_frames : int
        Number of frames.
    alarms : mapping of str to sequence of int
        For each detector, the number of alarms at each of its thresholds, in the order of the thresholds.

    Notes
    -----
    Chapter 3.2, *The evaluation procedure*. Made of integers, so that neither the order of the recordings nor how
    they are shared out between workers changes a sum.
    """

    n_frames: int
    alarms: Mapping[str, Sequence[int]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "alarms", {detector: tuple(alarms) for detector, alarms in self.alarms.items()})

    def __add__(self, other: "Counts") -> "Counts":
        if _sizes(self.alarms) != _sizes(other.alarms):
            raise ValueError(
                f"counts must be of the same thresholds, got {_sizes(self.alarms)} and {_sizes(other.alarms)} of them"
            )
        alarms = {name: tuple(map(operator.add, mine, other.alarms[name])) for name, mine in self.alarms.items()}
        return Counts(self.n_frames + other.n_frames, alarms)


def count_exceedances(
    blocks: Iterable[Mapping[str, npt.ArrayLike]],
    thresholds: Mapping[str, npt.ArrayLike],
    *,
    count: Counting = "frames",
) -> Counts:
    """Alarms of one recording at all thresholds of all detectors: stage two, in one pass and in constant memory.

    Parameters
    ----------
    blocks : iterable of mappings of str to array_like, shape (frame,)
        The recording in consecutive blocks of frames of any length: for each detector, its values.
    thresholds : mapping of str to array_like, shape (threshold,)
        For each detector, its thresholds in any order.
    count : {"frames", "peaks"}
        Whether every frame above a threshold counts, or every run of such frames once, across blocks too.

    Returns
    -------
    Counts
        However the recording is cut into blocks, the counts are the same.

    Notes
    -----
    Chapter 3.2, *The evaluation procedure*. The rank of a value is the number of thresholds below it, found by
    bisection. A rank that rises from a to b leads above the thresholds a to b - 1 of the sorted ones, and each is
    counted once.

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
    order = {detector: np.argsort(values) for detector, values in given.items()}
    edges = {detector: values[order[detector]] for detector, values in given.items()}
    alarms = {detector: np.zeros(places.size, dtype=np.int64) for detector, places in order.items()}
    last = dict.fromkeys(order, 0)
    n_frames = 0
    for block in blocks:
        values = _check_block(block, order.keys())
        n_frames += len(values[0])
        for detector, of_detector in zip(order, values, strict=True):
            ranks = np.searchsorted(edges[detector], of_detector)
            before = np.concatenate([[last[detector]], ranks])
            last[detector] = before[-1]
            # A frame counts by itself as if the one before it had been below every threshold.
            start = before[:-1] if count == "peaks" else np.zeros_like(ranks)
            alarms[detector][order[detector]] += _entries(start, ranks, edges[detector].size)
    if n_frames == 0:
        raise ValueError("blocks must hold at least one frame")
    return Counts(n_frames, {detector: total.tolist() for detector, total in alarms.items()})


def merge_counts(counts: Iterable[Counts]) -> Counts:
    """Alarms of several recordings together: stage two, after `count_exceedances`.

    Parameters
    ----------
    counts : iterable of Counts
        One for each recording, at the same thresholds.

    Returns
    -------
    Counts
        Their sum. A run of frames above threshold that ends one recording is never joined to one that starts another.

    Notes
    -----
    Chapter 3.2, *The evaluation procedure*.
    """
    counts = iter(counts)
    first = next(counts, None)
    if first is None:
        raise ValueError("counts must hold at least one recording")
    return functools.reduce(operator.add, counts, first)


def mtbfa_table(thresholds: "pd.DataFrame", counts: Counts, *, hop: float, confidence: float = 0.95) -> "pd.DataFrame":
    """Mean time between false alarms at every threshold: the result of both stages, as a table.

    Parameters
    ----------
    thresholds : DataFrame
        Columns `distance`, `group`, `detector`, `threshold`, from `calibrate`.
    counts : Counts
        False alarms of all recordings, counted at ``thresholds_by_detector(thresholds)``.
    hop : float
        Time between two frames, in seconds.
    confidence : float
        Probability that the interval from `mtbfa_low` to `mtbfa_high` covers the true mean time.

    Returns
    -------
    DataFrame
        The rows of `thresholds` with `false_alarms`, `duration` of the recordings, `mtbfa`, `mtbfa_low` and
        `mtbfa_high`, in seconds. Without a false alarm, `mtbfa` and `mtbfa_high` are ``inf``; `readable` says then
        "more than the duration".

    Notes
    -----
    Chapter 3.2, *The evaluation procedure*. The interval is that of `poisson_interval`.
    """
    check_columns("thresholds", thresholds, [*KEYS, "threshold"])
    check_range("hop", hop, 0, open_low=True)
    sizes = thresholds["detector"].value_counts().to_dict()
    if sizes != _sizes(counts.alarms):
        raise ValueError(f"counts must be of the table's thresholds, {sizes}, got {_sizes(counts.alarms)}")
    position = thresholds.groupby("detector").cumcount()
    alarms = np.array([counts.alarms[name][i] for name, i in zip(thresholds["detector"], position, strict=True)])
    duration = counts.n_frames * hop
    fewest, most = poisson_interval(alarms, confidence=confidence)
    with np.errstate(divide="ignore"):
        times = {"mtbfa": duration / alarms, "mtbfa_low": duration / most, "mtbfa_high": duration / fewest}
    return thresholds[[*KEYS, "threshold"]].assign(false_alarms=alarms, duration=duration, **times)


def poisson_interval(
    count: npt.ArrayLike, *, confidence: float = 0.95
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    r"""Interval of the expected number of events, given the number that were counted: Garwood's, which is exact.

    .. math:: P(N \ge n \mid \mu_{\mathrm{low}}) = P(N \le n \mid \mu_{\mathrm{high}}) = (1 - \mathrm{confidence})/2

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

    Notes
    -----
    Chapter 3.2, *The evaluation procedure*. It supposes events that come independently. Peaks nearly do; frames above
    a threshold come in runs, so that an interval from a count of frames is too narrow.

    Examples
    --------
    >>> low, high = poisson_interval([0, 10])
    >>> low.round(3), high.round(3)
    (array([0.   , 4.795]), array([ 3.689, 18.39 ]))
    """
    n = as_real_floats("count", count).astype(np.float64)
    if not (np.isfinite(n) & (n >= 0)).all():
        raise ValueError("count must hold non-negative numbers")
    check_range("confidence", confidence, 0, 1, open_low=True)
    tail = (1 - confidence) / 2
    low = np.where(n > 0, scipy.special.gammaincinv(np.maximum(n, 1), tail), 0.0)
    high = scipy.special.gammainccinv(n + 1, tail)
    return low, np.asarray(high, dtype=np.float64)


def over_groups(table: "pd.DataFrame", *, by: Sequence[str] = ()) -> "pd.DataFrame":
    """Median and quartiles over groups of the mean time between false alarms, as in figures 2 and 3.

    Parameters
    ----------
    table : DataFrame
        From `mtbfa_table`.
    by : sequence of str
        Further columns that tell experiments apart, such as a protocol. What is not named, such as a seed, is pooled:
        the groups of all seeds count alike.

    Returns
    -------
    DataFrame
        Columns `by`, `distance`, `detector`, `n_groups`, `n_censored` (groups without a false alarm), `duration`,
        `mtbfa` (median), `mtbfa_low` and `mtbfa_high` (lower and upper quartile).

    Notes
    -----
    Chapter 3.2, *The evaluation procedure*. Each quantile is the value of one of the groups, the smallest that at
    least that share of the groups does not exceed. A group without a false alarm counts as the longest time, and
    nothing is interpolated: halfway between a time and "more than the duration" there is no number.
    """
    check_columns("table", table, [*by, *KEYS, "duration", "mtbfa"])

    def quantile(share: float) -> "Callable[[pd.Series[float]], float]":
        return lambda times: float(np.sort(times)[max(0, math.ceil(share * len(times)) - 1)])

    return (
        table.groupby([*by, "distance", "detector"])
        .agg(
            n_groups=("group", "size"),
            n_censored=("mtbfa", lambda times: int(np.isinf(times).sum())),
            duration=("duration", "min"),
            mtbfa=("mtbfa", quantile(0.5)),
            mtbfa_low=("mtbfa", quantile(0.25)),
            mtbfa_high=("mtbfa", quantile(0.75)),
        )
        .reset_index()
    )


def readable(table: "pd.DataFrame") -> "pd.DataFrame":
    """A table of `mtbfa_table` or `over_groups` for people: times in words, censored ones as such.

    Parameters
    ----------
    table : DataFrame
        With columns `duration` and `mtbfa`, and others that start with `mtbfa`.

    Returns
    -------
    DataFrame
        The same with these columns as text.

    Notes
    -----
    Chapter 3.2, *The evaluation procedure*.
    """
    check_columns("table", table, ["duration", "mtbfa"])
    columns = ["duration", *(name for name in table.columns if name.startswith("mtbfa"))]
    text = {name: list(map(format_mtbfa, table[name], table["duration"])) for name in columns}
    return table.assign(**text)


def medians_in_words(
    table: "pd.DataFrame", *, index: Sequence[str] = ("distance",), columns: Sequence[str] = ("detector",)
) -> "pd.DataFrame":
    """Medians over groups of the mean time between false alarms, as text, in rows and columns.

    Parameters
    ----------
    table : DataFrame
        From `mtbfa_table`, with any further columns.
    index, columns : sequence of str
        What the rows and the columns stand for: `distance`, `detector` and whatever else tells experiments apart.
        Groups are pooled over all other columns.

    Returns
    -------
    DataFrame
        Times as those of `readable`.

    Notes
    -----
    Chapter 3.3, *Results*, and others.
    """
    by = [name for name in [*index, *columns] if name not in KEYS]
    return readable(over_groups(table, by=by)).pivot(index=list(index), columns=list(columns), values="mtbfa")


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

    Notes
    -----
    Chapter 3.2, *The evaluation procedure*.

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
    return 1 - np.searchsorted(ordered, _check_thresholds(thresholds), side="right") / ordered.size


class RecallCurve(NamedTuple):
    """Share of the calls that are found, against the level at which they arrive: a logistic curve.

    Notes
    -----
    Chapter *A distance laboratory*.
    """

    half: float
    """Level at which half of the calls are found, in dB."""
    scale: float
    """Change in level, in dB, by which the odds of being found change by a factor of e."""

    def __call__(self, levels: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Recall at levels in dB."""
        return np.asarray(scipy.special.expit((np.asarray(levels) - self.half) / self.scale), dtype=np.float64)


def fit_recall(levels: npt.ArrayLike, detected: npt.ArrayLike) -> RecallCurve:
    r"""Fit recall against level by maximum likelihood.

    .. math:: P(\text{found} \mid L) = \frac{1}{1 + e^{-(L - L_{50}) / k}}

    Parameters
    ----------
    levels : array_like, shape (call,)
        Level of each call, in dB.
    detected : array_like of bool, shape (call,)
        Whether it was found.

    Returns
    -------
    RecallCurve
        :math:`L_{50}` and :math:`k`. Where a level parts found from missed calls without exception, every small k is
        as likely as any other.

    Notes
    -----
    Chapter *A distance laboratory*.
    """
    x = as_real_floats("levels", levels).astype(np.float64)
    found = np.asarray(detected, dtype=bool)
    if x.ndim != 1 or x.shape != found.shape:
        raise ValueError(f"levels and detected must have the same shape (call,), got {x.shape} and {found.shape}")
    if not np.isfinite(x).all():
        raise ValueError("levels must be finite: they hold infinity or NaN")
    if found.all() or not found.any():
        raise ValueError("detected must hold found and missed calls, to find out what tells them apart")
    if not x[found].mean() > x[~found].mean():
        raise ValueError("detected must hold more calls of higher levels: the found ones are softer than the missed")
    middle, spread = x.mean(), x.std()
    design = np.stack([np.ones_like(x), (x - middle) / spread])
    weights = np.zeros(2)
    for _ in range(100):  # Newton's method; a logistic likelihood has one maximum
        p = scipy.special.expit(weights @ design)
        if np.abs(found - p).max() < 1e-6:  # a clean cut, which could only become steeper
            break
        step = np.linalg.solve((design * p * (1 - p)) @ design.T, design @ (found - p))
        weights += step / max(1.0, np.abs(step).max() / 2)
        if np.abs(step).max() < 1e-10:
            break
    offset, slope = weights
    return RecallCurve(float(middle - spread * offset / slope), float(spread / slope))


def _entries(before: npt.NDArray[np.intp], after: npt.NDArray[np.intp], n: int) -> npt.NDArray[np.intp]:
    """How many of the steps from rank `before` to rank `after` lead above each of the n sorted thresholds."""
    up = after > before
    return np.cumsum(np.bincount(before[up], minlength=n + 1) - np.bincount(after[up], minlength=n + 1))[:n]


def _sizes(sequences: Mapping[str, Sequence[int]]) -> dict[str, int]:
    return {name: len(sequence) for name, sequence in sequences.items()}


def _check_values(values: npt.ArrayLike) -> npt.NDArray[np.floating]:
    array = as_real_floats("values", values)
    if array.size == 0:
        raise ValueError("values must hold at least one value")
    if not np.isfinite(array).all():
        raise ValueError("values must be finite: they hold infinity or NaN")
    return array


def _check_thresholds(thresholds: npt.ArrayLike) -> npt.NDArray[np.floating]:
    array = as_real_floats("thresholds", thresholds)
    if np.isnan(array).any():
        raise ValueError("thresholds must be numbers: they hold NaN")
    return array


def _check_block(block: Mapping[str, npt.ArrayLike], detectors: Iterable[str]) -> list[npt.NDArray[np.floating]]:
    """Values of each detector in a block, all of one length."""
    missing = [detector for detector in detectors if detector not in block]
    if missing:
        raise ValueError(f"blocks must hold every detector that has thresholds: {', '.join(missing)} is missing")
    values = [as_real_floats("blocks", block[detector]) for detector in detectors]
    shapes = {array.shape for array in values}
    if len(shapes) != 1 or values[0].ndim != 1:
        raise ValueError(f"blocks must hold values of shape (frame,), the same for each detector, got {shapes}")
    if not all(np.isfinite(array).all() for array in values):
        raise ValueError("blocks must be finite: they hold infinity or NaN")
    return values
