"""Events in recordings of one's own: a threshold on max-pooled PCEN, over one file or over folders of them.

A recording is read once, in constant memory, for the values above the threshold; then each event is read again, with
a short stretch around it, for its end and its bands, as `pcenlib.events` defines them. All times follow from the time
scale T of the setting (`settings.period`): runs above the threshold are joined within T, the background before an event
is that of the last 10 T, and no event is longer than 50 T. The first 3/s frames of a recording are not searched, while
its background settles.
"""

import functools
import itertools
import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pcenlib._checks import check_range
from pcenlib.batch import Outcome, run
from pcenlib.clocks import Clock, read_clock
from pcenlib.evaluation import Counts, count_exceedances, merge_counts, poisson_interval
from pcenlib.events import (
    Event,
    Run,
    contrast,
    end_of_event,
    moving_maximum,
    peak_bands,
    runs,
    settled,
)
from pcenlib.novelty import background
from pcenlib.recordings import info, missing_bytes, read_frames, read_seconds
from pcenlib.settings import band_edges, period
from pcenlib.spectrogram import Setting, spectrogram
from pcenlib.streaming import DetectionFunctions, detection_blocks
from pcenlib.tables import Detection

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Calibration",
    "Detector",
    "Survey",
    "band_level",
    "calibrate_threshold",
    "detect",
    "detect_events",
    "find_recordings",
    "survey",
]

EXTENSIONS = {
    ".aif", ".aifc", ".aiff", ".au", ".caf", ".flac", ".mp3", ".oga", ".ogg", ".opus", ".rf64", ".w64", ".wav",
}  # fmt: skip

# In time scales T of the setting: how much before an event is its background, and how long an event may be.
LEAD_PERIODS = 10
LONGEST_PERIODS = 50

# Frames that are in memory at once when an event is read again.
FRAMES_PER_STRETCH = 4096

# Thresholds that calibration chooses from: a step is 0.04 dB of contrast.
THRESHOLDS = np.arange(140, 6000) * 0.005

# For the noise level over time: so many seconds of every minute, in so many pieces of which the median is taken.
LEVEL_EVERY, LEVEL_SECONDS, LEVEL_PIECES = 60.0, 2.0, 8

AnyPath = str | os.PathLike[str]


@dataclass(frozen=True, kw_only=True)
class Detector:
    """What is looked for: the paper's detector and how its values become events.

    Parameters
    ----------
    setting : Setting
        Window, hop, bands and time scale.
    threshold : float
        Values of max-pooled PCEN above it make an event; positive.
    min_gap : float, optional
        Events closer than this, in seconds, are one; by default, the time scale T of the setting.
    min_duration : float
        Events shorter than this, in seconds, are dropped.
    channel : int, optional
        Number of the channel, from 0; by default, the mean of all.

    Notes
    -----
    Chapter *Your own recordings*.
    """

    setting: Setting
    threshold: float
    min_gap: float | None = None
    min_duration: float = 0.0
    channel: int | None = None

    def __post_init__(self) -> None:
        check_range("threshold", self.threshold, 0, open_low=True)
        if self.min_gap is not None:
            check_range("min_gap", self.min_gap, 0)
        check_range("min_duration", self.min_duration, 0)
        if self.channel is not None and (
            isinstance(self.channel, bool) or not isinstance(self.channel, int) or self.channel < 0
        ):
            raise ValueError(f"channel must be a channel's number from 0, or None for the mean, got {self.channel!r}")

    @property
    def gap(self) -> float:
        """Seconds below which two events are one, `min_gap` or by default T."""
        return period(self.setting) if self.min_gap is None else self.min_gap

    @property
    def gap_frames(self) -> int:
        """So many frames below the threshold end a run; at least one."""
        return max(1, math.ceil(self.gap / self.setting.hop))

    @property
    def max_duration(self) -> float:
        """Longest event, 50 T, in seconds."""
        return LONGEST_PERIODS * period(self.setting)

    @property
    def parameters(self) -> dict[str, Any]:
        """Everything that a table depends on, for its columns, from the setting's fields to the detector's own."""
        from pcenlib import __version__

        return {
            "threshold": round(self.threshold, 6),
            "min_gap": round(self.gap, 6),
            "min_duration": self.min_duration,
            "max_duration": round(self.max_duration, 6),
            "channel": "mean" if self.channel is None else self.channel,
            **asdict(self.setting),
            "pcenlib": __version__,
        }


