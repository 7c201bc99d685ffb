"""What raises false alarms among the outdoor sounds of ESC-50, by their kind (section 3.3)."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pcenlib.core.streaming import DETECTORS
from pcenlib.datasets.esc50 import Esc50
from pcenlib.datasets.interface import DataSet
from pcenlib.datasets.nighthawk import SimulatedNighthawk
from pcenlib.datasets.real import RealSet
from pcenlib.experiments.evaluate import clip_values, recording_functions
from pcenlib.experiments.intervals import N_RESAMPLES, alarms_in_each, interval, resamples
from pcenlib.experiments.protocols import NIGHTHAWK_PAPER, NIGHTHAWK_RELEASED
from pcenlib.experiments.stored import Experiment, describe
from pcenlib.experiments.tables import calibrate

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BIRDS", "EXPERIMENTS", "OWN", "PROTOCOLS"]


Array = npt.NDArray[np.float64]

SEED = 2019
QUANTILES = (0.99, 0.999)
SHORTEST = 1.0  # seconds; of what is shorter, too little is left when the background has settled

BIRDS = SimulatedNighthawk(seed=SEED, distances=(30, 100, 300), n_scenes=1)
"""Whose calls the thresholds are from."""

PROTOCOLS = {"as written": NIGHTHAWK_PAPER, "as released": NIGHTHAWK_RELEASED}
"""How the thresholds of the birds are found, and false alarms counted at them."""

OWN = replace(NIGHTHAWK_PAPER, minimum_subtracted=False, count="frames")
"""How false alarms are counted above quantiles of the detection functions themselves."""


def causes_of_false_alarms(esc50: RealSet, *, jobs: int = 2) -> "pd.DataFrame":
    """Share of each kind of outdoor noise in the false alarms of each detector, in `Esc50` (section 3.3).

    For each `detector`, `threshold` and whether the set's padding was `kept`: for each `category` the number of clips,
    of false alarms, and their `share` of all, with an interval of 95 % from a bootstrap over the clips of each
    category. Thresholds are those of the simulated bird at a distance, half of whose calls exceed them, as written or
    as released; and quantiles of the detection function over all of these clips. A clip that is shorter than a second
    without its padding is left out.
    """
    import pandas as pd

    birds = _thresholds_of_birds(jobs)
    protocols = PROTOCOLS | {"own": OWN}
    tables = {}
    for kept in (False, True):
        dataset = Esc50(esc50.folder, padded=kept)
        names = [name for name in dataset.recordings if _length(Esc50(esc50.folder), name) >= SHORTEST]
        functions = recording_functions(dataset, protocols, names, jobs=jobs).values()
        categories = np.array([Esc50.category(name) for name in names])
        for detector in DETECTORS:
            own = [each["own"][detector] for each in functions]
            limits = {
                f"own {100 * share:g} %": ("own", float(limit))
                for share, limit in zip(QUANTILES, np.quantile(np.concatenate(own), QUANTILES), strict=True)
            }
            for threshold, (label, limit) in (birds[detector] | limits).items():
                values = [each[label][detector] for each in functions]
                alarms = alarms_in_each(values, [limit], count=protocols[label].count)[0]
                shares = _shares(alarms, categories, np.random.default_rng(SEED))
                tables[kept, threshold, detector] = shares
    names = ["kept", "threshold", "detector"]
    return pd.concat(tables, names=names).reset_index(names).reset_index(drop=True)


def _length(dataset: DataSet, name: str) -> float:
    """Seconds of a recording that is a waveform."""
    sound = dataset.recording(name)
    return np.asarray(sound.source).size / (sound.sr or 1)


def _thresholds_of_birds(jobs: int) -> dict[str, dict[str, tuple[str, float]]]:
    """For each detector, protocol and threshold at half recall of all birds together, by their name in the table."""
    values = clip_values(BIRDS, PROTOCOLS, jobs=jobs).assign(group="all birds")
    found: dict[str, dict[str, tuple[str, float]]] = {detector: {} for detector in DETECTORS}
    for label, protocol in PROTOCOLS.items():
        for row in calibrate(values[values["protocol"] == label], lower=protocol.lower_median).to_dict("records"):
            found[row["detector"]][f"bird at {row['distance']:g} m, {label}"] = label, row["threshold"]
    return found


def _shares(alarms: Array, categories: npt.NDArray[np.str_], rng: np.random.Generator) -> "pd.DataFrame":
    """Share of each category in all alarms, with an interval; missing where there is none at all."""
    import pandas as pd

    kinds = sorted(set(categories))
    totals = np.empty((1 + N_RESAMPLES, len(kinds)))
    for column, kind in enumerate(kinds):
        mine = alarms[categories == kind]
        totals[:, column] = mine[resamples(mine.size, rng)].sum(axis=1)
    with np.errstate(invalid="ignore"):
        shares = totals / totals.sum(axis=1, keepdims=True)
    shares[1:] = np.nan_to_num(shares[1:])  # a resample without any alarm has no share of any kind
    rows = [
        {
            "category": kind,
            "n_clips": int((categories == kind).sum()),
            "alarms": int(totals[0, column]),
            **interval("share", shares[:, column]),
        }
        for column, kind in enumerate(kinds)
    ]
    return pd.DataFrame(rows)


EXPERIMENTS = {
    "esc50-causes": Experiment(
        run=causes_of_false_alarms,
        sets=("esc50",),
        definition=describe(
            "false alarms by category, version 2",
            PROTOCOLS,
            OWN,
            BIRDS,
            QUANTILES,
            SHORTEST,
            N_RESAMPLES,
        ),
        keys=("kept", "threshold", "detector", "category"),
        tolerances={"n_clips": 0, "alarms": 0, "share": 1e-5},
    ),
}
"""The experiments of this module, by the names of their stored tables."""
