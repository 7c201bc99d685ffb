"""Pictures of events in recordings: one event, and how many at which hour. They compute nothing."""

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from pcenlib.core.setting import Setting
from pcenlib.core.streaming import MAX_POOLED_PCEN
from pcenlib.show import plots

__all__ = ["event_panels", "timeline"]


MOST_ROWS = 25  # rows of a timeline that are numbered and labeled; more of them are drawn narrower


def event_panels(
    E: npt.ArrayLike,
    pcen: npt.ArrayLike,
    values: npt.ArrayLike,
    setting: Setting,
    *,
    offset: float,
    event: Any,
    threshold: float,
    title: str = "",
) -> npt.NDArray[np.object_]:
    """An event in a recording: spectrogram, PCEN and detection function, one above the other, with the event marked.

    All three are of a stretch that begins `offset` seconds into the recording. The event has attributes `start`, `end`
    and `peak` in seconds of the recording, `low` and `high` in hertz.
    """
    figure, axes = plt.subplots(3, 1, figsize=(7.2, 6.0), sharex=True, height_ratios=[2, 2, 1.2])
    decibels = 20 * np.log10(np.asarray(E))
    top = float(decibels.max())
    plots.image(decibels, setting, label="magnitude (dB)", vmin=top - 60, vmax=top, title=title, ax=axes[0])
    plots.image(pcen, setting, label="PCEN", vmin=np.log(2), vmax=max(2.5, float(np.max(pcen))), ax=axes[1])
    times = setting.times(np.shape(values)[-1])
    axes[2].plot(times, np.asarray(values), **plots.STYLES[MAX_POOLED_PCEN])
    plots.reference_lines(axes[2], {"threshold": threshold})
    axes[2].set_ylabel("max-pooled\nPCEN")
    start, end = event.start - offset, event.end - offset
    low, high = event.low / 1000, event.high / 1000
    for ax in axes[:2]:
        ax.add_patch(Rectangle((start, low), end - start, high - low, fill=False, edgecolor="white", linewidth=1.2))
        plots.mark(ax, event.peak - offset, (event.low + event.high) / 2)
        ax.set_xlabel("")
    axes[2].axvspan(start, end, color="0.5", alpha=0.2, linewidth=0)
    # Round numbers of seconds of the recording, on an axis that starts with the stretch.
    ticks = np.asarray(MaxNLocator(6).tick_values(offset + times[0], offset + times[-1]))
    axes[2].set_xticks(ticks - offset, [f"{tick:.6g}" for tick in ticks])
    axes[2].set(xlabel="time in the recording (s)", xlim=(times[0], times[-1]))
    figure.align_ylabels(axes)
    return axes


def timeline(counts: npt.ArrayLike, days: Sequence[str], *, title: str = "", ax: Axes | None = None) -> Axes:
    """Number of events by hour of the day and by day; hours without a recording are hatched.

    The picture of a year is as high as that of a month: its counts are colors only, and few of its days are named.

    Parameters
    ----------
    counts : array_like, shape (day, 24)
        Events in each hour; NaN where nothing was recorded.
    days : sequence of str
        Name of each row.
    title : str
        Text above.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
    """
    counts = np.asarray(counts, dtype=np.float64)
    ax = ax or plt.figure(figsize=(7.2, 1.4 + 0.32 * min(len(days), MOST_ROWS))).add_subplot()
    ax.patch.set(facecolor="0.9", edgecolor="0.75", hatch="////", linewidth=0)
    edges = np.arange(25), np.arange(len(days) + 1)
    top = max(1.0, float(np.nanmax(counts, initial=0)))
    few = len(days) <= MOST_ROWS
    between = "white" if few else "none"
    mesh = ax.pcolormesh(*edges, np.ma.masked_invalid(counts), vmin=0, vmax=top, cmap="viridis", edgecolor=between)
    for day, hour in np.argwhere(counts > 0) if few else []:
        count = counts[day, hour]
        color = "white" if count < 0.6 * top else "black"
        ax.text(hour + 0.5, day + 0.5, f"{count:.0f}", ha="center", va="center", fontsize="x-small", color=color)
    step = -(-len(days) // MOST_ROWS)
    ax.set(xlabel="hour", xticks=range(0, 25, 3), title=title)
    ax.set_yticks(np.arange(0, len(days), step) + 0.5, days[::step])
    ax.invert_yaxis()
    ax.grid(visible=False)
    bar = ax.figure.colorbar(mesh, ax=ax, label="events", pad=0.01)
    bar.locator = MaxNLocator(4, integer=True)
    return ax
