"""PCEN and flux among stronger detectors: one evaluation of all of them, on simulated and on recorded sound.

A `Lineup` has the detectors. `at_recalls` finds their thresholds at many
recalls instead of half alone, and counts their false alarms there. `recorded` uses it for right whales and ships, with
intervals by cluster; `simulated` for birds and whales of one seed. `over_seeds` is what all seeds say.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pcenlib.core.evaluation import count_exceedances, merge_counts
from pcenlib.core.resampling import N_RESAMPLES, interval
from pcenlib.core.streaming import AVERAGED_FLUX, MAX_POOLED_FLUX, MAX_POOLED_PCEN
from pcenlib.datasets.interface import DataSet, Reflected
from pcenlib.datasets.nighthawk import SimulatedNighthawk
from pcenlib.datasets.real import RealSet
from pcenlib.datasets.right_whale import SimulatedRightWhale
from pcenlib.experiments.evaluate import clip_values, recording_functions
from pcenlib.experiments.intervals import area_under_curve, bootstrap_alarms, cluster_draws, mean_interval
from pcenlib.experiments.lineups import BIRDS, SIMULATED_WHALES, SLOWER_PCEN, WHALES, Lineup
from pcenlib.experiments.protocols import Protocol
from pcenlib.experiments.right_whales import BLOCK, CallsAndNoise, Settled, blocks_of, recording_of
from pcenlib.experiments.seeded import Seeded
from pcenlib.experiments.stored import Experiment, describe
from pcenlib.experiments.tables import calibrate, in_order, mtbfa_table, thresholds_by_detector

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "EITHER_FLUX",
    "EXPERIMENTS",
    "RECALLS",
    "SEEDED",
    "at_recalls",
    "by_recall",
    "over_seeds",
    "ratios",
    "recorded",
    "simulated",
    "stretches",
]


Values = Mapping[str, npt.NDArray[np.floating]]  # by detector
Array = npt.NDArray[np.float64]

RECALLS = tuple(round(0.1 * k, 1) for k in range(2, 10))
"""Shares of the calls to find."""

EITHER_FLUX = "either flux"
"""Whichever form of flux raises fewer false alarms, at each recall and distance."""

SEED = 2019
N_AREAS = 200  # resamples of areas under the curve
MEASURED = ["threshold", "false_alarms", "duration", "mtbfa"]


def at_recalls(
    values: "pd.DataFrame", recordings: Iterable[Values], protocol: Protocol, *, recalls: Sequence[float] = RECALLS
) -> "pd.DataFrame":
    """False alarms of each detector at many recalls.

    Parameters
    ----------
    values : DataFrame
        Maxima of clips with a call: columns `distance`, `group`, `detector`, `value`, as from `clip_values`.
    recordings : iterable of mapping of str to ndarray, shape (frame,)
        For each recording without calls, the values of each detector.
    protocol : Protocol
        What a false alarm is, and the hop.
    recalls : sequence of float
        Shares of the calls to find.

    Returns
    -------
    DataFrame
        The columns of `mtbfa_table`, after a column `recall`.
    """
    import pandas as pd

    tables = {recall: calibrate(values, recall=recall) for recall in recalls}
    thresholds = pd.concat(tables, names=["recall"]).reset_index("recall").reset_index(drop=True)
    edges = thresholds_by_detector(thresholds)
    counts = merge_counts(count_exceedances([each], edges, count=protocol.count) for each in recordings)
    table = mtbfa_table(thresholds, counts, hop=protocol.setting.hop)
    table.insert(0, "recall", thresholds["recall"])
    return table


def stretches(recordings: Iterable[npt.ArrayLike], n_frames: int) -> Array:
    """Maxima over stretches of recordings as long as a clip, one after the other; what is left over is left out.

    Examples
    --------
    >>> stretches([[1, 2, 3, 4, 5], [6, 0]], 2)
    array([2., 4., 6.])
    """
    whole = [np.asarray(values)[: np.size(values) // n_frames * n_frames] for values in recordings]
    return np.concatenate([values.reshape(-1, n_frames).max(axis=1) for values in whole]).astype(np.float64)


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


def by_recall(table: "pd.DataFrame") -> "pd.DataFrame":
    """A table of `simulated`, a row for each recall, with `EITHER_FLUX` as a further detector.

    Parameters
    ----------
    table : DataFrame
        From `simulated`, of one seed or of several in a column `seed`.

    Returns
    -------
    DataFrame
        Its columns `seed`, `bands`, `detector`, `distance` and `duration`; `recall` and `false_alarms`.
    """
    import pandas as pd

    about = [name for name in ("seed", "bands", "detector", "distance", "duration") if name in table]
    recalls = [f"{100 * recall:.0f}" for recall in RECALLS]
    long = table.melt(about, recalls, var_name="recall", value_name="false_alarms").astype({"detector": str})
    long["recall"] = long["recall"].astype(float) / 100
    flux = long[long["detector"].isin([AVERAGED_FLUX, MAX_POOLED_FLUX])]
    keys = [name for name in (*about, "recall") if name != "detector"]
    fewer = flux.groupby(keys, sort=False)["false_alarms"].min().reset_index().assign(detector=EITHER_FLUX)
    return in_order(pd.concat([long, fewer], ignore_index=True))


def over_seeds(table: "pd.DataFrame", *, over: str = MAX_POOLED_PCEN) -> "pd.DataFrame":
    """False alarms of each detector over those of another, each plus a half, as all seeds have it.

    Parameters
    ----------
    table : DataFrame
        From `simulated`, of several seeds in a column `seed`.
    over : str
        The other detector, in the same bands.

    Returns
    -------
    DataFrame
        For each of `bands` and `detector`: the geometric mean over recalls, distances and seeds, `estimate`, with the
        ends of its interval over seeds, `low` and `high`.
    """
    import pandas as pd

    long = by_recall(table)
    long["log"] = np.log(long["false_alarms"] + 0.5)
    logs = long.pivot(index=["bands", "seed", "distance", "recall"], columns="detector", values="log")
    of_seeds = logs.sub(logs[over], axis=0).groupby(["bands", "seed"], sort=False).mean()
    rows = [
        {"bands": bands, "detector": detector, **mean_interval(np.exp(values.to_numpy()), log=True)}
        for bands, of_bands in of_seeds.groupby("bands", sort=False)
        for detector, values in of_bands.dropna(axis=1).items()
    ]
    return in_order(pd.DataFrame(rows))


def ratios(
    whales: "pd.DataFrame", seeds: "Mapping[str, pd.DataFrame]", *, over: str = MAX_POOLED_PCEN
) -> "pd.DataFrame":
    """False alarms of each detector over those of another, on all sounds.

    Parameters
    ----------
    whales : DataFrame
        From `recorded`.
    seeds : mapping of str to DataFrame
        From `simulated`, of several seeds: names and tables.
    over : {"max-pooled PCEN", "slower PCEN"}
        The other detector, in the same bands.

    Returns
    -------
    DataFrame
        Columns `evidence`, a set of ships or a name of `seeds`; `bands`, `detector`, `estimate`, `low` and `high`: the
        geometric mean over recalls, and for simulated sound over distances and seeds.
    """
    import pandas as pd

    column = {MAX_POOLED_PCEN: "over_pcen", SLOWER_PCEN: "over_slower"}[over]
    real = whales[whales["recall"].isna()].rename(columns={"ships": "evidence", column: "estimate"})
    real = real.rename(columns={f"{column}_{end}": end for end in ("low", "high")})
    both = [real, *(over_seeds(table, over=over).assign(evidence=name) for name, table in seeds.items())]
    columns = ["evidence", "bands", "detector", "estimate", "low", "high"]
    return pd.concat([each[columns].astype({"detector": str}) for each in both], ignore_index=True)


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
    block = blocks_of(clip.name for clip in challenge.clips) | blocks_of(challenge.recordings)
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
