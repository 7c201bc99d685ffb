"""Checks of arguments that several modules share; each error names the argument and says what was expected."""

import math
import sys
from numbers import Integral, Real

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.floating]


def check_range(name: str, value: float, low: float, high: float = math.inf, *, open_low: bool = False) -> None:
    """Raise ValueError unless value is a finite number in [low, high], or in ]low, high] if open_low."""
    is_number = isinstance(value, Real) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
    if is_number and (value > low if open_low else value >= low) and value <= high:
        return
    if math.isinf(high):
        expected = f"{'greater than' if open_low else 'at least'} {low}"
    else:
        expected = f"in {']' if open_low else '['}{low}, {high}]"
    raise ValueError(f"{name} must be a finite number {expected}, got {value!r}")


def check_count(name: str, value: int, high: float = math.inf) -> None:
    """Raise ValueError unless value is a positive integer, of at most `high`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not 1 <= value <= high:
        limit = "" if math.isinf(high) else f" of at most {high}"
        raise ValueError(f"{name} must be a positive integer{limit}, got {value!r}")


def check_magnitudes(E: npt.ArrayLike) -> FloatArray:
    """E as a floating-point array (..., band, frame); ValueError unless it is a spectrogram of magnitudes."""
    E = as_finite_floats("E", E)
    if E.ndim < 2 or E.size == 0:
        raise ValueError(f"E must have shape (..., band, frame), with at least one of each, got {E.shape}")
    if E.min() < 0:
        raise ValueError(f"E must be non-negative, as magnitudes are: its minimum is {E.min():g}")
    return E


def check_waveform(x: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Waveform x as an array (..., sample) in double precision; ValueError unless it is finite and holds a sample."""
    x = as_finite_floats("x", x).astype(np.float64, copy=False)
    if x.ndim == 0 or x.size == 0:
        raise ValueError(f"x must hold at least one sample, got shape {x.shape}")
    return x


def as_finite_floats(name: str, values: npt.ArrayLike) -> FloatArray:
    """Values as `as_real_floats` gives them; ValueError unless all are finite."""
    array = as_real_floats(name, values)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got infinity or NaN")
    return array


def as_real_floats(name: str, values: npt.ArrayLike) -> FloatArray:
    """Values as float32 or float64, whichever they already are; integers become float64."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold real numbers, got dtype {array.dtype}")
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)
