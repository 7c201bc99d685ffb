"""From a recording of any length to its detection functions, in constant memory.

The stream of samples that `recordings` makes of a recording is cut into blocks, and these into the frames of
`pcenlib.spectrogram`. What the next block needs is carried over: the samples of an unfinished window, the last frame of
E, and the background M. Hence any size of block gives the numbers of equations 1, 2 and 6 on the whole spectrogram.

Where numba is installed, compiled kernels do all but the Fourier transforms; elsewhere, the functions of
`novelty` do, at less than half the speed. Transforms are made by `scipy.fft`, so that
``scipy.fft.set_backend`` brings in a faster one.

Detection functions are off by at most 5e-7 in the settings of the paper: kernels round magnitudes to single precision
after the transform. With ``dtype="float32"``, which is up to one and a half times as fast, transforms are in single
precision too. The error of a magnitude is then some 1e-7 of the loudest in its frame, and flux, which seeks out the
bands that were nearly empty a frame ago, is hit harder than PCEN. The largest errors in an hour of noise, white or
falling by 6 dB an octave, stay below

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
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from types import ModuleType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from pcenlib.core.checks import check_count, check_range
from pcenlib.core.novelty import averaged_flux, background, max_pooled_flux
from pcenlib.core.recordings import Precision, Samples, Source, as_floats, cut, info, is_file, samples
from pcenlib.core.setting import FLOOR, Setting
from pcenlib.core.spectrogram import FRAMES_PER_BLOCK, band_magnitudes
from pcenlib.core.transform import plan
from pcenlib.jobs.processes import process_pool

__all__ = ["DETECTORS", "DetectionFunctions", "detection_blocks", "detection_functions"]


FloatArray = npt.NDArray[np.floating]

# Size of a row of the sequences that are transformed at once, one frame beside the other: a multiple of the length of
# vector instructions. All rows of the paper's settings fit into a processor's second cache; and being no multiple of a
# higher power of two, they do not displace each other in the first.
BYTES_PER_ROW = 24 * 64

# Least number of frames that is worth a process of its own.
FRAMES_PER_JOB = 50_000


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
        Background M before the first frame, the same in all bands and, as E is, nowhere below the floor; by default,
        the first frame itself. ``librosa.pcen`` starts from 1.
    jobs : int
        Number of processes. Each takes a part of the recording, and starts so early that the background has forgotten
        its start when the part begins. A short recording is left to one process, and so is a lossy file, because
        decoders that start in the middle do not give the same samples.

    Returns
    -------
    DetectionFunctions
        As many values of each as `spectrogram` has frames.

    See Also
    --------
    detection_blocks : the same without keeping the results.

    Notes
    -----
    Equal to `averaged_flux`, `max_pooled_flux` and `max_pooled_pcen` of the recording's `spectrogram`, in memory that
    does not depend on the length, the results aside.
    """
    check_count("jobs", jobs)
    _check_start(start)
    parts = _parts(source, setting, sr, jobs)
    detect = functools.partial(_detect_part, setting=setting, channel=channel, dtype=dtype, start=start)
    if len(parts) == 1:
        return detect(parts[0])
    with process_pool(len(parts)) as pool:
        return _concatenate(pool.map(detect, parts))


def detection_blocks(
    source: Source,
    setting: Setting,
    *,
    sr: int | None = None,
    channel: int | None = None,
    dtype: Precision = "float64",
    start: float | None = None,
    block_frames: int = 1920,
) -> Iterator[DetectionFunctions]:
    """Detection functions of a recording block by block, for whoever needs to see each value only once.

    Parameters
    ----------
    source, setting, sr, channel, dtype, start
        As for `detection_functions`.
    block_frames : int
        Number of frames of each block but the last. It changes memory and speed, and none of the numbers.

    Returns
    -------
    iterator of DetectionFunctions
        Together, they are what `detection_functions` returns. The recording is opened when the first is asked for.
    """
    check_count("block_frames", block_frames)
    _check_start(start)
    chunks = samples(source, setting.sr, sr=sr, channel=channel, dtype=dtype)
    return _detect(chunks, setting, dtype, start, block_frames)


def _check_start(start: float | None) -> None:
    if start is not None:
        check_range("start", start, 0, open_low=True)


def _concatenate(blocks: Iterable[DetectionFunctions]) -> DetectionFunctions:
    return DetectionFunctions(*map(np.concatenate, zip(*blocks, strict=True)))


# Parts of a recording


class _Part(NamedTuple):
    """A part of a recording that one process works on; by default, all of it."""

    source: Source
    sr: int | None
    first: int = 0  # sample to start at
    warmup: int = 0  # frames to drop
    n_frames: int | None = None  # frames to return after that; by default, all


