"""Events in one recording: what is looked for, and where it is found.

A recording is read once, in constant memory, for the values above the threshold. Then each event is read again, with
a short stretch around it, for its end and its bands, as `events` defines them. All times follow from the time scale T
of the setting (`Setting.period`): runs above the threshold are joined within T, the background before an event
is that of the last 10 T, and no event is longer than 50 T. The first 3/s frames of a recording are not searched, while
its background settles.
"""

import contextlib
import itertools
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pcenlib.core.checks import check_range
from pcenlib.core.integrity import check_whole
from pcenlib.core.novelty import background
from pcenlib.core.recordings import Info, info
from pcenlib.core.setting import Setting
from pcenlib.core.spectrogram import read_spectrogram
from pcenlib.core.streaming import DetectionFunctions, detection_blocks
from pcenlib.core.version import __version__
from pcenlib.field.clocks import Clock, read_clock
from pcenlib.field.events import Event, Run, contrast, end_of_event, peak_bands, runs, settled

__all__ = ["Search", "check_recording", "detect_events"]


# In time scales T of the setting: how much before an event is its background, and how long an event may be.
LEAD_PERIODS = 10
LONGEST_PERIODS = 50

# Events an hour apart are two, however long the gap that is asked for, and none lasts a day.
LONGEST_GAP = 3600.0
LONGEST_EVENT = 86400.0

# Frames that are in memory at once when an event is read again.
FRAMES_PER_STRETCH = 4096

AnyPath = str | os.PathLike[str]


@dataclass(frozen=True, kw_only=True)
class Search:
    """What is looked for: when the paper's detector reports an event.

    Parameters
    ----------
    setting : Setting
        Window, hop, bands and time scale.
    threshold : float
        Values of max-pooled PCEN above it make an event; positive.
    min_gap : float, optional
        Events closer than this, in seconds, are one; by default, the time scale T of the setting. At most an hour.
    min_duration : float
        Events shorter than this, in seconds, are dropped.
    channel : int, optional
        Number of the channel, from 0; by default, the mean of all.
    """

    setting: Setting
    threshold: float
    min_gap: float | None = None
    min_duration: float = 0.0
    channel: int | None = None

    def __post_init__(self) -> None:
        check_range("threshold", self.threshold, 0, open_low=True)
        if self.min_gap is not None:
            check_range("min_gap", self.min_gap, 0, LONGEST_GAP)
        check_range("min_duration", self.min_duration, 0, LONGEST_EVENT)
        if self.channel is not None and (
            isinstance(self.channel, bool) or not isinstance(self.channel, int) or self.channel < 0
        ):
            raise ValueError(f"channel must be a channel's number from 0, or None for the mean, got {self.channel!r}")

    @property
    def gap(self) -> float:
        """Seconds below which two events are one, `min_gap` or by default T."""
        return self.setting.period if self.min_gap is None else self.min_gap

    @property
    def gap_frames(self) -> int:
        """So many frames below the threshold end a run; at least one."""
        return max(1, math.ceil(self.gap / self.setting.hop))

    @property
    def max_duration(self) -> float:
        """Longest event, 50 T, in seconds."""
        return LONGEST_PERIODS * self.setting.period

    @property
    def parameters(self) -> dict[str, Any]:
        """Everything that a table depends on, for its columns, from the setting's fields to the search's own."""
        return {
            "threshold": round(self.threshold, 6),
            "min_gap": round(self.gap, 6),
            "min_duration": self.min_duration,
            "max_duration": round(self.max_duration, 6),
            "channel": "mean" if self.channel is None else self.channel,
            **asdict(self.setting),
            "pcenlib": __version__,
        }


def check_recording(path: AnyPath, search: Search) -> Info:
    """What a recording holds, if it can be searched: an OSError or a ValueError says why it cannot."""
    shape = info(path)
    check_whole(path)
    highest = search.setting.frequencies[-1]
    if highest > shape.sr / 2:
        raise ValueError(
            f"{os.fspath(path)} holds {shape.sr} samples per second, so nothing above {shape.sr / 2:g} Hz, but the "
            f"highest band is at {highest:.0f} Hz: restrict the bands"
        )
    if search.channel is not None and search.channel >= shape.n_channels:
        raise ValueError(f"{os.fspath(path)} has {shape.n_channels} channels, so none of number {search.channel}")
    return shape


