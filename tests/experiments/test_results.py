"""Results on real sound: stored, computed again, and compared."""

from dataclasses import replace

import pandas as pd
import pytest

from pcenlib.experiments import stored
from pcenlib.experiments.results import EXPERIMENTS, compute, result, store
from pcenlib.experiments.stored import Experiment
from tests import copies
from tests.experiments.homes import home_of


def counting(dataset):
    return pd.DataFrame({"set": [dataset.about.title], "n": [len(dataset.recordings)]})


@pytest.fixture
def experiment(monkeypatch):
    toy = Experiment(run=counting, sets=("shipsear",), definition="counting", keys=("set",), tolerances={"n": 0})
    monkeypatch.setitem(EXPERIMENTS, "toy", toy)
    return toy


@pytest.mark.usefixtures("experiment")
def test_without_the_recordings_the_stored_result_is_shown(tmp_path):
    home = home_of(tmp_path / "home", "shipsear")
    store("toy", home, folder=tmp_path)
    assert compute("toy", tmp_path / "elsewhere") is None
    shown = result("toy", tmp_path / "elsewhere", folder=tmp_path)
    assert shown.computed is None
    assert list(shown.tables) == ["stored"]
    assert "ShipsEar: 2 recordings" in str(shown)
    assert "not computed again" in str(shown)
    with pytest.raises(FileNotFoundError, match="toy needs the data sets shipsear"):
        store("toy", tmp_path / "elsewhere", folder=tmp_path)


@pytest.mark.usefixtures("experiment")
def test_with_the_same_files_the_result_must_be_the_same(tmp_path):
    home = home_of(tmp_path / "home", "shipsear")
    store("toy", home, folder=tmp_path)
    shown = result("toy", home, folder=tmp_path)
    assert shown.same_files
    assert list(shown.tables) == ["stored"]
    assert shown.others == {}
    assert "the same result" in str(shown)
    path = tmp_path / "toy.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("ShipsEar,2", "ShipsEar,3"), encoding="utf-8")
    with pytest.raises(ValueError, match=r"(?s)toy is stale, compute it again: n .*3\.0 != 2\.0"):
        result("toy", home, folder=tmp_path)


@pytest.mark.usefixtures("experiment")
def test_with_other_files_both_results_are_shown(tmp_path):
    home = home_of(tmp_path / "home", "shipsear")
    store("toy", home, folder=tmp_path)
    copies.sound(home / "shipsear" / "another.wav", 4, 52734)
    shown = result("toy", home, folder=tmp_path)
    assert not shown.same_files
    assert [table["n"].item() for table in shown.tables.values()] == [2, 3]
    assert list(shown.others) == ["computed here"]
    assert "computed again, from these files:\n  ShipsEar: 3 recordings" in str(shown)


@pytest.mark.usefixtures("experiment")
def test_files_of_the_same_names_and_sizes_with_other_samples_are_others(tmp_path):
    home = home_of(tmp_path / "home", "shipsear")
    store("toy", home, folder=tmp_path)
    path = min((home / "shipsear").iterdir())
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert not result("toy", home, folder=tmp_path).same_files
    path.write_bytes(content)
    assert result("toy", home, folder=tmp_path).same_files


def test_a_result_of_another_definition_is_refused(tmp_path, experiment, monkeypatch):
    store("toy", home_of(tmp_path / "home", "shipsear"), folder=tmp_path)
    monkeypatch.setitem(EXPERIMENTS, "toy", replace(experiment, definition="counting twice"))
    with pytest.raises(ValueError, match="stale"):
        result("toy", tmp_path, folder=tmp_path)


def test_further_sets_are_taken_if_they_are_there(tmp_path, experiment, monkeypatch):
    def first_and_others(*sets):
        return pd.DataFrame({"set": [each.about.title for each in sets]})

    monkeypatch.setitem(EXPERIMENTS, "toy", replace(experiment, run=first_and_others, further=("deepship",)))
    home = home_of(tmp_path, "shipsear")
    assert list(compute("toy", home).table["set"]) == ["ShipsEar"]
    home_of(tmp_path, "deepship")
    assert list(compute("toy", home).provenance["sets"]) == ["shipsear", "deepship"]


def test_an_unknown_experiment_is_refused():
    with pytest.raises(ValueError, match=r"name must be one of right-whales-and-ships, .* got 'birds'"):
        result("birds")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_stored_result_is_of_the_present_definition_and_can_be_told_apart(name):
    table, provenance = stored.load(name, definition=EXPERIMENTS[name].definition)
    assert set(provenance["sets"]) >= set(EXPERIMENTS[name].sets)
    assert not table.duplicated(list(EXPERIMENTS[name].keys)).any()
    assert set(EXPERIMENTS[name].tolerances) <= set(table.columns)
