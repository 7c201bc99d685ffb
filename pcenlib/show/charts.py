"""Charts of results: times between false alarms, factors and shares. They draw, and compute nothing."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.ticker import FixedFormatter, FixedLocator, NullFormatter
from matplotlib.transforms import offset_copy

from pcenlib.core.evaluation import format_mtbfa
from pcenlib.show.plots import STYLES, curves, reference_lines

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["dots", "factor_dots", "forest", "mtbfa_curves", "mtbfa_panels", "stacked_bars"]

TIMES = {
    "1 ms": 1e-3,
    "10 ms": 1e-2,
    "0.1 s": 0.1,
    "1 s": 1.0,
    "10 s": 10.0,
    "1 min": 60.0,
    "10 min": 600.0,
    "1 h": 3600.0,
    "10 h": 36000.0,
    "100 h": 360000.0,
}
"""Labels of a logarithmic axis of times, and seconds."""


def mtbfa_curves(
    table: "pd.DataFrame",
    *,
    chance: float,
    x: str = "distance",
    xlabel: str = "distance (m)",
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Mean time between false alarms at half recall against distance, as the paper's figures 2 and 3.

    A group without a false alarm has no time. Where that is so for the median, an open triangle on the line of the
    recordings' duration says that the time is probably longer; shading that would go on above the line ends there.

    Parameters
    ----------
    table : DataFrame
        From `over_groups`: for each distance and detector the `duration` of the recordings, the median
        `mtbfa`, and its quartiles `mtbfa_low` and `mtbfa_high`, which are shaded.
    chance : float
        Mean time of a detector that knows nothing, in seconds, from `evaluation.chance_mtbfa`.
    x : str
        Column to draw against instead of the distance, such as the level of a noise.
    xlabel, title : str
        Texts, with units.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
    """
    duration = float(table["duration"].max())
    wide = table.pivot(index=x, columns="detector")
    median, low, high = (wide[name].clip(upper=duration) for name in ("mtbfa", "mtbfa_low", "mtbfa_high"))
    labels = sorted(median.columns, key=[*STYLES, *median.columns].index)
    ax = curves(
        median.index,
        {label: median[label] for label in labels},
        xlabel=xlabel,
        ylabel="MTBFA@50",
        title=title,
        intervals={label: (low[label], high[label]) for label in labels},
        ax=ax,
        yscale="log",
    )
    ax.yaxis.set_major_locator(FixedLocator(list(TIMES.values())))
    ax.yaxis.set_major_formatter(FixedFormatter(list(TIMES)))
    ax.yaxis.set_minor_formatter(NullFormatter())

    censored = np.isinf(wide["mtbfa"][labels])
    colors = [line.get_color() for line in ax.lines[-len(labels) :]]
    for label, color in zip(labels, colors, strict=True):
        ax.plot(median.index, median[label].mask(censored[label]), ".", color=color)
    for place, row in censored.iterrows():
        hidden = [color for color, is_censored in zip(colors, row, strict=True) if is_censored]
        for k, color in enumerate(hidden):  # side by side
            aside = 7 * (k - (len(hidden) - 1) / 2)
            at = offset_copy(ax.transData, ax.get_figure(root=True), x=aside, units="points")
            ax.plot(place, duration, "^", color=color, markerfacecolor="white", markersize=7, transform=at)

    levels = {"chance": (chance, 0.0, "left")}
    if np.isinf(table["mtbfa_high"]).any():
        levels[f"no false alarm in {format_mtbfa(duration, duration)}"] = (duration, 1.0, "right")
    for text, (level, end, side) in levels.items():
        ax.axhline(level, color="0.35", linewidth=0.9, linestyle=":")
        at = ax.get_yaxis_transform()
        ax.annotate(f" {text}", (end, level), xycoords=at, ha=side, va="bottom", color="0.25", fontsize="small")
    if len(labels) > 1:
        ax.legend(bbox_to_anchor=(0, 0, 1, 0.94))  # below the upper text
    return ax


