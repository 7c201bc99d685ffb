"""Worker processes that end with the process that started them, however it ends."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager


@contextmanager
def process_pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """So many workers; after an error, those that are at work are not waited for."""
    pool = ProcessPoolExecutor(jobs, initializer=_end_with_parent)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def _end_with_parent() -> None:
    """Make a worker end when the process that started it is gone, or it would wait for its next task for ever."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent's to handle
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
