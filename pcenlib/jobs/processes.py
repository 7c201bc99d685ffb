"""Worker processes: started once, used again by the next run, and gone when this process is, however it ends.

Workers are spawned, on every system and Python: a fork of a process that has threads can hang. A spawned worker costs
a new interpreter and its imports, so a pool that did its work waits for the next run. After an error or an interrupt
its workers end at once.

Unless a task needs it, workers do not import the main script. So a script works without the line
``if __name__ == "__main__":``, which spawned workers usually ask for.
"""

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

__all__ = ["process_pool"]


class _Pool(ProcessPoolExecutor):
    """Spawned workers that end when `stop` is called, or with this process."""

    def __init__(self, jobs: int, main: bool) -> None:
        watched, self._held = multiprocessing.Pipe(duplex=False)
        spawn = multiprocessing.get_context("spawn")
        super().__init__(jobs, mp_context=spawn, initializer=_end_with, initargs=(watched,))
        self._main = main

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Start another worker if none is idle, and give it the task, the current folder, and the environment."""
        with _starting(self._main):
            return super().submit(_here, os.getcwd(), dict(os.environ), function, *args, **kwargs)  # noqa: PTH109

    def stop(self) -> None:
        """End the workers at once, whatever they are doing, and wait until they are gone."""
        manager: Any = self._executor_manager_thread
        self.shutdown(wait=False, cancel_futures=True)  # before workers end, or Python 3.11 trips over canceled tasks
        self._held.close()
        if manager is not None:
            manager.join()


_idle: dict[tuple[int, bool], _Pool] = {}
_lock = threading.Lock()


@contextlib.contextmanager
def process_pool(jobs: int, *, main: bool = False) -> Iterator[ProcessPoolExecutor]:
    """A pool of at most `jobs` workers for one run, idle or new. It is kept unless the run ends with an error.

    `main` says whether the tasks need what the main script defines. Workers then import the script.
    """
    pool = _idle.pop((jobs, main), None) or _Pool(jobs, main)
    try:
        pool.submit(int)
    except BrokenExecutor:  # a worker was killed while it had nothing to do
        pool.stop()
        pool = _Pool(jobs, main)
    try:
        yield pool
    except BaseException:
        pool.stop()
        raise
    if _idle.setdefault((jobs, main), pool) is not pool:  # another thread had one of its own
        pool.stop()


@contextlib.contextmanager
def _starting(main: bool) -> Iterator[None]:
    """What a worker inherits: no interrupts, which are the parent's to handle, and the main script only if it must."""
    script = vars(sys.modules["__main__"])
    with _lock:
        hidden: dict[str, Any] = {
            name: script[name] for name in ("__spec__", "__file__") if name in script and not main
        }
        script.update(dict.fromkeys(hidden))
        if hasattr(signal, "pthread_sigmask"):  # not on Windows
            before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            yield
        finally:
            script.update(hidden)
            if hasattr(signal, "pthread_sigmask"):
                signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with(watched: Connection) -> None:
    """Make this worker end when the other end of a connection is closed, as it is when its process is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        watched.poll(None)  # nothing is ever sent
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _here(folder: str, environment: dict[str, str], function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function where the parent is now: it may have moved since this worker started."""
    os.chdir(folder)
    if os.environ != environment:
        os.environ.clear()
        os.environ.update(environment)
    return function(*args, **kwargs)