def mtbfa_panels(
    panels: "Mapping[str, pd.DataFrame]",
    *,
    chance: float,
    x: str = "distance",
    xlabel: str = "distance (m)",
    columns: int = 2,
    legend: int | None = 0,
    sharey: Literal["all", "row"] = "all",
    size: tuple[float, float] = (7.2, 4.0),
) -> npt.NDArray[np.object_]:
    """Several `mtbfa_curves` side by side, with one legend.

    Parameters
    ----------
    panels : mapping of str to DataFrame
        Title and table of each panel, row by row.
    chance, x, xlabel
        As for `mtbfa_curves`.
    columns : int
        Panels in a row.
    legend : int, optional
        Number of the panel that keeps its legend. None puts one below all panels.
    sharey : {"all", "row"}
        Panels that share the axis of times.
    size : (float, float)
        Width and height of the figure, in inches.

    Returns
    -------
    ndarray of Axes, shape (row, column)
    """
    rows = len(panels) // columns
    figure, axes = plt.subplots(rows, columns, figsize=size, sharex="col", sharey=sharey, squeeze=False)
    for k, (ax, (title, table)) in enumerate(zip(axes.flat, panels.items(), strict=True)):
        mtbfa_curves(table, chance=chance, x=x, xlabel=xlabel, title=title, ax=ax)
        ax.label_outer()
        if k != legend:
            ax.get_legend().remove()
    if legend is None:
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return np.asarray(axes)


def stacked_bars(parts: Mapping[str, Mapping[str, float]], *, xlabel: str, ax: Axes | None = None) -> Axes:
    """Horizontal bars made of parts: where a whole goes.

    Parameters
    ----------
    parts : mapping of str to mapping of str to float
        Name of each bar, from top to bottom, and its parts with their sizes.
    xlabel : str
        Quantity and unit.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
    """
    ax = ax or plt.figure().add_subplot()
    names = list(parts)
    left = np.zeros(len(names))
    for label in parts[names[0]]:
        sizes = np.array([parts[name][label] for name in names])
        ax.barh(names, sizes, left=left, label=label)
        left += sizes
    ax.invert_yaxis()
    ax.set(xlabel=xlabel)
    ax.legend(loc="lower right")
    return ax


def dots(
    rows: Sequence[str],
    series: Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]],
    *,
    xlabel: str,
    title: str = "",
    ax: Axes | None = None,
    **scales: Any,
) -> Axes:
    """Values with intervals, a row for each name: what each of many choices does.

    Parameters
    ----------
    rows : sequence of str
        Names, from top to bottom.
    series : mapping of str to (array_like, array_like, array_like)
        Label of each series, and for each row its value and the lower and upper end of its interval, which may leave
        out the value. Series are one below the other within a row, each with its own color, that of `STYLES` if it is
        there, and marker.
    xlabel, title : str
        Texts, with units.
    ax : Axes, optional
        Where to draw; a new figure by default.
    **scales
        Further properties of the axes, as for `curves`.

    Returns
    -------
    Axes
    """
    ax = ax or plt.figure().add_subplot()
    places = np.arange(len(rows))
    for k, (label, ends) in enumerate(series.items()):
        middle, low, high = (np.asarray(end, dtype=float) for end in ends)
        aside = 0.22 * (k - (len(series) - 1) / 2)
        color = STYLES.get(label, {}).get("color")
        (points,) = ax.plot(middle, places + aside, "os^Dv"[k % 5], markersize=4, label=label, color=color)
        ax.hlines(places + aside, low, high, color=points.get_color(), linewidth=1)
    ax.set_yticks(places, labels=list(rows))
    ax.set(xlabel=xlabel, title=title, ylim=(len(rows) - 0.5, -0.5), **scales)
    if len(series) > 1:
        ax.legend()
    return ax


