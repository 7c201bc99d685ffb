"""The paper's data sets by one name, on synthetic copies."""

import json
from pathlib import Path

import numpy as np
import papermill
import pytest
from papermill.exceptions import PapermillExecutionError

from pcenlib.book import claims
from pcenlib.datasets.interface import Paired
from pcenlib.datasets.nighthawk import SimulatedNighthawk
from pcenlib.datasets.paper import paper_data_set
from pcenlib.datasets.right_whale import SimulatedRightWhale
from pcenlib.experiments.evaluate import evaluate
from pcenlib.experiments.protocols import NIGHTHAWK_PAPER, NIGHTHAWK_RELEASED, RIGHT_WHALE_PAPER, RIGHT_WHALE_RELEASED
from tests import copies


@pytest.mark.parametrize(
    ("experiment", "protocols"),
    [
        ("nighthawk", {"paper": NIGHTHAWK_PAPER, "released": NIGHTHAWK_RELEASED}),
        ("right-whale", {"paper": RIGHT_WHALE_PAPER, "released": RIGHT_WHALE_RELEASED}),
    ],
)
def test_real_sets_run_under_both_protocols(wholes, experiment, protocols):
    dataset = paper_data_set(experiment, data="real", home=wholes[0])
    table = evaluate(dataset, protocols, jobs=1)
    assert set(table["protocol"]) == {"paper", "released"}
    assert sorted(table["distance"].unique()) == ([30, 500] if experiment == "nighthawk" else [500, 12500])
    assert np.isfinite(table["threshold"]).all()
    assert (table["duration"] > 0).all()


def test_simulated_sets_take_their_options():
    assert paper_data_set("nighthawk", seed=3) == SimulatedNighthawk(seed=3)
    assert paper_data_set("right-whale", data="simulated", seed=4) == SimulatedRightWhale(seed=4)


def test_what_is_missing_is_named_with_how_to_get_it(tmp_path, monkeypatch):
    (tmp_path / "birdvox_dcase20k").mkdir()
    with pytest.raises(FileNotFoundError, match=r"needs coni_knight in the data home .*CONI-Knight: ask the authors"):
        paper_data_set("nighthawk", data="real", home=tmp_path)
    monkeypatch.delenv("PCENLIB_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"ccb18 and shipsear in a data home, which PCENLIB_DATA must name"):
        paper_data_set("right-whale", data="real")
    with pytest.raises(ValueError, match="experiment must be one of nighthawk, right-whale, got 'owl'"):
        paper_data_set("owl")
    with pytest.raises(ValueError, match="data must be simulated or real"):
        paper_data_set("nighthawk", data="recorded")


NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


def run_chapter(chapter, target, **parameters):
    options = {"kernel_name": "python3", "cwd": target.parent, "progress_bar": False}
    papermill.execute_notebook(NOTEBOOKS / chapter, target, parameters={"jobs": 1, **parameters}, **options)
    cells = json.loads(target.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    printed = "".join("".join(output.get("text", "")) for output in outputs)
    return printed, [kind for output in outputs for kind in output.get("data", {})]


def test_chapter_3_3_runs_on_real_sets_and_keeps_the_outcomes_of_the_stored_seeds(tmp_path):
    for name in ("coni_knight", "birdvox_dcase20k"):
        (tmp_path / name).mkdir()
        copies.MAKERS[name](tmp_path / name)
    printed, kinds = run_chapter("03-3-results.ipynb", tmp_path / "executed.ipynb", data="real", home=str(tmp_path))
    assert "6 clips with a call, 2 scenes without" in printed
    assert "as stored" not in printed  # what is real is not compared with a seed
    assert kinds.count("image/png") == 3  # figure 2, the ratios, and without minima
    assert kinds.count(claims.MIMETYPE) == 5  # the factor and the range under both protocols, and arithmetic


def test_chapter_4_2_runs_on_real_sets_and_keeps_the_outcomes_of_the_stored_seeds(tmp_path):
    for name in ("ccb18", "shipsear"):
        (tmp_path / name).mkdir()
        copies.MAKERS[name](tmp_path / name)
    lines = [
        (date, channel, begin + 10 * km, begin + 10 * km + 1, km + 0.4)
        for date, begin in ((219, 1000), (417, 23.8 * 3600))
        for km in range(14)
        for channel in (1, 4)
    ]
    file, _ = copies.TABLES["ccb18"]
    copies.table(tmp_path / "ccb18" / file, ["Date", "Channel", "Begin.Time..s.", "End.Time..s.", "DistanceKm"], lines)
    printed, kinds = run_chapter("04-2-results.ipynb", tmp_path / "executed.ipynb", data="real", home=str(tmp_path))
    assert "real: 56 clips with a call, 2 recordings of ships" in printed
    assert "as stored" not in printed
    assert kinds.count("image/png") == 4  # figure 3, the ratios, the fits, and the unknowns
    assert kinds.count(claims.MIMETYPE) == 8  # three claims under both protocols, the fits, and the abstract


@pytest.mark.parametrize("chapter", ["03-3-results.ipynb", "04-2-results.ipynb"])
def test_chapters_say_which_data_they_can_have(chapter, tmp_path):
    with pytest.raises(PapermillExecutionError, match="data must be simulated or real, got 'recorded'"):
        run_chapter(chapter, tmp_path / "executed.ipynb", data="recorded")


def test_pairs_are_of_the_sets_of_the_paper(wholes):
    dataset = paper_data_set("nighthawk", data="real", home=wholes[0])
    assert isinstance(dataset, Paired)
    assert len(dataset.recordings) == 2
    assert len(dataset.clips) == 6
