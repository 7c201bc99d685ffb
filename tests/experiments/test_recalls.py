"""Many recalls: alarms, ratios and stretches by hand."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib.experiments import recalls
from pcenlib.experiments.protocols import RIGHT_WHALE_PAPER

RECALLS = [f"{100 * recall:.0f}" for recall in recalls.RECALLS]


def test_false_alarms_at_each_recall_by_hand():
    values = pd.DataFrame({"distance": 0.0, "group": "all", "detector": "a", "value": np.arange(1.0, 11)})
    recordings = [{"a": np.array([0, 5.5, 0, 9.5, 9.5, 0])}, {"a": np.array([5.5, 2.5])}]
    table = recalls.at_recalls(values, recordings, RIGHT_WHALE_PAPER, recalls=[0.2, 0.5, 0.75])
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
    long = recalls.by_recall(pd.DataFrame(rows))
    flux = long[long["detector"] == recalls.EITHER_FLUX].sort_values("recall")
    assert flux["false_alarms"].tolist() == [5] * 4 + [7] * 4
    assert_allclose(flux["recall"], recalls.RECALLS)
    seeds = pd.concat([pd.DataFrame(rows).assign(seed=seed) for seed in (1, 2)])
    seeds.loc[(seeds["seed"] == 2) & (seeds["detector"] == "max-pooled PCEN"), RECALLS] = 4
    ratios = recalls.over_seeds(seeds).set_index("detector")
    of_seeds = [np.sqrt(5.5 * 7.5) / pcen for pcen in (1.5, 4.5)]
    assert ratios.loc[recalls.EITHER_FLUX, "estimate"] == pytest.approx(np.sqrt(np.prod(of_seeds)))
    assert ratios.loc["max-pooled PCEN", ["estimate", "low", "high"]].tolist() == pytest.approx([1, 1, 1])
    assert ratios.loc[recalls.EITHER_FLUX, "low"] < of_seeds[1] < of_seeds[0]


def test_stretches_are_as_long_as_a_clip_and_never_of_two_recordings():
    assert_array_equal(recalls.stretches([[1, 2, 3, 4, 5], [6, 0], [9]], 2), [2, 4, 6])


def test_ratios_of_recorded_and_simulated_sound_are_one_table():
    whales = pd.DataFrame(
        {
            "ships": ["A", "A"],
            "bands": "call",
            "detector": ["a", "a"],
            "recall": [0.5, np.nan],
            **{f"{name}{end}": [9.0, 2.0] for name in ("over_pcen", "over_slower") for end in ("", "_low", "_high")},
        }
    )
    rows = [
        {"seed": seed, "bands": "call", "detector": name, "distance": 1.0, "duration": 1.0, **dict.fromkeys(RECALLS, n)}
        for seed in (1, 2)
        for name, n in {"averaged flux": 7, "max-pooled flux": 3, "max-pooled PCEN": 0}.items()
    ]
    table = recalls.ratios(whales, {"sea": pd.DataFrame(rows)}).set_index(["evidence", "detector"])["estimate"]
    assert table["A", "a"] == 2
    assert table["sea", "averaged flux"] == pytest.approx(15)
    assert table["sea", recalls.EITHER_FLUX] == pytest.approx(7)
