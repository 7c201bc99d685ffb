"""Many items: any executor, any order, failures, progress, and real kills."""

import contextlib
import functools
import json
import operator
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context, resource_tracker
from pathlib import Path

import numpy as np
import psutil
import pytest
import soundfile

from pcenlib import RIGHT_WHALE
from pcenlib.jobs.checkpoint import journal
from pcenlib.jobs.run import Outcome, run
from pcenlib.simulation import noises
from tests.scenes import SEEDS, evaluate, loudest, picky, square

ROOT = Path(__file__).parents[2]

quietly = functools.partial(run, progress=False)


@contextlib.contextmanager
def dask_executor():
    distributed = pytest.importorskip("distributed")
    options = {"host": "127.0.0.1", "dashboard_address": None, "processes": True, "threads_per_worker": 1}
    with (
        distributed.LocalCluster(n_workers=2, **options) as cluster,
        distributed.Client(cluster) as client,
        client.get_executor() as executor,
    ):
        yield executor


EXECUTORS = {
    "in process": (lambda: contextlib.nullcontext(), 1),
    "default pool of 2": (lambda: contextlib.nullcontext(), 2),
    "default pool of 3": (lambda: contextlib.nullcontext(), 3),
    "1 process": (lambda: ProcessPoolExecutor(1, mp_context=get_context("spawn")), 1),
    "2 processes": (lambda: ProcessPoolExecutor(2, mp_context=get_context("spawn")), 2),
    "2 threads": (lambda: ThreadPoolExecutor(2), 2),
    "Dask": (dask_executor, 2),
}


@pytest.fixture
def no_worker_is_left():
    """After a test, no process is at work that was not before it."""
    resource_tracker.ensure_running()  # there for good once workers were
    before = psutil.Process().children()
    yield
    wait_for(lambda: not [p for p in psutil.Process().children() if p not in before and is_at_work(p)])


def is_at_work(process):
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.status() != psutil.STATUS_ZOMBIE
    return False