def detect(
    path: AnyPath,
    setting: Setting,
    *,
    threshold: float,
    min_gap: float | None = None,
    min_duration: float = 0.0,
    channel: int | None = None,
    jobs: int | None = 1,
) -> "pd.DataFrame":
    """Events in a recording, or in all recordings of a folder, as a table.

    Parameters
    ----------
    path : path
        A file that soundfile reads, of any length, or a folder, which is searched with all folders in it.
    setting : Setting
        Window, hop, bands and time scale: `NIGHTHAWK`, `RIGHT_WHALE`, or one of your own.
    threshold : float
        Values of max-pooled PCEN above it make an event. The resting value is about 1.2 to 1.7; `calibrate_threshold`
        finds a threshold for a rate of false alarms.
    min_gap, min_duration, channel
        As for `Detector`.
    jobs : int, optional
        Number of processes for a folder; None is one for each core.

    Returns
    -------
    DataFrame
        One row for each event, with the columns of `tables.Detection`: `file`, `start`, `end`, `peak` (seconds),
        `low`, `high` (hertz), `score`, `contrast` (decibels, 20 log10 E/M at the peak), and the absolute `time` where
        the recording tells it, with what it rests on in `clock`.

    Notes
    -----
    Chapter *Your own recordings*. A file that cannot be read is an error; in a folder, it is a warning that names it,
    and the others are in the table.

    Examples
    --------
    >>> import pcenlib
    >>> table = pcenlib.detect("night.wav", pcenlib.NIGHTHAWK, threshold=2.5)  # doctest: +SKIP
    """
    import pandas as pd

    detector = Detector(
        setting=setting, threshold=threshold, min_gap=min_gap, min_duration=min_duration, channel=channel
    )
    found = survey([path], detector, jobs=jobs, progress=False)
    if found.failures:
        if not Path(path).is_dir():
            raise ValueError(next(iter(found.failures.values())))
        told = "; ".join(f"{name}: {reason}" for name, reason in found.failures.items())
        warnings.warn(f"{len(found.failures)} recordings could not be read: {told}", stacklevel=2)
    return pd.DataFrame(found.rows, columns=list(Detection.__annotations__))


# One recording


def detect_events(path: AnyPath, detector: Detector, *, block_frames: int = 512, show: bool = False) -> list[Event]:
    """Events of one recording.

    Parameters
    ----------
    path : path
        A file that soundfile reads.
    detector : Detector
        What is looked for.
    block_frames : int
        Number of frames in memory at once. It changes none of the events.
    show : bool
        Whether to show on the standard error how far it is, and the time left.

    Returns
    -------
    list of Event
        By increasing start.

    Notes
    -----
    Chapter *Your own recordings*.
    """
    setting = detector.setting
    shape = info(path)
    missing = missing_bytes(path)
    if missing:
        raise OSError(
            f"{os.fspath(path)} is cut off: {missing} bytes of sound that it states are missing. To search what is "
            "there, save it anew with an audio editor"
        )
    highest = setting.frequencies[-1]
    if highest > shape.sr / 2:
        raise ValueError(
            f"{os.fspath(path)} holds {shape.sr} samples per second, hence nothing above {shape.sr / 2:g} Hz, but the "
            f"highest band is at {highest:.0f} Hz: restrict the bands"
        )
    if detector.channel is not None and detector.channel >= shape.n_channels:
        raise ValueError(f"{os.fspath(path)} has {shape.n_channels} channels, hence none of number {detector.channel}")
    hop = setting.hop
    longest = math.ceil(detector.max_duration / hop)
    blocks = detection_blocks(path, setting, channel=detector.channel, block_frames=block_frames)
    sizes: list[int] = []
    values = settled(_watched(blocks, sizes, hop, shape.duration if show else None), s=setting.s)
    above = list(runs(values, detector.threshold, gap=detector.gap_frames, longest=longest))
    n_frames, events = sum(sizes), []
    for one, following in itertools.zip_longest(above, above[1:]):
        limit = min(one.begin + longest, following.begin if following else n_frames)
        events.append(_described(path, detector, one, limit, n_frames))
    return [event for event in events if event.end - event.start >= detector.min_duration]


