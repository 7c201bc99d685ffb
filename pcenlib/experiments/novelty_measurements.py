"""What the detection functions make of a scene without a call: their tails, and their largest value."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pcenlib.core.checks import check_waveform
from pcenlib.core.evaluation import count_exceedances
from pcenlib.core.novelty import over_background
from pcenlib.core.setting import Setting
from pcenlib.core.spectrogram import spectrogram
from pcenlib.core.streaming import detection_functions

__all__ = ["NoveltyMeasurements", "TailMeasurements", "measure_novelty", "measure_tails"]

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


class TailMeasurements(NamedTuple):
    """Measurements of the values of one detection function over a scene."""

    minimum: float
    """Smallest value, which the paper subtracts."""
    median: float
    """Value that half of the frames exceed."""
    p99: float
    """Value that one frame in a hundred exceeds."""
    p999: float
    """Value that one frame in a thousand exceeds."""
    low: float
    """Alarms a minute at the first of three thresholds, each run of frames once."""
    middle: float
    """Alarms a minute at the second."""
    high: float
    """Alarms a minute at the third."""


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
    first, counted = _counted(x, setting)
    measured = {}
    for name, values in counted.items():
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


def measure_tails(
    x: npt.ArrayLike, setting: Setting, thresholds: Mapping[str, Sequence[float]]
) -> dict[str, TailMeasurements]:
    """Measure the values of the detection functions of a scene, and how often they exceed thresholds.

    Parameters
    ----------
    x, setting
        As for `measure_novelty`.
    thresholds : mapping of str to sequence of three floats
        For each of `streaming.DETECTORS`.

    Returns
    -------
    dict of str to TailMeasurements
        For each of `streaming.DETECTORS`.
    """
    _, counted = _counted(check_waveform(x), setting)
    counts = count_exceedances([counted], thresholds, count="peaks")
    measured = {}
    for name, values in counted.items():
        quantiles = np.quantile(values, (0, 0.5, 0.99, 0.999))
        rates = 60 * np.array(counts.alarms[name]) / (values.size * setting.hop)
        measured[name] = TailMeasurements(*map(float, (*quantiles, *rates)))
    return measured


def _counted(x: npt.NDArray[np.float64], setting: Setting) -> tuple[int, dict[str, npt.NDArray[np.floating]]]:
    """First frame that counts, and the detection functions in those that do."""
    first, last = math.ceil(SETTLING / setting.hop), setting.n_frames(x.shape[-1]) - math.ceil(ENDING / setting.hop)
    if x.ndim != 1 or last <= first:
        raise ValueError(f"x must have shape (sample,) and last more than {SETTLING + ENDING} s, got shape {x.shape}")
    return first, {name: values[first:last] for name, values in detection_functions(x, setting).named().items()}


def _over_background(x: npt.NDArray[np.float64], setting: Setting, frame: int) -> npt.NDArray[np.floating]:
    """E/M of each band in one frame, from enough of the past for the background to have forgotten its start."""
    begin = max(0, frame - math.ceil(20 / setting.s))
    E = spectrogram(x[begin * setting.hop_length : frame * setting.hop_length + setting.win_length], setting)
    return over_background(E, s=setting.s)[:, -1]
