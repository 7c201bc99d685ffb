"""Tables of experiments: thresholds, mean times between false alarms, and comparisons of detectors and protocols.

A row is one detector at one distance, for one group of calls such as a bird or a day. `calibrate` makes a table of
thresholds, `mtbfa_table` adds the false alarms of the recordings, and `over_groups` takes medians over groups. The
other functions put detectors and protocols beside each other: how many times fewer false alarms, how much farther.

A detector that raised no false alarm has no time to divide. In `protocol_factors`, which is for each group, such a
ratio is infinite, zero or missing, so a median over groups can still be taken. `bounded_ratio`, which is of medians,
gives the bound that the duration of the recordings allows.

The column `detector` is categorical, so detectors keep the paper's order, or that of their first appearance, in
whatever is grouped, pivoted or sorted by it.
"""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pcenlib.core.checks import as_real_floats, check_range
from pcenlib.core.evaluation import Counts, format_mtbfa, threshold_at_recall
from pcenlib.core.streaming import AVERAGED_FLUX, MAX_POOLED_PCEN

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "bounded_ratio",
    "calibrate",
    "detection_range",
    "detection_ranges",
    "in_order",
    "medians_in_words",
    "mtbfa_table",
    "over_groups",
    "protocol_factors",
    "ratio_range",
    "readable",
    "thresholds_by_detector",
]


KEYS = ["distance", "group", "detector"]
MEASURED = ["threshold", "false_alarms", "duration", "mtbfa", "mtbfa_low", "mtbfa_high"]


def check_columns(name: str, table: "pd.DataFrame", columns: list[str]) -> None:
    """Raise ValueError unless table has the columns, at least one row, and no value missing in them."""
    missing = [column for column in columns if column not in table.columns]
    if missing:
        raise ValueError(f"{name} must have the columns {', '.join(columns)}: {', '.join(missing)} is missing")
    if table.empty or table[columns].isna().any(axis=None):
        raise ValueError(f"{name} must have at least one row, and no value missing in {', '.join(columns)}")


def in_order(table: "pd.DataFrame") -> "pd.DataFrame":
    """A table whose detectors stay in the order of their first appearance.

    Parameters
    ----------
    table : DataFrame
        With a column `detector`.

    Returns
    -------
    DataFrame
        The same with this column categorical; as it is if it was categorical already.
    """
    import pandas as pd

    if isinstance(table["detector"].dtype, pd.CategoricalDtype):
        return table
    return table.assign(detector=pd.Categorical(table["detector"], categories=table["detector"].unique()))


def calibrate(positives: "pd.DataFrame", *, recall: float = 0.5, lower: bool = False) -> "pd.DataFrame":
    """Threshold of each detector for each distance and group: stage one, as a table.

    Parameters
    ----------
    positives : DataFrame
        One row for each call and detector, with columns `distance`, `group`, `detector` and `value`: the maximum of
        the detection function over the clip.
    recall, lower
        As for `threshold_at_recall`.

    Returns
    -------
    DataFrame
        Columns `distance`, `group`, `detector`, `threshold`, one row for each combination that has calls, sorted.
    """
    check_columns("positives", positives, [*KEYS, "value"])
    values = in_order(positives).groupby(KEYS, observed=True)["value"]
    return values.agg(lambda group: threshold_at_recall(group, recall, lower=lower)).rename("threshold").reset_index()


def thresholds_by_detector(thresholds: "pd.DataFrame") -> dict[str, list[float]]:
    """Thresholds of a table of `calibrate`, in its order, as `count_exceedances` takes them.

    Parameters
    ----------
    thresholds : DataFrame
        With columns `detector` and `threshold`.

    Returns
    -------
    dict of str to list of float
        The thresholds of each detector.
    """
    check_columns("thresholds", thresholds, ["detector", "threshold"])
    by_detector = thresholds.groupby("detector", observed=True)["threshold"]
    return {str(detector): values.tolist() for detector, values in by_detector}