def _watched(
    blocks: Iterable[DetectionFunctions], sizes: list[int], hop: float, duration: float | None
) -> Iterator[npt.NDArray[np.floating]]:
    """Max-pooled PCEN of each block; its size goes to a list and, given a duration, to a bar of progress."""
    from tqdm import tqdm

    form = "{l_bar}{bar}| {n:.0f}/{total:.0f} s [{elapsed}<{remaining}]"
    with tqdm(total=duration, disable=duration is None, bar_format=form, file=sys.stderr) as bar:
        for block in blocks:
            values = block.max_pooled_pcen
            sizes.append(values.size)
            bar.update(values.size * hop)
            yield values


def _described(path: AnyPath, detector: Detector, run: Run, limit: int, n_frames: int) -> Event:
    """The event that a run of frames above the threshold belongs to, from the recording around it.

    It ends at frame number `limit` at the latest; the recording has `n_frames`.
    """
    setting = detector.setting
    gap = detector.gap_frames
    read = functools.partial(_magnitudes, path, setting, channel=detector.channel)
    lead = math.ceil(LEAD_PERIODS * period(setting) / setting.hop)

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
    low, high = band_edges(setting)[[bands.start, bands.stop - 1], [0, 1]]

    def time(frame: int) -> float:
        return (frame * setting.hop_length + setting.win_length / 2) / setting.sr

    return Event(time(run.begin), time(last), time(run.peak), float(low), float(high), run.score)


def _magnitudes(
    path: AnyPath, setting: Setting, first: int, last: int, *, channel: int | None
) -> npt.NDArray[np.float64]:
    """Frames `first` to `last - 1` of the spectrogram of a recording."""
    return spectrogram(read_frames(path, setting, first, last, channel=channel), setting)[:, : last - first]


def _power(
    read: Callable[[int, int], npt.NDArray[np.float64]], first: int, last: int, bands: slice
) -> npt.NDArray[np.float64]:
    """Mean power in some bands of each frame, a stretch at a time."""
    borders = [*range(first, last, FRAMES_PER_STRETCH), last]
    pieces = (read(begin, end) for begin, end in itertools.pairwise(borders))
    return np.concatenate([np.mean(E[bands] ** 2, axis=0) for E in pieces])


# Many recordings


@dataclass(frozen=True)
class Survey:
    """What was found in many recordings.

    Parameters
    ----------
    rows : list of Detection
        The events, in the order of the recordings.
    recordings : dict of str to dict
        For each recording that could be read: its `duration` in seconds, where it starts in the sequence of all
        (`file_start`), its `time` and `clock` as in the rows, and its noise `levels` if they were asked for.
    failures : dict of str to str
        Why the other recordings could not be read.

    Notes
    -----
    Chapter *Your own recordings*.
    """

    rows: list[Detection]
    recordings: dict[str, dict[str, Any]]
    failures: dict[str, str]

    @property
    def hours(self) -> float:
        """Duration of all recordings that could be read."""
        return sum(recording["duration"] for recording in self.recordings.values()) / 3600

    def __str__(self) -> str:
        n_files, n_failures = len(self.recordings), len(self.failures)
        return "\n".join(
            [f"{n_files} files, {self.hours:.2f} hours, {len(self.rows)} events, {n_failures} failures"]
            + [f"  {name}: {reason}" for name, reason in self.failures.items()]
        )


