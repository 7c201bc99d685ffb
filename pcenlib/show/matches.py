"""The figure of template matching: a template, pictures that it slides along, and its score under each."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from pcenlib.core.setting import Setting
from pcenlib.show.plots import STYLES, image

__all__ = ["match_panels"]


def match_panels(
    templates: Mapping[str, npt.ArrayLike],
    pictures: Mapping[str, Mapping[str, npt.ArrayLike]],
    scores: Mapping[str, Mapping[str, npt.ArrayLike]],
    setting: Setting,
    *,
    limits: Mapping[str, tuple[float, float]],
) -> npt.NDArray[np.object_]:
    """Templates at the left, and clips at the right with the score of the stretch that begins at each time.

    Parameters
    ----------
    templates : mapping of str to array_like, shape (band, n)
        By the name of their representation, which is a row.
    pictures, scores : mapping of str to mapping of str to array_like
        For each clip, which is a column, the picture (band, frame) and the scores (shift,) by representation.
    setting : Setting
        Gives the times and frequencies.
    limits : mapping of str to (float, float)
        Ends of the color scale of each representation.

    Returns
    -------
    ndarray of Axes, shape (2 * representation, 1 + clip)
        A dot is where the score is highest.
    """
    n_rows = len(templates)
    figure, axes = plt.subplots(
        2 * n_rows,
        1 + len(pictures),
        figsize=(7.2, 2.4 * n_rows),
        sharex="col",
        width_ratios=[1.0] + [2.2] * len(pictures),
        height_ratios=[1.6, 1.0] * n_rows,
        squeeze=False,
    )
    for row, (name, template) in enumerate(templates.items()):
        low, high = limits[name]
        panels: list[tuple[Axes, npt.ArrayLike, str]] = [(axes[2 * row, 0], template, f"{name}:\ntemplate")]
        panels += [
            (axes[2 * row, 1 + k], pictures[clip][name], clip if row == 0 else "") for k, clip in enumerate(pictures)
        ]
        for ax, picture, title in panels:
            image(picture, setting, label="", vmin=low, vmax=high, colorbar=False, title=title, ax=ax)
            ax.set(xlabel="", ylabel="")
        axes[2 * row + 1, 0].axis("off")
        for k, clip in enumerate(pictures):
            ax, values = axes[2 * row + 1, 1 + k], np.asarray(scores[clip][name])
            times = setting.times(values.size)
            ax.plot(times, values, color=STYLES.get(name, {}).get("color"))
            ax.plot(times[values.argmax()], values.max(), "o", color="black", markersize=4)
            ax.set(ylim=(-0.5, 1.05), yticks=[0, 0.5, 1])
            ax.set_ylabel("score" if k == 0 else "")
    figure.supxlabel("time (s); frequencies in kHz", fontsize="medium")
    return axes
