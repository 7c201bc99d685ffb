"""From a recording of any length to its detection functions, in constant memory.

A recording is read in blocks, mixed to one channel, resampled to the rate of the setting and cut into the frames of
`pcenlib.spectrogram`. What the next block needs is carried over: the samples of an unfinished window, the last frame of
E, and the background M. Hence any size of block gives the numbers of equations 1, 2 and 6 on the whole spectrogram.

Where numba is installed, compiled kernels do all but the Fourier transforms; elsewhere, the functions of
`pcenlib.novelty` do, at less than half the speed. Transforms are made by `scipy.fft`, so that
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
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from fractions import Fraction
from numbers import Integral
from types import ModuleType
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.fft

from pcenlib._checks import as_real_floats
from pcenlib.novelty import averaged_flux, background, max_pooled_flux
from pcenlib.spectrogram import FLOOR, FRAMES_PER_BLOCK, Setting, _band_magnitudes, _hann, _mel_filters

__all__ = ["DetectionFunctions", "detection_blocks", "detection_functions"]

FloatArray = npt.NDArray[np.floating]
Samples = npt.NDArray[np.floating | np.int16]  # whole numbers as they are in files of 16 bits
Source = str | os.PathLike[str] | npt.ArrayLike
Precision = Literal["float64", "float32"]

# Quality of soxr's resampling: the first that computes in double precision. Errors of HQ are some 1e-7.
QUALITY = "VHQ"

# Size of the largest samples: their powers are finite even in single precision.
LARGEST = 1e15

# What samples of 16 bits are multiplied by to lie in [-1, 1[.
SIXTEEN_BITS = 2.0**-15

SAMPLES_PER_READ = 2**17

# Size of the frames that are transformed at once: they and their spectra fit into a processor's second cache.
BYTES_PER_BATCH = 2**18

# Least number of frames that is worth a process of its own.
FRAMES_PER_JOB = 50_000


class DetectionFunctions(NamedTuple):
    """Detection functions of a recording, or of a block of it: arrays of shape ``(frame,)``.

    Notes
    -----
    Chapter *Cost and scale*.
    """

    averaged_flux: FloatArray
    max_pooled_flux: FloatArray
    max_pooled_pcen: FloatArray


def detection_functions(
    source: Source,
    setting: Setting,
    *,
    sr: int | None = None,
    channel: int | None = None,
    dtype: Precision = "float64",
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
    Chapter *Cost and scale*. Equal to `averaged_flux`, `max_pooled_flux` and `max_pooled_pcen` of the recording's
    `spectrogram`, in memory that does not depend on the length, the results aside.
    """
    _check_options(source, sr, channel, dtype)
    _check_positive("jobs", jobs)
    parts = _parts(source, setting, sr, jobs)
    detect = functools.partial(_detect_part, setting=setting, channel=channel, dtype=dtype)
    if len(parts) == 1:
        return detect(parts[0])
    with ProcessPoolExecutor(len(parts)) as pool:
        return _concatenate(pool.map(detect, parts))


def detection_blocks(
    source: Source,
    setting: Setting,
    *,
    sr: int | None = None,
    channel: int | None = None,
    dtype: Precision = "float64",
    block_frames: int = 512,
) -> Iterator[DetectionFunctions]:
    """Detection functions of a recording block by block, for whoever needs to see each value only once.

    Parameters
    ----------
    source, setting, sr, channel, dtype
        As for `detection_functions`.
    block_frames : int
        Number of frames of each block but the last. It changes memory and speed, and none of the numbers.

    Returns
    -------
    iterator of DetectionFunctions
        Together, they are what `detection_functions` returns. The recording is opened when the first is asked for.

    Notes
    -----
    Chapter *Cost and scale*.
    """
    _check_options(source, sr, channel, dtype)
    _check_positive("block_frames", block_frames)
    return _detect(_Part(source, sr), setting, channel, dtype, block_frames)


