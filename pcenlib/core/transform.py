r"""How the compiled kernels of `streaming` transform a window of W samples that is zero-padded to N = q W.

No zero is transformed. Let x be a window, already multiplied by w. Its bins

.. math:: X[m] = \sum_{n < W} x[n]\, e^{-2 \pi i m n / N}

follow from q complex sequences of W/2 numbers each. For r = 1 to q - 1, the transform of

.. math:: u_r[n] = \bigl(x[n] + e^{-\pi i r / q}\, x[n + W/2]\bigr)\, e^{-2 \pi i r n / N}, \qquad 0 \le n < W/2

is X at m = 2 q k + r, because :math:`e^{-2 \pi i m (W/2) / N}` is the same at all these m. The bins half-way between
them are mirror images, :math:`X[N - m] = X^*[m]`. What remains are the multiples of q, the transform of W real samples.
As usual, it follows from the transform Z of :math:`u_0[n] = x[2n] + i\, x[2n + 1]`:

.. math:: X[q k] = \tfrac12 (Z[k] + Z^*[-k]) - \tfrac i2\, e^{-2 \pi i k / W} (Z[k] - Z^*[-k]).

If N is not a multiple of W, or W is odd, the window itself is zero-padded to W = N, and q = 1.
"""

import functools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pcenlib.core.checks import FloatArray
from pcenlib.core.setting import Setting

__all__ = ["Plan", "plan"]

Integers = npt.NDArray[np.int64]


class Plan(NamedTuple):
    """Each number of each sequence as a sum of two samples, each bin as a place in the spectra, each band as bins.

    Sample i of a frame is in row ``i % hop``, as many frames later as its shift ``i // hop``.
    """

    q: int  # number of sequences
    rows: npt.NDArray[np.uint64]  # of the samples of each number, (number, 2)
    shifts: npt.NDArray[np.uint64]  # of the same samples
    factors: npt.NDArray[np.complexfloating]  # what these samples are multiplied by, including the window
    places: Integers  # of k and -k, (bin, 2), in the spectra of all sequences in a row; -1 where one is enough
    turns: npt.NDArray[np.complexfloating]  # factor of the second term for multiples of q, (bin,)
    first: Integers  # first bin of each band, (band,); empty if bands are bins
    quads: Integers  # number of groups of four bins in each band, (band,)
    weights: FloatArray  # of these bins, for all bands in a row


@functools.cache
def plan(setting: Setting, dtype: str) -> Plan:
    """The sequences, bins and bands of a setting with an even `n_fft`, in single or double precision."""
    N, W = setting.n_fft, setting.win_length
    q = N // W if N % W == 0 and W % 2 == 0 else 1
    half = N // q // 2
    n, r = np.arange(half), np.arange(1, q)[:, np.newaxis]
    samples = np.concatenate([[2 * n, 2 * n + 1], np.tile([n, n + half], q - 1)], axis=1).T
    turned = np.exp(-2j * np.pi * r * n / N)
    first = np.concatenate([np.ones(half), turned.ravel()])
    second = np.concatenate([np.full(half, 1j), (np.exp(-1j * np.pi * r / q) * turned).ravel()])
    window = np.pad(setting.window, (0, 2 * half - W))
    factors = np.stack([first, second], axis=1) * window[samples]
    rows, shifts = np.divmod(np.minimum(samples, W - 1), setting.hop_length)[::-1]

    m = _bins(setting)
    k = m // q
    mirrored = np.where(m % (2 * q) < q, m, N - m)
    places = np.stack([mirrored % (2 * q) * half + mirrored // (2 * q), np.full(len(m), -1)], axis=1)
    places[m % q == 0] = np.stack([k % half, -k % half], axis=1)[m % q == 0]
    turns = np.exp(-1j * np.pi * k / half)
    precision = np.result_type(dtype, np.complex64)
    factors, turns = factors.astype(precision), turns.astype(precision)
    return Plan(q, rows.astype(np.uint64), shifts.astype(np.uint64), factors, places, turns, *_bands(setting))


def _bins(setting: Setting) -> Integers:
    """Bins of the transform from the first to the last that the bands are made of."""
    if setting.scale == "linear":
        return np.arange(setting.first_bin, setting.first_bin + setting.n_bands)
    used = np.flatnonzero(setting.filters.any(axis=0))
    return np.arange(used[0], used[-1] + 1)


def _bands(setting: Setting) -> tuple[Integers, Integers, FloatArray]:
    """First bin, quads and weights of each band."""
    if setting.scale == "linear":
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32)
    filters = np.pad(setting.filters, ((0, 0), (0, 3)))
    first = (filters > 0).argmax(axis=1)
    quads = -(-np.count_nonzero(filters, axis=1) // 4)
    weights = [row[begin : begin + 4 * n] for row, begin, n in zip(filters, first, quads, strict=True)]
    # Single precision is enough to sum a few bins; the paper's bands have at most 12.
    return first - first.min(), quads, np.concatenate(weights, dtype=np.float32 if quads.max() <= 8 else np.float64)
