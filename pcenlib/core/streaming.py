"""From a recording of any length to its detection functions, in constant memory.

Samples come in blocks, and blocks are cut into the frames of `spectrogram`. Three things are carried over to the next
block: the samples of the unfinished window, the last frame of E, and the background M. So any size of block gives the
numbers of equations 1, 2 and 6 on the whole spectrogram. Several threads may share one recording.

If numba is installed, compiled kernels do everything, with transforms of their own if `n_fft` is a power of two up to
4096, and with those of `scipy.fft` if not. Without numba, the functions of `novelty` do, at a fraction of the speed.

In the settings of the paper, errors are at most 5e-7, because kernels round magnitudes to single precision after the
transform. With ``dtype="float32"``, up to 1.7 times as fast, transforms are in single precision too. Then a magnitude
is off by about 1e-7 of the loudest in its frame. Flux suffers more than PCEN, because it picks the bands that were
nearly empty a frame ago. In an hour of noise, white or falling by 6 dB an octave, the largest errors are below

============ ============= =============== ===============
setting      averaged flux max-pooled flux max-pooled PCEN
============ ============= =============== ===============
NIGHTHAWK    1e-5          1e-3            1e-5
RIGHT_WHALE  1e-3          1e-1            1e-4
============ ============= =============== ===============
"""

import functools
import itertools
import math
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from fractions import Fraction
from types import ModuleType
from typing import NamedTuple

import numpy as np

from pcenlib.core.checks import FloatArray, check_count, check_range
from pcenlib.core.novelty import averaged_flux, background, max_pooled_flux
from pcenlib.core.recordings import LARGEST, Precision, Samples, Source, as_floats, info, is_file, samples
from pcenlib.core.setting import FLOOR, Setting
from pcenlib.core.spectrogram import FRAMES_PER_BLOCK, band_magnitudes

__all__ = ["DETECTORS", "DetectionFunctions", "detection_blocks", "detection_functions"]

# Frames that a thread computes at a time: many more than the warm-up takes, and few enough to hold in memory.
FRAMES_PER_PART = 50_000

AVERAGED_FLUX, MAX_POOLED_FLUX, MAX_POOLED_PCEN = DETECTORS = ("averaged flux", "max-pooled flux", "max-pooled PCEN")
"""What tables and figures call the three detectors."""


class DetectionFunctions(NamedTuple):
    """Detection functions of a recording, or of a block of it: arrays of shape ``(frame,)``."""

    averaged_flux: FloatArray
    max_pooled_flux: FloatArray
    max_pooled_pcen: FloatArray

    def named(self) -> dict[str, FloatArray]:
        """The functions by the names of `DETECTORS`."""
        return dict(zip(DETECTORS, self, strict=True))


def detection_functions(
    source: Source,
    setting: Setting,
    *,
    sr: int | None = None,
    channel: int | None = None,
    dtype: Precision = "float64",
    start: float | None = None,
    jobs: int = 1,
) -> DetectionFunctions:
    """Averaged flux, max-pooled flux and max-pooled PCEN of a recording: equations 1, 2 and 6.

    Equal to `averaged_flux`, `max_pooled_flux` and `max_pooled_pcen` of the recording's `spectrogram`, in memory that
    does not depend on the length, except for the results. `detection_blocks` does not keep the results.

    Parameters
    ----------
    source : path or array_like, shape (sample,) or (channel, sample)
        A file that soundfile reads (WAV, FLAC, OGG, AIFF, MP3), or a waveform.
    setting : Setting
        Window, hop, bands and time scale. A recording at another rate is resampled.
    sr : int, optional
        Samples per second of a waveform, by default the setting's. A file states its own.
    channel : int, optional
        Number of the channel to take, from 0; by default, the mean of all.
    dtype : {"float64", "float32"}
        Precision of computation and results.
    start : float, optional
        Background M of the first frame, the same in all bands and at least the floor; by default, the first frame
        itself. ``librosa.pcen`` starts from 1.
    jobs : int
        Number of threads. Each takes one part of the recording after another, and starts so far ahead of it that the
        background forgets how it started. The values are the same: to the last bit, or within 1e-6 if the recording is
        resampled. A short recording takes one thread, and so does a lossy file, because decoders that start in the
        middle give other samples.

    Returns
    -------
    DetectionFunctions
        As many values of each as `spectrogram` has frames.
    """
    blocks = detection_blocks(source, setting, sr=sr, channel=channel, dtype=dtype, start=start, jobs=jobs)
    return _concatenate(blocks)


