"""A threshold from recordings in which nothing calls: the smallest that raises so few alarms an hour.

Alarms come in clusters: a shower of rain or a passing ship raises many. So they are counted in stretches of up to ten
minutes, and the interval for their rate comes from drawing the stretches again.
"""

import functools
import itertools
import math
import os
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pcenlib.core.checks import as_finite_floats, check_range
from pcenlib.core.evaluation import count_exceedances, poisson_interval
from pcenlib.core.resampling import CONFIDENCE, N_RESAMPLES, interval, resample
from pcenlib.core.setting import Setting
from pcenlib.core.streaming import detection_blocks
from pcenlib.field.events import moving_maximum, settled
from pcenlib.field.search import Search, check_recording
from pcenlib.field.survey import check_found, find_recordings, split_jobs
from pcenlib.jobs.run import run

__all__ = ["Calibration", "calibrate_threshold", "rate_interval"]

AnyPath = str | os.PathLike[str]


# Thresholds that calibration chooses from: a step is 0.04 dB of contrast.
THRESHOLDS = np.arange(140, 6000) * 0.005

# Longest stretch, in seconds. It holds most gusts and showers whole, so one stretch says little about the next. Five
# hours still have the thirty stretches or so that the bootstrap needs.
STRETCH = 600.0

MOST_ALARMS = 1e6  # in an hour, more than anyone can look at
FRAMES_PER_BLOCK = 1920  # at most so many are computed at once
SEED = 2019  # of the draws


class Calibration(NamedTuple):
    """A threshold, and how often quiet recordings exceed it.

    `low` and `high` are the ends of the 95 % interval for the alarms per hour, from `rate_interval`. It allows for
    clusters of alarms that last a few minutes, such as showers of rain. Rain that lasts all night is beyond it:
    calibrate on several nights.
    """

    threshold: float
    alarms: int
    hours: float
    low: float
    high: float

    def __str__(self) -> str:
        return (
            f"threshold {self.threshold:.3f}: {self.alarms} alarms in {self.hours:.2f} quiet hours, "
            f"{self.alarms / self.hours:.2f} per hour (95 %: {self.low:.2f} to {self.high:.2f})"
        )


def calibrate_threshold(
    paths: Iterable[AnyPath],
    setting: Setting,
    *,
    false_alarms_per_hour: float,
    min_gap: float | None = None,
    channel: int | None = None,
    jobs: int | None = None,
    progress: bool = True,
) -> Calibration:
    """The smallest threshold above which quiet recordings raise at most so many alarms an hour.

    Parameters
    ----------
    paths : iterable of paths
        Recordings, or folders of them, in which the animal does not call.
    setting : Setting
        Window, hop, bands and time scale.
    false_alarms_per_hour : float
        Events an hour that one is ready to look at in vain.
    min_gap, channel
        As for `Search`.
    jobs, progress
        As for `survey`.

    Returns
    -------
    Calibration

    Notes
    -----
    Alarms are counted as events are, joined within `min_gap`, in steps of 0.005. In H hours, one alarm is the least
    that can be told from none: rates below 1/H cannot be calibrated, and are an error.
    """
    check_range("false_alarms_per_hour", false_alarms_per_hour, 0, MOST_ALARMS, open_low=True)
    search = Search(setting=setting, threshold=1.0, min_gap=min_gap, channel=channel)
    files = [os.fspath(path) for path in find_recordings(paths)]
    processes, threads = split_jobs(jobs, len(files))
    outcome = run(
        functools.partial(_count_quiet, search=search, threads=threads),
        files,
        jobs=processes,
        progress=progress,
    )
    if outcome.failures:
        raise OSError(f"every recording to calibrate with must be readable: {outcome}")
    stretches = [stretch for of_file in outcome.results.values() for stretch in of_file]
    hours = math.fsum(stretch.hours for stretch in stretches)
    allowed = math.floor(false_alarms_per_hour * hours + 1e-9)
    if allowed < 1:
        raise ValueError(
            f"the quiet recordings last {hours:.3g} hours: they can tell {1 / hours:.3g} false alarms per hour "
            f"or more, but not {false_alarms_per_hour:g}; give more of them, or accept more alarms"
        )
    alarms = np.zeros(THRESHOLDS.size, dtype=np.int64)
    for stretch in stretches:
        alarms[: stretch.alarms.size] += stretch.alarms
    (too_many,) = np.nonzero(alarms > allowed)
    chosen = int(too_many[-1]) + 1 if too_many.size else 0
    if chosen == alarms.size:
        raise ValueError(f"the quiet recordings are not quiet: even {THRESHOLDS[-1]:g} is exceeded too often")
    in_each = [stretch.alarms[chosen] if chosen < stretch.alarms.size else 0 for stretch in stretches]
    low, high = rate_interval(in_each, [stretch.hours for stretch in stretches])
    return Calibration(round(float(THRESHOLDS[chosen]), 6), int(alarms[chosen]), hours, low, high)


