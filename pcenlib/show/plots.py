"""The figures of the book. Functions take data, draw, and return axes; they compute nothing.

A detector has the same color in every figure, in a palette that color-blind readers can tell apart (Okabe and Ito,
2008), and its own line style, so the figures also work in print.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.ticker import FixedFormatter, FixedLocator, NullFormatter
from matplotlib.transforms import offset_copy

from pcenlib.core.evaluation import format_mtbfa
from pcenlib.core.setting import Setting
from pcenlib.core.streaming import AVERAGED_FLUX, MAX_POOLED_FLUX, MAX_POOLED_PCEN

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "curves",
    "dots",
    "factor_dots",
    "frames",
    "gallery",
    "heatmap",
    "image",
    "mark",
    "mtbfa_curves",
    "mtbfa_panels",
    "reference_lines",
    "stacked_bars",
    "use_style",
]


STYLES: Mapping[str, Mapping[str, Any]] = {
    AVERAGED_FLUX: {"color": "#E69F00", "linestyle": "--"},
    MAX_POOLED_FLUX: {"color": "#0072B2", "linestyle": "-."},
    MAX_POOLED_PCEN: {"color": "#D55E00", "linestyle": "-"},
    "slower PCEN": {"color": "#CC79A7", "linestyle": (0, (4, 1))},
    "after suppression": {"color": "#8C6D1F", "linestyle": (0, (1, 1))},
    "in the whale's bands": {"color": "#56B4E9", "linestyle": "-."},
    "along rising lines": {"color": "#000000", "linestyle": "-"},
    "log magnitude": {"color": "#009E73", "linestyle": "-"},
    "chance": {"color": "0.35", "linestyle": ":"},
}
"""Color and line of each detector and representation, wherever it appears."""

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

CYCLE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]


def use_style() -> None:
    """Set matplotlib up for the book. Called once, beside a notebook's imports."""
    mpl.rcParams.update(
        {
            "axes.grid": True,
            "axes.prop_cycle": cycler(color=CYCLE),
            "axes.spines.right": False,
            "axes.spines.top": False,
            "axes.titlesize": "medium",
            "figure.constrained_layout.use": True,
            "figure.dpi": 130,
            "figure.facecolor": "white",
            "figure.figsize": (7.2, 3.6),
            "font.size": 10,
            "grid.alpha": 0.3,
            "image.cmap": "magma",
            "legend.frameon": False,
            "savefig.facecolor": "white",
        }
    )


def curves(
    x: npt.ArrayLike,
    ys: Mapping[str, npt.ArrayLike],
    *,
    xlabel: str,
    ylabel: str,
    title: str = "",
    marker: str = "",
    linestyle: str | None = None,
    intervals: Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]] | None = None,
    ax: Axes | None = None,
    **scales: Any,
) -> Axes:
    """Several curves over one axis, with a legend.

    Parameters
    ----------
    x : array_like
        What all curves share.
    ys : mapping of str to array_like
        Label and values of each curve. Labels of `STYLES` bring their own color.
    xlabel, ylabel, title : str
        Texts, with units.
    marker : str
        Matplotlib's marker for each value; none by default.
    linestyle : str, optional
        Matplotlib's line style for all curves; ``"none"`` leaves markers alone. By default that of the label.
    intervals : mapping of str to (array_like, array_like), optional
        Lower and upper ends of a shaded interval around the curve of the same label.
    ax : Axes, optional
        Where to draw; a new figure by default.
    **scales
        Further properties of the axes: ``xscale="log"``, ``ylim=(0, 1)`` and so on.

    Returns
    -------
    Axes
    """
    ax = ax or plt.figure().add_subplot()
    for label, y in ys.items():
        style = {**STYLES.get(label, {}), **({"linestyle": linestyle} if linestyle else {})}
        (line,) = ax.plot(x, np.asarray(y), label=label, marker=marker, **style)
        if intervals and label in intervals:
            low, high = intervals[label]
            ax.fill_between(np.asarray(x), np.asarray(low), np.asarray(high), color=line.get_color(), alpha=0.2, lw=0)
    ax.set(xlabel=xlabel, ylabel=ylabel, title=title, **scales)
    if len(ys) > 1:
        ax.legend()
    return ax


def reference_lines(ax: Axes, levels: Mapping[str, float], *, axis: str = "y") -> Axes:
    """Thin labeled lines at known values: a chance level, a bound, a limit.

    Parameters
    ----------
    ax : Axes
        Where to draw.
    levels : mapping of str to float
        Label and value of each line.
    axis : {"x", "y"}
        The axis of the values.

    Returns
    -------
    Axes
    """
    for label, level in levels.items():
        if axis == "y":
            ax.axhline(level, color="0.35", linewidth=0.9, linestyle=":")
            place, at = (1.0, level), ax.get_yaxis_transform()
        else:
            ax.axvline(level, color="0.35", linewidth=0.9, linestyle=":")
            place, at = (level, 1.0), ax.get_xaxis_transform()
        side = {"ha": "right", "va": "bottom"} if axis == "y" else {"ha": "right", "va": "top", "rotation": 90}
        # Readable on a grid, and behind the data, so it never hides a point.
        ground = {"facecolor": "white", "alpha": 0.7, "linewidth": 0, "pad": 0.5} if label else None
        ax.annotate(label, place, xycoords=at, color="0.25", fontsize="small", bbox=ground, zorder=1.5, **side)
    return ax