def detect_events(
    path: AnyPath, search: Search, *, block_frames: int = 512, jobs: int = 1, show: bool = False
) -> list[Event]:
    """Events of one recording, by increasing start; `file_start` is 0.

    Neither the number of frames computed at once nor the number of threads (`jobs`) changes the events. `show` draws a
    bar with the progress and the time left on the standard error.
    """
    setting = search.setting
    shape = check_recording(path, search)
    hop = setting.hop
    longest = math.ceil(search.max_duration / hop)
    blocks = detection_blocks(path, setting, channel=search.channel, block_frames=block_frames, jobs=jobs)
    sizes: list[int] = []
    values = settled(_watched(blocks, sizes, hop, shape.duration if show else None), s=setting.s)
    above = list(runs(values, search.threshold, gap=search.gap_frames, longest=longest))
    n_frames, clock, events = sum(sizes), read_clock(path), []
    for one, following in itertools.zip_longest(above, above[1:]):
        limit = min(one.begin + longest, following.begin if following else n_frames)
        events.append(_described(path, search, one, limit, n_frames, clock))
    return [event for event in events if event.end - event.start >= search.min_duration]


def _watched(
    blocks: Iterable[DetectionFunctions], sizes: list[int], hop: float, duration: float | None
) -> Iterator[npt.NDArray[np.floating]]:
    """Max-pooled PCEN of each block; its size goes to a list and, given a duration, to a bar of progress."""
    with _progress(duration) as show:
        for block in blocks:
            values = block.max_pooled_pcen
            sizes.append(values.size)
            show(values.size * hop)
            yield values


@contextlib.contextmanager
def _progress(duration: float | None) -> Iterator[Callable[[float], object]]:
    """A function to be told how many more seconds are done with; a bar, if a duration is given."""
    if duration is None:
        yield lambda _: None
        return
    from tqdm import tqdm  # not in workers: it makes semaphores, which workers that end at once would leave behind

    form = "{l_bar}{bar}| {n:.0f}/{total:.0f} s [{elapsed}<{remaining}]"
    with tqdm(total=duration, bar_format=form, file=sys.stderr) as bar:
        yield lambda seconds: bar.update(min(seconds, duration - bar.n))  # the last window may begin after the end


def _described(path: AnyPath, search: Search, run: Run, limit: int, n_frames: int, clock: Clock | None) -> Event:
    """The event that a run of frames above the threshold belongs to, from the recording around it.

    It ends at frame number `limit` at the latest; the recording has `n_frames`.
    """
    setting = search.setting
    gap = search.gap_frames

    def read(first: int, last: int) -> npt.NDArray[np.float64]:
        return read_spectrogram(path, setting, channel=search.channel, first=first, last=last)

    lead = math.ceil(LEAD_PERIODS * setting.period / setting.hop)

    E = read(max(0, run.peak - lead), run.peak + 1)
    bands = peak_bands(E[:, -1] / background(E, s=setting.s)[:, -1])

    first = max(0, run.begin - lead)
    inside = Run(run.begin - first, run.last - first, run.peak - first, run.score)
    power, stop, ahead, end = np.empty(0), first, gap, None
    while end is None and stop < min(n_frames, limit + gap):
        reach = min(n_frames, max(stop, run.last + 1) + ahead)
        power = np.concatenate([power, _power(read, stop, reach, bands)])
        end = end_of_event(power, inside, gap=gap, complete=reach == n_frames)
        stop, ahead = reach, 2 * ahead
    last = limit if end is None else min(limit, first + end)
    low, high = setting.band_edges[[bands.start, bands.stop - 1], [0, 1]]

    def time(frame: int) -> float:
        return (frame * setting.hop_length + setting.win_length / 2) / setting.sr

    return Event(
        file=os.fspath(path),
        file_start=0.0,
        start=time(run.begin),
        end=time(last),
        peak=time(run.peak),
        low=float(low),
        high=float(high),
        score=run.score,
        contrast=contrast(run.score),
        time=clock.at(time(run.begin)) if clock else "",
        clock=str(clock) if clock else "",
    )


def _power(
    read: Callable[[int, int], npt.NDArray[np.float64]], first: int, last: int, bands: slice
) -> npt.NDArray[np.float64]:
    """Mean power in some bands of each frame, a stretch at a time."""
    borders = [*range(first, last, FRAMES_PER_STRETCH), last]
    pieces = (read(begin, end) for begin, end in itertools.pairwise(borders))
    return np.concatenate([np.mean(E[bands] ** 2, axis=0) for E in pieces])