def wait_for(condition, *, seconds=30.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


# Results do not depend on who computes them


@pytest.fixture(scope="module")
def uninterrupted():
    return {str(seed): json.loads(json.dumps(evaluate(seed))) for seed in SEEDS}


@pytest.mark.parametrize(("make", "jobs"), EXECUTORS.values(), ids=EXECUTORS.keys())
def test_every_executor_gives_the_same(make, jobs, uninterrupted, tmp_path):
    with make() as executor:
        checkpoint = tmp_path / "checkpoint.jsonl"
        outcome = quietly(evaluate, SEEDS, executor=executor, jobs=jobs, checkpoint=checkpoint, job="scenes")
        assert list(outcome.results.items()) == list(uninterrupted.items())
        failing = quietly(picky, ["a", "bad", "bb", "gone"], executor=executor, jobs=jobs)
        assert failing == Outcome({"a": 1, "bb": 2}, {"bad": "it is bad", "gone": "FileNotFoundError"})


def test_order_is_that_of_the_items_whoever_finishes_first():
    items = [*range(40, 0, -1)]
    with ThreadPoolExecutor(4) as executor:
        outcome = quietly(square, items, executor=executor, jobs=4)
    assert list(outcome.results.items()) == [(str(x), x * x) for x in items]


def test_items_may_be_named():
    assert quietly(square, iter([2, 3]), names=iter(["two", "three"]), jobs=1).results == {"two": 4, "three": 9}


class Watched(ThreadPoolExecutor):
    """Remembers how many tasks and items it was sent, and how many tasks were under way at most."""

    def __init__(self):
        super().__init__(2)
        self.futures, self.sizes, self.most = [], [], 0

    def submit(self, function, /, *args):
        future = super().submit(function, *args)
        self.futures.append(future)
        self.sizes.append(len(args[1]))
        self.most = max(self.most, sum(not future.done() for future in self.futures))
        return future


def test_few_tasks_are_under_way_and_short_items_share_one():
    with Watched() as executor:
        assert len(quietly(operator.neg, range(2000), executor=executor, jobs=2).results) == 2000
    assert executor.most <= 4
    assert sum(executor.sizes) == 2000
    assert len(executor.sizes) < 100
    assert executor.sizes[-1] < 10  # towards the end all workers have something left to do


def test_long_items_go_one_by_one():
    with Watched() as executor:
        quietly(functools.partial(time.sleep), [0.3] * 4, names="abcd", executor=executor, jobs=1)
    assert executor.sizes == [1] * 4


# Failures


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failed_item_is_reported_and_the_others_go_on(jobs, capsys):
    outcome = run(picky, ["a", "bad", "bb", "gone", "ccc"], jobs=jobs)
    assert outcome.results == {"a": 1, "bb": 2, "ccc": 3}
    assert str(outcome) == "3 of 5 done, 2 failed\n  bad: it is bad\n  gone: FileNotFoundError"
    shown = capsys.readouterr().err
    assert "failed=2" in shown
    assert shown.endswith(f"{outcome}\n")
    assert str(quietly(picky, ["a"])) == "1 of 1 done, 0 failed"


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_mistake_is_the_items_failure_too_and_says_what_and_where(jobs):
    outcome = quietly(picky, ["a", "mistake", "bb", "too large", "ccc"], jobs=jobs)
    assert outcome.results == {"a": 1, "bb": 2, "ccc": 3}
    assert re.fullmatch(r"KeyError: 'mistake' \(in scenes\.py, line \d+\)", outcome.failures["mistake"])
    assert re.fullmatch(r"MemoryError \(in scenes\.py, line \d+\)", outcome.failures["too large"])


@pytest.mark.usefixtures("no_worker_is_left")
@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_or_an_exit_ends_the_run_and_keeps_what_was_done(end, tmp_path):
    options = {"jobs": 1, "checkpoint": tmp_path / "checkpoint.jsonl", "job": "lengths"}
    items = [*("x" * i for i in range(1, 20)), end.__name__, *("x" * i for i in range(20, 60))]
    with pytest.raises(end):
        quietly(picky, items, **options)
    kept = [json.loads(line) for line in options["checkpoint"].read_text().splitlines()[1:]]
    assert 0 < len(kept) < 59
    assert all(len(line["name"]) == line["result"] for line in kept)


@pytest.mark.usefixtures("no_worker_is_left")
def test_a_worker_that_dies_is_told_and_what_was_done_is_kept(tmp_path):
    options = {"jobs": 2, "checkpoint": tmp_path / "checkpoint.jsonl", "job": "lengths"}
    items = ["x" * i for i in range(1, 20)]
    with pytest.raises(RuntimeError, match=r"^a worker died while one of these was computed: .*death.* checkpoint"):
        quietly(picky, [*items, "death", *("y" * i for i in range(1, 20))], **options)
    kept = options["checkpoint"].read_text().splitlines()
    assert len(kept) > 1
    assert quietly(picky, items, **{**options, "jobs": 1}).results == {item: len(item) for item in items}
    assert options["checkpoint"].read_text().splitlines()[: len(kept)] == kept


# Progress


def test_progress_shows_the_time_left_on_the_standard_error(capsys, tmp_path):
    options = {"jobs": 1, "checkpoint": tmp_path / "checkpoint.jsonl", "job": "squares"}
    run(square, range(3), **options)
    out, err = capsys.readouterr()
    assert out == ""
    assert "100%" in err
    assert "3/3" in err
    run(square, range(4), **options)
    assert " 75%" in capsys.readouterr().err  # where the run before ended
    run(square, range(4), **options, progress=False)
    assert capsys.readouterr() == ("", "")


# Resuming


@contextlib.contextmanager
def evaluation(tmp_path, *, jobs=2):
    """A process that evaluates all scenes, at the head of a group of processes of its own."""
    arguments = [str(jobs), *(str(tmp_path / name) for name in ["checkpoint.jsonl", "log", "counts.json"])]
    command = [sys.executable, "-m", "tests.scenes", *arguments]
    process = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
    try:
        yield process
        process.wait(30)
        wait_for(lambda: not group(process.pid))  # no worker is left
    finally:
        for left in group(process.pid):
            left.kill()
        process.wait()


def group(leader):
    """Processes of a group that are still at work."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(ProcessLookupError):
            if os.getpgid(process.pid) == leader and is_at_work(process):
                found.append(process)
    return found


def lines(path):
    """The whole lines of a file, if it is there."""
    return path.read_text().split("\n")[:-1] if path.exists() else []


@pytest.mark.parametrize("jobs", [1, 2])
def test_killed_at_random_and_resumed_counts_are_those_of_an_uninterrupted_run(jobs, tmp_path, uninterrupted):
    rng = np.random.default_rng(jobs)
    checkpoint, log = tmp_path / "checkpoint.jsonl", tmp_path / "log"
    n_kills, status = 0, None
    while status != 0:
        kept = lines(checkpoint)
        log.write_text("")
        with evaluation(tmp_path, jobs=jobs) as process:
            if n_kills < 6:
                until = len(kept) + rng.integers(0, 6)
                wait_for(lambda: len(lines(checkpoint)) >= until or process.poll() is not None)  # noqa: B023
                time.sleep(rng.uniform(0, 0.1))
                if rng.random() < 0.5:
                    process.kill()  # the workers have to notice by themselves
                else:
                    os.killpg(process.pid, signal.SIGKILL)
                n_kills += 1
        status = process.returncode
        assert status in (0, -signal.SIGKILL)
        assert lines(checkpoint)[: len(kept)] == kept
        assert not {json.loads(line)["name"] for line in kept[1:]} & set(lines(log))  # nothing is computed twice
    assert n_kills > 3
    assert len(kept) > 5
    counts = json.loads((tmp_path / "counts.json").read_text())
    assert list(counts.items()) == list(uninterrupted.items())


def test_two_processes_do_not_share_a_checkpoint(tmp_path):
    checkpoint = tmp_path / "checkpoint.jsonl"
    with evaluation(tmp_path) as process:
        wait_for(lambda: len(lines(checkpoint)) > 1)
        with pytest.raises(OSError, match=r"^.*checkpoint.jsonl is in use by another process"):
            quietly(evaluate, SEEDS, checkpoint=checkpoint, job="peaks in scenes")
        process.kill()
        process.wait()
        # The lock is gone with the process, whether its workers have noticed or not; the file is still that of its job.
        with pytest.raises(ValueError, match="another job"):
            quietly(square, range(3), checkpoint=checkpoint, job="squares")


@pytest.fixture
def checkpoint(tmp_path):
    """A checkpoint with the squares of 0 to 4, in one process."""
    quietly(square, range(5), jobs=1, checkpoint=tmp_path / "checkpoint.jsonl", job="squares")
    return tmp_path / "checkpoint.jsonl"


def resumed(checkpoint, items=range(5)):
    return quietly(square, items, jobs=1, checkpoint=checkpoint, job="squares").results


SQUARES = {str(x): x * x for x in range(5)}


def test_a_checkpoint_cut_at_any_byte_is_completed(checkpoint):
    whole = checkpoint.read_bytes()
    for end in [*range(0, len(whole), 7), len(whole) - 1]:
        checkpoint.write_bytes(whole[:end])
        assert resumed(checkpoint) == SQUARES
        assert checkpoint.read_bytes() == whole


def test_what_is_damaged_is_computed_again(checkpoint):
    whole = checkpoint.read_bytes().splitlines(keepends=True)
    for damage in [b"{}\n", whole[3].replace(b"4", b"5")]:
        checkpoint.write_bytes(b"".join([*whole[:3], damage, *whole[4:]]))
        with pytest.warns(UserWarning, match="is damaged"):
            assert resumed(checkpoint) == SQUARES
        assert checkpoint.read_bytes() == b"".join([*whole[:3], *whole[4:], whole[3]])


def rename(checkpoint, name, other):
    """Let a checkpoint know the result of an item by another name."""
    with journal(checkpoint, {"function": "tests.scenes.square", "job": "squares"}) as (results, keep):
        keep({other: results[name]})


def test_what_a_checkpoint_holds_is_not_computed_again(checkpoint):
    rename(checkpoint, "4", "3")
    assert resumed(checkpoint) == {**SQUARES, "3": 16}


def test_items_may_come_and_go_between_runs(checkpoint):
    assert resumed(checkpoint, [7, 3]) == {"7": 49, "3": 9}
    assert resumed(checkpoint, [7, *range(5)]) == {"7": 49, **SQUARES}
    assert len(lines(checkpoint)) == 7


def test_an_item_whose_key_changed_is_computed_again(checkpoint):
    rename(checkpoint, "2", "3")
    rename(checkpoint, "2", "4")
    options = {"jobs": 1, "checkpoint": checkpoint, "job": "squares"}
    outcome = quietly(square, range(5), keys=["0", "1", "2", "3 anew", "4"], **options)
    assert outcome.results == {**SQUARES, "4": 4}


def test_failed_items_are_tried_again(tmp_path):
    path, items = tmp_path / "late", [str(tmp_path / "late")]
    options = {"jobs": 1, "checkpoint": tmp_path / "checkpoint.jsonl", "job": "sizes"}
    assert list(quietly(os.path.getsize, items, **options).failures) == items
    path.write_text("now it is there")
    assert quietly(os.path.getsize, items, **options) == Outcome({str(path): 15}, {})


@pytest.mark.parametrize(("function", "job"), [(square, "cubes"), (abs, "squares")])
def test_a_checkpoint_of_another_job_is_refused(checkpoint, function, job):
    before = checkpoint.read_bytes()
    with pytest.raises(ValueError, match=r"^checkpoint .*checkpoint.jsonl belongs to another job"):
        quietly(function, range(5), checkpoint=checkpoint, job=job)
    assert checkpoint.read_bytes() == before


def test_a_checkpoint_returns_results_as_it_will_read_them(tmp_path):
    options = {"jobs": 1, "checkpoint": tmp_path / "checkpoint.jsonl", "job": "pairs"}
    for _ in range(2):
        assert quietly(functools.partial(divmod, 7), [2], **options).results == {"2": [3, 1]}
    with pytest.raises(TypeError, match=r"^function must return what JSON can hold"):
        quietly(complex, [2], jobs=1, checkpoint=tmp_path / "complex.jsonl", job="complex")


# Recordings


def test_bad_recordings_are_reported_by_name_among_good_ones(tmp_path):
    good = [tmp_path / f"{seed}.{kind}" for seed, kind in enumerate(["wav", "flac", "ogg", "wav"])]
    for seed, path in enumerate(good):
        x = noises.noise(30 * RIGHT_WHALE.sr, RIGHT_WHALE.sr, np.random.default_rng(seed))
        soundfile.write(path, 0.1 * x, RIGHT_WHALE.sr)
    wav, flac = good[0].read_bytes(), good[1].read_bytes()
    damaged = bytearray(flac)
    damaged[len(damaged) // 2 : len(damaged) // 2 + 2000] = bytes(2000)
    bad = {
        "damaged header.wav": b"RIFX" + wav[4:],
        "truncated header.wav": wav[:20],
        "truncated.flac": flac[:-10_000],
        "damaged.flac": bytes(damaged),
        "empty.wav": b"",
        "text.wav": b"This is not a recording.",
    }
    for name, content in bad.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder.wav").mkdir()
    names = [*bad, "folder.wav", "missing.wav"]
    paths = [tmp_path / name for name in names]
    outcome = quietly(loudest, [*paths[:3], good[0], *paths[3:], *good[1:]], jobs=2)
    assert sorted(outcome.failures) == sorted(map(str, paths))
    assert all(reason for reason in outcome.failures.values())
    assert outcome.results == {str(path): loudest(path) for path in good}
    assert list(outcome.results) == list(map(str, good))
    summary = str(outcome)
    assert summary.startswith("4 of 12 done, 8 failed\n")
    assert all(name in summary for name in names)


# Bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"items": []}, "items must hold at least one"),
        ({"names": ["a"]}, "names must be as many as items, 2, got 1"),
        ({"names": ["a", "a"]}, "names must be distinct, but 'a'"),
        ({"items": [1, 1]}, "names must be distinct, but '1'"),
        ({"jobs": 0}, "jobs must be a positive integer, got 0"),
        ({"jobs": 1.5}, "jobs must be a positive integer, got 1.5"),
        ({"jobs": True}, "jobs must be a positive integer, got True"),
        ({"checkpoint": "x.jsonl"}, "job must say what is computed"),
    ],
)
def test_bad_runs_are_refused(options, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        quietly(square, **{"items": [1, 2], **options})