def _check_options(source: Source, sr: int | None, channel: int | None, dtype: str) -> None:
    """Raise ValueError unless the options are sensible, as far as one can tell without opening the recording."""
    if sr is not None:
        if isinstance(source, str | os.PathLike):
            raise ValueError(f"sr must be left out for a file, which states its own rate, got {sr!r}")
        _check_positive("sr", sr)
    if channel is not None and (isinstance(channel, bool) or not isinstance(channel, Integral) or channel < 0):
        raise ValueError(f"channel must be a channel's number from 0, or None for the mean of all, got {channel!r}")
    if dtype not in ("float64", "float32"):
        raise ValueError(f"dtype must be 'float64' or 'float32', got {dtype!r}")


def _check_positive(name: str, value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r}")


def _concatenate(blocks: Iterable[DetectionFunctions]) -> DetectionFunctions:
    return DetectionFunctions(*map(np.concatenate, zip(*blocks, strict=True)))


# Parts of a recording


class _Part(NamedTuple):
    """A part of a recording that one process works on; by default, all of it."""

    source: Source
    sr: int | None
    begin: int = 0  # sample to start reading at
    skip: int = 0  # samples to drop after resampling
    warmup: int = 0  # frames to drop after that
    n_frames: int | None = None  # frames to return


def _parts(source: Source, setting: Setting, sr: int | None, jobs: int) -> list[_Part]:
    """The recording in at most so many parts of equal length."""
    if jobs == 1:
        return [_Part(source, sr)]
    with _opened(source, sr or setting.sr) as recording:
        rate, n_samples = recording.samplerate, recording.frames
        lossy = not recording.subtype.startswith(("array", "PCM", "FLOAT", "DOUBLE"))
    ratio = Fraction(setting.sr, rate)
    n_frames = setting.n_frames(int(n_samples * ratio))
    # However loud the sound before the first frame, less than a billionth of the floor is left of it.
    warmup = 1 if setting.s == 1 else math.ceil(math.log(1e-12 * FLOOR) / math.log1p(-setting.s))
    jobs = 1 if lossy else min(jobs, n_frames // max(FRAMES_PER_JOB, 4 * warmup))
    if jobs <= 1:
        return [_Part(source, sr)]
    grid = _grid(rate, setting.sr)
    settling = 0 if ratio == 1 else 1024 * max(1, math.ceil(ratio))  # of the resampler, in samples after it
    parts = []
    for first, last in itertools.pairwise(n_frames * job // jobs for job in range(jobs + 1)):
        lead = min(first, warmup)
        sample = (first - lead) * setting.hop_length
        start = max(0, sample - settling) // grid * grid
        begin = int(start / ratio)
        end = sample + (lead + last - first) * setting.hop_length + setting.win_length + settling
        n = None if last == n_frames else last - first
        if isinstance(source, str | os.PathLike):
            parts.append(_Part(source, sr, begin, sample - start, lead, n))
        else:
            stretch = np.asarray(source)[..., begin : None if n is None else math.ceil(end / ratio)]
            parts.append(_Part(stretch, sr, 0, sample - start, lead, n))
    return parts


def _grid(sr: int, target: int) -> int:
    """How many samples apart, after resampling, a resampler that starts anew gives the same samples again."""
    ratio = Fraction(target, sr)
    if ratio.numerator > 1 or ratio == 1:
        return ratio.numerator  # where samples before and after resampling coincide
    # To keep one sample in so many, soxr works on blocks: it is the same again, to the last bit, after a block.
    resample = _resampler(sr, target, "float64")
    sizes = (len(resample(np.zeros(ratio.denominator))) for _ in itertools.count())
    _, size, next_size = itertools.islice(filter(None, sizes), 3)
    return size if size == next_size else 1


def _detect_part(
    part: _Part, setting: Setting, channel: int | None, dtype: Precision, block_frames: int = 512
) -> DetectionFunctions:
    """Detection functions of a part of a recording, without its warm-up."""
    end = None if part.n_frames is None else part.warmup + part.n_frames
    blocks = []
    n_frames = 0
    for block in _detect(part, setting, channel, dtype, block_frames):
        blocks.append(block)
        n_frames += len(block.averaged_flux)
        if end is not None and n_frames >= end:
            break
    return DetectionFunctions(*(values[part.warmup : end] for values in _concatenate(blocks)))


# Samples


@contextmanager
def _opened(source: Source, sr: int) -> Generator[Any]:
    """The recording as a `soundfile.SoundFile` or an `_ArrayFile`; what libsndfile complains about is an OSError."""
    if not isinstance(source, str | os.PathLike):
        yield _ArrayFile(source, sr)
        return
    import soundfile  # here, because it takes as long to import as all of pcenlib

    with open(source, "rb"):  # noqa: PTH123  # Python says better than libsndfile why this is not possible
        pass
    try:
        with soundfile.SoundFile(source) as file:
            file.seekable = lambda: False  # else soundfile seeks after each read, and MP3 loses samples
            yield file
    except soundfile.LibsndfileError as error:
        raise OSError(f"cannot read {os.fspath(source)}: {error.error_string}") from error


class _ArrayFile:
    """A waveform (sample,) or (channel, sample), read as soundfile reads a file."""

    name = "source"
    subtype = "array"

    def __init__(self, source: npt.ArrayLike, sr: int) -> None:
        x = np.asarray(source)
        if x.ndim not in (1, 2):
            raise ValueError(f"source must be a path or have shape (sample,) or (channel, sample), got {x.shape}")
        if x.size == 0:
            raise ValueError(f"source must hold at least one sample, got shape {x.shape}")
        as_real_floats("source", x[..., :0])
        self.samples = np.atleast_2d(x)
        self.channels, self.frames = self.samples.shape
        self.samplerate = sr
        self.position = 0

    def seek(self, position: int) -> None:
        self.position = position

    def read(self, n_samples: int, dtype: Precision, **_: object) -> FloatArray:
        begin = self.position
        self.position += n_samples
        return self.samples[:, begin : self.position].T.astype(dtype, copy=False)


def _waveform(part: _Part, setting: Setting, channel: int | None, dtype: Precision) -> Iterator[Samples]:
    """One channel at the setting's rate, in chunks."""
    with _opened(part.source, part.sr or setting.sr) as recording:
        if channel is not None and channel >= recording.channels:
            raise ValueError(
                f"channel must be below the number of channels of {recording.name}, {recording.channels}, got {channel}"
            )
        resample = _resampler(recording.samplerate, setting.sr, dtype)
        stored = "int16" if recording.subtype == "PCM_16" else dtype  # as they are: three times as fast to read
        recording.seek(part.begin)  # to 0 as well, as soundfile does: the rounding of MP3 depends on it
        empty = True
        while len(block := recording.read(SAMPLES_PER_READ, dtype=stored, always_2d=True)):
            empty = False
            x = _mixed(block, channel, dtype)
            if x.dtype.kind == "f" and not (x.min() >= -LARGEST and x.max() <= LARGEST):
                raise ValueError(f"{recording.name} must hold finite numbers of at most {LARGEST:g}")
            yield resample(x)
        if empty:
            raise ValueError(f"{recording.name} must hold at least one sample")
        yield resample(x[:0], last=True)


def _mixed(block: Samples, channel: int | None, dtype: Precision) -> Samples:
    """The channel of that number, or the mean of all, of samples (sample, channel)."""
    first, *others = block.T if channel is None else [block[:, channel]]
    if not others:
        return np.ascontiguousarray(first)
    total = _as_floats(first, dtype)
    with np.errstate(invalid="ignore"):
        for other in others:
            total = total + _as_floats(other, dtype)
    return total / total.dtype.type(1 + len(others))


def _as_floats(x: Samples, dtype: Precision) -> FloatArray:
    """Samples in [-1, 1[, if they are whole numbers of 16 bits."""
    return np.multiply(x, SIXTEEN_BITS, dtype=dtype) if x.dtype.kind == "i" else x.astype(dtype, copy=False)


def _resampler(sr: int, target: int, dtype: Precision) -> Callable[..., Samples]:
    """From the next samples at one rate, to samples at another."""
    if sr == target:
        return lambda x, **_: x
    import soxr  # here, because most recordings need none

    stream = soxr.ResampleStream(sr, target, 1, dtype=dtype, quality=QUALITY)
    return lambda x, **options: stream.resample_chunk(_as_floats(x, dtype), **options)


def _without_first(chunks: Iterable[Samples], skip: int) -> Iterator[Samples]:
    """All samples but the first ones."""
    for chunk in chunks:
        yield chunk[skip:]
        skip = max(0, skip - len(chunk))


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


# E of the last frame and the background M of the next, each of shape (band,); None before the first frame.
State = tuple[FloatArray, FloatArray] | None
# From the next samples, a block of whole windows, and the state before them, to functions and the state after them.
Advance = Callable[[Samples, State], tuple[DetectionFunctions, State]]


def _detect(
    part: _Part, setting: Setting, channel: int | None, dtype: Precision, block_frames: int
) -> Iterator[DetectionFunctions]:
    """Detection functions of a part of a recording, in blocks."""
    chunks = _waveform(part, setting, channel, dtype)
    kernels = _kernels()
    advance = _compiled(kernels, setting, dtype) if kernels else functools.partial(_plain, setting, dtype)
    state: State = None
    for x in _blocks(_without_first(chunks, part.skip), setting, block_frames):
        functions, state = advance(x, state)
        yield functions


def _plain(setting: Setting, dtype: Precision, x: Samples, state: State) -> tuple[DetectionFunctions, State]:
    """From samples to detection functions, by the functions of `spectrogram` and `novelty`."""
    blocks = []
    for block in _blocks([x], setting, FRAMES_PER_BLOCK):
        windows = np.lib.stride_tricks.sliding_window_view(_as_floats(block, dtype), setting.win_length)
        E = _band_magnitudes(windows[:: setting.hop_length], setting).T
        last, start = (E[:, 0], None) if state is None else state
        pairs = np.concatenate([last[:, np.newaxis], E], axis=1)
        M = background(np.concatenate([E, E[:, -1:]], axis=1), s=setting.s, start=start)
        pooled = np.log1p((E / M[:, :-1]).max(axis=0))
        blocks.append(DetectionFunctions(averaged_flux(pairs)[1:], max_pooled_flux(pairs)[1:], pooled))
        state = E[:, -1], M[:, -1]
    return _concatenate(blocks), state


@functools.cache
def _kernels() -> ModuleType | None:
    """The compiled kernels; None without numba, or without a place where it can keep what it compiled."""
    try:
        from pcenlib import _kernels
    except (ImportError, RuntimeError):
        return None
    return _kernels if hasattr(_kernels.detect, "py_func") else None  # a plain function if NUMBA_DISABLE_JIT is set


def _compiled(kernels: ModuleType, setting: Setting, dtype: Precision) -> Advance:
    """From samples to detection functions, by the compiled kernels."""
    constants = (*_sparse_bands(setting), np.float32(FLOOR), setting.s)
    window = _hann(setting.win_length).astype(dtype)
    windows = {"f": window, "i": window * window.dtype.type(SIXTEEN_BITS)}
    padded = np.zeros((max(1, BYTES_PER_BATCH // (setting.n_fft * window.itemsize)), setting.n_fft), dtype)

    def advance(x: Samples, state: State) -> tuple[DetectionFunctions, State]:
        E, M = state or (np.empty(setting.n_bands, np.float32), np.empty(setting.n_bands))
        functions = np.empty((3, setting.n_frames(len(x))))
        for begin in range(0, functions.shape[1], len(padded)):
            batch = functions[:, begin : begin + len(padded)]
            frames = padded[: batch.shape[1]]
            kernels.multiply(x[begin * setting.hop_length :], windows[x.dtype.kind], setting.hop_length, frames)
            kernels.detect(scipy.fft.rfft(frames), *constants, state is None and begin == 0, E, M, batch)
        return DetectionFunctions(*functions.astype(dtype, copy=False)), (E, M)

    return advance


@functools.cache
def _sparse_bands(
    setting: Setting,
) -> tuple[int, int, npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """The bands as the kernel takes them: first bin, number of bins; first bin, quads of bins and weights of each."""
    if setting.scale == "linear":
        none = np.empty(0, np.int64)
        return setting.first_bin, setting.n_bands, none, none, np.empty(0, np.float32)
    filters = np.pad(_mel_filters(setting), ((0, 0), (0, 3)))
    first = (filters > 0).argmax(axis=1)
    n_bins = np.count_nonzero(filters, axis=1)
    quads = -(-n_bins // 4)
    weights = [row[begin : begin + 4 * n] for row, begin, n in zip(filters, first, quads, strict=True)]
    low = int(first.min())
    return low, int((first + n_bins).max()) - low, first - low, quads, np.concatenate(weights, dtype=np.float32)
