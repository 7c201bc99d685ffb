"""Another set of seeds: the rule is the same, the numbers are others."""

import numpy as np
import pandas as pd
import pytest

from pcenlib.book.repetition import BySeed, outcomes
from pcenlib.experiments.intervals import mean_interval
from pcenlib.experiments.seeded import OTHER_SEEDS, SEEDS


def by_seed(first, others, *, spread=0.01, log=False):
    """Values around one center in the seeds of the rules, and around another in the others."""
    index = pd.Index([*SEEDS, *OTHER_SEEDS], name="seed")
    values = np.repeat([first, others], 20) * (1 + spread * np.tile([-1, 1], 20))
    return BySeed(pd.Series(values, index), log)


def test_each_set_is_judged_by_itself():
    found = {
        ("fig3-twelve", "simulated"): by_seed(12, 25),
        ("fig2-five", "simulated"): by_seed(5, 5, log=True),
        ("fig2-five", "simulated-released"): by_seed(1, 3.33, log=True),
    }
    table = outcomes(found)
    first, others = table["seeds 2019 to 2038"], table["seeds 2039 to 2058"]
    assert table.index.tolist() == list(found)
    assert first["outcome"].tolist() == ["supported", "supported", "not supported"]
    assert others["outcome"].tolist() == ["not supported", "supported", "inconclusive"]
    assert others["estimate"].iloc[0].startswith("25 (95 % 24.9 to 25.1)")


def test_the_mean_is_that_of_the_rules():
    seeds = by_seed(2, 7, log=True)
    assert seeds.mean() == mean_interval(seeds.values[:20], log=True)
    assert seeds.mean(OTHER_SEEDS)["estimate"] == pytest.approx(7, rel=1e-3)


def test_a_row_without_an_interval_has_no_seeds():
    with pytest.raises(ValueError, match="found must be of rows that have an agreement, got birdvox-frames, exact"):
        outcomes({("birdvox-frames", "exact"): by_seed(1, 1)})
