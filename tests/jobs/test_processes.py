"""Worker processes: kept for the next run, gone with whoever started them, and started beside threads."""

import contextlib
import functools
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import psutil
import pytest

from pcenlib.jobs.processes import process_pool
from pcenlib.jobs.run import run
from tests.nights import write_whales
from tests.scenes import square

ROOT = Path(__file__).parents[2]
PYTHON = [sys.executable, "-W", "error"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def script(tmp_path, code, *arguments):
    """What a script of its own prints, and what it writes to the standard error."""
    (tmp_path / "script.py").write_text(textwrap.dedent(code))
    command = [*PYTHON, "script.py", *map(str, arguments)]
    done = subprocess.run(
        command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=120
    )
    return done.stdout, done.stderr


def workers(pool, n=2):
    """Processes of the workers, once so many are there."""
    while len(pool._processes) < n:
        pool.submit(time.sleep, 0.2)
    return [psutil.Process(pid) for pid in pool._processes]


# Kept, and gone


def test_workers_are_kept_for_the_next_run():
    with process_pool(2) as pool:
        assert list(pool.map(abs, [-1, -2, 3])) == [1, 2, 3]
        before = workers(pool)
    with process_pool(2) as pool:
        assert set(before) == set(workers(pool))


def test_runs_at_the_same_time_have_workers_of_their_own():
    with process_pool(2) as pool, process_pool(2) as other:
        assert other is not pool
        assert list(pool.map(abs, [-4])) == list(other.map(abs, [-4])) == [4]
        both = [*workers(pool), *workers(other)]
    with process_pool(2) as pool:
        kept = workers(pool)
        assert len(psutil.wait_procs(set(both) - set(kept), timeout=10)[0]) == 2


def test_a_worker_works_where_its_parent_is_now(tmp_path, monkeypatch):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        monkeypatch.setenv("PCENLIB_TEST", name)
        with process_pool(1) as pool:
            assert pool.submit(os.getcwd).result() == str(tmp_path / name)
            assert pool.submit(os.getenv, "PCENLIB_TEST").result() == name
    monkeypatch.delenv("PCENLIB_TEST")
    with process_pool(1) as pool:
        assert pool.submit(os.getenv, "PCENLIB_TEST").result() is None


def test_after_an_error_workers_end_at_once():
    ended = []

    def fail():
        with process_pool(1) as pool:
            pool.submit(time.sleep, 60)
            ended.extend(workers(pool, 1))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert ended
    assert psutil.wait_procs(ended, timeout=10)[1] == []
    with process_pool(1) as pool:
        assert pool.submit(abs, -1).result() == 1


def test_a_pool_that_lost_a_worker_while_idle_is_forgotten():
    with process_pool(1) as pool:
        (worker,) = workers(pool, 1)
    worker.kill()
    psutil.wait_procs([worker], timeout=10)
    end = time.monotonic() + 10
    while not pool._broken:  # until the pool has noticed
        assert time.monotonic() < end
        time.sleep(0.01)
    with process_pool(1) as pool:
        assert pool.submit(abs, -1).result() == 1


def test_workers_end_with_a_parent_that_is_killed():
    code = """
import time
from pcenlib.jobs.processes import process_pool
with process_pool(2) as pool:
    futures = [pool.submit(time.sleep, 60) for _ in range(3)]
    print(*pool._processes, flush=True)
    time.sleep(60)
"""
    with subprocess.Popen(
        [*PYTHON, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as parent:
        ended = [psutil.Process(int(pid)) for pid in parent.stdout.readline().split()]
        assert len(ended) == 2
        time.sleep(0.5)  # until they are at work
        parent.kill()
    assert psutil.wait_procs(ended, timeout=10)[1] == []


@pytest.mark.parametrize("when", [0.0, 0.1, 1.5])
def test_an_interrupt_for_all_ends_all_without_a_word_of_the_workers(when):
    code = """
import time
from pcenlib.jobs.processes import process_pool
try:
    with process_pool(2) as pool:
        futures = [pool.submit(time.sleep, 60) for _ in range(3)]
        print(*pool._processes, flush=True)
        time.sleep(60)
except KeyboardInterrupt:
    pass
"""
    command = [*PYTHON, "-c", code]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    with subprocess.Popen(command, **options) as parent:
        ended = [psutil.Process(int(pid)) for pid in parent.stdout.readline().split()]
        time.sleep(when)  # while they start, and when they are at work
        os.killpg(parent.pid, signal.SIGINT)
        _, error = parent.communicate(timeout=20)
    assert (parent.returncode, error) == (0, "")
    assert psutil.wait_procs(ended, timeout=10)[1] == []


# Where they start


@contextlib.contextmanager
def busy_threads(n=4):
    over = threading.Event()
    threads = [threading.Thread(target=over.wait) for _ in range(n)]
    for thread in threads:
        thread.start()
    yield
    over.set()
    for thread in threads:
        thread.join()


def test_workers_start_beside_running_threads():
    with busy_threads():
        results = run(square, range(20), jobs=2, progress=False).results
    assert results == {str(x): x * x for x in range(20)}


SEARCH = """
import sys, threading
import pcenlib
over = threading.Event()
threads = [threading.Thread(target=over.wait) for _ in range(4)]
for thread in threads:
    thread.start()
print("searching")
table = pcenlib.detect(sys.argv[1], pcenlib.RIGHT_WHALE, threshold=3.0, jobs=2)
print(*table["start"].round())
over.set()
"""


def test_a_search_beside_threads_finishes_in_a_script_without_a_guard(tmp_path):
    (tmp_path / "sounds").mkdir()
    for seed in range(3):
        write_whales(tmp_path / "sounds" / f"{seed}.wav", times=[10 + seed], seed=seed)
    assert script(tmp_path, SEARCH, tmp_path / "sounds") == ("searching\n10.0 11.0 12.0\n", "")


OWN = """
from pcenlib.jobs.run import run

def cube(x):
    return x ** 3

def main():
    print(run(cube, range(3), jobs=2, progress=False).results)

"""


def test_a_function_of_a_script_needs_a_guard_and_an_error_says_so(tmp_path):
    out, _ = script(tmp_path, OWN + 'if __name__ == "__main__":\n    main()\n')
    assert out == "{'0': 0, '1': 1, '2': 8}\n"
    out, error = script(tmp_path, OWN + "main()\n")
    assert out == ""
    assert 'does not start its work under `if __name__ == "__main__":`' in error.splitlines()[-1]


def test_a_function_of_a_notebook_is_refused(monkeypatch):
    notebook = type(sys)("__main__")
    exec("def cube(x): return x ** 3", vars(notebook))  # noqa: S102
    monkeypatch.setitem(sys.modules, "__main__", notebook)
    with pytest.raises(ValueError, match=r"^__main__\.cube, or what it is given, is defined in a notebook"):
        run(notebook.cube, range(3), jobs=2, progress=False)
    assert run(notebook.cube, range(3), jobs=1, progress=False).results == {"0": 0, "1": 1, "2": 8}
    assert run(functools.partial(pow, 2), range(3), jobs=2, progress=False).results == {"0": 1, "1": 2, "2": 4}
