"""What the detection functions make of a scene without a call: their tails, and their largest value."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pcenlib.core.checks import check_waveform
from pcenlib.core.novelty import over_background
from pcenlib.core.setting import Setting
from pcenlib.core.spectrogram import spectrogram
from pcenlib.core.streaming import detection_functions

__all__ = ["NoveltyMeasurements", "measure_novelty"]

# Seconds at either end of a scene that do not count, where a background settles and a resampler ends.
SETTLING, ENDING = 0.5, 0.05


class NoveltyMeasurements(NamedTuple):
    """Measurements of one detection function over a scene."""

    median: float
    """Value that half of the frames exceed."""
    p99: float
    """Value that one frame in a hundred exceeds."""
    p999: float
    """Value that one frame in a thousand exceeds."""
    maximum: float
    """Largest value."""
    time: float
    """Its time, in seconds from the start of the scene."""
    frequency: float
    """Center of the band that exceeds its background most at that time, in hertz."""
    breadth: float
    """Share of the bands that are more than twice their background at that time."""


def measure_novelty(x: npt.ArrayLike, setting: Setting) -> dict[str, NoveltyMeasurements]:
    """Measure the detection functions of a scene: their tails, and what is in their largest value.

    Parameters
    ----------
    x : array_like, shape (sample,)
        A scene at ``setting.sr`` samples per second. Its first half second and its last 50 ms are left out.
    setting : Setting
        Window, hop, bands and s.

    Returns
    -------
    dict of str to NoveltyMeasurements
        For each of `streaming.DETECTORS`.
    """
    x = check_waveform(x)
    first, last = math.ceil(SETTLING / setting.hop), setting.n_frames(x.shape[-1]) - math.ceil(ENDING / setting.hop)
    if x.ndim != 1 or last <= first:
        raise ValueError(f"x must have shape (sample,) and last more than {SETTLING + ENDING} s, got shape {x.shape}")
    measured = {}
    for name, values in detection_functions(x, setting).named().items():
        values = values[first:last]
        median, p99, p999 = np.quantile(values, (0.5, 0.99, 0.999))
        frame = first + int(values.argmax())
        ratio = _over_background(x, setting, frame)
        measured[name] = NoveltyMeasurements(
            median=float(median),
            p99=float(p99),
            p999=float(p999),
            maximum=float(values.max()),
            time=float(setting.times(frame + 1)[-1]),
            frequency=float(setting.frequencies[ratio.argmax()]),
            breadth=float(np.mean(ratio > 2)),
        )
    return measured


def _over_background(x: npt.NDArray[np.float64], setting: Setting, frame: int) -> npt.NDArray[np.floating]:
    """E/M of each band in one frame, from enough of the past for the background to have forgotten its start."""
    begin = max(0, frame - math.ceil(20 / setting.s))
    E = spectrogram(x[begin * setting.hop_length : frame * setting.hop_length + setting.win_length], setting)
    return over_background(E, s=setting.s)[:, -1]
