"""Stronger detectors: alarms at many recalls by hand, and both experiments on small data sets."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib.datasets.catalogue import find
from pcenlib.datasets.right_whale import SimulatedRightWhale
from pcenlib.experiments import lineups, stronger
from pcenlib.experiments.evaluate import evaluate
from pcenlib.experiments.protocols import RIGHT_WHALE_PAPER
from tests.experiments.homes import whales_home

RECALLS = [f"{100 * recall:.0f}" for recall in stronger.RECALLS]


# By hand


def test_false_alarms_at_each_recall_by_hand():
    values = pd.DataFrame({"distance": 0.0, "group": "all", "detector": "a", "value": np.arange(1.0, 11)})
    recordings = [{"a": np.array([0, 5.5, 0, 9.5, 9.5, 0])}, {"a": np.array([5.5, 2.5])}]
    table = stronger.at_recalls(values, recordings, RIGHT_WHALE_PAPER, recalls=[0.2, 0.5, 0.75])
    assert table["recall"].tolist() == [0.2, 0.5, 0.75]
    assert_allclose(table["threshold"], [8.5, 5.5, 3.0])
    assert table["false_alarms"].tolist() == [1, 1, 3]  # runs of frames that are above
    assert_allclose(table["duration"], 8 * 0.064)
    assert_allclose(table["mtbfa"], table["duration"] / table["false_alarms"])


def test_the_better_form_of_flux_is_chosen_at_each_recall():
    counts = {"averaged flux": [5] * 4 + [9] * 4, "max-pooled flux": [7] * 8, "max-pooled PCEN": [1] * 8}
    rows = [
        {
            "bands": "all",
            "detector": name,
            "distance": 30.0,
            "duration": 10.0,
            **dict(zip(RECALLS, alarms, strict=True)),
        }
        for name, alarms in counts.items()
    ]
    long = stronger.by_recall(pd.DataFrame(rows))
    flux = long[long["detector"] == stronger.EITHER_FLUX].sort_values("recall")
    assert flux["false_alarms"].tolist() == [5] * 4 + [7] * 4
    assert_allclose(flux["recall"], stronger.RECALLS)
    seeds = pd.concat([pd.DataFrame(rows).assign(seed=seed) for seed in (1, 2)])
    seeds.loc[(seeds["seed"] == 2) & (seeds["detector"] == "max-pooled PCEN"), RECALLS] = 4
    ratios = stronger.over_seeds(seeds).set_index("detector")
    of_seeds = [np.sqrt(5.5 * 7.5) / pcen for pcen in (1.5, 4.5)]
    assert ratios.loc[stronger.EITHER_FLUX, "estimate"] == pytest.approx(np.sqrt(np.prod(of_seeds)))
    assert ratios.loc["max-pooled PCEN", ["estimate", "low", "high"]].tolist() == pytest.approx([1, 1, 1])
    assert ratios.loc[stronger.EITHER_FLUX, "low"] < of_seeds[1] < of_seeds[0]


def test_stretches_are_as_long_as_a_clip_and_never_of_two_recordings():
    assert_array_equal(stronger.stretches([[1, 2, 3, 4, 5], [6, 0], [9]], 2), [2, 4, 6])


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
    assert len(table) == (len(few) + 1) * (len(stronger.RECALLS) + 1)
    counted = table[table["recall"].notna() & (table["detector"] != stronger.EITHER_FLUX)]
    assert counted[["threshold", "false_alarms", "mtbfa", "mtbfa_low", "mtbfa_high"]].notna().all(axis=None)
    assert (counted["mtbfa_low"] <= counted["mtbfa_high"]).all()


def test_ratios_and_areas_belong_to_the_counts(recorded):
    _, table = recorded
    counts = table.pivot(index="recall", columns="detector", values="false_alarms").dropna(how="all") + 0.5
    ratios = table.pivot(index="recall", columns="detector", values="over_pcen")
    flux = np.minimum(counts["averaged flux"], counts["max-pooled flux"]) / counts["max-pooled PCEN"]
    assert_allclose(ratios[stronger.EITHER_FLUX].loc[list(flux.index)], flux)
    everything = table[table["recall"].isna()].set_index("detector")
    assert everything.loc[stronger.EITHER_FLUX, "over_pcen"] == pytest.approx(np.exp(np.log(flux).mean()))
    assert everything.loc["max-pooled PCEN", "over_pcen"] == 1
    assert everything.loc["slower PCEN", "over_slower"] == 1
    areas = everything[["area", "area_low", "area_high", "area_ships"]].drop(stronger.EITHER_FLUX)
    assert areas.apply(lambda column: column.between(0, 1)).all(axis=None)
    assert table.loc[table["recall"].notna(), "area"].isna().all()
