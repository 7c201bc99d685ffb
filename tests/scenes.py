"""Simulated scenes for the tests of many recordings: functions that workers can import, and a run that can be killed.

``python -m tests.scenes JOBS CHECKPOINT LOG COUNTS`` evaluates all scenes and writes the counts.
"""

import builtins
import functools
import json
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np

from pcenlib import RIGHT_WHALE
from pcenlib.core import streaming
from pcenlib.core.evaluation import count_exceedances
from pcenlib.jobs.run import run
from pcenlib.simulation import noises

SEEDS = range(40)
THRESHOLDS = {"averaged_flux": [0.3, 0.4], "max_pooled_flux": [3, 4, 5], "max_pooled_pcen": [2, 2.5]}


def evaluate(seed, *, log=None, pause=0.0):
    """Alarms in a scene of 20 s; the log is told before, so that a test sees what was computed."""
    if log is not None:
        with Path(log).open("a", encoding="utf-8") as file:
            file.write(f"{seed}\n")
    x = noises.noise(20 * RIGHT_WHALE.sr, RIGHT_WHALE.sr, np.random.default_rng(seed))
    time.sleep(pause)
    functions = streaming.detection_functions(x, RIGHT_WHALE)
    return asdict(count_exceedances([functions._asdict()], THRESHOLDS, count="peaks"))


def square(x):
    """Results that come in another order than they were asked for."""
    time.sleep(0.02 * (x % 3 == 0))
    return x * x


def picky(x):
    """Fails on some items as an unreadable file would, and on others as a mistake in a program would."""
    if x == "bad":
        raise ValueError("it is bad")
    if x == "gone":
        raise FileNotFoundError
    if x == "mistake":
        raise KeyError(x)
    if x == "too large":
        raise MemoryError
    if x in ("KeyboardInterrupt", "SystemExit"):
        raise getattr(builtins, x)
    if x == "death":
        os.kill(os.getpid(), 9)
    return len(x)


def loudest(path):
    """Largest value of max-pooled PCEN in a recording."""
    return float(streaming.detection_functions(path, RIGHT_WHALE).max_pooled_pcen.max())


if __name__ == "__main__":
    jobs, checkpoint, log, counts = sys.argv[1:]
    outcome = run(
        functools.partial(evaluate, log=log, pause=0.06),
        SEEDS,
        jobs=int(jobs),
        checkpoint=checkpoint,
        job="peaks in scenes",
        progress=False,
    )
    Path(counts).write_text(json.dumps(outcome.results), encoding="utf-8")
