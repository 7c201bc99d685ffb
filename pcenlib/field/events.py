"""From values of max-pooled PCEN to events: when something began, when it ended, and in which bands.

An event begins at the first frame above the threshold. Frames above it belong to one event as long as fewer than
`gap` frames below it are between them. With the paper's s the function peaks at the onset and is back at its resting
value while the call goes on, because the background has learned it by then. So the end has a rule of its own:

    An event ends where the mean power of the next `gap` frames, in the bands of its peak, has come back halfway, in
    decibels, from its largest value to what it was before the event began, or to within 3 dB of that; and at the
    latest where the next event begins.

Halfway, because a gust of wind that rises under a call would otherwise keep it going. What it was before is the median
of the same running mean over the frames before the onset. The bands of the peak are those around the loudest one, at
the frame of the peak, in which E/M is at most 6 dB lower.

Everything here is pure. Blocks may have any size; the events are the same.
"""

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pcenlib.core.checks import check_range

__all__ = [
    "Event",
    "Run",
    "contrast",
    "end_of_event",
    "match",
    "moving_maximum",
    "moving_mean",
    "peak_bands",
    "runs",
    "settled",
]


FloatArray = npt.NDArray[np.floating]

# An event has ended where the power is so few dB above what it was before, however faint the event.
END_MARGIN = 3.0

# How far below the loudest band at its peak the bands of an event reach, in dB.
BAND_MARGIN = 6.0


class Run(NamedTuple):
    """Frames of a recording that make one event: numbers of frames, and the largest value."""

    begin: int
    last: int
    peak: int
    score: float


class Event(NamedTuple):
    """An event in a recording: a row of every table.

    Parameters
    ----------
    file : str
        The recording.
    file_start : float
        Where the recording starts if all recordings of a table are put one after the other, in seconds.
    start, end, peak : float
        Seconds from the start of the recording: centers of the first frame above the threshold, of the first frame
        after the event, and of the frame of the largest value.
    low, high : float
        Edges of the bands of the peak, in hertz.
    score : float
        Largest value of max-pooled PCEN.
    contrast : float
        The same in decibels, 20 log10 E/M.
    time, clock : str
        Absolute time of `start` in ISO 8601, and where it comes from; empty if the recording does not tell.
    """

    file: str
    file_start: float
    start: float
    end: float
    peak: float
    low: float
    high: float
    score: float
    contrast: float
    time: str
    clock: str


def settled(blocks: Iterable[npt.ArrayLike], *, s: float) -> Iterator[FloatArray]:
    """Values of a detection function in blocks, zero while the background is still a guess from the first frames.

    These are the first 3/s frames, after which 95 % of M is an average of the recording.
    """
    check_range("s", s, 0, 1, open_low=True)
    left = math.ceil(3 / s)
    for block in blocks:
        values = np.array(block, dtype=np.float64)
        values[:left] = 0
        left = max(0, left - values.size)
        yield values


def runs(blocks: Iterable[npt.ArrayLike], threshold: float, *, gap: int, longest: int) -> Iterator[Run]:
    """Runs of values above a threshold, joined where fewer than `gap` frames are between them.

    Blocks may have any length. A run comes as soon as it is sure to be over, and is cut after `longest` frames.

    Examples
    --------
    >>> list(runs([[0, 5, 0, 0], [7, 0, 0, 0]], 1, gap=3, longest=100))
    [Run(begin=1, last=4, peak=4, score=7.0)]
    >>> [run.begin for run in runs([[0, 5, 0, 0], [7, 0, 0, 0]], 1, gap=2, longest=100)]
    [1, 4]
    """
    check_range("threshold", threshold, -math.inf)
    check_range("gap", gap, 1)
    check_range("longest", longest, 1)
    run: Run | None = None
    first = 0
    for block in blocks:
        values = np.asarray(block)
        (above,) = np.nonzero(values > threshold)
        for piece in np.split(above, np.flatnonzero(np.diff(above) > gap) + 1):
            while piece.size:
                if run and (first + piece[0] - run.last > gap or first + piece[0] - run.begin >= longest):
                    yield run
                    run = None
                begin = run.begin if run else first + int(piece[0])
                inside = piece[first + piece - begin < longest]
                peak = int(inside[np.argmax(values[inside])])
                best = (first + peak, float(values[peak]))
                if run and run.score >= best[1]:
                    best = run.peak, run.score
                run = Run(begin, first + int(inside[-1]), *best)
                piece = piece[inside.size :]
        first += values.size
        if run and first - run.last > gap:
            yield run
            run = None
    if run:
        yield run


