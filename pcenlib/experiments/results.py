"""Results on real sound: stored for readers without the recordings, computed again for those with them.

A result is of the files it was computed from. Its provenance has, for each data set, the number of files that were
there and a hash of their names and sizes: where it is the same, a result computed again must be the same too.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcenlib.core.setting import NIGHTHAWK
from pcenlib.datasets.catalogue import DATASETS, find
from pcenlib.datasets.real import RealSet
from pcenlib.experiments import fits, nighthawks, outdoor_noise, right_whales, stored
from pcenlib.experiments import intervals as bootstrap
from pcenlib.experiments.novelty_measurements import NoveltyMeasurements
from pcenlib.experiments.stored import Stored
from pcenlib.simulation.measurements import CallMeasurements, SweepMeasurements

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EXPERIMENTS", "Experiment", "Result", "compute", "result", "store"]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """An experiment on real sound.

    Parameters
    ----------
    run : callable
        From data sets to a table.
    sets : sequence of str
        Names of the data sets that it needs.
    further : sequence of str
        Names of those that it takes if they are there, after the others.
    definition : str
        What the table is a result of, the files aside.
    keys : sequence of str
        Columns that tell its rows apart.
    tolerances : mapping of str to float
        Columns to compare when it is computed again, as for `stored.check_same`.
    """

    run: "Callable[..., pd.DataFrame]"
    sets: Sequence[str]
    further: Sequence[str] = ()
    definition: str
    keys: Sequence[str]
    tolerances: Mapping[str, float]


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
        f"  {DATASETS[name].about.title}: {about['n_files']} {DATASETS[name].about.unit}, list {about['sha256'][:12]}"
        for name, about in sets.items()
    ]


def result(name: str, home: str | PathLike[str] | None = None, *, folder: Path = stored.FOLDER) -> Result:
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
    old = stored.load(name, definition=experiment.definition, folder=folder)
    both = Result(old, compute(name, home))
    if both.computed is not None and both.same_files:
        new = both.computed.table
        stored.check_same(name, old.table, new, keys=experiment.keys, tolerances=experiment.tolerances)
    return both


def compute(name: str, home: str | PathLike[str] | None = None) -> Stored | None:
    """Run an experiment on the data sets in the data home.

    Parameters
    ----------
    name : str
        A key of `EXPERIMENTS`.
    home : path, optional
        The data home, as for `data_home`.

    Returns
    -------
    Stored or None
        The table and its provenance; None if one of the data sets that it needs is not there.
    """
    experiment = _experiment(name)
    needed = {each: find(each, home) for each in experiment.sets}
    sets = {each: found for each, found in needed.items() if found is not None}
    if len(sets) < len(needed):
        return None
    further = {each: find(each, home) for each in experiment.further}
    sets |= {each: found for each, found in further.items() if found is not None}
    table = experiment.run(*sets.values())
    return Stored(table, {"sets": {each: _files(found) for each, found in sets.items()}})


def _files(dataset: RealSet) -> dict[str, Any]:
    """Number of files of a data set that can be used, and a hash of their names and sizes."""
    present = sorted(dataset.report.present)
    listed = "".join(f"{name} {(dataset.folder / name).stat().st_size}\n" for name in present)
    return {"n_files": len(present), "sha256": hashlib.sha256(listed.encode()).hexdigest()}


def store(name: str, home: str | PathLike[str] | None = None, *, folder: Path = stored.FOLDER) -> Path:
    """Run an experiment and store its result.

    Parameters
    ----------
    name : str
        A key of `EXPERIMENTS`.
    home : path, optional
        The data home, as for `data_home`.
    folder : Path
        Where to.

    Returns
    -------
    Path
        The file.

    Notes
    -----
    FileNotFoundError if a data set is not there.
    """
    experiment = _experiment(name)
    computed = compute(name, home)
    if computed is None:
        raise FileNotFoundError(f"{name} needs the data sets {', '.join(experiment.sets)} in the data home")
    return stored.save(
        name, computed.table, definition=experiment.definition, folder=folder, **dict(computed.provenance)
    )


def _experiment(name: str) -> Experiment:
    if name not in EXPERIMENTS:
        raise ValueError(f"name must be one of {', '.join(EXPERIMENTS)}, got {name!r}")
    return EXPERIMENTS[name]


EXPERIMENTS = {
    "right-whales-and-ships": Experiment(
        run=right_whales.right_whales_and_ships,
        sets=("narw", "deepship"),
        definition=stored.describe(
            "up-calls against noise clips and ships, version 2",
            right_whales.PROTOCOLS,
            right_whales.BEFORE,
            right_whales.SEED,
            bootstrap.N_RESAMPLES,
        ),
        keys=("detector", "s", "bands", "before", "snr"),
        tolerances={"n_calls": 0, "threshold": 1e-5, "area": 1e-5, "noise_share": 1e-5, "false_alarms": 0},
    ),
    "right-whale-noise": Experiment(
        run=right_whales.noise_that_defeats,
        sets=("narw",),
        definition=stored.describe("loudest moments of PCEN in calls and noise, version 1", right_whales.PROTOCOLS),
        keys=("bands", "what", "share"),
        tolerances={"rise": 1e-5, "frequency": 1e-5, "spread": 1e-5, "lasting": 1e-5},
    ),
    "esc50-causes": Experiment(
        run=outdoor_noise.causes_of_false_alarms,
        sets=("esc50",),
        definition=stored.describe(
            "false alarms by category, version 2",
            outdoor_noise.PROTOCOLS,
            outdoor_noise.OWN,
            outdoor_noise.BIRDS,
            outdoor_noise.QUANTILES,
            outdoor_noise.SHORTEST,
            bootstrap.N_RESAMPLES,
        ),
        keys=("kept", "threshold", "detector", "category"),
        tolerances={"n_clips": 0, "alarms": 0, "share": 1e-5},
    ),
    "repropagated-nighthawks": Experiment(
        run=nighthawks.repropagated_nighthawks,
        sets=("nighthawk", "night_soundscapes"),
        further=("birdvox_dcase20k",),
        definition=stored.describe(
            "figure 2 with recorded calls and nights, version 2",
            nighthawks.PROTOCOLS,
            nighthawks.SIMULATED,
            nighthawks.OFFSETS,
            nighthawks.SEED,
        ),
        keys=("sound", "offset", "protocol", "distance", "detector"),
        tolerances={"n_groups": 0, "mtbfa": 1e-5, "mtbfa_low": 1e-5, "mtbfa_high": 1e-5},
    ),
    "repropagated-calls": Experiment(
        run=nighthawks.repropagated_calls,
        sets=("nighthawk", "night_soundscapes"),
        further=("birdvox_dcase20k",),
        definition=stored.describe(
            "recorded calls and their background, version 2", nighthawks.SIMULATED.night, nighthawks.SEED
        ),
        keys=("call",),
        tolerances={"contrast": 1e-5, "30 m": 1e-4},
    ),
    "nighthawk-calls": Experiment(
        run=fits.nighthawk_calls,
        sets=("nighthawk",),
        definition=stored.describe(
            "measure_call of recorded nighthawks, version 1", fits.AROUND_CALL, fits.CALLS, fits.MOST
        ),
        keys=("clip",),
        tolerances=dict.fromkeys(CallMeasurements._fields, 1e-5),
    ),
    "night-scenes": Experiment(
        run=fits.night_scenes,
        sets=("night_soundscapes",),
        further=("birdvox_dcase20k",),
        definition=stored.describe("measure_novelty of recorded nights, version 1", NIGHTHAWK, fits.MOST),
        keys=("scene", "detector"),
        tolerances=dict.fromkeys(NoveltyMeasurements._fields, 1e-5),
    ),
    "right-whale-calls": Experiment(
        run=fits.right_whale_calls,
        sets=("narw",),
        definition=stored.describe("measure_sweep of recorded up-calls, version 1", fits.SWEEPS, fits.MOST),
        keys=("clip",),
        tolerances=dict.fromkeys(SweepMeasurements._fields, 1e-5),
    ),
    "ship-passages": Experiment(
        run=fits.ship_passages,
        sets=("deepship",),
        definition=stored.describe(
            "measure_ship of recorded passages at 2 kHz, by resample_poly, version 2", fits.MOST
        ),
        keys=("passage",),
        tolerances=dict.fromkeys(["duration", "slope", "rate", "excess", *fits.LEVELS, *fits.MODULATIONS], 1e-5),
    ),
}
"""Every experiment on real sound, by the name of its table."""
