"""Many recordings: one function over all of them, on every core or on a cluster, through failures and interruptions.

`run` applies a function to many items, recordings or seeds of simulated scenes, over any
`concurrent.futures.Executor`. What it returns depends on the items alone, not on the executor, the number of workers
or who finishes first. An item that cannot be read is reported, and the others go on. With a checkpoint, a run that was
killed goes on where it was.
"""

import collections
import contextlib
import functools
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import asdict, dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from pcenlib.core.checks import check_count
from pcenlib.core.evaluation import Counting, Counts, count_exceedances, merge_counts
from pcenlib.core.recordings import Precision
from pcenlib.core.setting import Setting
from pcenlib.core.streaming import DetectionFunctions, detection_blocks
from pcenlib.jobs.checkpoint import journal
from pcenlib.jobs.processes import process_pool

__all__ = ["FalseAlarms", "Outcome", "count_false_alarms", "run"]


# Items are sent to workers in tasks of about this length: long against the cost of sending, short against a run.
SECONDS_PER_TASK = 0.1

# Tasks under way for each worker, so that none waits for the next; the others have not been sent yet.
TASKS_PER_WORKER = 2

Item = TypeVar("Item")
Result = TypeVar("Result")
_Done = tuple[dict[str, Result], dict[str, str], float]


@dataclass(frozen=True)
class Outcome(Generic[Result]):
    """What became of many items; printed, it says how many failed, and which.

    Parameters
    ----------
    results : mapping of str to object
        Result of each item that succeeded, by name and in the order of the items.
    failures : mapping of str to str
        Reason of each item that failed, likewise.
    """

    results: Mapping[str, Result]
    failures: Mapping[str, str]

    def __str__(self) -> str:
        total = len(self.results) + len(self.failures)
        return "\n".join(
            [f"{len(self.results)} of {total} done, {len(self.failures)} failed"]
            + [f"  {name}: {reason}" for name, reason in self.failures.items()]
        )


def run(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    names: Iterable[str] | None = None,
    executor: Executor | None = None,
    jobs: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    job: str = "",
    progress: bool = True,
) -> Outcome[Result]:
    """Apply a function to many items.

    Parameters
    ----------
    function : callable
        From one item to its result. Workers import it, so that it must be defined in a module, or be a
        `functools.partial` of one that is. An `OSError` or a `ValueError` is the item's failure; any other error ends
        the run.
    items : iterable
        Paths, seeds, or whatever the function takes.
    names : iterable of str, optional
        A distinct name for each item, for reports and for the checkpoint; by default, the item as text.
    executor : concurrent.futures.Executor, optional
        Where to run, and left running: Dask's ``Client(...).get_executor()`` for a cluster, for one. By default,
        processes of this machine, which end with this one, however it ends.
    jobs : int, optional
        Number of workers, also of `executor`; by default, the number of cores of this machine. A single one without
        an executor is this process itself.
    checkpoint : path, optional
        File that keeps the result of each finished item. If it exists, what it holds is not computed again; failed
        items are. Results must then be what JSON can hold, and tuples become lists.
    job : str, optional
        What is computed: all that the results depend on but the items. A checkpoint of another job, another function
        or another version of this library is refused.
    progress : bool
        Whether to show on the standard error how many items are done and the time left, and at the end what failed.

    Returns
    -------
    Outcome
        Results and failures, in the order of the items.

    Notes
    -----
    Memory is that of the results and of the items under way.
    """
    items = list(items)
    names = [str(name) for name in (items if names is None else names)]
    _check_names(names, len(items))
    jobs = (os.cpu_count() or 1) if jobs is None else jobs
    check_count("jobs", jobs)
    if checkpoint is not None and not job:
        raise ValueError("job must say what is computed, so that a checkpoint of something else is not taken for it")

    failures: dict[str, str] = {}
    with journal(checkpoint, {"function": _name(function), "job": job}) as (results, keep):
        left = [(name, item) for name, item in zip(names, items, strict=True) if name not in results]
        with (
            _progress(len(items), len(items) - len(left), progress) as show,
            _pool(executor, min(jobs, len(left))) as pool,
            contextlib.closing(_tasks(function, left, pool, jobs)) as tasks,
        ):
            for done, failed in tasks:
                results.update(keep(done))
                failures.update(failed)
                show(len(done) + len(failed), len(failures))
    outcome = Outcome(
        {name: results[name] for name in names if name in results},
        {name: failures[name] for name in names if name in failures},
    )
    if failures and progress:
        print(outcome, file=sys.stderr)
    return outcome


class FalseAlarms(NamedTuple):
    """What `count_false_alarms` returns: the counts of all recordings together, and what became of each."""

    counts: Counts
    outcome: Outcome[Counts]