def mtbfa_table(thresholds: "pd.DataFrame", counts: Counts, *, hop: float) -> "pd.DataFrame":
    """Mean time between false alarms at every threshold: the result of both stages, as a table.

    Parameters
    ----------
    thresholds : DataFrame
        Columns `distance`, `group`, `detector`, `threshold`, from `calibrate`.
    counts : Counts
        False alarms of all recordings, counted at ``thresholds_by_detector(thresholds)``.
    hop : float
        Time between two frames, in seconds.

    Returns
    -------
    DataFrame
        The rows of `thresholds` with `false_alarms`, `duration` of the recordings and `mtbfa`, in seconds. Without a
        false alarm, `mtbfa` is ``inf``; `readable` says then "more than the duration".

    Notes
    -----
    There is no interval, because the counts do not say which alarms came together: see `bootstrap_alarms`.
    """
    check_columns("thresholds", thresholds, [*KEYS, "threshold"])
    check_range("hop", hop, 0, open_low=True)
    by_detector = thresholds.groupby("detector", observed=True)["threshold"]
    sizes = by_detector.size().to_dict()
    if sizes != counts.sizes:
        raise ValueError(f"counts must be of the table's thresholds, {sizes}, got {counts.sizes}")
    alarms = by_detector.transform(lambda rows: np.array(counts.alarms[str(rows.name)])).to_numpy(dtype=np.int64)
    duration = counts.n_frames * hop
    with np.errstate(divide="ignore"):
        return thresholds[[*KEYS, "threshold"]].assign(false_alarms=alarms, duration=duration, mtbfa=duration / alarms)


def over_groups(table: "pd.DataFrame", *, by: Sequence[str] = ()) -> "pd.DataFrame":
    """Median and quartiles over groups of the mean time between false alarms, as in figures 2 and 3.

    Parameters
    ----------
    table : DataFrame
        From `mtbfa_table`.
    by : sequence of str
        Further columns that tell experiments apart, such as a protocol. What is not named, such as a seed, is pooled:
        the groups of all seeds count alike.

    Returns
    -------
    DataFrame
        Columns `by`, `distance`, `detector`, `n_groups`, `n_censored` (groups without a false alarm), `duration`,
        `mtbfa` (median), `mtbfa_low` and `mtbfa_high` (lower and upper quartile).

    Notes
    -----
    Each quantile is the value of one of the groups, the smallest that at least that share of the groups does not
    exceed. A group without a false alarm counts as the longest time, and nothing is interpolated: halfway between a
    time and "more than the duration" there is no number.
    """
    check_columns("table", table, [*by, *KEYS, "duration", "mtbfa"])

    def quantile(share: float) -> "Callable[[pd.Series[float]], float]":
        return lambda times: float(np.sort(times)[max(0, math.ceil(share * len(times)) - 1)])

    return (
        in_order(table)
        .groupby([*by, "distance", "detector"], observed=True)
        .agg(
            n_groups=("group", "size"),
            n_censored=("mtbfa", lambda times: int(np.isinf(times).sum())),
            duration=("duration", "min"),
            mtbfa=("mtbfa", quantile(0.5)),
            mtbfa_low=("mtbfa", quantile(0.25)),
            mtbfa_high=("mtbfa", quantile(0.75)),
        )
        .reset_index()
    )


def readable(table: "pd.DataFrame") -> "pd.DataFrame":
    """A table of `mtbfa_table` or `over_groups` for people: times in words, censored ones as such.

    Parameters
    ----------
    table : DataFrame
        With columns `duration` and `mtbfa`, and others that start with `mtbfa`.

    Returns
    -------
    DataFrame
        The same with these columns as text.
    """
    check_columns("table", table, ["duration", "mtbfa"])
    columns = ["duration", *(name for name in table.columns if name.startswith("mtbfa"))]
    text = {name: list(map(format_mtbfa, table[name], table["duration"])) for name in columns}
    return table.assign(**text)


def medians_in_words(
    table: "pd.DataFrame", *, index: Sequence[str] = ("distance",), columns: Sequence[str] = ("detector",)
) -> "pd.DataFrame":
    """Medians over groups of the mean time between false alarms, as text, in rows and columns.

    Parameters
    ----------
    table : DataFrame
        From `mtbfa_table`, with any further columns.
    index, columns : sequence of str
        What the rows and the columns stand for: `distance`, `detector` and whatever else tells experiments apart.
        Groups are pooled over all other columns.

    Returns
    -------
    DataFrame
        Times as those of `readable`.
    """
    by = [name for name in [*index, *columns] if name not in KEYS]
    return readable(over_groups(table, by=by)).pivot(index=list(index), columns=list(columns), values="mtbfa")


