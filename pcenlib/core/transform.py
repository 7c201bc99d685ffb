r"""How the compiled kernels of `streaming` transform a window of W samples that is zero-padded to N = q W.

No zero is transformed. Let x be a window, already multiplied by w. Its bins

.. math:: X[m] = \sum_{n < W} x[n]\, e^{-2 \pi i m n / N}

follow from q complex sequences of L = W/2 numbers each. For r = 1 to q - 1, the transform of

.. math:: u_r[n] = \bigl(x[n] + e^{-\pi i r / q}\, x[n + L]\bigr)\, e^{-2 \pi i r n / N}, \qquad 0 \le n < L

is X at m = 2 q k + r, because :math:`e^{-2 \pi i m L / N}` is the same at all these m. The bins half-way between them
are mirror images, :math:`X[N - m] = X^*[m]`. What remains are the multiples of q, the transform of W real samples. As
usual, it follows from the transform Z of :math:`u_0[n] = x[2n] + i\, x[2n + 1]`:

.. math:: X[q k] = \tfrac12 (Z[k] + Z^*[-k]) - \tfrac i2\, e^{-2 \pi i k / W} (Z[k] - Z^*[-k]).

If N is no multiple of W, the window itself is zero-padded to W = N, and q = 1. N is a power of two here, and so is L:
`butterflies` transforms the sequences.
"""

import functools
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pcenlib.core.butterflies import FRAMES, Complex, indented, n_rows, place, radices, row, stage, turns
from pcenlib.core.checks import FloatArray
from pcenlib.core.setting import Setting

__all__ = ["LONGEST", "Bands", "Tables", "Transform", "bands", "transform"]

LONGEST = 4096  # transforms that are compiled

Integers = npt.NDArray[np.int64]
Indices = npt.NDArray[np.uint64]


class Tables(NamedTuple):
    """What the compiled transform looks up. Positions are those of frame 0 in flat arrays."""

    packed_at: Indices  # of the first sample of each butterfly of u_0 in the columns
    packed_by: FloatArray  # factors of its samples, which are w, in the order of use
    turned_at: Indices  # the same for u_1 to u_(q - 1)
    turned_by: FloatArray
    turns: FloatArray  # of the first stage
    middle_turns: FloatArray  # of the second of three stages
    pairs: Indices  # of Z[k] and Z[-k] in the sequence, and of X[q k] and X[q (L - k)] in the bins
    pair_turns: FloatArray


class Transform(NamedTuple):
    """A transform as lines to compile, the tables it needs, and where its bins are.

    The lines go from 16 frames of samples `x` to `bins`, from frame `begin` of each row on. They work in `columns` and
    in `z`, and look things up in `tables`.
    """

    lines: list[str]
    tables: Tables
    n_samples: int  # size of the columns
    n_numbers: int  # size of z
    places: Integers  # row of each bin, (bin,)


class Bands(NamedTuple):
    """Bands as weighted sums of rows of bins, in groups of four; without weights, each band is one row."""

    groups: Integers  # number of groups of four in each band, (band,)
    rows: Indices  # of the bins, for all bands in a row
    weights: npt.NDArray[np.floating]


