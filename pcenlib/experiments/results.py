"""Results on real sound: stored for readers without the recordings, computed again for those with them.

The provenance of a result has, for each data set, the number of its files and a hash of their names and content. Where
the files are the same, a result computed again must be the same too.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcenlib.datasets.catalogue import about, find
from pcenlib.datasets.real import RealSet
from pcenlib.experiments import (
    fits,
    levels,
    neighbors,
    networks,
    nighthawks,
    outdoor_noise,
    played_detection,
    played_sounds,
    right_whales,
    soundscapes,
    stronger,
    template_birds,
    template_whales,
)
from pcenlib.experiments.stored import FOLDER, Experiment, Stored, check_same, load, save

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EXPERIMENTS", "Result", "compute", "result", "store"]


EXPERIMENTS: Mapping[str, Experiment] = {
    name: experiment
    for module in (
        right_whales,
        outdoor_noise,
        nighthawks,
        fits,
        levels,
        template_whales,
        template_birds,
        played_sounds,
        played_detection,
        neighbors,
        soundscapes,
        stronger,
        networks,
    )
    for name, experiment in module.EXPERIMENTS.items()
}
"""Every experiment on real sound, by the name of its table."""


@dataclass(frozen=True)
class Result:
    """A stored result and, with the recordings, the same computed now; printed, it says what it is of.

    Parameters
    ----------
    stored : Stored
        The table that comes with the book, and where it came from.
    computed : Stored, optional
        The table of the recordings in the data home.
    """

    stored: Stored
    computed: Stored | None = None

    @property
    def same_files(self) -> bool:
        """Whether both are of the same files."""
        return self.computed is not None and self.computed.provenance["sets"] == self.stored.provenance["sets"]

    @property
    def tables(self) -> "dict[str, pd.DataFrame]":
        """The stored table, and beside it the computed one if it is of other files."""
        return {"stored": self.stored.table, **self.others}

    @property
    def others(self) -> "dict[str, pd.DataFrame]":
        """The computed table if it is of other files than the stored one; else nothing."""
        return {} if self.computed is None or self.same_files else {"computed here": self.computed.table}

    def __str__(self) -> str:
        lines = [f"stored result of pcenlib {self.stored.provenance['pcenlib']}, from these files:"]
        lines += _lines(self.stored.provenance["sets"])
        if self.computed is None:
            lines.append("not computed again: these data sets are not in a data home")
        elif self.same_files:
            lines.append("computed again, from the same files: the same result")
        else:
            lines += ["computed again, from these files:", *_lines(self.computed.provenance["sets"])]
        return "\n".join(lines)


def _lines(sets: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return [
        f"  {about(name).title}: {files['n_files']} {about(name).unit}, hash {files['sha256'][:12]}"
        for name, files in sets.items()
    ]


def result(name: str, home: str | PathLike[str] | None = None, *, folder: Path = FOLDER) -> Result:
    """A result, as it is stored and, with the recordings, as it is now.

    Parameters
    ----------
    name : str
        A key of `EXPERIMENTS`.
    home : path, optional
        The data home, as for `data_home`.
    folder : Path
        Where results are stored.

    Returns
    -------
    Result

    Notes
    -----
    ValueError if the stored table is of another definition, or if the same files give another table now.
    """
    experiment = _experiment(name)
    old = load(name, definition=experiment.definition, folder=folder)
    both = Result(old, compute(name, home))
    if both.computed is not None and both.same_files:
        check_same(name, old.table, both.computed.table, keys=experiment.keys, tolerances=experiment.tolerances)
    return both


def compute(name: str, home: str | PathLike[str] | None = None) -> Stored | None:
    """Run an experiment on the data sets in the data home.

    Parameters
    ----------
    name, home
        As for `result`.

    Returns
    -------
    Stored or None
        The table and its provenance; None if one of the data sets that it needs is not there.
    """
    experiment = _experiment(name)
    looked_for = {each: find(each, home) for each in (*experiment.sets, *experiment.further)}
    sets = {each: found for each, found in looked_for.items() if found is not None}
    if not set(experiment.sets) <= set(sets):
        return None
    table = experiment.run(*sets.values())
    return Stored(table, {"sets": {each: _files(found) for each, found in sets.items()}})


def _files(dataset: RealSet) -> dict[str, Any]:
    """Number of files of a data set that can be used, and a hash of them."""
    return {"n_files": len(dataset.report.present), "sha256": dataset.sha256}


def store(name: str, home: str | PathLike[str] | None = None, *, folder: Path = FOLDER) -> Path:
    """Run an experiment and store its result; FileNotFoundError if a data set is not there.

    Parameters
    ----------
    name, home, folder
        As for `result`.

    Returns
    -------
    Path
        The file.
    """
    experiment = _experiment(name)
    computed = compute(name, home)
    if computed is None:
        raise FileNotFoundError(f"{name} needs the data sets {', '.join(experiment.sets)} in the data home")
    return save(name, computed.table, definition=experiment.definition, folder=folder, **dict(computed.provenance))


def _experiment(name: str) -> Experiment:
    if name not in EXPERIMENTS:
        raise ValueError(f"name must be one of {', '.join(EXPERIMENTS)}, got {name!r}")
    return EXPERIMENTS[name]