def _parts(source: Source, setting: Setting, sr: int | None, jobs: int) -> list[_Part]:
    """The recording in at most so many parts of equal length."""
    if jobs == 1:
        return [_Part(source, sr)]
    recording = info(source, sr=sr if is_file(source) else sr or setting.sr)
    n_frames = setting.n_frames(int(recording.n_samples * Fraction(setting.sr, recording.sr)))
    # However loud the sound before the first frame, less than a billionth of the floor is left of it.
    left = (1e-12 * FLOOR) ** setting.power
    warmup = 1 if setting.s == 1 else math.ceil(math.log(left) / math.log1p(-setting.s))
    jobs = min(jobs, n_frames // max(FRAMES_PER_JOB, 4 * warmup)) if recording.lossless else 1
    if jobs <= 1:
        return [_Part(source, sr)]
    parts = []
    for first, last in itertools.pairwise(n_frames * job // jobs for job in range(jobs + 1)):
        lead = min(first, warmup)
        begin = (first - lead) * setting.hop_length
        end = None if last == n_frames else last * setting.hop_length + setting.win_length
        stretch, begin = cut(source, setting.sr, begin, end, sr=sr)
        parts.append(_Part(stretch, sr, begin, lead, None if last == n_frames else last - first))
    return parts


def _detect_part(
    part: _Part, setting: Setting, channel: int | None, dtype: Precision, start: float | None, block_frames: int = 1920
) -> DetectionFunctions:
    """Detection functions of a part of a recording, without its warm-up, which forgets the start as well."""
    chunks = samples(part.source, setting.sr, sr=part.sr, channel=channel, dtype=dtype, first=part.first)
    end = None if part.n_frames is None else part.warmup + part.n_frames
    blocks = []
    n_frames = 0
    for block in _detect(chunks, setting, dtype, start, block_frames):
        blocks.append(block)
        n_frames += len(block.averaged_flux)
        if end is not None and n_frames >= end:
            break
    return DetectionFunctions(*(values[part.warmup : end] for values in _concatenate(blocks)))


# Blocks


def _blocks(chunks: Iterable[Samples], setting: Setting, block_frames: int) -> Iterator[Samples]:
    """Samples in blocks of whole windows that overlap as windows do: those of `block_frames` frames, the last fewer."""
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
# From the next samples, a block of whole windows, and the state before them, to functions and the state after them.
Advance = Callable[[Samples, State], tuple[DetectionFunctions, State]]


def _detect(
    chunks: Iterable[Samples], setting: Setting, dtype: Precision, start: float | None, block_frames: int
) -> Iterator[DetectionFunctions]:
    """Detection functions of a stream of samples, in blocks."""
    kernels = _kernels() if setting.n_fft % 2 == 0 else None
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
def _kernels() -> ModuleType | None:
    """The compiled kernels; None without numba, or without a place where it can keep what it compiled."""
    try:
        from pcenlib.core import kernels as _kernels
    except (ImportError, RuntimeError):
        return None
    return _kernels if hasattr(_kernels.detect, "py_func") else None  # a plain function if NUMBA_DISABLE_JIT is set


def _compiled(kernels: ModuleType, setting: Setting, dtype: Precision) -> Advance:
    """From samples to detection functions, by the compiled kernels."""
    q, rows, shifts, factors, places, turns = plan(setting, dtype)
    bands = (places, turns, *_sparse_bands(setting), setting.power, np.float32(setting.floor), setting.s)
    hop, n_frames = setting.hop_length, BYTES_PER_ROW // factors.itemsize
    columns = np.zeros((hop, n_frames + int(shifts.max())), dtype)
    sequences = np.empty((len(factors), n_frames), factors.dtype)

    def advance(x: Samples, state: State) -> tuple[DetectionFunctions, State]:
        x = as_floats(x, dtype)
        functions = np.empty((3, setting.n_frames(len(x))))
        for begin in range(0, functions.shape[1], n_frames):
            batch = functions[:, begin : begin + n_frames]
            end = begin + batch.shape[1] - 1
            kernels.fold(x[begin * hop : end * hop + setting.win_length], columns, rows, shifts, factors, sequences)
            spectra = scipy.fft.fft(sequences.reshape(q, -1, n_frames), axis=1, overwrite_x=True)
            kernels.detect(spectra.reshape(sequences.shape), *bands, *state, batch)
        return DetectionFunctions(*functions.astype(dtype, copy=False)), state

    return advance


@functools.cache
def _sparse_bands(setting: Setting) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], FloatArray]:
    """The bands as the kernel takes them: first bin, quads of bins and weights of each; nothing if bands are bins."""
    if setting.scale == "linear":
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32)
    filters = np.pad(setting.filters, ((0, 0), (0, 3)))
    first = (filters > 0).argmax(axis=1)
    quads = -(-np.count_nonzero(filters, axis=1) // 4)
    weights = [row[begin : begin + 4 * n] for row, begin, n in zip(filters, first, quads, strict=True)]
    # A few bins are summed in single precision without harm; the paper's bands have 12 at most.
    return first - first.min(), quads, np.concatenate(weights, dtype=np.float32 if quads.max() <= 8 else np.float64)
