"""Events in many recordings: which files, in parallel and through interruptions, and as one table."""

import functools
import json
import os
import stat
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcenlib.core.checks import check_count
from pcenlib.core.recordings import info
from pcenlib.core.setting import Setting
from pcenlib.field.clocks import read_clock
from pcenlib.field.events import Event
from pcenlib.field.levels import noise_levels
from pcenlib.field.packages import require
from pcenlib.field.search import Search, detect_events
from pcenlib.jobs.run import Outcome, run

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Survey", "check_found", "detect", "find_recordings", "split_jobs", "survey"]

AnyPath = str | os.PathLike[str]


MOST_JOBS = 1000  # more would take all processes that a machine can start

EXTENSIONS = {
    ".aif", ".aifc", ".aiff", ".au", ".caf", ".flac", ".mp3", ".oga", ".ogg", ".opus", ".rf64", ".w64", ".wav",
}  # fmt: skip


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
        As for `Search`.
    jobs : int, optional
        Number of processes for a folder, of threads for a single recording; None is one for each core. It changes none
        of the events.

    Returns
    -------
    DataFrame
        One row for each event, with the fields of `Event` as columns: `file`, `start`, `end`, `peak` (seconds),
        `low`, `high` (hertz), `score`, `contrast` (decibels, 20 log10 E/M at the peak), and the absolute `time` where
        the recording tells it, with its source in `clock`.

    Notes
    -----
    A file that cannot be read is an error; in a folder, it is a warning that names it, and the others are in the table.

    Examples
    --------
    >>> import pcenlib
    >>> table = pcenlib.detect("night.wav", pcenlib.NIGHTHAWK, threshold=2.5)  # doctest: +SKIP
    """
    require("pandas", "tables in Python")
    search = Search(setting=setting, threshold=threshold, min_gap=min_gap, min_duration=min_duration, channel=channel)
    found = survey([path], search, jobs=jobs, progress=False)
    if found.failures:
        if not Path(path).is_dir():
            raise ValueError(next(iter(found.failures.values())))
        told = "; ".join(f"{name}: {reason}" for name, reason in found.failures.items())
        warnings.warn(f"{len(found.failures)} recordings could not be read: {told}", stacklevel=2)
    return found.table()


@dataclass(frozen=True)
class Survey:
    """What was found in many recordings.

    Parameters
    ----------
    events : list of Event
        What was found, in the order of the recordings.
    recordings : dict of str to dict
        For each recording that could be read: its `duration` in seconds, where it starts in the sequence of all
        (`file_start`), its `time` and `clock` as in its events, and its noise `levels` if they were asked for.
    failures : dict of str to str
        Why the other recordings could not be read.
    """

    events: list[Event]
    recordings: dict[str, dict[str, Any]]
    failures: dict[str, str]

    @property
    def hours(self) -> float:
        """Duration of all recordings that could be read."""
        return sum(recording["duration"] for recording in self.recordings.values()) / 3600

    def table(self) -> "pd.DataFrame":
        """The events as a table, a row for each, with the fields of `Event` as columns."""
        import pandas as pd

        return pd.DataFrame(self.events, columns=list(Event._fields))

    def __str__(self) -> str:
        n_files, n_failures = len(self.recordings), len(self.failures)
        return "\n".join(
            [f"{n_files} files, {self.hours:.2f} hours, {len(self.events)} events, {n_failures} failures"]
            + [f"  {name}: {reason}" for name, reason in self.failures.items()]
        )


def survey(
    paths: Iterable[AnyPath],
    search: Search,
    *,
    jobs: int | None = None,
    checkpoint: AnyPath | None = None,
    replace: bool = False,
    progress: bool = True,
    levels: bool = False,
) -> Survey:
    """Events in many recordings, in parallel and through interruptions.

    Parameters
    ----------
    paths : iterable of paths
        Files and folders, as for `find_recordings`.
    search : Search
        What is looked for.
    jobs : int, optional
        Number of processes; by default, one for each core.
    checkpoint : path, optional
        File that keeps the events of each finished recording, as for `jobs.run.run`. A recording that was replaced
        since, or is another of the same name, is searched again.
    replace : bool
        Whether a checkpoint of another search is replaced, not refused.
    progress : bool
        Whether to show progress and the time left on the standard error.
    levels : bool
        Whether to measure the noise level over time.

    Returns
    -------
    Survey
    """
    files = [os.fspath(path) for path in find_recordings(paths)]
    processes, threads = split_jobs(jobs, len(files))
    alone = len(files) == 1  # then progress is that within the file
    outcome: Outcome[dict[str, Any]] = run(
        functools.partial(_survey_one, search=search, levels=levels, threads=threads, show=progress and alone),
        files,
        keys=map(_state, files),
        jobs=processes,
        checkpoint=checkpoint,
        job=json.dumps({**asdict(search), "levels": levels}),
        replace=replace,
        progress=progress and not alone,
    )
    events: list[Event] = []
    recordings = {}
    file_start = 0.0
    for name, result in outcome.results.items():
        # The name is that of this run: a checkpoint may have been begun in another folder.
        events += [Event(*event)._replace(file=name, file_start=file_start) for event in result["events"]]
        recordings[name] = {**result, "file_start": file_start}
        del recordings[name]["events"]
        file_start += result["duration"]
    return Survey(events, recordings, dict(outcome.failures))


def split_jobs(jobs: int | None, n_files: int) -> tuple[int, int]:
    """How many processes (by default, one for each core), and threads of each: threads share a single recording."""
    jobs = (os.cpu_count() or 1) if jobs is None else jobs
    check_count("jobs", jobs, MOST_JOBS)
    return (1, jobs) if n_files == 1 else (jobs, 1)


def find_recordings(paths: Iterable[AnyPath]) -> list[Path]:
    """Recordings among files and folders, each once.

    A file is taken as it is. A folder means all files in it, and in the folders in it or linked from it, that have the
    extension of a format that soundfile reads, sorted. Names that start with a dot are passed over. Folders that cannot
    be listed and links that lead nowhere are in the result too, so `check_found` can say what is wrong with them.
    """
    found: dict[Path, Path] = {}
    for path in map(Path, paths):
        if not path.exists():
            raise FileNotFoundError(f"there is no file or folder {path}")
        inside = sorted(_inside(path)) if path.is_dir() else [path]
        if not inside:
            raise ValueError(f"folder {path} holds no recording: no file that ends in {', '.join(sorted(EXTENSIONS))}")
        for one in inside:
            found.setdefault(one.resolve() if os.path.exists(one) else one, one)  # noqa: PTH110
    if not found:
        raise ValueError("paths must hold at least one file or folder")
    return list(found.values())


def check_found(path: AnyPath) -> None:
    """Raise OSError if this is not a file: it is what `find_recordings` could not look into, or follow."""
    mode = os.stat(path).st_mode  # noqa: PTH116  # an error if a link leads nowhere
    if stat.S_ISDIR(mode):
        os.listdir(path)  # noqa: PTH208  # an error that says why
        raise OSError(f"folder {os.fspath(path)} could not be listed")
    if not stat.S_ISREG(mode):
        raise OSError(f"{os.fspath(path)} is neither a file nor a folder")


def _inside(folder: Path) -> Iterator[Path]:
    """Recordings in a folder and in all folders in it, and what cannot be looked into. Each folder is listed once."""
    unlisted: list[OSError] = []
    seen, tops = set(), [os.fspath(folder)]
    for top in tops:  # which grows: where links lead comes last, so what is in two places has the name without a link
        for root, folders, files in os.walk(top, onerror=unlisted.append):
            here = os.path.realpath(root)
            inside = [] if here in seen else [name for name in folders if not name.startswith(".")]
            linked = [name for name in inside if os.path.realpath(Path(root, name)) != os.fspath(Path(here, name))]
            tops += [os.fspath(Path(root, name)) for name in linked]
            folders[:] = set(inside) - set(linked)
            for one in [Path(root, name) for name in files if here not in seen and not name.startswith(".")]:
                if one.suffix.lower() in EXTENSIONS or not os.path.exists(one):  # noqa: PTH110  # it may not even be known
                    yield one
            seen.add(here)
    yield from (Path(error.filename) for error in unlisted)


def _survey_one(path: str, *, search: Search, levels: bool, threads: int, show: bool) -> dict[str, Any]:
    """What a worker does: all that is wanted of one recording, as JSON can hold it."""
    check_found(path)
    events = detect_events(path, search, jobs=threads, show=show)
    clock = read_clock(path)
    duration = info(path).duration
    return {
        "duration": duration,
        "time": clock.at(0) if clock else "",
        "clock": str(clock) if clock else "",
        "levels": noise_levels(path, search, duration) if levels else [],
        "events": events,
    }


def _state(path: str) -> str:
    """A recording as it is now, wherever it is seen from. One that is replaced has another size or time."""
    real, name = os.path.realpath(path), Path(path).name  # which differ for a link, and a name may tell the time
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError:
        return f"{real} ({name}, out of reach)"  # it will be a failure that says why
    return f"{real} ({name}, {status.st_size} bytes, written {status.st_mtime_ns})"
