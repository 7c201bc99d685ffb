"""How far a call is detected: transmission loss, false alarms, and the level at which half of the calls are found.

A detection range is the distance at which half of the calls exceed the threshold for a chosen rate of false alarms.
Three facts make it cheap to compute for any weather, bird and night. A gain changes no detection function, so only the
difference between the levels of call and noise counts. A call that fills an octave or less keeps the shape of its
spectrum, so the path changes its level alone. The alarms of noises that come at different times add up, so each noise
can be counted by itself.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from pcenlib.core.checks import as_real_floats, check_count, check_range
from pcenlib.core.resampling import resample
from pcenlib.core.setting import Setting
from pcenlib.core.streaming import detection_functions
from pcenlib.datasets.interface import DataSet
from pcenlib.simulation.acoustics import atmospheric_absorption, spreading_loss

__all__ = [
    "RecallCurve",
    "fit_recall",
    "mixed_rate",
    "path_length",
    "path_loss",
    "range_interval",
    "recall_curves",
    "share_found",
    "threshold_at_rate",
]


class RecallCurve(NamedTuple):
    """Share of the calls that are found, against the received level: a logistic curve."""

    half: float
    """Level at which half of the calls are found, in dB."""
    scale: float
    """Change in level, in dB, by which the odds of being found change by a factor of e."""

    def __call__(self, levels: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Recall at levels in dB."""
        return np.asarray(scipy.special.expit((np.asarray(levels) - self.half) / self.scale), dtype=np.float64)


def fit_recall(levels: npt.ArrayLike, detected: npt.ArrayLike) -> RecallCurve:
    r"""Fit recall against level by maximum likelihood.

    .. math:: P(\text{found} \mid L) = \frac{1}{1 + e^{-(L - L_{50}) / k}}

    Parameters
    ----------
    levels : array_like, shape (call,)
        Level of each call, in dB.
    detected : array_like of bool, shape (call,)
        Whether it was found.

    Returns
    -------
    RecallCurve
        :math:`L_{50}` and :math:`k`. Where a level separates found from missed calls without exception, every small k
        is as likely as any other.
    """
    x = as_real_floats("levels", levels).astype(np.float64)
    found = np.asarray(detected, dtype=bool)
    if x.ndim != 1 or x.shape != found.shape:
        raise ValueError(f"levels and detected must have the same shape (call,), got {x.shape} and {found.shape}")
    if not np.isfinite(x).all():
        raise ValueError("levels must be finite: they hold infinity or NaN")
    if found.all() or not found.any():
        raise ValueError("detected must hold found and missed calls, to find out what tells them apart")
    if not x[found].mean() > x[~found].mean():
        raise ValueError("detected must hold more calls of higher levels: the found ones are softer than the missed")
    middle, spread = x.mean(), x.std()
    design = np.stack([np.ones_like(x), (x - middle) / spread])
    weights = np.zeros(2)
    for _ in range(100):  # Newton's method; a logistic likelihood has one maximum
        p = scipy.special.expit(weights @ design)
        if np.abs(found - p).max() < 1e-6:  # a clean cut, which could only become steeper
            break
        step = np.linalg.solve((design * p * (1 - p)) @ design.T, design @ (found - p))
        weights += step / max(1.0, np.abs(step).max() / 2)
        if np.abs(step).max() < 1e-10:
            break
    offset, slope = weights
    return RecallCurve(float(middle - spread * offset / slope), float(spread / slope))


FloatArray = npt.NDArray[np.float64]

# Distances between which `path_length` looks, in meters, each some 0.5 % farther than the one before.
DISTANCES = np.geomspace(1, 5000, 1701)


