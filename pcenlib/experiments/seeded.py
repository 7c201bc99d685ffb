"""Simulated experiments that are run with many seeds: what one of them is, before `seeds` runs and stores it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pcenlib.experiments import stored

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BOTH", "OTHER_SEEDS", "SEEDS", "Seeded"]


SEEDS = range(2019, 2039)
"""The seeds that the ledger's rules on figures 2 and 3 are about."""
OTHER_SEEDS = range(2039, 2059)
"""As many again, to see whether the outcomes are the same."""
BOTH = (*SEEDS, *OTHER_SEEDS)
"""All of them."""


@dataclass(frozen=True, kw_only=True)
class Seeded:
    """An experiment on simulated sound that is run with many seeds.

    Parameters
    ----------
    dataset : dataclass with a field `seed`
        The data set, of any seed.
    measure : callable
        A function of a module: from the data set, and what else the table is a result `of`, to a table.
    of : tuple
        The further arguments of `measure`. Their texts are part of the definition.
    keys : tuple of str
        Columns that tell the rows of one seed apart.
    seeds : sequence of int
        Which seeds are stored.
    """

    dataset: Any
    measure: "Callable[..., pd.DataFrame]"
    of: tuple[Any, ...] = ()
    keys: tuple[str, ...]
    seeds: Sequence[int] = BOTH

    @property
    def definition(self) -> str:
        """What a table of it is a result of, the seeds aside."""
        return stored.describe(replace(self.dataset, seed=0), *self.of)

    def table(self, seed: int) -> "pd.DataFrame":
        """The table of one seed, after a column with the seed."""
        table = self.measure(replace(self.dataset, seed=seed), *self.of)
        table.insert(0, "seed", seed)
        return table
