"""Many seeds: kept as they finish, whatever the number of workers, and stored with what they are."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from pcenlib.datasets.nighthawk import SimulatedNighthawk
from pcenlib.datasets.right_whale import SimulatedRightWhale
from pcenlib.experiments import seeded, seeds, stored
from pcenlib.experiments.evaluate import evaluate

PAPER = ("nighthawk-seeds", "right-whale-seeds")
NAME = PAPER[1]
SMALL = SimulatedRightWhale(n_bins=2, n_calls=2, n_days=2, n_ships=2, duration=40.0)
ROOT = Path(__file__).parents[2]


@pytest.fixture
def small(monkeypatch):
    """The experiment on whales, with two ships and two kilometers."""
    experiment = replace(seeds.EXPERIMENTS[NAME], dataset=SMALL)
    monkeypatch.setitem(seeds.EXPERIMENTS, NAME, experiment)
    return experiment


def stored_rows(tmp_path, where="a", **options):
    """A stored table as it is written, and what was kept on the way."""
    path = seeds.store(NAME, kept=tmp_path / where, folder=tmp_path / where, **options)
    return path.read_text(encoding="utf-8"), next((tmp_path / where).glob("*.jsonl"))


# What is counted


def test_groups_are_counted_together():
    table = pd.DataFrame(
        {
            "protocol": "paper",
            "distance": [30.0, 30.0, 60.0, 60.0],
            "group": ["bird 1", "bird 2"] * 2,
            "detector": "averaged flux",
            "threshold": 1.0,
            "false_alarms": [1, 2, 30, 40],
            "duration": 100.0,
            "mtbfa": 0.0,
        }
    )
    assert seeds.pooled(table).to_dict("list") == {
        "protocol": ["paper", "paper"],
        "distance": [30.0, 60.0],
        "detector": ["averaged flux", "averaged flux"],
        "false_alarms": [3, 70],
        "duration": [200.0, 200.0],
        "n_groups": [2, 2],
    }


def test_a_seed_is_the_experiment_with_that_seed(small, tmp_path):
    seeds.store(NAME, seeds=[5, 3], jobs=1, kept=tmp_path, folder=tmp_path)
    table = seeds.load(NAME, folder=tmp_path)
    assert table["seed"].unique().tolist() == [5, 3]
    again = seeds.pooled(evaluate(replace(SMALL, seed=3), *small.of, jobs=1)).assign(seed=3)
    stored.check_same(
        NAME,
        table[table["seed"] == 3],
        again,
        keys=seeds.KEYS,
        tolerances=dict.fromkeys(["false_alarms", "duration", "n_groups"], 0.0),
    )
    assert table["false_alarms"].nunique() > 3


def test_the_paper_has_its_sizes():
    bird, whale = (seeds.EXPERIMENTS[name].dataset for name in PAPER)
    assert bird == SimulatedNighthawk(n_scenes=240)
    assert whale == SimulatedRightWhale()
    assert len(bird.clips) == 704
    (protocols,) = seeds.EXPERIMENTS["nighthawk-seeds"].of
    assert list(protocols) == ["paper", "released", "no minimum"]
    assert [len(seeded.SEEDS), len(seeded.OTHER_SEEDS)] == [20, 20]
    assert not set(seeded.SEEDS) & set(seeded.OTHER_SEEDS)


# What is kept


@pytest.mark.usefixtures("small")
def test_the_table_does_not_depend_on_the_number_of_workers(tmp_path):
    one, _ = stored_rows(tmp_path, "one", seeds=[1, 2, 3], jobs=1)
    two, _ = stored_rows(tmp_path, "two", seeds=[1, 2, 3], jobs=2)
    assert one == two


@pytest.mark.usefixtures("small")
def test_finished_seeds_are_not_run_again(tmp_path, monkeypatch):
    alone, kept = stored_rows(tmp_path, seeds=[1, 2], jobs=1)
    lines = kept.read_bytes()

    def refuse(*_, **__):
        raise AssertionError("run again")

    monkeypatch.setattr(seeds, "evaluate", refuse)
    assert stored_rows(tmp_path, seeds=[1, 2], jobs=1)[0] == alone
    assert kept.read_bytes() == lines
    with pytest.raises(OSError, match=r"2 of 3 done, 1 failed\s+3: AssertionError: run again"):
        stored_rows(tmp_path, seeds=[1, 2, 3], jobs=1)


def test_what_is_kept_belongs_to_a_definition_and_to_the_code(small, tmp_path, monkeypatch):
    stored_rows(tmp_path, seeds=[1], jobs=1)
    monkeypatch.setitem(seeds.EXPERIMENTS, NAME, replace(small, dataset=replace(SMALL, n_calls=3)))
    stored_rows(tmp_path, seeds=[1], jobs=1)
    monkeypatch.setattr(seeds, "_sources", lambda: "other code")
    stored_rows(tmp_path, seeds=[1], jobs=1)
    assert len(list((tmp_path / "a").glob("*.jsonl"))) == 3


def test_every_source_is_there():
    root = Path(seeds.__file__).parents[1]
    assert all(list(root.glob(pattern)) for pattern in seeds.SOURCES)


SCRIPT = """
import sys
from dataclasses import replace
from pathlib import Path

