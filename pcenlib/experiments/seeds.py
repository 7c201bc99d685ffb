"""Simulated experiments with many seeds: what one night or one fleet says by chance, and what all of them say.

``python -m pcenlib.experiments.seeds`` runs every experiment with each of its seeds, on every core, and stores a table
for each. Every finished seed is kept at once in `_build/seeds`, so a run that was killed goes on where it was. What is
kept belongs to a definition and to the code that makes and measures the sound: change either, and all seeds run again.

A row of the tables of sections 3 and 4 is one detector at one distance, with one seed and protocol. Each group of
calls, a bird or a day, has its own thresholds; `false_alarms` are those at the thresholds of all groups together, and
`duration` counts the recordings as often as there are groups, so one over the other is the mean time between false
alarms.
"""

import argparse
import functools
import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcenlib.datasets.interface import DataSet
from pcenlib.datasets.nighthawk import SimulatedNighthawk
from pcenlib.datasets.right_whale import SimulatedRightWhale
from pcenlib.experiments import soundscapes, stored, stronger
from pcenlib.experiments.evaluate import evaluate
from pcenlib.experiments.protocols import (
    NIGHTHAWK_PAPER,
    NIGHTHAWK_RELEASED,
    RIGHT_WHALE_PAPER,
    RIGHT_WHALE_RELEASED,
    Protocol,
)
from pcenlib.experiments.seeded import Seeded
from pcenlib.experiments.tables import in_order
from pcenlib.jobs.run import run

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EXPERIMENTS", "KEPT", "KEYS", "load", "pooled", "store"]


KEPT = Path("_build/seeds")
"""Where finished seeds are kept."""

KEYS = ("seed", "protocol", "distance", "detector")
"""Columns that tell the rows of the tables of sections 3 and 4 apart."""

# Files that what is measured depends on, whatever the definition says.
SOURCES = ("core/*.py", "simulation/*.py", "datasets/*.py", "experiments/*.py")


def pooled(table: "pd.DataFrame") -> "pd.DataFrame":
    """False alarms of all groups together.

    Parameters
    ----------
    table : DataFrame
        From `evaluate`.

    Returns
    -------
    DataFrame
        Columns `protocol`, `distance`, `detector`; `false_alarms` and `duration`, each summed over groups; and
        `n_groups`. In the order of the table.
    """
    groups = in_order(table).groupby(list(KEYS[1:]), sort=False, observed=True)
    sums = {name: (name, "sum") for name in ("false_alarms", "duration")}
    return groups.agg(**sums, n_groups=("group", "size")).reset_index()


def _alarms(dataset: DataSet, protocols: Mapping[str, Protocol]) -> "pd.DataFrame":
    """False alarms of all groups together, of one seed."""
    return pooled(evaluate(dataset, protocols, jobs=1))


EXPERIMENTS: Mapping[str, Seeded] = {
    "nighthawk-seeds": Seeded(
        dataset=SimulatedNighthawk(n_scenes=240),
        measure=_alarms,
        of=(
            {
                "paper": NIGHTHAWK_PAPER,
                "released": NIGHTHAWK_RELEASED,
                "no minimum": replace(NIGHTHAWK_PAPER, minimum_subtracted=False),
            },
        ),
        keys=KEYS,
    ),
    "right-whale-seeds": Seeded(
        dataset=SimulatedRightWhale(),
        measure=_alarms,
        of=({"paper": RIGHT_WHALE_PAPER, "released": RIGHT_WHALE_RELEASED},),
        keys=KEYS,
    ),
    **soundscapes.SEEDED,
    **stronger.SEEDED,
}
"""Every experiment with seeds, by the name of its table; sections 3 and 4 first."""


def store(
    name: str,
    *,
    seeds: Sequence[int] | None = None,
    jobs: int | None = None,
    kept: Path = KEPT,
    folder: Path = stored.FOLDER,
) -> Path:
    """Run an experiment with every seed that is not kept yet, and store the table of all.

    Parameters
    ----------
    name : str
        A key of `EXPERIMENTS`.
    seeds : sequence of int, optional
        Which seeds; by default, those of the experiment.
    jobs : int, optional
        Number of workers; by default, as many as there are cores. The table does not depend on it.
    kept, folder : Path
        Where finished seeds are kept, and where the table is stored.

    Returns
    -------
    Path
        The file.
    """
    import pandas as pd

    experiment = EXPERIMENTS[name]
    seeds = experiment.seeds if seeds is None else seeds
    job = hashlib.sha256(f"{experiment.definition} {_sources()}".encode()).hexdigest()
    kept.mkdir(parents=True, exist_ok=True)
    outcome = run(
        functools.partial(_rows, experiment=experiment),
        seeds,
        jobs=jobs,
        checkpoint=kept / f"{name}-{job[:12]}.jsonl",
        job=job,
    )
    if outcome.failures:
        raise OSError(f"every seed must be run: {outcome}")
    tables = (pd.DataFrame(rows[1:], columns=rows[0]) for rows in outcome.results.values())
    table = pd.concat(tables, ignore_index=True)
    about = {"seeds": [min(seeds), max(seeds)], "rows": _content(table)}
    return stored.save(name, table, definition=experiment.definition, folder=folder, **about)


def load(name: str, *, folder: Path = stored.FOLDER) -> "pd.DataFrame":
    """The stored table of an experiment; ValueError if it is of another definition, or if its rows were changed.

    Parameters
    ----------
    name : str
        A key of `EXPERIMENTS`.
    folder : Path
        Where tables are stored.

    Returns
    -------
    DataFrame
        Those of `Seeded.table`, one seed below the other; in sections 3 and 4, the columns `KEYS`, `false_alarms`,
        `duration` and `n_groups`.
    """
    table, provenance = stored.load(name, definition=EXPERIMENTS[name].definition, folder=folder)
    if _content(table) != provenance["rows"]:
        raise ValueError(f"rows of the stored table {name} must be those that were computed; compute it again")
    return table


def _rows(seed: int, *, experiment: Seeded) -> list[list[Any]]:
    """The table of one seed, as a checkpoint can hold it: its columns' names, then its rows."""
    table = experiment.table(seed)
    return [list(table.columns), *table.astype(object).to_numpy().tolist()]


def _content(table: "pd.DataFrame") -> str:
    """Hash of a table's rows, as they are written."""
    return hashlib.sha256(stored.as_text(table).encode()).hexdigest()


def _sources() -> str:
    """Hash of the files that what is measured depends on."""
    root = Path(__file__).parents[1]
    files = sorted(path for pattern in SOURCES for path in root.glob(pattern))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()


def main(arguments: Sequence[str] | None = None) -> None:
    """Store the tables that were asked for, or all."""
    parser = argparse.ArgumentParser(
        prog="python -m pcenlib.experiments.seeds",
        description="Run the simulated experiments with all of their seeds, and store their tables.",
    )
    parser.add_argument("names", nargs="*", choices=[[], *EXPERIMENTS], metavar="NAME", help=", ".join(EXPERIMENTS))
    parser.add_argument("--jobs", type=int, metavar="N", help="number of workers (default: every core)")
    options = parser.parse_args(arguments)
    for name in options.names or EXPERIMENTS:
        start = time.perf_counter()
        print(f"{name}: {len(EXPERIMENTS[name].seeds)} seeds", flush=True)
        path = store(name, jobs=options.jobs)
        print(f"{path}: {path.stat().st_size / 1000:.0f} kB, {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    from pcenlib.experiments import seeds  # so workers find its functions under their own name

    seeds.main()