def image(
    values: npt.ArrayLike,
    setting: Setting,
    *,
    label: str,
    vmin: float,
    vmax: float,
    title: str = "",
    colorbar: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """A picture over time and frequency: a spectrogram, or PCEN.

    Parameters
    ----------
    values : array_like, shape (band, frame)
        What to show.
    setting : Setting
        Gives the times and frequencies.
    label : str
        Quantity and unit, beside the color bar.
    vmin, vmax : float
        Values at the ends of the color scale; the same for pictures that are to be compared.
    title : str
        Text above.
    colorbar : bool
        Whether to explain the colors here.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
    """
    values = np.asarray(values)
    ax = ax or plt.figure().add_subplot()
    mesh = ax.pcolormesh(
        setting.times(values.shape[-1]), setting.frequencies / 1000, values, vmin=vmin, vmax=vmax, shading="nearest"
    )
    mesh.set_rasterized(True)
    ax.set(xlabel="time (s)", ylabel="frequency (kHz)", title=title)
    ax.grid(visible=False)
    if colorbar:
        ax.figure.colorbar(mesh, ax=ax, label=label, pad=0.01)
    return ax


def mark(ax: Axes, time: float, frequency: float, *, size: float = 7.0) -> Axes:
    """A white dot with a dark rim, as in the paper's figure 1, at a place in a picture.

    Parameters
    ----------
    ax : Axes
        A picture drawn by `image`.
    time, frequency : float
        The place, in seconds and hertz.
    size : float
        Diameter of the dot, in points.

    Returns
    -------
    Axes
    """
    ax.plot(time, frequency / 1000, "o", color="white", markeredgecolor="black", markersize=size)
    return ax


def gallery(
    columns: Mapping[str, Sequence[npt.ArrayLike]],
    rows: Sequence[str],
    setting: Setting,
    *,
    limits: Mapping[str, tuple[float, float]],
    peaks: Mapping[str, Sequence[tuple[float, float]]] | None = None,
    row_height: float = 1.5,
) -> npt.NDArray[np.object_]:
    """Rows of pictures in several representations side by side, as the paper's figure 1.

    Parameters
    ----------
    columns : mapping of str to sequence of array_like
        Title of each column, and its pictures from top to bottom.
    rows : sequence of str
        Name of each row.
    setting : Setting
        Gives the times and frequencies.
    limits : mapping of str to (float, float)
        Ends of the color scale of each column.
    peaks : mapping of str to sequence of (float, float), optional
        Time and frequency of a dot in each picture.
    row_height : float
        Height of each row, in inches.

    Returns
    -------
    ndarray of Axes, shape (row, column)
    """
    size = (7.2, 0.5 + row_height * len(rows))
    figure, axes = plt.subplots(len(rows), len(columns), figsize=size, sharex=True, sharey=True, squeeze=False)
    for column, (title, pictures) in enumerate(columns.items()):
        low, high = limits[title]
        for row, picture in enumerate(pictures):
            ax = image(picture, setting, label="", vmin=low, vmax=high, colorbar=False, ax=axes[row, column])
            ax.set(xlabel="", ylabel="", title=title if row == 0 else "")
            if peaks:
                mark(ax, *peaks[title][row], size=min(7.0, 5 * row_height))
    for ax, row_name in zip(axes[:, 0], rows, strict=True):
        ax.set_ylabel(row_name)
    figure.supxlabel("time (s)", fontsize="medium")
    figure.supylabel("frequency (kHz)", fontsize="medium")
    return axes


def frames(
    times: npt.ArrayLike, functions: Mapping[str, npt.ArrayLike], *, title: str = "", ylabel: str = "value"
) -> npt.NDArray[np.object_]:
    """Detection functions over time, one panel each, because their scales differ.

    Parameters
    ----------
    times : array_like, shape (frame,)
        Time of each frame, in seconds.
    functions : mapping of str to array_like, shape (frame,)
        Label and values of each detection function.
    title : str
        Text above.
    ylabel : str
        Quantity of all panels.

    Returns
    -------
    ndarray of Axes, shape (function,)
    """
    figure, axes = plt.subplots(
        len(functions), 1, figsize=(7.2, 1.4 * len(functions) + 0.6), sharex=True, squeeze=False
    )
    for ax, (label, values) in zip(axes[:, 0], functions.items(), strict=True):
        ax.plot(times, np.asarray(values), color=STYLES.get(label, {}).get("color"))
        ax.set_title(label, loc="left", fontsize="small")
    axes[-1, 0].set_xlabel("time (s)")
    figure.supylabel(ylabel, fontsize="medium")
    figure.suptitle(title, fontsize="medium")
    return axes[:, 0]


def heatmap(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    values: npt.ArrayLike,
    *,
    xlabel: str,
    ylabel: str,
    label: str,
    levels: Sequence[float] = (),
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """A quantity over two others, as colors and labeled contours.

    Parameters
    ----------
    x, y : array_like
        Values of the columns and of the rows.
    values : array_like, shape (y, x)
        What to show.
    xlabel, ylabel, title : str
        Texts, with units.
    label : str
        Quantity and unit, beside the color bar.
    levels : sequence of float
        Values at which to draw a contour.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
    """
    ax = ax or plt.figure().add_subplot()
    mesh = ax.pcolormesh(np.asarray(x), np.asarray(y), np.asarray(values), shading="nearest")
    mesh.set_rasterized(True)
    if levels:
        ax.clabel(ax.contour(np.asarray(x), np.asarray(y), np.asarray(values), levels=levels, colors="white"))
    ax.set(xlabel=xlabel, ylabel=ylabel, title=title)
    ax.grid(visible=False)
    ax.figure.colorbar(mesh, ax=ax, label=label, pad=0.01)
    return ax


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
