"""Pictures of whole nights: false-color spectrograms and single indices over hours, with what happened beneath."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

__all__ = ["index_panels", "night_picture"]


def night_picture(
    colors: npt.ArrayLike,
    hours: npt.ArrayLike,
    frequencies: npt.ArrayLike,
    *,
    events: Mapping[str, npt.ArrayLike] | None = None,
    spans: Sequence[tuple[float, float, str]] = (),
    xlabel: str = "hours since the start",
    title: str = "",
) -> list[Axes]:
    """A false-color spectrogram, with what is known to have happened beneath it.

    Parameters
    ----------
    colors : array_like, shape (band, time, 3)
        Red, green and blue from 0 to 1.
    hours : array_like, shape (time,)
        When each column begins; columns are as wide as the first two are apart.
    frequencies : array_like, shape (band,)
        Center of each band, in hertz.
    events : mapping of str to array_like, optional
        Label of each row beneath, and the hours of its events.
    spans : sequence of (float, float, str)
        Begin and end of a stretch, in hours, and its name, written above.
    xlabel, title : str
        Texts, with units.

    Returns
    -------
    list of Axes
        The picture, and the axes beneath it if there are events.
    """
    colors, hours = np.asarray(colors), np.asarray(hours)
    rows = [1] if events is None else [5, 0.45 * len(events)]
    size = (7.2, 3.4 + (0 if events is None else 0.35 * len(events)))
    _, axes = plt.subplots(len(rows), 1, figsize=size, height_ratios=rows, sharex=True, squeeze=False)
    ax = axes[0, 0]
    edges = np.append(hours, hours[-1] + hours[1] - hours[0])
    ax.pcolormesh(edges, _edges(frequencies), colors, rasterized=True)
    ax.set(ylabel="frequency (kHz)", title=title)
    ax.grid(visible=False)
    for begin, end, name in spans:
        ax.axvline(begin, color="white", linewidth=0.8)
        ax.annotate(name, ((begin + end) / 2, 1.02), xycoords=("data", "axes fraction"), ha="center", fontsize="small")
    if events is not None:
        below = axes[1, 0]
        for row, times in enumerate(events.values()):
            below.plot(np.asarray(times), np.full(np.size(times), row), "|", color="black", markersize=9, alpha=0.7)
        below.set_yticks(range(len(events)), labels=list(events))
        below.set(ylim=(len(events) - 0.5, -0.5))
        below.grid(visible=False)
    axes[-1, 0].set_xlabel(xlabel)
    return list(axes[:, 0])


def index_panels(
    panels: Mapping[str, npt.ArrayLike],
    hours: npt.ArrayLike,
    frequencies: npt.ArrayLike,
    *,
    limits: Mapping[str, tuple[float, float]],
    xlabel: str = "hours since the start",
) -> list[Axes]:
    """Several indices over the same hours, one gray picture each.

    Parameters
    ----------
    panels : mapping of str to array_like, shape (time, band)
        Name of each index, and its values.
    hours, frequencies, xlabel
        As for `night_picture`.
    limits : mapping of str to (float, float)
        For each index, the values that are black and white.

    Returns
    -------
    list of Axes
    """
    hours = np.asarray(hours)
    edges = np.append(hours, hours[-1] + hours[1] - hours[0])
    figure, axes = plt.subplots(len(panels), 1, figsize=(7.2, 0.5 + 1.5 * len(panels)), sharex=True, squeeze=False)
    for ax, (name, values) in zip(axes[:, 0], panels.items(), strict=True):
        low, high = limits[name]
        mesh = ax.pcolormesh(
            edges, _edges(frequencies), np.asarray(values).T, vmin=low, vmax=high, cmap="gray", rasterized=True
        )
        figure.colorbar(mesh, ax=ax, pad=0.01)
        ax.set_title(name, loc="left", fontsize="small")
        ax.grid(visible=False)
    axes[-1, 0].set_xlabel(xlabel)
    figure.supylabel("frequency (kHz)", fontsize="medium")
    return list(axes[:, 0])


def _edges(frequencies: npt.ArrayLike) -> npt.NDArray[np.floating]:
    """Borders in kHz between bands whose centers are given in hertz."""
    centers = np.asarray(frequencies, dtype=float) / 1000
    between = (centers[1:] + centers[:-1]) / 2
    return np.concatenate([[2 * centers[0] - between[0]], between, [2 * centers[-1] - between[-1]]])
