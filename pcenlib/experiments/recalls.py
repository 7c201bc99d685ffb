"""Many recalls instead of half alone: thresholds, false alarms, and how two detectors compare over all of them.

`at_recalls` counts the false alarms of each detector at each recall. `over_seeds` and `ratios` compare detectors by the
geometric mean over recalls of their false alarms, each plus a half. `stretches` makes clips without calls of
recordings, for an area under the curve.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pcenlib.core.evaluation import count_exceedances, merge_counts
from pcenlib.core.streaming import AVERAGED_FLUX, MAX_POOLED_FLUX, MAX_POOLED_PCEN
from pcenlib.experiments.intervals import mean_interval
from pcenlib.experiments.lineups import SLOWER_PCEN
from pcenlib.experiments.protocols import Protocol
from pcenlib.experiments.tables import calibrate, in_order, mtbfa_table, thresholds_by_detector

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EITHER_FLUX", "RECALLS", "at_recalls", "by_recall", "over_seeds", "ratios", "stretches"]


Values = Mapping[str, npt.NDArray[np.floating]]  # by detector
Array = npt.NDArray[np.float64]

RECALLS = tuple(round(0.1 * k, 1) for k in range(2, 10))
"""Shares of the calls to find."""

EITHER_FLUX = "either flux"
"""Whichever form of flux raises fewer false alarms, at each recall and distance."""


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
