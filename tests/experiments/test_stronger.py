"""Stronger detectors: alarms at many recalls by hand, and both experiments on small data sets."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pcenlib.datasets.catalogue import find
from pcenlib.datasets.right_whale import SimulatedRightWhale
from pcenlib.experiments import lineups, recalls, stronger
from pcenlib.experiments.evaluate import evaluate
from pcenlib.experiments.protocols import RIGHT_WHALE_PAPER
from tests.experiments.homes import whales_home

RECALLS = [f"{100 * recall:.0f}" for recall in recalls.RECALLS]


# Simulated

SMALL = SimulatedRightWhale(n_bins=2, n_calls=3, n_days=2, n_ships=2, duration=40.0)


@pytest.fixture(scope="module")
def whales():
    few = ("averaged flux", "max-pooled flux", "max-pooled PCEN")
    return stronger.simulated(SMALL, {"all": lineups.SIMULATED_WHALES["all"]}, 1000.0), few


def test_at_half_recall_the_simulation_is_the_papers_evaluation(whales):
    table, few = whales
    assert table["detector"].tolist() == list(few)
    assert (table["distance"] == 500).all()
    theirs = evaluate(SMALL, {"paper": RIGHT_WHALE_PAPER}, jobs=1).query("distance == 500")
    theirs = theirs.groupby("detector", observed=True)[["false_alarms", "duration"]].sum()
    assert table["50"].tolist() == theirs["false_alarms"].tolist()
    assert_allclose(table["duration"], theirs["duration"], atol=0.05)


def test_more_recall_costs_more_alarms_or_as_many(whales):
    table, _ = whales
    pcen = table[table["detector"] == "max-pooled PCEN"]
    assert (pcen[RECALLS].diff(axis=1).iloc[:, 1:] >= 0).all(axis=None)
    assert table["area"].between(0, 1).all()


# Recorded


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    home = whales_home(tmp_path_factory.mktemp("whales"))
    few = (*lineups.DETECTORS, lineups.SLOWER_PCEN, "over median, minus bands")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stronger, "N_RESAMPLES", 20)
        patch.setattr(stronger, "N_AREAS", 5)
        patch.setattr(stronger, "WHALES", {"call": lineups.replace(lineups.WHALES["call"], names=few)})
        return few, stronger.recorded(find("narw", home), find("deepship", home), jobs=1)


def test_each_detector_has_a_row_for_each_recall_and_one_for_all(recorded):
    few, table = recorded
    assert not table.duplicated(list(stronger.EXPERIMENTS["stronger-whales"].keys)).any()
    assert len(table) == (len(few) + 1) * (len(recalls.RECALLS) + 1)
    counted = table[table["recall"].notna() & (table["detector"] != recalls.EITHER_FLUX)]
    assert counted[["threshold", "false_alarms", "mtbfa", "mtbfa_low", "mtbfa_high"]].notna().all(axis=None)
    assert (counted["mtbfa_low"] <= counted["mtbfa_high"]).all()


def test_ratios_and_areas_belong_to_the_counts(recorded):
    _, table = recorded
    counts = table.pivot(index="recall", columns="detector", values="false_alarms").dropna(how="all") + 0.5
    ratios = table.pivot(index="recall", columns="detector", values="over_pcen")
    flux = np.minimum(counts["averaged flux"], counts["max-pooled flux"]) / counts["max-pooled PCEN"]
    assert_allclose(ratios[recalls.EITHER_FLUX].loc[list(flux.index)], flux)
    everything = table[table["recall"].isna()].set_index("detector")
    assert everything.loc[recalls.EITHER_FLUX, "over_pcen"] == pytest.approx(np.exp(np.log(flux).mean()))
    assert everything.loc["max-pooled PCEN", "over_pcen"] == 1
    assert everything.loc["slower PCEN", "over_slower"] == 1
    areas = everything[["area", "area_low", "area_high", "area_ships"]].drop(recalls.EITHER_FLUX)
    assert areas.apply(lambda column: column.between(0, 1)).all(axis=None)
    assert table.loc[table["recall"].notna(), "area"].isna().all()
