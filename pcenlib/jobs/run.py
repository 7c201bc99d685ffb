"""One function over many items, on every core or on a cluster, through failures and interruptions.

`run` applies a function to recordings, or to seeds of simulated scenes, over any `concurrent.futures.Executor`. What it
returns depends on the items alone, not on the executor, the number of workers, or who finishes first. An item that
cannot be read is reported, and the others go on. With a checkpoint, a run that was killed goes on where it was.
"""

import collections
import contextlib
import functools
import os
import pickle
import sys
import time
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from pcenlib.core.checks import check_count
from pcenlib.jobs.checkpoint import journal
from pcenlib.jobs.processes import process_pool

__all__ = ["Outcome", "run"]


# Items are sent to workers in tasks of about this length: long against the cost of sending, short against a run.
SECONDS_PER_TASK = 0.1

# Tasks under way for each worker, so none waits for the next; the others have not been sent yet.
TASKS_PER_WORKER = 2

# What Windows can wait for at a time; others start as many workers as there are tasks.
MOST_WORKERS = 61 if os.name == "nt" else sys.maxsize

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
    keys: Iterable[str] | None = None,
    executor: Executor | None = None,
    jobs: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    job: str = "",
    replace: bool = False,
    progress: bool = True,
) -> Outcome[Result]:
    """Apply a function to many items.

    Parameters
    ----------
    function : callable
        From one item to its result. Workers import it, so it must be defined in a module, or be a `functools.partial`
        of one that is. An exception is the item's failure; only an interrupt or an exit ends the run.
    items : iterable
        Paths, seeds, or whatever the function takes.
    names : iterable of str, optional
        A distinct name for each item, for reports; by default, the item as text.
    keys : iterable of str, optional
        What the checkpoint knows each item by, where a name does not tell all: a file's size and time, for example.
        By default, the names.
    executor : concurrent.futures.Executor, optional
        Where to run, and left running: Dask's ``Client(...).get_executor()`` for a cluster, for example. By default,
        processes of this machine, which wait for the next run and end with this process, however it ends.
    jobs : int, optional
        Number of workers, also of `executor`; by default, the number of cores of this machine. A single one without
        an executor is this process itself.
    checkpoint : path, optional
        File that keeps the result of each finished item. If it exists, what it holds is not computed again; failed
        items are. Results must then be what JSON can hold, and tuples become lists.
    job : str, optional
        What is computed: all that the results depend on but the items. A checkpoint of another job, another function
        or another version of this library is refused.
    replace : bool
        Whether such a checkpoint is replaced instead.
    progress : bool
        Whether to show on the standard error how many items are done and the time left, and at the end what failed.

    Returns
    -------
    Outcome
        Results and failures, in the order of the items. A worker that is killed is a `BrokenExecutor`.

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
        raise ValueError("job must say what is computed, so a checkpoint of something else is not taken for it")

    key = dict(zip(names, names if keys is None else keys, strict=True))
    failures: dict[str, str] = {}
    header = {"function": _name(function), "job": job}
    with journal(checkpoint, header, replace=replace) as (results, keep):
        left = [(name, item) for name, item in zip(names, items, strict=True) if key[name] not in results]
        with (
            _progress(len(items), len(items) - len(left), progress) as show,
            _pool(executor, jobs, function, left) as pool,
            contextlib.closing(_tasks(function, left, pool, jobs)) as tasks,
        ):
            for done, failed in tasks:
                results.update(keep({key[name]: result for name, result in done.items()}))
                failures.update(failed)
                show(len(done) + len(failed), len(failures))
    outcome = Outcome(
        {name: results[key[name]] for name in names if key[name] in results},
        {name: failures[name] for name in names if name in failures},
    )
    if failures and progress:
        print(outcome, file=sys.stderr)
    return outcome


def _tasks(
    function: Callable[[Item], Result], left: Sequence[tuple[str, Item]], executor: Executor, jobs: int
) -> Generator[tuple[dict[str, Result], dict[str, str]]]:
    """Results and failures of one task after the other, as they come."""
    under_way: dict[Future[_Done[Result]], Sequence[tuple[str, Item]]] = {}
    sent, finished, seconds = 0, 1, SECONDS_PER_TASK  # as if one item, so long, had come before
    try:
        while sent < len(left) or under_way:
            while sent < len(left) and len(under_way) < TASKS_PER_WORKER * jobs:
                # As many items as the time of those before suggests, but fewer toward the end, so all end at once.
                size = min(SECONDS_PER_TASK * finished / seconds, (len(left) - sent) / (2 * jobs))
                task = left[sent : sent + max(1, int(size))]
                under_way[executor.submit(_apply, function, task)] = task
                sent += len(task)
            ready, _ = wait(under_way, return_when=FIRST_COMPLETED)
            in_order = [future for future in under_way if future in ready]
            for future in sorted(
                in_order, key=lambda future: future.exception() is not None
            ):  # a dead worker comes last
                done, failed, elapsed = future.result()
                finished, seconds = finished + len(under_way.pop(future)), seconds + elapsed
                yield done, failed
    except BrokenExecutor as error:
        names = [name for task in under_way.values() for name, _ in task]
        raise BrokenExecutor(
            f"a worker died while one of these was computed: {', '.join(names)}. It was killed, or ran out of memory, "
            'or the script that defines the function does not start its work under `if __name__ == "__main__":`. What '
            "was finished before is in the checkpoint, if there is one"
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
        except Exception as error:
            failed[name] = _reason(error)
    return done, failed, time.perf_counter() - begin


def _reason(error: Exception) -> str:
    """What went wrong with an item. What may be a mistake in a program also says what it is, and where."""
    if isinstance(error, OSError | ValueError):
        return str(error) or type(error).__name__
    place = traceback.extract_tb(error.__traceback__)[-1]
    what = f"{type(error).__name__}: {error}".removesuffix(": ")
    return f"{what} (in {Path(place.filename).name}, line {place.lineno})"


@contextlib.contextmanager
def _pool(
    executor: Executor | None, jobs: int, function: Callable[[Item], Result], left: Sequence[tuple[str, Item]]
) -> Iterator[Executor]:
    """The executor that is given, this process, or workers of this machine."""
    if executor is not None:
        yield executor
    elif min(jobs, len(left)) <= 1:
        yield _InProcess()
    else:
        main = b"__main__" in pickle.dumps((function, left[0]))
        if main and not hasattr(sys.modules["__main__"], "__file__"):
            raise ValueError(
                f"{_name(function)}, or what it is given, is defined in a notebook, where workers cannot import it: "
                "move it to a module, or use jobs=1"
            )
        with process_pool(min(jobs, MOST_WORKERS), main=main) as pool:
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
