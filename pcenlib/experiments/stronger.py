"""PCEN and flux among stronger detectors: one evaluation of all of them, on simulated and on recorded sound.

`recorded` is of right whales and ships, with intervals by cluster. `simulated` is of birds or whales of one seed.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pcenlib.core.resampling import N_RESAMPLES, interval
from pcenlib.core.streaming import AVERAGED_FLUX, MAX_POOLED_FLUX, MAX_POOLED_PCEN
from pcenlib.datasets.interface import DataSet, Reflected
from pcenlib.datasets.nighthawk import SimulatedNighthawk
from pcenlib.datasets.real import RealSet
from pcenlib.datasets.right_whale import SimulatedRightWhale
from pcenlib.experiments.evaluate import clip_values, recording_functions
from pcenlib.experiments.intervals import area_under_curve, bootstrap_alarms, cluster_draws
from pcenlib.experiments.lineups import BIRDS, SIMULATED_WHALES, SLOWER_PCEN, WHALES, Lineup
from pcenlib.experiments.protocols import Protocol
from pcenlib.experiments.recalls import EITHER_FLUX, RECALLS, at_recalls, stretches
from pcenlib.experiments.right_whales import BLOCK, CallsAndNoise, Settled, neighbor_blocks, recording_of
from pcenlib.experiments.seeded import Seeded
from pcenlib.experiments.stored import Experiment, describe

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EXPERIMENTS", "SEEDED", "recorded", "simulated"]


Values = Mapping[str, npt.NDArray[np.floating]]  # by detector
Array = npt.NDArray[np.float64]


SEED = 2019
N_AREAS = 200  # resamples of areas under the curve
MEASURED = ["threshold", "false_alarms", "duration", "mtbfa"]


def _stretches_of_each(recordings: Sequence[Values], n_frames: int) -> dict[str, Array]:
    return {name: stretches([each[name] for each in recordings], n_frames) for name in recordings[0]}


def _frames_of_clip(dataset: DataSet, protocol: Protocol) -> int:
    setting = protocol.setting
    return setting.n_frames(round(dataset.clip_duration * setting.sr))


def simulated(dataset: DataSet, lineups: Mapping[str, Lineup], farthest: float) -> "pd.DataFrame":
    """False alarms of all detectors at all recalls, of one simulated data set.

    Parameters
    ----------
    dataset : DataSet
        Each of its groups, a bird or a day, has its own thresholds.
    lineups : mapping of str to Lineup
        Names of bands, and the detectors there.
    farthest : float
        Largest distance that counts.

    Returns
    -------
    DataFrame
        For each of `bands`, `detector` and `distance`: false alarms of all groups together, in a column for each
        recall, named by its percentage; `duration`, the recordings' once for each group; and `area`, under the curve of
        the clips' maxima against those of stretches of the recordings as long as a clip.
    """
    import pandas as pd

    protocols = {bands: lineup.evaluated for bands, lineup in lineups.items()}
    values = clip_values(dataset, protocols, jobs=1)
    values = values[values["distance"] <= farthest]
    functions = recording_functions(dataset, protocols, jobs=1)
    tables = []
    for bands, protocol in protocols.items():
        mine = values[values["protocol"] == bands]
        recordings = [of_recording[bands] for of_recording in functions.values()]
        found = at_recalls(mine, recordings, protocol).groupby(["detector", "distance", "recall"], observed=True)
        sums = found[["false_alarms", "duration"]].sum().reset_index()
        wide = sums.pivot(index=["detector", "distance"], columns="recall", values="false_alarms").copy()
        wide.columns = [f"{100 * recall:.0f}" for recall in wide.columns]
        wide["duration"] = sums.groupby(["detector", "distance"], observed=True)["duration"].first().round(1)
        n_frames = _frames_of_clip(dataset, protocol)
        negatives = _stretches_of_each(recordings, n_frames)
        clips = mine.set_index(["detector", "distance"])["value"].sort_index()
        wide["area"] = [round(float(area_under_curve(clips.loc[each], negatives[each[0]])), 4) for each in wide.index]
        tables.append(wide.reset_index().assign(bands=bands))
    table = pd.concat(tables, ignore_index=True)
    return table[["bands", *table.columns.drop("bands")]].astype({"detector": str})


def recorded(challenge: RealSet, *ships: RealSet, jobs: int = 2) -> "pd.DataFrame":
    """All detectors on up-calls of `RightWhaleChallenge` against ships of other sets, and against noise clips.

    For each set of `ships`, `bands`, `detector` and `recall`: the `threshold`; false alarms in ships, their duration
    and the MTBFA; and false alarms `over_pcen`, those of max-pooled PCEN, and `over_slower`, those of the slower one, a
    half added to both. Where `recall` is missing, the ratios are geometric means over recalls, and there is the `area`
    under the curve of calls against noise clips of the same sea, and `area_ships`, against stretches of ships as long
    as a clip. Intervals of 95 % come from resampling blocks of neighboring clips, and ships, the same for all.
    """
    import pandas as pd

    protocols = {bands: lineup.evaluated for bands, lineup in WHALES.items()}
    values = clip_values(Reflected(CallsAndNoise(challenge)), protocols, jobs=jobs)
    block = neighbor_blocks(clip.name for clip in challenge.clips) | neighbor_blocks(challenge.recordings)
    in_ships = {each: recording_functions(Settled(each), protocols, jobs=jobs) for each in ships}
    tables = []
    for bands, protocol in protocols.items():
        mine = values[values["protocol"] == bands].astype({"detector": str})
        calls, noise = (mine[mine["group"] == group].assign(distance=0.0) for group in ("call", "noise"))
        against_noise = _areas(calls, noise, block)
        for each, functions in in_ships.items():
            recordings = [of_ship[bands] for of_ship in functions.values()]
            found = at_recalls(calls, recordings, protocol)[["detector", "recall", *MEASURED]]
            strata = [recording_of(each, name) for name in functions]
            table = found.merge(
                _with_intervals(calls, recordings, protocol, block, strata), on=["detector", "recall"], how="outer"
            )
            negatives = _stretches_of_each(recordings, _frames_of_clip(challenge, protocol))
            against_ships = {
                name: float(area_under_curve(of_calls, negatives[str(name)]))
                for name, of_calls in calls.groupby("detector")["value"]
            }
            areas = pd.DataFrame({**against_noise, "area_ships": against_ships}).rename_axis("detector").reset_index()
            table = table.merge(areas.assign(recall=np.nan), on=["detector", "recall"], how="left")
            tables.append(table.assign(ships=each.about.title, bands=bands))
    table = pd.concat(tables, ignore_index=True)
    order = [*next(iter(WHALES.values())).detectors, EITHER_FLUX]
    table["detector"] = pd.Categorical(table["detector"], categories=order)
    table = table.sort_values(["ships", "bands", "detector", "recall"], ignore_index=True)
    return table[["ships", "bands", *table.columns.drop(["ships", "bands"])]]


def _by_detector(values: "pd.DataFrame") -> "dict[str, pd.Series[float]]":
    """Values of each detector, by the names of the clips."""
    return {str(name): of.set_index("clip")["value"] for name, of in values.groupby("detector", sort=False)}


def _areas(calls: "pd.DataFrame", noise: "pd.DataFrame", block: Mapping[str, int]) -> dict[str, dict[str, float]]:
    """Columns `area`, `area_low` and `area_high`, each by detector."""
    found: dict[str, dict[str, float]] = {}
    negatives = _by_detector(noise)
    for name, mine in _by_detector(calls).items():
        both = mine, negatives[name]
        draws = [
            cluster_draws([block[clip] for clip in each.index], np.random.default_rng(SEED), N_AREAS) for each in both
        ]
        positive, negative = (each.to_numpy() for each in both)
        areas = [float(area_under_curve(positive[some], negative[rest])) for some, rest in zip(*draws, strict=True)]
        for column, value in interval("area", areas).items():
            found.setdefault(column, {})[name] = value
    return found


def _with_intervals(
    calls: "pd.DataFrame",
    recordings: Sequence[Values],
    protocol: Protocol,
    block: Mapping[str, int],
    strata: Sequence[str],
) -> "pd.DataFrame":
    """Intervals of the MTBFA and ratios of false alarms with theirs, at each recall and as means over recalls."""
    import pandas as pd

    of_calls = _by_detector(calls)
    clusters = [block[clip] for clip in next(iter(of_calls.values())).index]
    boots = [
        bootstrap_alarms(
            {name: mine.to_numpy() for name, mine in of_calls.items()},
            {name: [each[name] for each in recordings] for name in of_calls},
            call_clusters=clusters,
            strata=strata,
            recall=recall,
            count=protocol.count,
            hop=protocol.setting.hop,
            rng=np.random.default_rng(SEED),  # the same draws for all
            n=N_RESAMPLES,
        )
        for recall in RECALLS
    ]
    logs = {name: np.log([boot.alarms[name] + 0.5 for boot in boots]) for name in of_calls}
    logs[EITHER_FLUX] = np.minimum(logs[AVERAGED_FLUX], logs[MAX_POOLED_FLUX])
    rows: list[dict[str, Any]] = []
    for name, mine in logs.items():
        of_recalls: list[dict[str, Any]] = [{"detector": name, "recall": recall} for recall in (*RECALLS, np.nan)]
        for column, over in (("over_pcen", MAX_POOLED_PCEN), ("over_slower", SLOWER_PCEN)):
            drawn_ratios = mine - logs[over]
            for row, drawn in zip(of_recalls, (*drawn_ratios, drawn_ratios.mean(axis=0)), strict=True):
                row |= interval(column, np.exp(drawn))
        if name in of_calls:
            for row, boot in zip(of_recalls, boots, strict=False):
                ends = boot.mtbfa(name)
                row |= {"mtbfa_low": ends["low"], "mtbfa_high": ends["high"]}
        rows += of_recalls
    return pd.DataFrame(rows)


_SEEDS = range(2019, 2029)
_KEYS = ("seed", "bands", "detector", "distance")

SEEDED: Mapping[str, Seeded] = {
    "stronger-birds": Seeded(
        dataset=SimulatedNighthawk(n_scenes=120), measure=simulated, of=(BIRDS, 300.0), keys=_KEYS, seeds=_SEEDS
    ),
    "stronger-simulated-whales": Seeded(
        dataset=SimulatedRightWhale(n_bins=12, n_ships=45, duration=95 * 60.0),
        measure=simulated,
        of=(SIMULATED_WHALES, 12000.0),
        keys=_KEYS,
        seeds=_SEEDS,
    ),
}
"""The simulated experiments of this module, by the names of their stored tables."""

EXPERIMENTS = {
    "stronger-whales": Experiment(
        run=recorded,
        sets=("narw", "deepship"),
        further=("shipsear_excerpts",),
        definition=describe("all detectors at many recalls, version 1", WHALES, RECALLS, BLOCK, SEED, N_RESAMPLES),
        keys=("ships", "bands", "detector", "recall"),
        tolerances={"threshold": 1e-5, "false_alarms": 0, "over_pcen": 1e-5, "area": 1e-5},
    ),
}
"""The experiments of this module on real sound, by the names of their stored tables."""
