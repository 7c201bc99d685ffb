"""From samples to frames, and from their spectra to detection functions, compiled by numba: `streaming`'s fast way.

Importing this module imports numba. Each loop is short and touches few arrays, so that the compiler turns it into
vector instructions; that is also why maxima are folded by halves and why all indices start at zero. Frames go through
the bands in groups, the frames of a group side by side in memory; then each frame goes through equations 1, 2, 4 and
6, its bands side by side.

Magnitudes and their ratios are in single precision, which costs some 1e-7 in a detection function; sums over bins and
the background are in double precision, lest errors add up. Nothing here is ever NaN, which is the first of the
liberties that the compiler is given; it may also reorder sums and products, but not take for granted that they are
finite. Logarithms are taken here, one by one, because numpy's wide vector instructions for them slow down a processor
for a while afterwards.
"""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
import numpy.typing as npt

__all__ = ["detect", "multiply"]

GROUP = 32

Function = TypeVar("Function", bound=Callable[..., Any])
Floats = npt.NDArray[np.floating]
Singles = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]


def jit(function: Function) -> Function:
    """Compile at the first call, and keep what was compiled for later processes."""
    compiled: Any = numba.njit(cache=True, error_model="numpy", fastmath={"nnan", "nsz", "contract", "reassoc"})
    return compiled(function)


@jit
def multiply(x: npt.NDArray[Any], window: Floats, hop_length: int, frames: Floats) -> None:
    """Fill the frames (frame, sample) with windows of x; what lies right of the window is left as it is."""
    for t in range(frames.shape[0]):
        begin = t * hop_length
        product(x[begin : begin + window.size], window, frames[t])


@jit
def detect(
    spectra: npt.NDArray[np.complexfloating],
    low: int,
    n_bins: int,
    first: npt.NDArray[np.int64],
    quads: npt.NDArray[np.int64],
    weights: Singles,
    power: int,
    floor: np.float32,
    s: float,
    E: Singles,
    M: Doubles,
    functions: Doubles,
) -> None:
    """Fill in a column of functions for each of the spectra (frame, bin).

    The bands are made of `n_bins` bins from `low`. They are these bins, to that power, if there are no weights; else,
    band b is the sum of ``4 * quads[b]`` bins from ``low + first[b]``, each times its weight; the weights of all bands
    follow one another. `E` is the last frame and `M` the background of the next one, both updated; zeros stand for
    none yet, and the first frame for both.
    """
    n_frames, n_bands = spectra.shape[0], M.size
    rows = np.empty((GROUP, n_bins), np.float32)
    columns = np.empty((n_bins + 3, GROUP), np.float32)
    columns[n_bins:] = 0  # where the last quad may reach past the last bin, with weights of zero
    sums = np.empty((n_bands, GROUP))
    bands = rows if weights.size == 0 else np.empty((GROUP, n_bands), np.float32)
    ratio = np.empty(n_bands, np.float32)
    rounded = M.astype(np.float32)
    for begin in range(0, n_frames, GROUP):
        size = min(GROUP, n_frames - begin)
        for t in range(size):
            squares(spectra[begin + t, low : low + n_bins], rows[t])
            if power == 1:
                roots(rows[t])
        if weights.size:
            transpose(rows, columns)
            weighted_sums(columns, first, quads, weights, sums)
            transpose(sums, bands)
        for t in range(size):
            lift(bands[t], floor)
            if E[0] == 0:
                E[:] = bands[0]
            if M[0] == 0:
                M[:] = rounded[:] = bands[0]
            last = bands[t - 1] if t > 0 else E
            divide(bands[t], last, ratio)
            functions[0, begin + t] = mean_log_rise(bands[t], last, ratio)
            functions[1, begin + t] = math.log(largest_ratio(bands[t], last, ratio))
            divide(bands[t], rounded, ratio)
            functions[2, begin + t] = math.log1p(largest_ratio(bands[t], M, ratio))
            smooth(bands[t], s, M, rounded)
        E[:] = bands[size - 1]


@jit
def product(x: npt.NDArray[Any], window: Floats, frame: Floats) -> None:
    """Samples times window."""
    for n in range(window.size):
        frame[n] = window.dtype.type(x[n]) * window[n]


@jit
def squares(spectrum: npt.NDArray[np.complexfloating], E: Singles) -> None:
    """Squared magnitudes of a spectrum."""
    for k in range(E.size):
        E[k] = spectrum[k].real * spectrum[k].real + spectrum[k].imag * spectrum[k].imag


@jit
def roots(E: Singles) -> None:
    """Magnitudes from their squares, in place."""
    for k in range(E.size):
        E[k] = math.sqrt(E[k])


@jit
def transpose(rows: Floats, columns: Singles) -> None:
    """Turn rows into columns."""
    for k in range(rows.shape[1]):
        for t in range(rows.shape[0]):
            columns[k, t] = rows[t, k]


@jit
def weighted_sums(
    columns: Singles, first: npt.NDArray[np.int64], quads: npt.NDArray[np.int64], weights: Singles, sums: Doubles
) -> None:
    """Sums (band, frame) of magnitudes (bin, frame) with the weights of each band, four bins at a time."""
    j = 0
    for b in range(sums.shape[0]):
        band = sums[b]
        band[:] = 0
        for quad in range(quads[b]):
            four = columns[first[b] + 4 * quad : first[b] + 4 * quad + 4]
            w0, w1, w2, w3 = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
            for t in range(band.size):
                band[t] += w0 * four[0, t] + w1 * four[1, t] + w2 * four[2, t] + w3 * four[3, t]
            j += 4


@jit
def lift(E: Singles, floor: np.float32) -> None:
    """Lift what lies below the floor to the floor."""
    for b in range(E.size):
        E[b] = max(E[b], floor)


@jit
def divide(E: Singles, M: Singles, ratio: Singles) -> None:
    """Ratio of E to M in each band."""
    for b in range(ratio.size):
        ratio[b] = E[b] / M[b]


@jit
def smooth(E: Singles, s: float, M: Doubles, rounded: Singles) -> None:
    """Background of the next frame, equation 4, in double precision and rounded."""
    for b in range(M.size):
        M[b] = s * E[b] + (1 - s) * M[b]
        rounded[b] = M[b]


@jit
def mean_log_rise(E: Singles, last: Singles, ratio: Singles) -> float:
    """Mean over bands of max(log ratio, 0), equation 1: the logarithm of a product, unless the product overflows."""
    product = 1.0
    for b in range(ratio.size):
        product *= max(ratio[b], np.float32(1))
    if product < math.inf:
        return math.log(product) / ratio.size
    total = 0.0
    for b in range(ratio.size):
        total += math.log(max(np.float64(E[b]) / last[b], 1.0))
    return total / ratio.size


@jit
def largest_ratio(E: Singles, M: Floats, ratio: Singles) -> float:
    """Maximum over bands of the ratio of E to M, which is overwritten; again in double precision if it overflows."""
    largest = float(fold_maximum(ratio))
    if largest == math.inf:
        largest = 0.0
        for b in range(E.size):
            largest = max(largest, np.float64(E[b]) / M[b])
    return largest


@jit
def fold_maximum(values: Singles) -> np.float32:
    """Maximum of the values, which are overwritten."""
    size = values.size
    while size > 8:
        half = size // 2
        near, far = values[: size - half], values[half:size]
        for b in range(near.size):
            near[b] = max(near[b], far[b])
        size -= half
    largest: np.float32 = values[0]
    for b in range(1, size):
        largest = max(largest, values[b])
    return largest