def factor_dots(table: "pd.DataFrame", *, limits: tuple[float, float] = (0.01, 100.0)) -> list[Axes]:
    """Factors in the mean time between false alarms, a row for each protocol and a panel for each distance.

    Parameters
    ----------
    table : DataFrame
        From `protocol_factors`: `median`, `min` and `max` for each protocol, distance and detector.
    limits : (float, float)
        What is beyond them, as factors without limit are, is drawn at them.

    Returns
    -------
    list of Axes
    """
    table = table.clip(*limits)
    distances = table.index.unique("distance")
    figure, axes = plt.subplots(1, len(distances), figsize=(7.2, 5), sharey=True, squeeze=False)
    for ax, distance in zip(axes[0], distances, strict=True):
        parts = dict(iter(table.xs(distance, level="distance").groupby("detector")))
        labels = sorted(map(str, parts), key=[*STYLES, *parts].index)
        series = {label: tuple(parts[label][name] for name in ("median", "min", "max")) for label in labels}
        ends = (0.9 * limits[0], 1.1 * limits[1])
        text = {"xlabel": "factor in MTBFA@50", "title": f"{distance:g} m"}
        dots(list(table.index.unique("protocol")), series, xscale="log", xlim=ends, ax=ax, **text)
        reference_lines(ax, {"": 1}, axis="x").legend().remove()
        ax.xaxis.set_major_formatter("{x:g}")
        ax.label_outer()
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return list(axes[0])


def forest(
    groups: Mapping[str, Sequence[Mapping[str, Any]]],
    *,
    xlabel: str,
    limits: tuple[float, float] = (0.02, 50.0),
    ax: Axes | None = None,
) -> Axes:
    """Estimates with their intervals on one logarithmic axis, a row each: a forest plot.

    Parameters
    ----------
    groups : mapping of str to sequence of mapping
        Heading of each group, from top to bottom, and its rows: `label` and `text` (above the row, left and right),
        `value`, `low` and `high` (the estimate and the ends of its interval), `region` (the ends of what is shaded) and
        `filled` (whether the dot is). Drawn values are relative to what the line at 1 stands for.
    xlabel : str
        What the axis says.
    limits : (float, float)
        Ends of the axis. An interval that goes on beyond one ends there in an arrowhead; so does an estimate.
    ax : Axes, optional
        Where to draw; by default a new figure, narrow enough for a phone and as tall as its rows need.

    Returns
    -------
    Axes
    """
    count = sum(len(rows) for rows in groups.values())
    height = count + 0.8 * len(groups)
    ax = ax or plt.figure(figsize=(4.8, 0.42 * height + 0.9)).add_subplot()
    ink, place = mpl.rcParams["text.color"], 0.0
    across = ax.get_yaxis_transform()
    for heading, rows in groups.items():
        ax.text(0, place + 0.5, heading, transform=across, weight="bold", va="center")
        place += 0.8
        for row in rows:
            text, bar = place + 0.25, place + 0.68
            ax.text(0, text, row["label"], transform=across, va="center")
            ax.text(1, text, row["text"], transform=across, va="center", ha="right")
            region = np.clip(row["region"], *limits)
            ax.barh(bar, np.diff(region), left=region[0], height=0.4, color="C2", alpha=0.25)
            ax.vlines(1, bar - 0.2, bar + 0.2, color=ink, linewidth=0.8)
            ax.hlines(bar, *np.clip([row["low"], row["high"]], *limits), color="C0", linewidth=2)
            for end, marker, beyond in zip(
                limits, "<>", (row["low"] < limits[0], row["high"] > limits[1]), strict=True
            ):
                if beyond:
                    ax.plot(end, bar, marker, color="C0", markersize=6, clip_on=False)
            if limits[0] <= row["value"] <= limits[1]:
                face = "C0" if row["filled"] else mpl.rcParams["figure.facecolor"]
                ax.plot(row["value"], bar, "o", color="C0", markerfacecolor=face, markersize=6)
            place += 1
    ax.set(xscale="log", xlim=limits, ylim=(height, 0), xlabel=xlabel, yticks=[])
    ax.tick_params(axis="x", which="both", top=True, labeltop=True)
    ax.tick_params(axis="x", which="minor", labeltop=False, labelbottom=False)
    ax.xaxis.set_major_formatter("{x:g}")
    ax.grid(visible=False)
    ax.spines[["left", "right"]].set_visible(False)
    return ax
