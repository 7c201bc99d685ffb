"""An experiment with seeds: its definition and the table of one seed."""

from dataclasses import dataclass, replace

import pandas as pd

from pcenlib.experiments.seeded import BOTH, Seeded


@dataclass(frozen=True)
class Dice:
    seed: int
    sides: int = 6


def throw(dice, times):
    return pd.DataFrame({"throw": range(times), "value": [(dice.seed + k) % dice.sides for k in range(times)]})


EXPERIMENT = Seeded(dataset=Dice(0), measure=throw, of=(3,), keys=("seed", "throw"))


def test_a_table_is_what_was_measured_with_its_seed():
    table = EXPERIMENT.table(7)
    assert table.to_dict("list") == {"seed": [7, 7, 7], "throw": [0, 1, 2], "value": [1, 2, 3]}
    assert EXPERIMENT.seeds == BOTH


def test_the_definition_has_all_but_the_seed():
    same = replace(EXPERIMENT, dataset=Dice(5))
    assert same.definition == EXPERIMENT.definition
    others = [replace(EXPERIMENT, dataset=Dice(0, sides=8)), replace(EXPERIMENT, of=(4,))]
    assert len({each.definition for each in (EXPERIMENT, *others)}) == 3