def path_loss(
    distance: npt.ArrayLike,
    frequency: float,
    *,
    excess: float = 0.0,
    temperature: float = 20.0,
    humidity: float = 70.0,
) -> FloatArray:
    """Transmission loss of one frequency between one meter and a distance: spreading, air and forest.

    Parameters
    ----------
    distance : array_like
        In meters, at least 1.
    frequency : float
        In hertz; the center of a call that fills an octave or less.
    excess : float
        Loss beyond spreading and air in dB per 100 m, as for `scenes.Night`.
    temperature, humidity : float
        Weather, as for `acoustics.atmospheric_absorption`.

    Returns
    -------
    ndarray
        Loss in dB, in the shape of `distance`.
    """
    check_range("excess", excess, 0)
    d = as_real_floats("distance", distance).astype(np.float64)
    if not (np.isfinite(d) & (d >= 1)).all():
        raise ValueError("distance must be finite and at least 1, in meters")
    air = atmospheric_absorption(frequency, temperature=temperature, humidity=humidity)
    return spreading_loss(d) + (air + excess / 100) * (d - 1)


def path_length(loss: npt.ArrayLike, frequency: float, **path: Any) -> FloatArray:
    """Distance of a given transmission loss: the inverse of `path_loss`.

    Parameters
    ----------
    loss : array_like
        Loss in dB between one meter and the distance.
    frequency : float
        In hertz.
    **path
        Excess and weather, as for `path_loss`.

    Returns
    -------
    ndarray
        Distance in meters, in the shape of `loss`, from 1, for no loss, to 5000.
    """
    return np.interp(as_real_floats("loss", loss), _losses(frequency, **path), DISTANCES)


@functools.lru_cache(maxsize=64)
def _losses(frequency: float, **path: float) -> FloatArray:
    """Loss at each of `DISTANCES`."""
    return path_loss(DISTANCES, frequency, **path)


def mixed_rate(
    rates: Mapping[str, npt.ArrayLike],
    shares: Mapping[str, float],
    *,
    steady: str = "steady",
    rng: np.random.Generator | None = None,
) -> FloatArray:
    r"""False alarms of a night in which noises come and go, from counts of each noise by itself.

    .. math:: \lambda = \lambda_0 + \sum_k p_k\,(\lambda_k - \lambda_0)

    Parameters
    ----------
    rates : mapping of str to array_like, shape (scene, threshold)
        For each noise, the rate of false alarms in each scene at each of the rising thresholds, while this noise is
        there together with the steady one.
    shares : mapping of str to float
        For each noise but the steady one, the share of time in which it is there; for single events, their rate
        relative to the scenes'.
    steady : str
        Name of the noise that is always there.
    rng : numpy.random.Generator, optional
        If given, scenes are drawn anew, with replacement, for a bootstrap.

    Returns
    -------
    ndarray, shape (threshold,)
        Rate of false alarms, which never rises with the threshold.
    """
    missing = ({*shares} | {steady}) - {*rates}
    if missing:
        raise ValueError(f"rates must hold every noise of the night: {', '.join(sorted(missing))} is missing")
    mean = {}
    for noise in rates:
        scenes = as_real_floats("rates", rates[noise]).astype(np.float64)
        if scenes.ndim != 2 or scenes.size == 0:
            raise ValueError(f"rates must have shape (scene, threshold), got {scenes.shape} for {noise}")
        mean[noise] = (scenes if rng is None else scenes[resample(len(scenes), rng)]).mean(axis=0)
    total = mean[steady].copy()
    for noise, share in shares.items():
        check_range("shares", share, 0)
        total += share * (mean[noise] - mean[steady])
    return np.minimum.accumulate(np.maximum(total, 0))


def threshold_at_rate(rate: float, rates: npt.ArrayLike, thresholds: npt.ArrayLike) -> float:
    """Threshold at which the rate of false alarms has fallen to a chosen one.

    Parameters
    ----------
    rate : float
        The chosen rate.
    rates, thresholds : array_like, shape (threshold,)
        Rates at rising thresholds, from `mixed_rate`.

    Returns
    -------
    float
        On a straight line between the logarithms of neighboring rates; a threshold without any false alarm, if that
        is the first one below the chosen rate.
    """
    check_range("rate", rate, 0, open_low=True)
    y, x = as_real_floats("rates", rates), as_real_floats("thresholds", thresholds)
    if y.ndim != 1 or y.shape != x.shape or not (np.diff(x) > 0).all() or not (np.diff(y) <= 0).all():
        raise ValueError("thresholds must rise and rates fall, and there must be as many of both")
    if not y[0] >= rate >= y[-1]:
        raise ValueError(f"rate must be between {y[-1]:g} and {y[0]:g}, those of the thresholds, got {rate!r}")
    last = int(np.flatnonzero(y >= rate)[-1])
    if last == len(x) - 1 or y[last + 1] == 0:
        return float(x[min(last + 1, len(x) - 1)])
    share = np.log(y[last] / rate) / np.log(y[last] / y[last + 1])
    return float(x[last] + share * (x[last + 1] - x[last]))