def moving_maximum(blocks: Iterable[npt.ArrayLike], gap: int) -> Iterator[FloatArray]:
    """Largest of the last `gap` values of a non-negative detection function, in blocks of any length.

    Its runs above any threshold are the runs of `runs`, uncut. So it counts alarms for all thresholds at once.
    """
    from scipy.ndimage import maximum_filter1d  # here, because few need it

    check_range("gap", gap, 1)
    before: FloatArray = np.zeros(gap - 1)
    for block in blocks:
        values = np.concatenate([before, np.asarray(block, dtype=np.float64)])
        n = values.size - before.size
        yield maximum_filter1d(values, gap)[gap // 2 : gap // 2 + n]
        before = values[n:]


def moving_mean(values: FloatArray, width: int) -> FloatArray:
    """Mean of each window of `width` values that fits inside; empty if there are fewer values than that.

    A window is the end of one block of `width` values and the beginning of the next. Both sums hold nothing but the
    window, so a loud sound outside it leaves no rounding error, as it would in a difference of two cumulative sums.
    """
    n = max(0, values.size - width + 1)
    blocks = np.pad(values, (0, -values.size % width)).reshape(-1, width)
    ends = np.cumsum(blocks[:, ::-1], axis=1)[:, ::-1].ravel()[:n]
    beginnings = np.cumsum(blocks, axis=1)
    beginnings[:, -1] = 0  # a whole block is a window of its own, counted by its end
    return (ends + beginnings.ravel()[width - 1 : width - 1 + n]) / width


def contrast(score: float) -> float:
    r"""How far the loudest band is above its background, in decibels, from a positive value of max-pooled PCEN.

    .. math:: 20 \log_{10} \max_f \frac{E[t, f]}{M[t, f]} = 20 \log_{10}\bigl(e^{\mathrm{score}} - 1\bigr)

    Examples
    --------
    >>> round(contrast(math.log(1 + 10)), 9)
    20.0
    """
    check_range("score", score, 0, open_low=True)
    return 20 * math.log10(math.expm1(score))


def peak_bands(ratio: npt.ArrayLike) -> slice:
    """The bands of a peak: those around the largest value of E/M that are at most 6 dB below it, without a gap.

    Examples
    --------
    >>> peak_bands([9, 1, 6, 10, 6, 4, 9])
    slice(2, 5, None)
    """
    ratio = np.asarray(ratio)
    best = int(np.argmax(ratio))
    (low,) = np.nonzero(ratio < ratio[best] * 10 ** (-BAND_MARGIN / 20))
    below, above = low[low < best], low[low > best]
    return slice(int(below[-1]) + 1 if below.size else 0, int(above[0]) if above.size else ratio.size)


def end_of_event(power: npt.ArrayLike, run: Run, *, gap: int, complete: bool) -> int | None:
    """First frame after an event, by the rule in the docstring of this module; None if it lasts longer than `power`.

    `power` is the mean power in the bands of the event, from some time before it, and `run` counts its frames. If the
    recording is `complete`, that is, ends with the last frame, what follows is assumed to be as before the event.
    """
    power = np.asarray(power, dtype=np.float64)
    check_range("gap", gap, 1)
    if not 0 < run.begin <= run.last < power.size:
        raise ValueError(f"run must lie inside the {power.size} frames of power, with one before it, got {run}")
    before = float(np.median(moving_mean(power[: run.begin], min(gap, run.begin))))
    after = power[run.last + 1 :]
    if complete:
        after = np.concatenate([after, np.full(gap, before)])
    if after.size < gap:
        return None
    means = moving_mean(after, gap)
    # The loudest so far, from the beginning of the event on; its square root times that of `before` is halfway.
    begun = moving_mean(power[run.begin : run.last + gap], gap).max(initial=0.0)
    loudest = np.maximum.accumulate(np.maximum(means, begun))
    (quiet,) = np.nonzero(means < np.maximum(np.sqrt(before * loudest), before * 10 ** (END_MARGIN / 10)))
    return run.last + 1 + int(quiet[0]) if quiet.size else None


def match(
    found: npt.ArrayLike, truth: npt.ArrayLike, *, tolerance: float
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Which events are calls, and which calls were found, given when both began.

    Parameters
    ----------
    found, truth : array_like, shape (event,) and (call,)
        Starts of events and of calls, in seconds and increasing order.
    tolerance : float
        An event and a call are the same if they begin at most so many seconds apart.

    Returns
    -------
    correct : ndarray, shape (event,)
        Whether each event is a call. Its mean is the precision.
    recalled : ndarray, shape (call,)
        Whether each call was found. Its mean is the recall.

    Notes
    -----
    Each call is found at most once, and each event is at most one call: in the order of time, each takes the first that
    is left, which leaves as few as possible without a partner.

    Examples
    --------
    >>> correct, recalled = match([1.0, 1.1, 5.0], [1.02, 3.0], tolerance=0.2)
    >>> correct.tolist(), recalled.tolist()
    ([True, False, False], [True, False])
    """
    check_range("tolerance", tolerance, 0)
    events, calls = (np.asarray(times, dtype=np.float64) for times in (found, truth))
    for name, times in {"found": events, "truth": calls}.items():
        if times.ndim != 1 or not (np.diff(times) >= 0).all():
            raise ValueError(f"{name} must be increasing times of shape (event,), got {times}")
    correct, recalled = np.zeros(events.size, dtype=bool), np.zeros(calls.size, dtype=bool)
    i = j = 0
    while i < events.size and j < calls.size:
        if abs(events[i] - calls[j]) <= tolerance:
            correct[i] = recalled[j] = True
            i, j = i + 1, j + 1
        elif events[i] < calls[j]:
            i += 1
        else:
            j += 1
    return correct, recalled