def count_false_alarms(
    recordings: Iterable[str | os.PathLike[str]],
    setting: Setting,
    thresholds: Mapping[str, npt.ArrayLike],
    *,
    count: Counting = "frames",
    channel: int | None = None,
    dtype: Precision = "float64",
    executor: Executor | None = None,
    jobs: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> FalseAlarms:
    """Alarms of many recordings at all thresholds of all detectors, each recording read once and in constant memory.

    Parameters
    ----------
    recordings : iterable of paths
        Recordings without any call.
    setting : Setting
        Window, hop and bands.
    thresholds : mapping of str to array_like, shape (threshold,)
        For each detector, its thresholds, as `thresholds_by_detector` gives them.
    count : {"frames", "peaks"}
        As for `count_exceedances`.
    channel, dtype
        As for `streaming.detection_blocks`.
    executor, jobs, checkpoint, progress
        As for `run`.

    Returns
    -------
    counts : Counts
        Sum over all recordings that could be read.
    outcome : Outcome of Counts
        Counts of each recording, and why those that failed did.
    """
    # What is wrong with the arguments shows at once, on a block of one frame, and not as a failure of every recording.
    count_exceedances([{detector: [0.0] for detector in DetectionFunctions._fields}], thresholds, count=count)
    thresholds = {detector: np.asarray(values, dtype=np.float64).tolist() for detector, values in thresholds.items()}
    options: dict[str, Any] = {"thresholds": thresholds, "count": count, "channel": channel, "dtype": dtype}
    described = json.dumps([repr(setting), options], sort_keys=True)
    outcome = run(
        functools.partial(_count_recording, setting=setting, **options),
        recordings,
        executor=executor,
        jobs=jobs,
        checkpoint=checkpoint,
        job=f"{count} {hashlib.sha256(described.encode()).hexdigest()}",
        progress=progress,
    )
    if not outcome.results:
        raise ValueError(f"recordings must hold at least one that can be read: {outcome}")
    counts = {name: Counts(**result) for name, result in outcome.results.items()}
    return FalseAlarms(merge_counts(counts.values()), Outcome(counts, outcome.failures))


def _count_recording(
    recording: str | os.PathLike[str],
    *,
    setting: Setting,
    thresholds: Mapping[str, npt.ArrayLike],
    count: Counting,
    channel: int | None,
    dtype: Precision,
) -> dict[str, Any]:
    blocks = (block._asdict() for block in detection_blocks(recording, setting, channel=channel, dtype=dtype))
    return asdict(count_exceedances(blocks, thresholds, count=count))


def _tasks(
    function: Callable[[Item], Result], left: Sequence[tuple[str, Item]], executor: Executor, jobs: int
) -> Generator[tuple[dict[str, Result], dict[str, str]]]:
    """Results and failures of one task after the other, as they come."""
    under_way: dict[Future[_Done[Result]], Sequence[tuple[str, Item]]] = {}
    sent, finished, seconds = 0, 1, SECONDS_PER_TASK  # as if one item, so long, had come before
    try:
        while sent < len(left) or under_way:
            while sent < len(left) and len(under_way) < TASKS_PER_WORKER * jobs:
                # As many items as the time of those before suggests, but fewer towards the end, for all to end at once.
                size = min(SECONDS_PER_TASK * finished / seconds, (len(left) - sent) / (2 * jobs))
                task = left[sent : sent + max(1, int(size))]
                under_way[executor.submit(_apply, function, task)] = task
                sent += len(task)
            ready, _ = wait(under_way, return_when=FIRST_COMPLETED)
            in_order = [future for future in under_way if future in ready]
            for future in sorted(in_order, key=lambda future: future.exception() is not None):  # an error comes last
                done, failed, elapsed = future.result()
                finished, seconds = finished + len(under_way.pop(future)), seconds + elapsed
                yield done, failed
    except BrokenExecutor as error:
        names = [name for task in under_way.values() for name, _ in task]
        raise RuntimeError(
            f"a worker died, killed or short of memory, while one of these was computed: {', '.join(names)}; "
            "what was finished before is in the checkpoint, if there is one"
        ) from error
    finally:
        for future in under_way:
            future.cancel()


def _apply(function: Callable[[Item], Result], task: Sequence[tuple[str, Item]]) -> _Done[Result]:
    """Results, failures and seconds of one task; what a worker does."""
    begin = time.perf_counter()
    done, failed = {}, {}
    for name, item in task:
        try:
            done[name] = function(item)
        except (OSError, ValueError) as error:
            failed[name] = str(error) or type(error).__name__
        except Exception as error:
            error.add_note(f"while computing {name}")
            raise
    return done, failed, time.perf_counter() - begin


@contextlib.contextmanager
def _pool(executor: Executor | None, jobs: int) -> Iterator[Executor]:
    """The executor that is given, or one of so many workers that ends with the run."""
    if executor is not None:
        yield executor
    elif jobs <= 1:
        yield _InProcess()
    else:
        with process_pool(jobs) as pool:
            yield pool


class _InProcess(Executor):
    """Runs each task when it is submitted."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(function(*args, **kwargs))
        return future


def _name(function: Callable[..., Any]) -> str:
    """Where a function is defined, whatever arguments are already bound to it."""
    while isinstance(function, functools.partial):
        function = function.func
    return f"{function.__module__}.{getattr(function, '__qualname__', type(function).__qualname__)}"


def _check_names(names: Sequence[str], n_items: int) -> None:
    if n_items == 0:
        raise ValueError("items must hold at least one item")
    if len(names) != n_items:
        raise ValueError(f"names must be as many as items, {n_items}, got {len(names)}")
    twice = [name for name, times in collections.Counter(names).items() if times > 1]
    if twice:
        raise ValueError(f"names must be distinct, but {twice[0]!r} is there more than once")


@contextlib.contextmanager
def _progress(total: int, before: int, shown: bool) -> Iterator[Callable[[int, int], None]]:
    """A function to be told how many more items are done with, and how many have failed in all."""
    if not shown:
        yield lambda *_: None
        return
    from tqdm import tqdm

    with tqdm(total=total, initial=before, unit="item", miniters=1, file=sys.stderr) as bar:

        def show(n: int, failed: int) -> None:
            if failed:
                bar.set_postfix(failed=failed, refresh=False)
            bar.update(n)

        yield show