def share_found(
    dataset: DataSet, distances: Sequence[float], *, setting: Setting, threshold: float
) -> npt.NDArray[np.float64]:
    """Share of the calls of a simulated data set that max-pooled PCEN finds, if all of them come from one distance.

    Parameters
    ----------
    dataset : DataSet
        A simulated one, which knows the same call in the same noise from anywhere. Its nearest calls are taken.
    distances : sequence of float
        Distances in meters.
    setting : Setting
        Window, bands and s.
    threshold : float
        A call is found if the function exceeds it within the clip.

    Returns
    -------
    ndarray, shape (distance,)
    """
    nearest = [clip for clip in dataset.clips if clip.distance == dataset.clips[0].distance]
    found = np.zeros((len(distances), len(nearest)))
    for row, distance in enumerate(distances):
        for column, clip in enumerate(nearest):
            source, sr, lead = dataset.clip(clip._replace(distance=distance))
            values = detection_functions(source, setting, sr=sr).max_pooled_pcen
            found[row, column] = values[round(lead / setting.hop) :].max() > threshold
    return found.mean(axis=1)


def recall_curves(
    levels: npt.ArrayLike,
    values: npt.ArrayLike,
    rates: Mapping[str, npt.ArrayLike],
    thresholds: npt.ArrayLike,
    *,
    rate: float,
    shares: Mapping[str, float],
    n_draws: int,
    rng: int | np.random.Generator,
) -> list[RecallCurve]:
    """Recall against received level at a chosen rate of false alarms, with bootstrap repetitions.

    Parameters
    ----------
    levels, values : array_like, shape (call, distance)
        Received level of each call at each distance, in dB, and the largest value of the detection function.
    rates, shares
        False alarms of each noise and their mixture, as for `mixed_rate`.
    thresholds : array_like, shape (threshold,)
        Rising thresholds of `rates`.
    rate : float
        The chosen rate of false alarms.
    n_draws : int
        Number of repetitions, in each of which calls and scenes are drawn anew, with replacement.
    rng : int or numpy.random.Generator
        Source of the draws, or its seed.

    Returns
    -------
    list of RecallCurve
        First that of all calls and scenes, then those of the repetitions.
    """
    level, value = as_real_floats("levels", levels), as_real_floats("values", values)
    if level.ndim != 2 or level.shape != value.shape:
        raise ValueError(f"levels and values must have shape (call, distance), got {level.shape} and {value.shape}")
    if n_draws != 0:
        check_count("n_draws", n_draws)
    rng = np.random.default_rng(rng)
    curves = []
    for draw in range(1 + n_draws):
        calls = resample(len(level), rng) if draw else np.arange(len(level))
        false_alarms = mixed_rate(rates, shares, rng=rng if draw else None)
        limit = threshold_at_rate(rate, false_alarms, thresholds)
        curves.append(fit_recall(level[calls].ravel(), value[calls].ravel() > limit))
    return curves


def range_interval(
    curves: Sequence[RecallCurve], source_level: float, frequency: float, **way: Any
) -> tuple[float, float, float]:
    """Distance at which half of the calls are found, with an interval of 95 %.

    Parameters
    ----------
    curves : sequence of RecallCurve
        From `recall_curves`: one of all calls and scenes, then repetitions.
    source_level : float
        Level of the calls at one meter, in dB.
    frequency, **way
        As for `path_loss`.

    Returns
    -------
    distance, low, high : float
        In meters; the ends of the interval are quantiles of the repetitions' distances, the first one's included.
    """
    reached = path_length(source_level - np.array([curve.half for curve in curves]), frequency, **way)
    low, high = np.quantile(reached, [0.025, 0.975])
    return float(reached[0]), float(low), float(high)