def rate_interval(alarms: npt.ArrayLike, hours: npt.ArrayLike) -> tuple[float, float]:
    """95 % interval for the number of alarms an hour, if alarms come in clusters.

    Parameters
    ----------
    alarms, hours : array_like, shape (stretch,)
        Number of alarms in each stretch of the recordings, and its duration.

    Returns
    -------
    low, high : float
        The interval holds 95 % of the rates that stretches give when they are drawn again, with replacement. It is
        never narrower than Garwood's interval for independent alarms, because a few stretches, or stretches without
        any alarm, cannot show how much the rate varies.

    Notes
    -----
    The bootstrap knows only what was recorded. If the rate differs widely between stretches, the interval from some
    thirty of them holds the truth about nine times in ten, and from fewer of them less often.

    Examples
    --------
    >>> [round(end, 2) for end in rate_interval([2, 2, 2, 2, 2, 2], [1] * 6)]
    [1.03, 3.49]
    >>> [round(end, 2) for end in rate_interval([0, 0, 12, 0, 0, 0], [1] * 6)]
    [0.0, 6.0]
    """
    in_each, of_each = as_finite_floats("alarms", alarms), as_finite_floats("hours", hours)
    if in_each.ndim != 1 or in_each.size == 0 or in_each.shape != of_each.shape or not (of_each > 0).all():
        raise ValueError("alarms and hours must be as many, at least one, and hours positive")
    rng = np.random.default_rng(SEED)

    def rate(draw: npt.NDArray[np.int64]) -> float:
        return float(in_each[draw].sum() / of_each[draw].sum())

    rates = [rate(np.arange(in_each.size)), *(rate(resample(in_each.size, rng)) for _ in range(N_RESAMPLES))]
    drawn, total = interval("rate", rates), float(of_each.sum())
    fewest, most = map(float, poisson_interval(in_each.sum(), confidence=CONFIDENCE))
    return min(drawn["rate_low"], fewest / total), max(drawn["rate_high"], most / total)


class _Stretch(NamedTuple):
    """A stretch of a recording: its duration, and its alarms at the thresholds up to the last with any."""

    hours: float
    alarms: npt.NDArray[np.int32]


def _count_quiet(path: str, *, search: Search, threads: int) -> list[_Stretch]:
    """Alarms of one recording at every threshold, in stretches of equal length but for the last.

    An alarm that goes on from one stretch to the next counts where it begins.
    """
    check_found(path)
    setting, duration = search.setting, check_recording(path, search).duration
    n_stretches = max(1, math.ceil(duration / STRETCH))
    n_frames = max(1, math.ceil(duration / setting.hop / n_stretches))
    n_blocks = math.ceil(n_frames / FRAMES_PER_BLOCK)  # in a stretch
    functions = detection_blocks(
        path, setting, channel=search.channel, block_frames=math.ceil(n_frames / n_blocks), jobs=threads
    )
    values = settled((block.max_pooled_pcen for block in functions), s=setting.s)
    blocks = moving_maximum(values, search.gap_frames)
    alarms, sizes, before = [], [], np.zeros(1)
    while stretch := list(itertools.islice(blocks, n_blocks)):
        with_last = np.concatenate([before, *stretch])
        counts = count_exceedances([{"": with_last}], {"": THRESHOLDS}, count="peaks")
        begun = np.array(counts.alarms[""], dtype=np.int32) - (before > THRESHOLDS)
        alarms.append(np.trim_zeros(begun, "b").copy())  # not a view, which would keep the zeros
        sizes.append(with_last.size - 1)
        before = with_last[-1:]
    hours = duration / 3600 / sum(sizes)  # of a frame
    return [_Stretch(hours * size, begun) for size, begun in zip(sizes, alarms, strict=True)]
