"""The figures of the book, in one style. Functions take data, draw, and return axes; they compute nothing.

A detector has the same color in every figure, in a palette that color-blind readers can tell apart (Okabe and Ito,
2008), and its own line style, so the figures also work in print.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
from cycler import cycler
from matplotlib.axes import Axes

from pcenlib.core.setting import Setting
from pcenlib.core.streaming import AVERAGED_FLUX, MAX_POOLED_FLUX, MAX_POOLED_PCEN

__all__ = ["curves", "frames", "gallery", "heatmap", "image", "mark", "reference_lines", "use_style"]

STYLES: Mapping[str, Mapping[str, Any]] = {
    AVERAGED_FLUX: {"color": "#E69F00", "linestyle": "--"},
    MAX_POOLED_FLUX: {"color": "#0072B2", "linestyle": "-."},
    MAX_POOLED_PCEN: {"color": "#D55E00", "linestyle": "-"},
    "slower PCEN": {"color": "#CC79A7", "linestyle": (0, (4, 1))},
    "after suppression": {"color": "#8C6D1F", "linestyle": (0, (1, 1))},
    "in the whale's bands": {"color": "#56B4E9", "linestyle": "-."},
    "along rising lines": {"color": "#000000", "linestyle": "-"},
    "log magnitude": {"color": "#009E73", "linestyle": "-"},
    "log(E/median)": {"color": "#4B0092", "linestyle": (0, (5, 2))},
    "log(1 + E/median)": {"color": "#1A85FF", "linestyle": (0, (3, 1, 1, 1))},
    "log(E/M)": {"color": "#994F00", "linestyle": "--"},
    "PCEN": {"color": "#B03A00", "linestyle": "-"},
    "slower log(E/M)": {"color": "#C08457", "linestyle": (0, (2, 1))},
    "spectrum alone": {"color": "#5C6F00", "linestyle": (0, (1, 1.5))},
    "learned PCEN": {"color": "#882200", "linestyle": "-."},
    "chance": {"color": "0.35", "linestyle": ":"},
    "as written": {"color": "#222222", "linestyle": "-"},
    "as released": {"color": "#7B5EA7", "linestyle": "--"},
    "nothing subtracted": {"color": "#7A8B00", "linestyle": "-."},
    "acoustic complexity": {"color": "#117733", "linestyle": "--"},
    "concentration": {"color": "#332288", "linestyle": "-."},
    "mean PCEN": {"color": "#AA4499", "linestyle": ":"},
    "peak PCEN": {"color": "#882255", "linestyle": "-"},
    "flux, lag of 1 window": {"color": "#003F63", "linestyle": (0, (1, 1))},
    "flux, lag of 4 windows": {"color": "#7BA7D9", "linestyle": (0, (4, 1))},
    "SuperFlux": {"color": "#B8860B", "linestyle": ":"},
    "SuperFlux, maximum": {"color": "#2A9DA8", "linestyle": "--"},
    "over median": {"color": "#1B7837", "linestyle": "-"},
    "energy over median": {"color": "#9BAF1F", "linestyle": (0, (4, 1))},
    "over median, minus bands": {"color": "#00441B", "linestyle": "--"},
    "PCEN, minus bands": {"color": "#8B1A1A", "linestyle": "-."},
    "PCEN, mean of 20 ms": {"color": "#F4A582", "linestyle": "-"},
    "PCEN, mean of 50 ms": {"color": "#E78AC3", "linestyle": "-"},
    "PCEN, mean of 100 ms": {"color": "#B07AA1", "linestyle": "-"},
    "PCEN, mean of 250 ms": {"color": "#9C83C9", "linestyle": "--"},
    "PCEN, mean of 500 ms": {"color": "#5B4A8A", "linestyle": ":"},
}
"""Color and line of each detector, representation, protocol and index, wherever it appears."""

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
