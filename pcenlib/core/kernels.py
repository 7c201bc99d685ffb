"""From samples to detection functions: `streaming`'s loops, compiled by numba.

One function goes through a block of samples: from samples to bins by the lines of a `transform`, sixteen frames at a
time, and from bins to detection functions by `detect`, 128 frames at a time. Each innermost loop runs over a constant
number of frames, which are side by side in memory. The compiler turns such a loop into vector instructions if it knows
that indices are not negative. It may assume that nothing is NaN and may reorder sums and products, but it may not
assume that they are finite.

Magnitudes and their ratios are in single precision, which costs about 1e-7 in a detection function. The background and
sums over many bins are in double precision, so errors do not add up. Logarithms are taken one by one, because numpy's
wide vector instructions for them slow down a processor for a while.
"""

import contextlib
import functools
import gc
import hashlib
import math
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import numba
import numpy as np
import numpy.typing as npt
import scipy

from pcenlib.core.butterflies import CONSTANTS, FRAMES
from pcenlib.core.recordings import SIXTEEN_BITS, Precision, Samples, as_floats
from pcenlib.core.setting import Setting
from pcenlib.core.transform import LONGEST, Bands, bands, transform
from pcenlib.core.version import __version__

__all__ = ["engine"]

Function = TypeVar("Function", bound=Callable[..., Any])
Floats = npt.NDArray[np.floating]
Singles = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Indices = npt.NDArray[np.uint64]

BATCH = 128  # frames from bins to functions at once: their bins fit into the second cache
AHEAD = 16  # room before each row of bands, for the frame before it; a multiple of what a vector holds
# M follows E. The length of a row must not be a power of two, or rows would compete for the same places in the cache.
BACKGROUND = AHEAD + BATCH + AHEAD
ROW = BACKGROUND + BATCH
GROUP = 8  # bands whose backgrounds are computed at once, because none waits for another
# A ratio is below 2**188, the loudest magnitude over the floor, squared. Four such ratios times LARGE are finite.
LARGE, TAKE_OUT, LOG_TAKEN = 2.0**200, 2.0**-800, 800 * math.log(2)
U = np.uint64
CACHE_LINE = 64  # bytes
LIBERTIES = {"nnan", "nsz", "contract", "reassoc"}


def jit(function: Function, *, cache: bool = False) -> Function:
    """Compile at the first call, and let other threads run meanwhile."""
    compiled: Any = numba.njit(cache=cache, nogil=True, error_model="numpy", fastmath=LIBERTIES)
    return compiled(function)


def jit_for_long(function: Function) -> Function:
    """Compile at the first call, and keep what was compiled for later processes."""
    return jit(function, cache=True)


class Work(NamedTuple):
    """Memory that the kernels work in, all of it flat."""

    columns: Floats  # samples, (row, frame)
    z: Floats  # one sequence, as `butterflies` draws it
    bins: Singles  # (row, frame)
    bands: Singles  # E and then M, (band, AHEAD + frame + AHEAD + frame)
    M: Doubles  # background of the next frame, (band,)
    sums: Floats  # one band, (frame,)
    product: Doubles  # over bands, (frame,)
    taken: Doubles  # logarithm of what was taken out of the product
    rise: Floats  # largest ratio over bands, of a frame to the last one
    excess: Floats  # the same, of a frame to its background


def zeros(size: int, dtype: npt.DTypeLike) -> Any:
    """Memory that begins where a line of the processor's cache does."""
    n_bytes = size * np.dtype(dtype).itemsize
    memory = np.zeros(n_bytes + CACHE_LINE, np.uint8)
    begin = -memory.ctypes.data % CACHE_LINE
    return memory[begin : begin + n_bytes].view(dtype)


