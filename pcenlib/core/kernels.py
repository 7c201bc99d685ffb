"""From samples to sequences, and from their spectra to detection functions: `streaming`'s loops, compiled by numba.

Each innermost loop runs over frames, which are side by side in memory. The compiler turns such a loop into vector
instructions if it knows that indices are not negative and arrays have no stride. It may assume that nothing is NaN and
may reorder sums and products, but it may not assume that they are finite.

Magnitudes and their ratios are in single precision, which costs about 1e-7 in a detection function. The background and
sums over many bins are in double precision, so errors do not add up. Logarithms are taken one by one, because numpy's
wide vector instructions for them slow down a processor for a while.
"""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
import numpy.typing as npt

__all__ = ["detect", "fold"]

Function = TypeVar("Function", bound=Callable[..., Any])
Floats = npt.NDArray[np.floating]
Singles = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Spectra = npt.NDArray[np.complexfloating]
Integers = npt.NDArray[np.int64]
Indices = npt.NDArray[np.uint64]


def jit(function: Function) -> Function:
    """Compile at the first call, keep what was compiled for later processes, and let other threads run meanwhile."""
    liberties = {"nnan", "nsz", "contract", "reassoc"}
    compiled: Any = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=liberties)
    return compiled(function)


@jit
def fold(x: Floats, columns: Floats, rows: Indices, shifts: Indices, factors: Spectra, sequences: Spectra) -> None:
    """Fill in the sequences (number, frame) of `transform`, from the samples in columns of one hop each.

    Frames that x does not reach hold meaningless, finite numbers.
    """
    n_frames = np.uint64(sequences.shape[1])
    hop_length = columns.shape[0]
    for t in range(-(-x.size // hop_length)):
        hop = x[t * hop_length : (t + 1) * hop_length]
        for j in range(hop.size):
            columns[j, t] = hop[j]
    for i in range(factors.shape[0]):
        row, other_row, shift, other_shift = rows[i, 0], rows[i, 1], shifts[i, 0], shifts[i, 1]
        a, b = factors[i, 0], factors[i, 1]
        for t in range(n_frames):
            first, second = columns[row, shift + t], columns[other_row, other_shift + t]
            sequences[i, t] = complex(first * a.real + second * b.real, first * a.imag + second * b.imag)


@jit
def detect(
    spectra: Spectra,
    places: Integers,
    turns: Spectra,
    first: Integers,
    quads: Integers,
    weights: Floats,
    power: int,
    floor: np.float32,
    s: float,
    E: Singles,
    M: Doubles,
    functions: Doubles,
) -> None:
    """Fill in the functions (function, frame) of the first frames of the spectra (place, frame).

    `transform.Plan` explains the places and turns of bins, and the quads and weights of bands. Without weights, bands
    are bins. `E` is the last frame and `M` the background of the next one, and both are updated; zeros mean that there
    is none yet, and the first frame is taken for both.
    """
    n_frames, n_bands, n_bins = spectra.shape[1], M.size, turns.size
    bins = np.empty((n_bins + 3, n_frames), np.float32)
    bins[n_bins:] = 0  # where the last quad may reach, with weights of zero
    magnitudes(spectra, places, turns, power, bins)
    # Frames from the one before these on, and backgrounds up to that of the next frame; smoothing goes by eight bands.
    bands, backgrounds = np.empty((n_bands + 7, 1 + n_frames), np.float32), np.empty((n_bands + 7, n_frames + 1))
    bands[n_bands:], backgrounds[n_bands:] = 1, 1
    if weights.size:
        sums = np.empty((n_bands, n_frames), weights.dtype)
        weighted_sums(bins, first, quads, weights, sums)
        lift(sums, floor, bands[:n_bands])
    else:
        lift(bins, floor, bands[:n_bands])
    for b in range(n_bands):
        bands[b, 0] = E[b] if E[b] > 0 else bands[b, 1]
        backgrounds[b, 0] = M[b] if M[b] > 0 else bands[b, 1]
    smooth(bands, s, backgrounds)
    rises(bands[:n_bands], functions[0], functions[1])
    excesses(bands[:n_bands], backgrounds, functions[2])
    E[:], M[:] = bands[:n_bands, functions.shape[1]], backgrounds[:n_bands, functions.shape[1]]


@jit
def magnitudes(spectra: Spectra, places: Integers, turns: Spectra, power: int, bins: Singles) -> None:
    """Magnitudes (bin, frame), or their squares."""
    for i in range(turns.size):
        place, mirror, c, s = places[i, 0], places[i, 1], turns[i].real, turns[i].imag
        if mirror < 0:
            for t in range(bins.shape[1]):
                Z = spectra[place, t]
                square = np.float32(Z.real * Z.real + Z.imag * Z.imag)
                bins[i, t] = math.sqrt(square) if power == 1 else square
        else:
            for t in range(bins.shape[1]):
                Z, Y = spectra[place, t], spectra[mirror, t]
                odd_real, odd_imag = Z.imag + Y.imag, Y.real - Z.real
                real = Z.real + Y.real + c * odd_real - s * odd_imag
                imag = Z.imag - Y.imag + c * odd_imag + s * odd_real
                square = np.float32((real * real + imag * imag) / 4)
                bins[i, t] = math.sqrt(square) if power == 1 else square


@jit
def weighted_sums(bins: Singles, first: Integers, quads: Integers, weights: Floats, sums: Floats) -> None:
    """Sums (band, frame) of bins, four at a time and in the precision of the weights."""
    j = 0
    for b in range(first.size):
        sums[b] = 0
        for k in range(first[b], first[b] + 4 * quads[b], 4):
            w0, w1, w2, w3 = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
            for t in range(sums.shape[1]):
                sums[b, t] += w0 * bins[k, t] + w1 * bins[k + 1, t] + w2 * bins[k + 2, t] + w3 * bins[k + 3, t]
            j += 4


@jit
def lift(values: Floats, floor: np.float32, bands: Singles) -> None:
    """E of the frames after the first: the values, but at least the floor."""
    for b in range(bands.shape[0]):
        for t in range(values.shape[1]):
            bands[b, t + 1] = max(np.float32(values[b, t]), floor)


@jit
def rises(bands: Singles, mean: Doubles, largest: Doubles) -> None:
    """Mean and maximum over bands of the log rise since the last frame, equations 1 and 2."""
    n_frames = bands.shape[1] - 1
    product, maximum = np.ones(n_frames), np.zeros(n_frames, np.float32)
    for b in range(bands.shape[0]):
        for t in range(n_frames):
            ratio = bands[b, t + 1] / bands[b, t]
            maximum[t] = max(maximum[t], ratio)
            product[t] *= max(ratio, np.float32(1))
    for t in range(mean.size):
        mean[t] = (math.log(product[t]) if product[t] < math.inf else log_of_rises(bands, t)) / bands.shape[0]
        largest[t] = math.log(maximum[t] if maximum[t] < math.inf else largest_ratio(bands, bands, t))


@jit
def smooth(bands: Singles, s: float, M: Doubles) -> None:
    """Background of the frames after the first, equation 4; eight bands at once, because none waits for another."""
    for b in range(0, bands.shape[0] - 7, 8):
        m0, m1, m2, m3 = M[b, 0], M[b + 1, 0], M[b + 2, 0], M[b + 3, 0]
        m4, m5, m6, m7 = M[b + 4, 0], M[b + 5, 0], M[b + 6, 0], M[b + 7, 0]
        for t in range(1, bands.shape[1]):
            m0 = s * bands[b, t] + (1 - s) * m0
            m1 = s * bands[b + 1, t] + (1 - s) * m1
            m2 = s * bands[b + 2, t] + (1 - s) * m2
            m3 = s * bands[b + 3, t] + (1 - s) * m3
            m4 = s * bands[b + 4, t] + (1 - s) * m4
            m5 = s * bands[b + 5, t] + (1 - s) * m5
            m6 = s * bands[b + 6, t] + (1 - s) * m6
            m7 = s * bands[b + 7, t] + (1 - s) * m7
            M[b, t], M[b + 1, t], M[b + 2, t], M[b + 3, t] = m0, m1, m2, m3
            M[b + 4, t], M[b + 5, t], M[b + 6, t], M[b + 7, t] = m4, m5, m6, m7


@jit
def excesses(bands: Singles, M: Doubles, pooled: Doubles) -> None:
    """Log of one plus the largest ratio over bands of a frame to its background, equation 6."""
    maximum = np.zeros(bands.shape[1] - 1, np.float32)
    for b in range(bands.shape[0]):
        for t in range(maximum.size):
            maximum[t] = max(maximum[t], bands[b, t + 1] / np.float32(M[b, t]))
    for t in range(pooled.size):
        pooled[t] = math.log1p(maximum[t] if maximum[t] < math.inf else largest_ratio(bands, M, t))


@jit
def log_of_rises(bands: Singles, t: int) -> float:
    """Sum over bands of the log rises, if the product of ratios overflows."""
    total = 0.0
    for b in range(bands.shape[0]):
        total += math.log(max(np.float64(bands[b, t + 1]) / bands[b, t], 1.0))
    return total


@jit
def largest_ratio(bands: Singles, M: Floats, t: int) -> float:
    """Maximum over bands of the ratio of a frame to M, if it overflows in single precision."""
    largest = 0.0
    for b in range(bands.shape[0]):
        largest = max(largest, np.float64(bands[b, t + 1]) / M[b, t])
    return largest