@functools.cache
def transform(setting: Setting, dtype: str, row_length: int) -> Transform:
    """The transform of a setting whose `n_fft` is a power of two, with bins in rows of so many frames."""
    N, W = setting.n_fft, setting.win_length
    q = N // W if N % W == 0 and W % 2 == 0 else 1
    L = N // q // 2
    first, second, *_ = radices(L)
    n = np.arange(L // first)[:, np.newaxis] + np.arange(0, L, L // first)  # (butterfly, input)
    pairs = [np.stack([2 * n, 2 * n + 1], axis=-1), np.stack([n, n + L], axis=-1)]  # of samples: of u_0, of all others
    columns, rows, (packed_at, turned_at) = _layout(pairs, setting.hop_length, 2 * L)
    window = np.pad(setting.window, (0, 2 * L - W))
    r = np.arange(1, q)[:, np.newaxis, np.newaxis]
    turn = np.exp(-2j * np.pi * r * n / N)
    factors = window[pairs[1]] * np.stack([turn, turn * np.exp(-1j * np.pi * r / q)], axis=-1)

    k = np.arange(L // 2 + 1)
    mirrors = row(place(np.stack([k, -k % L], axis=1), L), L) * FRAMES
    tables = Tables(
        packed_at[:, 0, 0].astype(np.uint64),
        window[pairs[0]].astype(dtype).ravel(),
        turned_at[:, 0, 0].astype(np.uint64),
        _parts(factors, dtype).reshape(q - 1, 4 * L),
        _parts(turns(first, L), dtype),
        _parts(turns(second, L // first), dtype),
        np.concatenate([mirrors, np.stack([k, L - k], axis=1) * row_length], axis=1).astype(np.uint64),
        _parts(np.exp(-1j * np.pi * k / L), dtype),
    )
    # Rows 0 to L are the multiples of q, and L rows for each other sequence follow, as its last stage leaves them.
    m = np.arange(N // 2 + 1)
    mirrored = np.where(m % (2 * q) < q, m, N - m)
    places = mirrored % (2 * q) * L + 1 + place(mirrored // (2 * q), L)
    places[::q] = np.arange(L + 1)

    offsets = [(at[0] - at[0, 0, 0]).tolist() for at in (packed_at, turned_at)]
    stages = _stages(L, offsets if q > 1 else offsets[:1], row_length)
    fill = FILL.format(columns=columns, hop=setting.hop_length, rows=rows).splitlines()
    return Transform([*fill, *_steps(stages, q, L, row_length)], tables, rows * columns, 2 * n_rows(L) * FRAMES, places)


def _layout(samples: list[Integers], hop: int, length: int) -> tuple[int, int, list[Integers]]:
    """Number of columns and rows of samples, and the positions of some of them in frame 0, (butterfly, input, 2).

    Sample i of frame t is in row ``i % hop`` and column ``t + i // hop``, once for all frames that share it. But in the
    text of a stage, samples of a butterfly have constant distances. If these differ from butterfly to butterfly, as
    they do for most hops that are not powers of two, each frame gets samples of its own.
    """
    columns = FRAMES + (length - 1) // hop
    at = [i % hop * columns + i // hop for i in samples]
    distances = [positions - positions[:, :1, :1] for positions in at]
    if all((each == each[:1]).all() for each in distances):
        return columns, min(hop, length), at
    return FRAMES, length, [i * FRAMES for i in samples]


def _parts(z: npt.NDArray[np.complex128], dtype: str) -> FloatArray:
    """Real and imaginary parts, side by side, in a flat array."""
    return np.stack([z.real, z.imag], axis=-1).astype(dtype).ravel()


def _stages(L: int, offsets: list[list[list[int]]], row_length: int) -> dict[str, list[str]]:
    """The stages: of the first sequence, ``packed``; if there are offsets of samples for others, ``turned``."""
    first, *_, last = radices(L)
    S, imag, pitch = L // first, n_rows(L) * FRAMES, int(row(L // first, L))

    def load(distance: int) -> Complex:
        return f"z[i + u{distance * FRAMES}]", f"z[i + u{distance * FRAMES + imag}]"

    def store(distance: int, result: Complex, turn: int = 0) -> list[str]:
        (x, y), (real, imaginary) = result, load(distance)
        c, s = f"turns[w + u{2 * turn}]", f"turns[w + u{2 * turn + 1}]"
        if turn == 0:
            return [f"{real} = {x}", f"{imaginary} = {y}"]
        return [f"{real} = {x} * {c} - {y} * {s}", f"{imaginary} = {y} * {c} + {x} * {s}"]

    def magnitude(k: int, result: Complex) -> list[str]:
        x, y = result
        return [f"bins[o + u{k * row_length}] = root(single({x} * {x} + {y} * {y}))"]

    def samples(a: int, kind: str) -> Complex:
        x, y = (f"columns[p + u{offset}]" for offset in offsets[kind == "turned"][a])
        if kind == "packed":
            return f"{x} * factors[f + u{2 * a}]", f"{y} * factors[f + u{2 * a + 1}]"
        f0, f1, g0, g1 = (f"factors[f + u{4 * a + i}]" for i in range(4))  # parts of the factors of x and y
        return f"{x} * {f0} + {y} * {g0}", f"{x} * {f1} + {y} * {g1}"

    kinds = {"packed": 2, "turned": 4}  # and the number of factors for each of their numbers
    stages = {}
    for kind, n_factors in list(kinds.items())[: len(offsets)]:
        stages[kind] = stage(
            kind,
            radix=first,
            loops=[
                f"for b in range(u{S}):",
                f"    p0, f, i0, w = at[b], b * u{n_factors * first}, b * u{FRAMES}, b * u{2 * first}",
            ],
            along="pi",
            read=functools.partial(samples, kind=kind),
            write=lambda j, z: store(j * pitch, z, j),
        )
    blocks = [f"for block in range(u{first}):", f"    for b in range(u{S // last}):"]
    if len(radices(L)) == 3:
        stages["middle"] = stage(
            "middle",
            radix=S // last,
            loops=[
                blocks[0],
                f"    for b in range(u{last}):",
                f"        i0, w = block * u{pitch * FRAMES} + b * u{FRAMES}, b * u{2 * S // last}",
            ],
            along="i",
            read=lambda a: load(a * last),
            write=lambda j, z: store(j * last, z, j),
        )
    blocks += [f"        i0 = block * u{pitch * FRAMES} + b * u{last * FRAMES}"]
    stages["last_packed"] = stage("last", radix=last, loops=blocks, along="i", read=load, write=store)
    if len(offsets) == 2:
        stages["last_turned"] = stage(
            "turned_last",
            radix=last,
            loops=[*blocks, f"        o0 = o1 + (block * u{S} + b * u{last}) * u{row_length}"],
            along="io",
            read=load,
            write=magnitude,
        )
    stages["unpack"] = UNPACK.format(FRAMES=FRAMES, imag=imag).splitlines()
    return stages


def _steps(stages: Mapping[str, Iterable[str]], q: int, L: int, row_length: int) -> list[str]:
    """All stages in order, for each sequence."""
    middle = ["turns = tables.middle_turns", *stages["middle"]] if "middle" in stages else []
    steps = ["at, factors, turns = tables.packed_at, tables.packed_by, tables.turns", *stages["packed"], *middle]
    steps += [*stages["last_packed"], *stages["unpack"]]
    if q > 1:
        others = ["at, factors, turns = tables.turned_at, tables.turned_by[r], tables.turns", *stages["turned"]]
        others += [*middle, f"o1 = begin + u{(L + 1) * row_length} + r * u{L * row_length}", *stages["last_turned"]]
        steps += [f"for r in range(u{q - 1}):", *indented(4, others)]
    return steps


# Samples in columns, one hop after another. Frames that x does not reach hold meaningless, finite numbers.
FILL = """\
if x.size >= ({columns} - 1) * {hop} + {rows}:
    for t in range({columns}):
        for j in range({rows}):
            columns[j * {columns} + t] = x[t * {hop} + j]
else:
    for t in range(min({columns}, -(-x.size // {hop}))):
        for j in range(min({rows}, x.size - t * {hop})):
            columns[j * {columns} + t] = x[t * {hop} + j]"""

# From Z[k] and Z[-k] to the magnitudes of two bins.
UNPACK = """\
for j in range(tables.pairs.shape[0]):
    k, mirror, up, down = tables.pairs[j, 0], tables.pairs[j, 1], begin + tables.pairs[j, 2], begin + tables.pairs[j, 3]
    c, s = tables.pair_turns[2 * j], tables.pair_turns[2 * j + 1]
    for t in range(u{FRAMES}):
        v0, v1, v2, v3 = z[k + t], z[k + u{imag} + t], z[mirror + t], z[mirror + u{imag} + t]
        v4, v5, v6, v7 = v0 + v2, v1 - v3, c * (v1 + v3) - s * (v2 - v0), c * (v2 - v0) + s * (v1 + v3)
        v8, v9, v10, v11 = v4 + v6, v5 + v7, v4 - v6, v5 - v7
        bins[up + t] = root(single(quarter * (v8 * v8 + v9 * v9)))
        bins[down + t] = root(single(quarter * (v10 * v10 + v11 * v11)))"""


@functools.cache
def bands(setting: Setting, places: tuple[int, ...], row_length: int) -> Bands:
    """The bands of a setting, if its bins are in these rows of so many frames."""
    begins = np.array(places, dtype=np.uint64) * np.uint64(row_length)
    if setting.scale == "linear":
        begins = begins[setting.first_bin : setting.first_bin + setting.n_bands]
        return Bands(np.empty(0, np.int64), begins, np.empty(0, np.float32))
    groups, rows, weights = [], [], []
    for filters in setting.filters:
        bins = np.flatnonzero(filters)
        missing = -bins.size % 4
        groups.append((bins.size + missing) // 4)
        rows.append(np.pad(begins[bins], (0, missing), mode="edge"))
        weights.append(np.pad(filters[bins], (0, missing)))
    # Single precision is enough to sum a few bins; the paper's bands have at most 12.
    precision = np.float32 if max(groups) <= 8 else np.float64
    return Bands(np.array(groups), np.concatenate(rows), np.concatenate(weights).astype(precision))