def engine(setting: Setting, dtype: Precision) -> Callable[[Samples, Singles, Doubles, Doubles], None]:
    """From samples to detection functions, with memory of its own: a function for one stream.

    The function fills in the functions (function, frame) of a block of whole windows. `E` is the frame before the
    block and `M` the background of its first frame, each of shape (band,). Both are updated; zeros mean that there is
    none yet, and the first frame is taken for both.
    """
    of_transform = transform(setting.memoryless, dtype, BATCH) if is_fast(setting) else None
    places = of_transform.places if of_transform else np.arange(setting.n_fft // 2 + 1)
    of_bands = bands(setting.memoryless, tuple(places.tolist()), BATCH)
    n_bands = setting.n_bands + -setting.n_bands % GROUP
    # Ratios of squares may be too large for single precision.
    of_ratios = np.float32 if setting.power == 1 else np.float64
    work = Work(
        zeros(of_transform.n_samples if of_transform else 0, dtype),
        zeros(of_transform.n_numbers if of_transform else 0, dtype),
        zeros(len(places) * BATCH, np.float32),
        zeros(n_bands * ROW, np.float32),
        zeros(n_bands, np.float64),
        zeros(BATCH, of_bands.weights.dtype),
        zeros(BATCH, np.float64),
        zeros(BATCH, np.float64),
        zeros(BATCH, of_ratios),
        zeros(BATCH, of_ratios),
    )
    if of_transform is None:
        return functools.partial(_through_scipy, setting, dtype, of_bands, work)
    of_block = _compiled("\n".join(of_transform.lines), setting.hop_length, setting.power, dtype)
    # Whole numbers of 16 bits are scaled by the factors they are multiplied by; for a power of two, no bit changes.
    tables = of_transform.tables
    unit = tables.turns.dtype.type(SIXTEEN_BITS)
    of_integers = tables._replace(packed_by=tables.packed_by * unit, turned_by=tables.turned_by * unit)

    floor = np.float32(setting.floor)

    def advance(x: Samples, E: Singles, M: Doubles, functions: Doubles) -> None:
        whole = x.dtype.kind == "i"
        x, found = (x, of_integers) if whole else (as_floats(x, dtype), tables)
        with contextlib.nullcontext() if of_block.signatures else keeping_garbage():
            of_block(x, found, of_bands, work, floor, setting.s, E, M, functions)

    return advance


@contextlib.contextmanager
def keeping_garbage() -> Iterator[None]:
    """Without the garbage collector, which takes a tenth of the time of compiling and finds next to nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def is_fast(setting: Setting) -> bool:
    """Whether the transform is compiled, too: powers of two, up to a length."""
    return 1 < setting.n_fft <= LONGEST and setting.n_fft.bit_count() == 1


def _through_scipy(
    setting: Setting,
    dtype: Precision,
    of_bands: Bands,
    work: Work,
    x: Samples,
    E: Singles,
    M: Doubles,
    functions: Doubles,
) -> None:
    """What `engine` returns for transforms of any other length."""
    frames = np.lib.stride_tricks.sliding_window_view(as_floats(x, dtype), setting.win_length)[:: setting.hop_length]
    bins, floor = work.bins.reshape(-1, BATCH), np.float32(setting.floor)
    for begin in range(0, functions.shape[1], BATCH):
        magnitudes = np.abs(scipy.fft.rfft(frames[begin : begin + BATCH] * setting.window.astype(dtype), setting.n_fft))
        bins[:, : len(magnitudes)] = magnitudes.T**setting.power
        detect(of_bands, work, floor, setting.s, E, M, functions[:, begin : begin + BATCH])


ADVANCE = """
def {name}(samples, tables, of_bands, work, floor, smoothing, E, M, functions):
    columns, z, bins = work.columns, work.z, work.bins
    for batch in range(0, functions.shape[1], {BATCH}):
        n_frames = min({BATCH}, functions.shape[1] - batch)
        for tile in range(0, n_frames, {FRAMES}):
            x, begin = samples[(batch + tile) * {hop} :], U(tile)
            {lines}
        detect(of_bands, work, floor, smoothing, E, M, functions[:, batch : batch + n_frames])
"""


@functools.cache
def _compiled(lines: str, hop: int, power: int, dtype: str) -> Any:
    """The function that goes through a block, compiled at its first call or found in numba's cache.

    numba tells what it keeps apart by the name of a function, and by the size and age of the file that it is from. So
    the name stands for all else that the function depends on, the version of pcenlib included.
    """
    depends_on = repr((lines, ADVANCE, hop, power, dtype, __version__))
    name = f"advance_{hashlib.sha256(depends_on.encode()).hexdigest()[:16]}"
    lines = textwrap.indent(lines, " " * 12).lstrip()
    text = ADVANCE.format(name=name, hop=hop, lines=lines, BATCH=BATCH, FRAMES=FRAMES)
    real = np.dtype(dtype).type
    known: dict[str, Any] = {"single": np.float32, "root": math.sqrt if power == 1 else itself, "detect": detect}
    known |= {f"u{number}": U(number) for number in re.findall(r"\bu(\d+)\b", text)}
    known |= {constant: real(value) for constant, value in CONSTANTS.items()}
    known |= {"U": U, "quarter": real(0.25), "__name__": __name__}
    exec(compile(text, __file__, "exec"), known)  # noqa: S102 (the text is our own)
    return jit_for_long(known[name])


@jit
def itself(value: float) -> float:
    """The value."""
    return value


@jit_for_long
def detect(
    of_bands: Bands, work: Work, floor: np.float32, s: float, E: Singles, M: Doubles, functions: Doubles
) -> None:
    """Detection functions of a batch, from its bins; `E` and `M` as for `engine`."""
    n_bands, n_frames, bands = E.size, functions.shape[1], work.bands
    sum_bins(work.bins, of_bands.groups, of_bands.rows, of_bands.weights, floor, work.sums, n_bands, bands)
    for b in range(n_bands):
        begin = b * ROW + AHEAD
        bands[begin - 1] = E[b] if E[b] > 0 else bands[begin]
        work.M[b] = M[b] if M[b] > 0 else bands[begin]
        E[b] = bands[begin + n_frames - 1]
    for group in range(0, n_bands, GROUP):
        smooth(bands[group * ROW :], s, work.M[group : group + GROUP], n_frames)
    for b in range(n_bands):
        M[b] = work.M[b]
    compare(bands, n_bands, work.product, work.taken, work.rise, work.excess)
    for t in range(n_frames):
        functions[0, t] = (math.log(work.product[t]) + work.taken[t]) / n_bands
        functions[1, t] = math.log(np.float64(work.rise[t]))
        functions[2, t] = math.log1p(np.float64(work.excess[t]))


@jit
def sum_bins(
    bins: Singles,
    groups: npt.NDArray[np.int64],
    rows: Indices,
    weights: Floats,
    floor: np.float32,
    sums: Floats,
    n_bands: int,
    bands: Singles,
) -> None:
    """E of a batch: sums over bins, four at a time and in the precision of the weights, but at least the floor."""
    j = 0
    for b in range(n_bands):
        begin = U(b * ROW + AHEAD)
        if weights.size == 0:
            k0 = rows[b]
            for t in range(U(BATCH)):
                bands[begin + t] = max(bins[k0 + t], floor)
            continue
        for t in range(U(BATCH)):
            sums[t] = 0
        for _ in range(groups[b]):
            k0, k1, k2, k3 = rows[j], rows[j + 1], rows[j + 2], rows[j + 3]
            w0, w1, w2, w3 = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
            for t in range(U(BATCH)):
                sums[t] += w0 * bins[k0 + t] + w1 * bins[k1 + t] + w2 * bins[k2 + t] + w3 * bins[k3 + t]
            j += 4
        for t in range(U(BATCH)):
            bands[begin + t] = max(np.float32(sums[t]), floor)


@jit
def smooth(bands: Singles, s: float, M: Doubles, n_frames: int) -> None:
    """Background of each frame, equation 4, in a group of bands; `M` goes from the first frame to the next batch."""
    m0, m1, m2, m3, m4, m5, m6, m7 = M[0], M[1], M[2], M[3], M[4], M[5], M[6], M[7]
    for t in range(n_frames):
        e, o = AHEAD + t, BACKGROUND + t
        bands[o], bands[o + ROW], bands[o + 2 * ROW], bands[o + 3 * ROW] = m0, m1, m2, m3
        bands[o + 4 * ROW], bands[o + 5 * ROW], bands[o + 6 * ROW], bands[o + 7 * ROW] = m4, m5, m6, m7
        m0 = s * bands[e] + (1 - s) * m0
        m1 = s * bands[e + ROW] + (1 - s) * m1
        m2 = s * bands[e + 2 * ROW] + (1 - s) * m2
        m3 = s * bands[e + 3 * ROW] + (1 - s) * m3
        m4 = s * bands[e + 4 * ROW] + (1 - s) * m4
        m5 = s * bands[e + 5 * ROW] + (1 - s) * m5
        m6 = s * bands[e + 6 * ROW] + (1 - s) * m6
        m7 = s * bands[e + 7 * ROW] + (1 - s) * m7
    M[0], M[1], M[2], M[3], M[4], M[5], M[6], M[7] = m0, m1, m2, m3, m4, m5, m6, m7


@jit
def compare(bands: Singles, n_bands: int, product: Doubles, taken: Doubles, rise: Floats, excess: Floats) -> None:
    """Over bands, product and maximum of the ratio to the last frame, and maximum of the ratio to the background.

    From a product that might soon overflow, a power of two is taken out, which costs no bit.
    """
    kind = rise.dtype.type
    for t in range(U(BATCH)):
        product[t], taken[t], rise[t], excess[t] = 1, 0, 0, 0
    for b in range(n_bands):
        begin = U(b * ROW)
        for t in range(U(BATCH)):
            ratio = kind(bands[begin + U(AHEAD) + t]) / kind(bands[begin + U(AHEAD - 1) + t])
            rise[t] = max(rise[t], ratio)
            product[t] *= max(ratio, kind(1))
        if b % 4 == 3:
            for t in range(U(BATCH)):
                large = product[t] > LARGE
                product[t] *= TAKE_OUT if large else 1.0
                taken[t] += LOG_TAKEN if large else 0.0
        for t in range(U(BATCH)):
            ratio = kind(bands[begin + U(AHEAD) + t]) / kind(bands[begin + U(BACKGROUND) + t])
            excess[t] = max(excess[t], ratio)
