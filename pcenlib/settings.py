"""Settings for other animals: from a file, restricted to a band, and the time scale that one stands for."""

import dataclasses
import math
import os
import tomllib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pcenlib._checks import check_range
from pcenlib.spectrogram import NIGHTHAWK, RIGHT_WHALE, Setting, _mel_edges

__all__ = ["NAMED", "band_edges", "load_setting", "period", "restrict_band"]

NAMED = {"nighthawk": NIGHTHAWK, "right-whale": RIGHT_WHALE}
"""The settings of the paper, as the command line calls them."""


def load_setting(source: str | os.PathLike[str]) -> Setting:
    """A setting of the paper by its name, or one from a file.

    Parameters
    ----------
    source : str or path
        A name of `NAMED`, or a TOML file with all fields of `Setting` and no others.

    Returns
    -------
    Setting

    Notes
    -----
    Chapter *Your own recordings*. An error names the file and the key.
    """
    if source in NAMED:
        return NAMED[str(source)]
    path = Path(source)
    if path.suffix.lower() != ".toml":
        raise ValueError(f"setting must be {', '.join(NAMED)} or a file that ends in .toml, got {os.fspath(source)!r}")
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a TOML file: {error}") from error
    fields = [field.name for field in dataclasses.fields(Setting)]
    unknown, missing = set(values) - set(fields), set(fields) - set(values)
    if unknown or missing:
        told = [f"{', '.join(sorted(unknown))} is unknown"] * bool(unknown)
        told += [f"{', '.join(sorted(missing))} is missing"] * bool(missing)
        raise ValueError(f"{path} must have the keys {', '.join(fields)}: {'; '.join(told)}")
    try:
        return Setting(**values)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def restrict_band(setting: Setting, low: float, high: float) -> Setting:
    """The same bands, but only those whose centres lie from `low` to `high` hertz.

    Parameters
    ----------
    setting : Setting
        Window, hop and bands.
    low, high : float
        Range of frequencies, in hertz.

    Returns
    -------
    Setting
        With fewer bands and nothing else changed: on the mel scale, the same triangles, so that `fmin` and `fmax` are
        the outer feet of the first and the last one; on the linear scale, the same bins.

    Notes
    -----
    Chapter *Your own recordings*.
    """
    check_range("low", low, 0)
    check_range("high", high, low, open_low=True)
    (inside,) = np.nonzero((setting.frequencies >= low) & (setting.frequencies <= high))
    if inside.size == 0:
        raise ValueError(
            f"no band of the setting has its centre from {low:g} to {high:g} Hz: "
            f"centres go from {setting.frequencies[0]:g} to {setting.frequencies[-1]:g} Hz"
        )
    if inside.size == setting.n_bands:
        return setting
    if setting.scale == "linear":
        fmin, fmax = setting.frequencies[inside[[0, -1]]]
    else:
        fmin, fmax = _mel_edges(setting)[[inside[0], inside[-1] + 2]]
    # The ends of the whole range as they were: rounding must not lift them above half of the sampling rate.
    fmin, fmax = max(float(fmin), setting.fmin), min(float(fmax), setting.fmax)
    return dataclasses.replace(setting, n_bands=int(inside.size), fmin=fmin, fmax=fmax)


def band_edges(setting: Setting) -> npt.NDArray[np.float64]:
    """Lowest and highest frequency of each band, in hertz.

    Parameters
    ----------
    setting : Setting
        Window, hop and bands.

    Returns
    -------
    ndarray, shape (band, 2)
        On the mel scale, the feet of each triangle; on the linear scale, half a bin to either side.

    Notes
    -----
    Chapter *Your own recordings*.
    """
    if setting.scale == "linear":
        return setting.frequencies[:, np.newaxis] + np.array([-0.5, 0.5]) * setting.bin_width
    edges = _mel_edges(setting)
    return np.stack([edges[:-2], edges[2:]], axis=1)


def period(setting: Setting) -> float:
    r"""The time scale T of a setting: contrasts that last much less than T stand out, longer ones are absorbed.

    .. math:: T = 2 \pi\,\mathrm{hop}\,\frac{\sqrt{1 - s}}{s}

    Parameters
    ----------
    setting : Setting
        Gives s and the hop.

    Returns
    -------
    float
        Seconds; at least one hop.

    See Also
    --------
    pcenlib.novelty.smoothing_coefficient : the inverse, from T to s.

    Notes
    -----
    Chapter *Your own recordings*.

    Examples
    --------
    >>> round(period(NIGHTHAWK), 3), round(period(RIGHT_WHALE), 3)
    (0.097, 0.997)
    """
    return max(setting.hop, 2 * math.pi * setting.hop * math.sqrt(1 - setting.s) / setting.s)