from pcenlib.experiments import seeds
from tests.experiments.test_seeds import NAME, SMALL

seeds.EXPERIMENTS[NAME] = replace(seeds.EXPERIMENTS[NAME], dataset=SMALL)
seeds.store(NAME, seeds=range(8), jobs=2, kept=Path(sys.argv[1]), folder=Path(sys.argv[1]))
"""


@pytest.mark.skipif(os.name != "posix", reason="kills a group of processes")
@pytest.mark.usefixtures("small")
def test_a_killed_run_goes_on(tmp_path):
    """A run is killed as soon as a few seeds are kept, and started again."""
    folder = tmp_path / "killed"
    command = [sys.executable, "-c", SCRIPT, str(folder)]
    process = subprocess.Popen(command, cwd=ROOT, start_new_session=True, stderr=subprocess.DEVNULL)
    lines, deadline = 0, time.monotonic() + 60
    while lines < 3 and process.poll() is None and time.monotonic() < deadline:
        lines = sum(path.read_bytes().count(b"\n") for path in folder.glob("*.jsonl"))
        time.sleep(0.002)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not list(folder.glob("*.csv"))
    (kept,) = folder.glob("*.jsonl")
    before = kept.read_bytes().rpartition(b"\n")[0]
    assert 2 <= before.count(b"\n") < 8  # the header and some seeds, but not all
    went_on, kept = stored_rows(tmp_path, "killed", seeds=range(8), jobs=1)
    assert kept.read_bytes().startswith(before)
    assert went_on == stored_rows(tmp_path, "whole", seeds=range(8), jobs=1)[0]


# What is stored


def test_a_table_says_what_it_is(small, tmp_path):
    text, _ = stored_rows(tmp_path, seeds=[1, 2], jobs=1)
    provenance = stored.load(NAME, folder=tmp_path / "a").provenance
    assert provenance["definition"] == small.definition
    assert provenance["seeds"] == [1, 2]
    assert len(provenance["rows"]) == 64
    assert set(provenance) == {"definition", "pcenlib", "seeds", "rows"}
    assert_frame_equal(seeds.load(NAME, folder=tmp_path / "a"), stored.load(NAME, folder=tmp_path / "a").table)
    assert len(json.dumps(text)) < 10_000


@pytest.mark.usefixtures("small")
def test_changed_rows_are_refused(tmp_path):
    seeds.store(NAME, seeds=[1], jobs=1, kept=tmp_path, folder=tmp_path)
    path = tmp_path / f"{NAME}.csv"
    *lines, last = path.read_text(encoding="utf-8").splitlines()
    seed, protocol, distance, detector, alarms, *rest = last.split(",")
    changed = ",".join([seed, protocol, distance, detector, str(int(alarms) + 1), *rest])
    path.write_text("\n".join([*lines, changed, ""]), encoding="utf-8")
    with pytest.raises(ValueError, match="rows of the stored table right-whale-seeds must be those that were computed"):
        seeds.load(NAME, folder=tmp_path)


@pytest.mark.parametrize("name", seeds.EXPERIMENTS)
def test_the_stored_tables_are_whole_and_small(name):
    table = seeds.load(name)
    experiment = seeds.EXPERIMENTS[name]
    assert table["seed"].unique().tolist() == list(experiment.seeds)
    assert not table.duplicated(list(experiment.keys)).any()
    assert (stored.FOLDER / f"{name}.csv").stat().st_size < 400_000


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_tables_have_every_detector_at_every_distance(name):
    table, experiment = seeds.load(name), seeds.EXPERIMENTS[name]
    (protocols,) = experiment.of
    n_distances = len({clip.distance for clip in experiment.dataset.clips})
    assert (table.groupby("seed").size() == 3 * n_distances * len(protocols)).all()
    assert (table["n_groups"] == 5).all()


# The command


def test_the_command_stores_what_is_asked_for(monkeypatch, capsys, tmp_path):
    asked = []

    def store(name, *, jobs):
        asked.append((name, jobs))
        (tmp_path / name).write_text("table")
        return tmp_path / name

    monkeypatch.setattr(seeds, "store", store)
    seeds.main([])
    seeds.main([NAME, "--jobs", "3"])
    assert asked == [*((name, None) for name in seeds.EXPERIMENTS), (NAME, 3)]
    assert f"{NAME}: 40 seeds" in capsys.readouterr().out
