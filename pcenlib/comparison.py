"""Detectors and protocols beside each other, from tables of `evaluation`: how many times fewer, how much farther.

A detector that raised no false alarm has no time to divide. In `mtbfa_ratio` and `protocol_factors`, which are for each
group, such a ratio is infinite, zero or missing, so that a median over groups can still be taken; `bounded_ratio`,
which is of medians, gives the bound that the duration of the recordings allows.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pcenlib._checks import as_real_floats, check_columns, check_range
from pcenlib.evaluation import KEYS, MEASURED

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["bounded_ratio", "detection_range", "equal_range", "mtbfa_ratio", "protocol_factors"]


def mtbfa_ratio(
    table: "pd.DataFrame", detector: str = "max_pooled_pcen", *, over: str = "averaged_flux"
) -> "pd.DataFrame":
    """How many times fewer false alarms one detector raises than another, at the same recall.

    Parameters
    ----------
    table : DataFrame
        From `evaluation.mtbfa_table`, with any further columns that tell its rows apart: a protocol, a seed.
    detector, over : str
        The detector whose mean time between false alarms is divided, and the one whose time divides it.

    Returns
    -------
    DataFrame
        One row for each distance, group and whatever else there is, with the `ratio`: ``inf`` if `detector` alone
        raised no false alarm, and missing if neither raised any.

    Notes
    -----
    Chapters 3.3 and 4.2, *Results*. Both detectors listened to the same recordings, so that the ratio of
    times is that of the numbers of false alarms, the other way round.
    """
    _check_detectors(table, [detector, over], [*KEYS, "false_alarms"])
    keys = [name for name in table.columns if name not in {"detector", *MEASURED}]
    alarms = table.pivot(index=keys, columns="detector", values="false_alarms").astype(float)
    return (alarms[over] / alarms[detector]).rename("ratio").reset_index()


def bounded_ratio(
    medians: "pd.DataFrame", detector: str = "max_pooled_pcen", *, over: str = "averaged_flux"
) -> "pd.DataFrame":
    """How many times longer one detector's median time between false alarms is than another's, or at least is.

    Parameters
    ----------
    medians : DataFrame
        From `evaluation.over_groups`.
    detector, over : str
        The detector whose time is divided, and the one whose time divides it.

    Returns
    -------
    DataFrame
        Indexed by distance and whatever else tells rows apart. Columns `ratio`, in which a detector that raised no
        false alarm has the duration of the recordings as its time, missing if neither raised any; and `text`, the
        same in words, with ">" or "<" before what is a bound, and "?" for what is missing.

    Notes
    -----
    Chapter *What the result hangs on*.
    """
    _check_detectors(medians, [detector, over], ["distance", "detector", "duration", "mtbfa"])
    keys = [name for name in medians.columns if name not in {"detector", "n_groups", "n_censored", *MEASURED}]
    wide = medians.pivot(index=keys, columns="detector", values=["mtbfa", "duration"])
    times, longest = wide["mtbfa"], wide["duration"]
    mine, other = np.isinf(times[detector]), np.isinf(times[over])
    bound = times.clip(upper=longest)
    ratio = (bound[detector] / bound[over]).mask(mine & other).rename("ratio")
    sign = np.select([mine & other, mine, other], ["?", ">", "<"], "")
    digits = ratio.map(lambda r: "" if math.isnan(r) else f"{r:.0f}" if r >= 9.5 else f"{r:.2g}")
    return ratio.to_frame().assign(text=sign + digits)


def protocol_factors(table: "pd.DataFrame", protocols: Sequence[str], *, base: str) -> "pd.DataFrame":
    """How many times longer the time between false alarms is under other protocols than under one, on the same sound.

    Parameters
    ----------
    table : DataFrame
        From `experiments.evaluate` for several seeds, with a column `seed`.
    protocols : sequence of str
        Names of those to be compared.
    base : str
        Name of the one they are compared to.

    Returns
    -------
    DataFrame
        Indexed by `protocol`, in the order given, `distance` and `detector`. The factor is taken for each group, then
        the median over the groups of a seed; columns are its `median`, `min` and `max` over seeds. ``inf`` says that
        no false alarm is left, 0 that there was none before. Groups without any either way do not count.

    Notes
    -----
    Chapter *What the result hangs on*.
    """
    keys = ["distance", "detector", "seed", "group"]
    check_columns("table", table, [*keys, "protocol", "mtbfa"])
    missing = {base, *protocols} - set(table["protocol"])
    if missing:
        raise ValueError(f"table must hold the protocols to be compared: {', '.join(sorted(missing))} is missing")
    times = table.pivot(index=keys, columns="protocol", values="mtbfa")
    by_seed = times[list(protocols)].div(times[base], axis=0).groupby(keys[:3]).median()
    tidy = by_seed.reset_index().melt(id_vars=keys[:3], var_name="protocol")
    return tidy.groupby(["protocol", *keys[:2]], sort=False)["value"].agg(["median", "min", "max"])


def detection_range(distances: npt.ArrayLike, times: npt.ArrayLike, level: float) -> float:
    """Distance up to which the mean time between false alarms stays above a level.

    Parameters
    ----------
    distances : array_like, shape (distance,)
        In increasing order.
    times : array_like, shape (distance,)
        Mean time between false alarms at each; ``inf`` where there was none.
    level : float
        The time that is asked for, in seconds.

    Returns
    -------
    float
        Where the curve first falls to the level, on a straight line between the logarithms of neighbouring times;
        the nearer of two neighbours if there is no false alarm at it. 0 if the curve starts below the level, ``inf``
        if it never falls to it.

    Notes
    -----
    Chapter 3.3, *Results*. A curve may rise again by chance; what comes after the first crossing does not count.

    Examples
    --------
    >>> round(detection_range([100, 200, 300], [1000, 100, 1], 10), 9)
    250.0
    """
    d, t = as_real_floats("distances", distances), as_real_floats("times", times)
    if d.ndim != 1 or d.shape != t.shape or d.size == 0 or not (np.diff(d) > 0).all():
        raise ValueError("distances must increase, and times must be as many")
    if not (t > 0).all():
        raise ValueError("times must be positive")
    check_range("level", level, 0, open_low=True)
    below = np.flatnonzero(t < level)
    if below.size == 0:
        return math.inf
    first = int(below[0])
    if first == 0:
        return 0.0
    if math.isinf(t[first - 1]):
        return float(d[first - 1])
    high, low = np.log(t[first - 1 : first + 1])
    return float(d[first - 1] + (d[first] - d[first - 1]) * (high - math.log(level)) / (high - low))


def equal_range(medians: "pd.DataFrame", detector: str = "max_pooled_pcen", *, over: str = "averaged_flux") -> float:
    """Distance up to which one detector raises as few false alarms as another does at the nearest distance.

    Parameters
    ----------
    medians : DataFrame
        From `evaluation.over_groups`, of one experiment.
    detector, over : str
        The detector whose range is asked for, and the one that it is compared to.

    Returns
    -------
    float
        As of `detection_range`; missing if `over` raised no false alarm there, so that there is nothing to compare to.

    Notes
    -----
    Chapter 3.3, *Results*: the paper finds 300 m for PCEN, and averaged flux at 30 m.
    """
    _check_detectors(medians, [detector, over], ["distance", "detector", "mtbfa"])
    times = medians.pivot(index="distance", columns="detector", values="mtbfa")
    level = float(times[over].iloc[0])
    return detection_range(times.index, times[detector], level) if math.isfinite(level) else math.nan


def _check_detectors(table: "pd.DataFrame", detectors: Sequence[str], columns: list[str]) -> None:
    check_columns("table", table, columns)
    missing = set(detectors) - set(table["detector"])
    if missing:
        raise ValueError(
            f"table must hold the detectors {' and '.join(detectors)}: {', '.join(sorted(missing))} is missing"
        )
