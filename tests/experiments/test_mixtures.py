"""Mixtures of kinds of nights."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from pcenlib.datasets.nighthawk import SimulatedNighthawk
from pcenlib.experiments.evaluate import evaluate
from pcenlib.experiments.mixtures import alarms_by_kind, mixture_ratio
from pcenlib.experiments.protocols import NIGHTHAWK_PAPER
from pcenlib.simulation.scenes import Night


def test_alarms_of_a_kind_are_those_of_the_experiment_in_it():
    dataset = SimulatedNighthawk(seed=1, n_calls=6, n_birds=2, n_scenes=2, distances=(100, 300))
    alarms = alarms_by_kind(dataset, {"usual": dataset.night, "wet": Night(rainy=1)}, NIGHTHAWK_PAPER, jobs=1)
    table = evaluate(dataset, {"": NIGHTHAWK_PAPER}, jobs=1)
    expected = table.groupby(["detector", "distance"], observed=True)["false_alarms"].sum() / 2
    assert_allclose(alarms["usual"], expected.loc[alarms.index])
    assert (alarms["wet"] != alarms["usual"]).any()
    once = alarms_by_kind(replace(dataset, n_birds=1), {"usual": dataset.night}, NIGHTHAWK_PAPER, jobs=1)
    assert once.index.equals(alarms.index)


def table(**kinds):
    index = pd.MultiIndex.from_product([["flux", "PCEN"], [30.0, 300.0]], names=["detector", "distance"])
    return pd.DataFrame(kinds, index=index)


def test_the_ratio_of_a_mixture():
    alarms = table(calm=[0, 4, 0, 1], rain=[100, 100, 10, 50])
    options = {"n_scenes": 10, "detector": "PCEN", "over": "flux"}
    assert mixture_ratio(alarms, {"calm": 1}, **options) == pytest.approx(np.sqrt(1 * 40.5 / 10.5))
    wet = np.sqrt((100.5 / 10.5) * (136.5 / 59.5))
    assert mixture_ratio(alarms, {"calm": 0.9, "rain": 0.1}, **options) == pytest.approx(wet)


@pytest.mark.parametrize("share", [0.5, 1.5])
def test_shares_add_up_to_1(share):
    with pytest.raises(ValueError, match=r"^shares must add up to 1"):
        mixture_ratio(table(calm=[0, 0, 0, 0]), {"calm": share}, n_scenes=1)