def detection_blocks(
    source: Source,
    setting: Setting,
    *,
    sr: int | None = None,
    channel: int | None = None,
    dtype: Precision = "float64",
    start: float | None = None,
    block_frames: int = 1920,
    jobs: int = 1,
) -> Generator[DetectionFunctions]:
    """Detection functions of a recording block by block, if each value is needed only once.

    Parameters
    ----------
    source, setting, sr, channel, dtype, start, jobs
        As for `detection_functions`.
    block_frames : int
        Number of frames of each block but the last. It changes memory and speed, and none of the numbers.

    Returns
    -------
    iterator of DetectionFunctions
        Together, they are what `detection_functions` returns. The recording is opened when the first is asked for.
        Closing the iterator ends its threads.
    """
    check_count("block_frames", block_frames)
    check_count("jobs", jobs)
    if start is not None:
        check_range("start", start, 0, open_low=True)
    read = functools.partial(samples, source, setting.sr, sr=sr, channel=channel, dtype=dtype)
    read()  # opens nothing yet, but checks its options
    warmup = math.ceil(_memory(setting, start) / block_frames)
    per_part = max(1, FRAMES_PER_PART // block_frames, 4 * warmup)

    def blocks(first: int, last: int | None) -> Iterator[DetectionFunctions]:
        begin = max(0, first - warmup)
        chunks = read(first=begin * block_frames * setting.hop_length)
        found = _detect(chunks, setting, dtype, start if begin == 0 else None, block_frames)
        return itertools.islice(found, first - begin, None if last is None else last - begin)

    def all_blocks() -> Generator[DetectionFunctions]:
        parts = [(0, None)] if jobs == 1 else _parts(source, setting, sr, block_frames, per_part)
        yield from _on_threads(blocks, parts, jobs) if len(parts) > 1 else blocks(0, None)

    return all_blocks()


def _concatenate(blocks: Iterable[DetectionFunctions]) -> DetectionFunctions:
    return DetectionFunctions(*map(np.concatenate, zip(*blocks, strict=True)))


# Threads

# First block of a part of a recording, and the block after its last; None is the end of the recording.
Part = tuple[int, int | None]


def _memory(setting: Setting, start: float | None) -> int:
    """Frames after which nothing is left in the background of the loudest sound, not even a rounding error."""
    if setting.s == 1:
        return 1
    left = setting.power * math.log(1e-20 * FLOOR / LARGEST) - math.log(max(1.0, start or 1.0))
    return math.ceil(left / math.log1p(-setting.s))


def _parts(source: Source, setting: Setting, sr: int | None, block_frames: int, per_part: int) -> list[Part]:
    """The parts of a recording, of so many blocks each; a lossy recording is one part."""
    recording = info(source, sr=sr if is_file(source) else sr or setting.sr)
    n_frames = setting.n_frames(int(recording.n_samples * Fraction(setting.sr, recording.sr)))
    firsts = range(0, math.ceil(n_frames / block_frames) if recording.lossless else 1, per_part)
    return list(itertools.pairwise([*firsts, None]))


def _on_threads(
    blocks: Callable[[int, int | None], Iterator[DetectionFunctions]], parts: Iterable[Part], jobs: int
) -> Iterator[DetectionFunctions]:
    """The blocks of all parts, in order. At most one part is held beside those that threads are working on."""
    stopped = threading.Event()

    def compute(first: int, last: int | None) -> list[DetectionFunctions]:
        return list(itertools.takewhile(lambda _: not stopped.is_set(), blocks(first, last)))

    pool = ThreadPoolExecutor(jobs)
    held: deque[Future[list[DetectionFunctions]]] = deque()
    try:
        for part in parts:
            held.append(pool.submit(compute, *part))
            if len(held) > jobs:
                yield from held.popleft().result()
        while held:
            yield from held.popleft().result()
    finally:  # at the end, after an error, or when nobody wants more
        stopped.set()
        pool.shutdown(cancel_futures=True)


def _blocks(chunks: Iterable[Samples], setting: Setting, block_frames: int) -> Iterator[Samples]:
    """Samples in blocks of whole windows: those of `block_frames` frames, or fewer in the last block."""
    step = block_frames * setting.hop_length
    length = step - setting.hop_length + setting.win_length
    held: list[Samples] = []
    first = True
    for chunk in chunks:
        held.append(chunk)
        if sum(map(len, held)) >= max(step, length):
            x = np.concatenate(held)
            while len(x) >= max(step, length):
                yield x[:length]
                x = x[step:]
            held, first = [x], False
    x = np.concatenate(held)
    if first:
        x = np.pad(x, (0, max(0, setting.win_length - len(x))))
    if len(x) >= setting.win_length:
        yield x


# Detection functions

# E of the last frame and the background M of the next, each of shape (band,); zeros where there is none yet.
State = tuple[FloatArray, FloatArray]
# From a block of whole windows and the state before it, to functions and the state after it.
Advance = Callable[[Samples, State], tuple[DetectionFunctions, State]]


def _detect(
    chunks: Iterable[Samples], setting: Setting, dtype: Precision, start: float | None, block_frames: int
) -> Iterator[DetectionFunctions]:
    """Detection functions of a stream of samples, in blocks."""
    kernels = load_kernels()
    advance = _compiled(kernels, setting, dtype) if kernels else functools.partial(_plain, setting, dtype)
    M = 0.0 if start is None else max(start, setting.floor)
    state: State = np.zeros(setting.n_bands, np.float32), np.full(setting.n_bands, M)
    for x in _blocks(chunks, setting, block_frames):
        functions, state = advance(x, state)
        yield functions


def _plain(setting: Setting, dtype: Precision, x: Samples, state: State) -> tuple[DetectionFunctions, State]:
    """From samples to detection functions, by the functions of `spectrogram` and `novelty`."""
    blocks = []
    for block in _blocks([x], setting, FRAMES_PER_BLOCK):
        windows = np.lib.stride_tricks.sliding_window_view(as_floats(block, dtype), setting.win_length)
        E = band_magnitudes(windows[:: setting.hop_length], setting).T
        last, start = state
        pairs = np.concatenate([last[:, np.newaxis] if last.any() else E[:, :1], E], axis=1)
        # In double precision, which holds the largest ratio of squared magnitudes.
        with_next = np.concatenate([E, E[:, -1:]], axis=1, dtype=np.float64)
        M = background(with_next, s=setting.s, start=start if start.any() else None)
        pooled = np.log1p((E / M[:, :-1]).max(axis=0)).astype(dtype)
        blocks.append(DetectionFunctions(averaged_flux(pairs)[1:], max_pooled_flux(pairs)[1:], pooled))
        state = E[:, -1], M[:, -1]
    return _concatenate(blocks), state


@functools.cache
def load_kernels() -> ModuleType | None:
    """The compiled kernels; None without numba, or if it has no place to keep what it compiles."""
    try:
        from pcenlib.core import kernels
    except (ImportError, RuntimeError):
        return None
    return kernels if hasattr(kernels.detect, "py_func") else None  # a plain function if NUMBA_DISABLE_JIT is set


def _compiled(kernels: ModuleType, setting: Setting, dtype: Precision) -> Advance:
    """From samples to detection functions, by the compiled kernels."""
    fill_in = kernels.engine(setting, dtype)

    def advance(x: Samples, state: State) -> tuple[DetectionFunctions, State]:
        functions = np.empty((len(DETECTORS), setting.n_frames(len(x))))
        fill_in(x, *state, functions)
        return DetectionFunctions(*functions.astype(dtype, copy=False)), state

    return advance
