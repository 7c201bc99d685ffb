"""Whether another set of seeds gives the same outcome."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from pcenlib.book.claims import in_words, judge, ledger
from pcenlib.experiments.intervals import mean_interval
from pcenlib.experiments.seeded import OTHER_SEEDS, SEEDS

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BySeed", "outcomes"]


class BySeed(NamedTuple):
    """What each seed says about a claim."""

    values: "pd.Series[float]"
    """Indexed by seed."""
    log: bool = False
    """Whether their mean is geometric."""

    def mean(self, seeds: range = SEEDS) -> dict[str, float]:
        """The `mean_interval` over some of the seeds: those of the rules, by default."""
        return mean_interval(self.values[self.values.index.isin(seeds)], log=self.log)


def outcomes(found: Mapping[tuple[str, str], BySeed]) -> "pd.DataFrame":
    """Estimates and outcomes from the seeds of the rules, and from as many others.

    Parameters
    ----------
    found : mapping of (str, str) to BySeed
        For each claim and row of evidence, what each seed says.

    Returns
    -------
    DataFrame
        Indexed by claim and row; for each set of seeds its estimate, in words, and outcome.
    """
    import pandas as pd

    rows = []
    for (id, name), by_seed in found.items():
        evidence = ledger()[id].evidence[name]
        if evidence.agreement is None:
            raise ValueError(f"found must be of rows that have an agreement, got {id}, {name}")
        for seeds in (SEEDS, OTHER_SEEDS):
            mean = by_seed.mean(seeds)
            outcome = judge(evidence.evidence, evidence.agreement, mean["low"], mean["high"])
            rows.append((id, name, f"seeds {seeds[0]} to {seeds[-1]}", in_words(**mean), outcome))
    table = pd.DataFrame(rows, columns=["claim", "row", "seeds", "estimate", "outcome"])
    wide = table.pivot(index=["claim", "row"], columns="seeds").swaplevel(axis=1).sort_index(axis=1)
    return wide.loc[list(found)]
