"""A threshold from recordings in which nothing calls: the smallest that raises so few alarms an hour."""

import functools
import math
import os
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from pcenlib.core.checks import check_range
from pcenlib.core.evaluation import Counts, count_exceedances, merge_counts, poisson_interval
from pcenlib.core.recordings import info
from pcenlib.core.setting import Setting
from pcenlib.core.streaming import MAX_POOLED_PCEN, detection_blocks
from pcenlib.field.events import moving_maximum, settled
from pcenlib.field.search import Search
from pcenlib.field.survey import find_recordings, split_jobs
from pcenlib.jobs.run import run

__all__ = ["Calibration", "calibrate_threshold"]

AnyPath = str | os.PathLike[str]


# Thresholds that calibration chooses from: a step is 0.04 dB of contrast.
THRESHOLDS = np.arange(140, 6000) * 0.005


class Calibration(NamedTuple):
    """A threshold, and how often quiet recordings exceed it.

    From `low` to `high` alarms per hour is the 95 % interval for alarms that come independently. If they come in
    clusters, such as showers of rain, the truth can be farther away.
    """

    threshold: float
    alarms: int
    hours: float
    low: float
    high: float

    def __str__(self) -> str:
        return (
            f"threshold {self.threshold:.3f}: {self.alarms} alarms in {self.hours:.2f} quiet hours, "
            f"{self.alarms / self.hours:.2f} per hour (95 % if independent: {self.low:.2f} to {self.high:.2f})"
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
    check_range("false_alarms_per_hour", false_alarms_per_hour, 0, open_low=True)
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
    counts = merge_counts(Counts(**result["counts"]) for result in outcome.results.values())
    hours = sum(result["duration"] for result in outcome.results.values()) / 3600
    allowed = math.floor(false_alarms_per_hour * hours + 1e-9)
    if allowed < 1:
        raise ValueError(
            f"the quiet recordings last {hours:.3g} hours: they can tell {1 / hours:.3g} false alarms per hour "
            f"or more, but not {false_alarms_per_hour:g}; give more of them, or accept more alarms"
        )
    alarms = np.array(counts.alarms[MAX_POOLED_PCEN])
    (too_many,) = np.nonzero(alarms > allowed)
    chosen = int(too_many[-1]) + 1 if too_many.size else 0
    if chosen == alarms.size:
        raise ValueError(f"the quiet recordings are not quiet: even {THRESHOLDS[-1]:g} is exceeded too often")
    low, high = poisson_interval(alarms[chosen])
    return Calibration(
        round(float(THRESHOLDS[chosen]), 6), int(alarms[chosen]), hours, float(low) / hours, float(high) / hours
    )


def _count_quiet(path: str, *, search: Search, threads: int) -> dict[str, Any]:
    """Alarms of one recording at every threshold."""
    functions = detection_blocks(path, search.setting, channel=search.channel, jobs=threads)
    values = settled((block.max_pooled_pcen for block in functions), s=search.setting.s)
    blocks = ({MAX_POOLED_PCEN: block} for block in moving_maximum(values, search.gap_frames))
    counts = count_exceedances(blocks, {MAX_POOLED_PCEN: THRESHOLDS}, count="peaks")
    return {"duration": info(path).duration, "counts": asdict(counts)}
