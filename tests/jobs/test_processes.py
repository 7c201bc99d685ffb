"""Worker processes that do not outlive whoever started them."""

import subprocess
import sys
import time

import psutil
import pytest

from pcenlib.jobs.processes import process_pool


def test_workers_work_and_are_gone_afterwards():
    with process_pool(2) as pool:
        assert list(pool.map(abs, [-1, -2, 3])) == [1, 2, 3]
        workers = [psutil.Process(pid) for pid in pool._processes]
    assert workers
    assert psutil.wait_procs(workers, timeout=10)[1] == []


def test_after_an_error_workers_are_not_waited_for():
    def fail():
        with process_pool(1) as pool:
            pool.submit(time.sleep, 3)
            raise KeyError

    begin = time.monotonic()
    with pytest.raises(KeyError):
        fail()
    assert time.monotonic() - begin < 2


def test_workers_end_with_a_parent_that_is_killed():
    code = """
import time
from pcenlib.jobs.processes import process_pool
with process_pool(2) as pool:
    futures = [pool.submit(time.sleep, 60) for _ in range(2)]
    print(*pool._processes, flush=True)
    time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        workers = [psutil.Process(int(pid)) for pid in parent.stdout.readline().split()]
        assert len(workers) == 2
        time.sleep(0.5)  # until they are at work
        parent.kill()
    assert psutil.wait_procs(workers, timeout=10)[1] == []
