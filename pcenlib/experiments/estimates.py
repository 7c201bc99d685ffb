"""What the seeds of a simulated experiment say: one number a seed, then a mean with its interval.

All functions take a table of `seeds.load`, or rows of it, and count the false alarms of all groups together. Half a
false alarm is added to each count, so a detector that raised none has a ratio too. Results are indexed by protocol and
seed; `over_seeds` takes the mean over those that are there.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from pcenlib.core.streaming import AVERAGED_FLUX, MAX_POOLED_PCEN
from pcenlib.experiments.intervals import mean_interval
from pcenlib.experiments.tables import detection_range, in_order, ratio_range

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "alarm_ratios",
    "alarm_times",
    "decay_ratios",
    "mean_ratios",
    "mean_times",
    "meetings",
    "over_seeds",
    "reaches",
]


RUNS = ["protocol", "seed"]


def alarm_times(table: "pd.DataFrame") -> "pd.Series[float]":
    """Mean time between false alarms.

    Parameters
    ----------
    table : DataFrame
        From `seeds.load`.

    Returns
    -------
    Series
        In seconds, indexed by `protocol`, `seed`, `distance` and `detector`.
    """
    rows = table.set_index([*RUNS, "distance", "detector"])
    return (rows["duration"] / (rows["false_alarms"] + 0.5)).rename("mtbfa")


def alarm_ratios(
    table: "pd.DataFrame", detector: str = MAX_POOLED_PCEN, *, over: str = AVERAGED_FLUX
) -> "pd.Series[float]":
    """How many times fewer false alarms one detector raises than another, at each distance.

    Parameters
    ----------
    table : DataFrame
        From `seeds.load`.
    detector, over : str
        The detector whose false alarms divide, and the one whose false alarms are divided.

    Returns
    -------
    Series
        Indexed by `protocol`, `seed` and `distance`.
    """
    alarms = table.pivot(index=[*RUNS, "distance"], columns="detector", values="false_alarms") + 0.5
    return (alarms[over] / alarms[detector]).rename("ratio")


def mean_ratios(
    table: "pd.DataFrame", detector: str = MAX_POOLED_PCEN, *, over: str = AVERAGED_FLUX, within: float = math.inf
) -> "pd.Series[float]":
    """Geometric mean over distances of `alarm_ratios`.

    Parameters
    ----------
    table, detector, over
        As for `alarm_ratios`.
    within : float
        The largest distance that counts, in meters.

    Returns
    -------
    Series
        Indexed by `protocol` and `seed`.
    """
    logs = alarm_ratios(table[table["distance"] <= within], detector, over=over).transform(np.log)
    return logs.groupby(RUNS).mean().transform(np.exp)


def reaches(
    table: "pd.DataFrame", detector: str = MAX_POOLED_PCEN, *, over: str = AVERAGED_FLUX, limit: float
) -> "pd.Series[float]":
    """Distance up to which one detector raises as few false alarms as another does at the nearest distance.

    Parameters
    ----------
    table : DataFrame
        From `seeds.load`.
    detector, over : str
        The detector whose range is asked for, and the one that it is compared to.
    limit : float
        The longest range, in meters: that of a detector which does so at all distances.

    Returns
    -------
    Series
        In meters, as of `detection_range`, indexed by `protocol` and `seed`.
    """
    times = alarm_times(table).unstack("detector").reset_index("distance")

    def reach(rows: "pd.DataFrame") -> float:
        return min(limit, detection_range(rows["distance"], rows[detector], rows[over].iloc[0]))

    return times.groupby(RUNS).apply(reach).rename("range")


def meetings(
    table: "pd.DataFrame", detector: str = MAX_POOLED_PCEN, *, over: str = AVERAGED_FLUX, limit: float
) -> "pd.Series[float]":
    """Distance up to which one detector raises fewer false alarms than another at the same distance.

    Parameters
    ----------
    table, detector, over
        As for `alarm_ratios`.
    limit : float
        The longest range, in meters, which stands for "as far as there are calls".

    Returns
    -------
    Series
        In meters, as of `ratio_range`, indexed by `protocol` and `seed`.
    """
    return alarm_ratios(table, detector, over=over).groupby(RUNS).agg(ratio_range).clip(upper=limit).rename("range")


def decay_ratios(table: "pd.DataFrame", detector: str = MAX_POOLED_PCEN, *, within: float) -> "pd.Series[float]":
    """Whether the false-alarm rate grows exponentially with distance, or as a power of it.

    Parameters
    ----------
    table : DataFrame
        From `seeds.load`.
    detector : str
        The detector.
    within : float
        The largest distance that counts, in meters; at least three must.

    Returns
    -------
    Series
        Indexed by `protocol` and `seed`: residual variance of a power law over that of an exponential, each a straight
        line through the logarithms of the rates by least squares. Above 1, the exponential fits better.
    """
    times = alarm_times(table[table["distance"] <= within])
    logs = -times.xs(detector, level="detector").transform(np.log)
    n_distances = logs.index.unique("distance").size
    if n_distances < 3:
        raise ValueError(f"within must leave at least three distances, got {n_distances} within {within:g} m")

    def ratio(rows: "pd.Series[float]") -> float:
        distance = rows.index.get_level_values("distance").to_numpy(dtype=float)
        residuals = [np.polyfit(x, rows.to_numpy(), 1, full=True)[1] for x in (np.log(distance), distance)]
        return float(residuals[0][0] / residuals[1][0])

    return logs.groupby(RUNS).apply(ratio).rename("ratio")


def over_seeds(values: "pd.Series[float]", *, log: bool = False) -> "pd.DataFrame":
    """Mean over seeds, with its interval of 95 %.

    Parameters
    ----------
    values : Series
        The index has a level `seed`, with at least two of them.
    log : bool
        As for `mean_interval`: a geometric mean, for ratios and times.

    Returns
    -------
    DataFrame
        Columns `estimate`, `low` and `high`, indexed by all other levels.
    """
    import pandas as pd

    others = [name for name in values.index.names if name != "seed"]
    groups = values.groupby(others, observed=True)
    return groups.apply(lambda of_seeds: pd.Series(mean_interval(of_seeds, log=log))).unstack()


def mean_times(table: "pd.DataFrame") -> "pd.DataFrame":
    """Mean time between false alarms, geometric mean over seeds, for figures 2 and 3.

    Parameters
    ----------
    table : DataFrame
        From `seeds.load`.

    Returns
    -------
    DataFrame
        Columns `protocol`, `distance`, `detector`, `duration`, `mtbfa`, `mtbfa_low` and `mtbfa_high`, as
        `charts.mtbfa_curves` takes them.
    """
    names = {"estimate": "mtbfa", "low": "mtbfa_low", "high": "mtbfa_high"}
    times = over_seeds(alarm_times(in_order(table)), log=True).rename(columns=names)
    return times.assign(duration=table["duration"].max()).reset_index()