def bounded_ratio(
    medians: "pd.DataFrame", detector: str = MAX_POOLED_PCEN, *, over: str = AVERAGED_FLUX
) -> "pd.DataFrame":
    """How many times longer one detector's median time between false alarms is than another's, or at least is.

    Parameters
    ----------
    medians : DataFrame
        From `over_groups`.
    detector, over : str
        The detector whose time is divided, and the one whose time divides it.

    Returns
    -------
    DataFrame
        Indexed by distance and whatever else tells rows apart. Columns `ratio`, in which a detector that raised no
        false alarm has the duration of the recordings as its time, missing if neither raised any; and `text`, the
        same in words, with ">" or "<" before what is a bound, and "?" for what is missing.
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
        From `evaluate` for several seeds, with a column `seed`.
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
    """
    keys = ["distance", "detector", "seed", "group"]
    check_columns("table", table, [*keys, "protocol", "mtbfa"])
    missing = {base, *protocols} - set(table["protocol"])
    if missing:
        raise ValueError(f"table must hold the protocols to be compared: {', '.join(sorted(missing))} is missing")
    times = in_order(table).pivot(index=keys, columns="protocol", values="mtbfa")
    by_seed = times[list(protocols)].div(times[base], axis=0).groupby(keys[:3], observed=True).median()
    tidy = by_seed.reset_index().melt(id_vars=keys[:3], var_name="protocol")
    return tidy.groupby(["protocol", *keys[:2]], sort=False, observed=True)["value"].agg(["median", "min", "max"])


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
        Where the curve first falls to the level, on a straight line between the logarithms of neighboring times;
        the nearer of two neighbors if there is no false alarm at it. 0 if the curve starts below the level, ``inf``
        if it never falls to it.

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


def detection_ranges(table: "pd.DataFrame", level: float, *, by: Sequence[str] = ()) -> "pd.Series[float]":
    """The `detection_range` of each detector, in each of several experiments.

    Parameters
    ----------
    table : DataFrame
        From `mtbfa_table` or `over_groups`: one row for each distance, detector, and value of `by`.
    level : float
        The time that is asked for, in seconds.
    by : sequence of str
        Columns that tell experiments apart, such as a protocol or a group.

    Returns
    -------
    Series
        Indexed by `by` and `detector`, in the order of the table; in the unit of its distances.
    """
    check_columns("table", table, [*by, "distance", "detector", "mtbfa"])

    def reach(rows: "pd.DataFrame") -> float:
        rows = rows.sort_values("distance")
        return detection_range(rows["distance"], rows["mtbfa"], level)

    groups = table.groupby([*by, "detector"], sort=False, observed=True)
    return groups[["distance", "mtbfa"]].apply(reach).rename("range")


def ratio_range(ratios: "pd.Series[float]", level: float = 1.0) -> float:
    """Distance up to which a noisy curve of ratios stays above a level.

    Parameters
    ----------
    ratios : Series
        One ratio of false alarms for each distance. The index has a level `distance`, in increasing order.
    level : float
        The ratio that is asked for. At 1, both detectors raise as many false alarms.

    Returns
    -------
    float
        The `detection_range` of the smoothed curve.

    Notes
    -----
    The curve is smoothed by the geometric mean of each ratio and its two neighbors. Ratios are limited to between a
    thousandth and a thousand first, so that a detector without any false alarm does not decide for its neighbors.
    """
    logs = ratios.clip(1e-3, 1e3).transform(np.log)
    smooth = np.exp(logs.rolling(3, center=True, min_periods=2).mean())
    return detection_range(ratios.index.get_level_values("distance"), smooth, level)


def _check_detectors(table: "pd.DataFrame", detectors: Sequence[str], columns: list[str]) -> None:
    check_columns("table", table, columns)
    missing = set(detectors) - set(table["detector"])
    if missing:
        raise ValueError(
            f"table must hold the detectors {' and '.join(detectors)}: {', '.join(sorted(missing))} is missing"
        )