def survey(
    paths: Iterable[AnyPath],
    detector: Detector,
    *,
    jobs: int | None = None,
    checkpoint: AnyPath | None = None,
    progress: bool = True,
    levels: bool = False,
) -> Survey:
    """Events in many recordings, in parallel and through interruptions.

    Parameters
    ----------
    paths : iterable of paths
        Files and folders, as for `find_recordings`.
    detector : Detector
        What is looked for.
    jobs : int, optional
        Number of processes; by default, one for each core.
    checkpoint : path, optional
        File that keeps the events of each finished recording, as for `batch.run`.
    progress : bool
        Whether to show progress and the time left on the standard error.
    levels : bool
        Whether to measure the noise level over time.

    Returns
    -------
    Survey

    Notes
    -----
    Chapter *Your own recordings*.
    """
    files = [os.fspath(path) for path in find_recordings(paths)]
    alone = len(files) == 1  # then progress is that within the file
    outcome: Outcome[dict[str, Any]] = run(
        functools.partial(_survey_one, detector=detector, levels=levels, show=progress and alone),
        files,
        jobs=jobs,
        checkpoint=checkpoint,
        job=json.dumps({**detector.parameters, "levels": levels}),
        progress=progress and not alone,
    )
    rows: list[Detection] = []
    recordings = {}
    file_start = 0.0
    for name, result in outcome.results.items():
        for event in result.pop("events"):
            row: dict[str, Any] = {"file": name, "file_start": file_start, "clock": result["clock"], **event}
            rows.append(Detection(**{key: row[key] for key in Detection.__annotations__}))  # type: ignore[typeddict-item]
        recordings[name] = {**result, "file_start": file_start}
        file_start += result["duration"]
    return Survey(rows, recordings, dict(outcome.failures))


def find_recordings(paths: Iterable[AnyPath]) -> list[Path]:
    """Recordings among files and folders.

    Parameters
    ----------
    paths : iterable of paths
        A file is taken as it is; a folder stands for all files in it, and in the folders in it, that have the extension
        of a format that soundfile reads, sorted. Names that start with a dot are passed over.

    Returns
    -------
    list of Path
        Each once.

    Notes
    -----
    Chapter *Your own recordings*.
    """
    found: dict[Path, Path] = {}
    for path in map(Path, paths):
        if not path.exists():
            raise FileNotFoundError(f"there is no file or folder {path}")
        inside = [path]
        if path.is_dir():
            inside = sorted(one for one in path.rglob("*") if _is_recording(one.relative_to(path)) and one.is_file())
            if not inside:
                raise ValueError(
                    f"folder {path} holds no recording: no file that ends in {', '.join(sorted(EXTENSIONS))}"
                )
        for one in inside:
            found.setdefault(one.resolve(), one)
    if not found:
        raise ValueError("paths must hold at least one file or folder")
    return list(found.values())


def _is_recording(path: Path) -> bool:
    return path.suffix.lower() in EXTENSIONS and not any(part.startswith(".") for part in path.parts)


def _survey_one(path: str, *, detector: Detector, levels: bool, show: bool) -> dict[str, Any]:
    """What a worker does: all that is wanted of one recording, as JSON can hold it."""
    events = detect_events(path, detector, show=show)
    clock = read_clock(path)
    duration = info(path).duration
    return {
        "duration": duration,
        "time": clock.at(0) if clock else "",
        "clock": _clock_in_words(clock),
        "levels": _levels(path, detector, duration) if levels else [],
        "events": [
            {**asdict(event), "contrast": contrast(event.score), "time": clock.at(event.start) if clock else ""}
            for event in events
        ],
    }


def _clock_in_words(clock: Clock | None) -> str:
    if clock is None:
        return ""
    return f"{clock.zone}, from {clock.source}" + (f"; {clock.conflict}" if clock.conflict else "")


# Noise


def band_level(x: npt.ArrayLike, sr: int, low: float, high: float) -> float:
    """Level of a waveform between two frequencies, in dB relative to a full-scale square wave.

    Parameters
    ----------
    x : array_like, shape (sample,)
        Waveform.
    sr : int
        Samples per second.
    low, high : float
        Frequencies in hertz.

    Returns
    -------
    float
        Ten times the logarithm of the mean square; a full-scale sine has -3 dB. At least -200.

    Notes
    -----
    Chapter *Your own recordings*.
    """
    import scipy.fft

    x = np.asarray(x, dtype=np.float64)
    frequencies = scipy.fft.rfftfreq(x.size, 1 / sr)
    power = np.abs(scipy.fft.rfft(x) / x.size) ** 2
    power[1 : (x.size + 1) // 2] *= 2  # the negative frequencies
    return float(10 * np.log10(max(power[(frequencies >= low) & (frequencies <= high)].sum(), 1e-20)))


def _levels(path: str, detector: Detector, duration: float) -> list[list[float]]:
    """Time and noise level of each minute."""
    setting = detector.setting
    levels = []
    for start in np.arange(0, max(duration - LEVEL_SECONDS, 0) + 1e-9, LEVEL_EVERY):
        x = read_seconds(path, start, start + LEVEL_SECONDS, sr=setting.sr, channel=detector.channel)
        pieces = np.array_split(x, LEVEL_PIECES)
        level = np.median([band_level(piece, setting.sr, setting.fmin, setting.fmax) for piece in pieces])
        levels.append([float(start), round(float(level), 2)])
    return levels


# Thresholds


class Calibration(NamedTuple):
    """A threshold, and how often quiet recordings exceed it.

    Notes
    -----
    Chapter *Your own recordings*. `low` and `high` are the 95 % interval of the rate, alarms per hour.
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
        As for `Detector`.
    jobs, progress
        As for `survey`.

    Returns
    -------
    Calibration

    Notes
    -----
    Chapter *Your own recordings*. Alarms are counted as events are, joined within `min_gap`, in steps of 0.005. In H
    hours, one alarm is the least that can be told from none: rates below 1/H cannot be calibrated, and are an error.
    """
    check_range("false_alarms_per_hour", false_alarms_per_hour, 0, open_low=True)
    detector = Detector(setting=setting, threshold=1.0, min_gap=min_gap, channel=channel)
    outcome = run(
        functools.partial(_count_quiet, setting=setting, gap=detector.gap_frames, channel=channel),
        [os.fspath(path) for path in find_recordings(paths)],
        jobs=jobs,
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
    alarms = np.array(counts.alarms["max_pooled_pcen"])
    (too_many,) = np.nonzero(alarms > allowed)
    chosen = int(too_many[-1]) + 1 if too_many.size else 0
    if chosen == alarms.size:
        raise ValueError(f"the quiet recordings are not quiet: even {THRESHOLDS[-1]:g} is exceeded too often")
    low, high = poisson_interval(alarms[chosen])
    return Calibration(
        round(float(THRESHOLDS[chosen]), 6), int(alarms[chosen]), hours, float(low) / hours, float(high) / hours
    )


def _count_quiet(path: str, *, setting: Setting, gap: int, channel: int | None) -> dict[str, Any]:
    """Alarms of one recording at every threshold."""
    values = (block.max_pooled_pcen for block in detection_blocks(path, setting, channel=channel))
    blocks = ({"max_pooled_pcen": block} for block in moving_maximum(settled(values, s=setting.s), gap))
    counts = count_exceedances(blocks, {"max_pooled_pcen": THRESHOLDS}, count="peaks")
    return {"duration": info(path).duration, "counts": asdict(counts)}
