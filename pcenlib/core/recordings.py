"""A recording, a file or a waveform, as a stream of samples of one channel at a given rate.

`info` says what a recording holds. `samples` reads it in chunks, mixes it to one channel and resamples it, in memory
that does not depend on the length. A lossless recording gives the same samples wherever reading starts, so threads can
share it. `waveform` reads all of it, or a stretch, at once.
"""

import functools
import itertools
import math
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from numbers import Integral
from typing import Any, Literal, NamedTuple, TypeGuard

import numpy as np
import numpy.typing as npt

from pcenlib.core.checks import FloatArray, as_real_floats, check_count
from pcenlib.core.packets import Unstated, mp3_header

__all__ = ["Info", "as_floats", "info", "samples", "waveform"]

Samples = npt.NDArray[np.floating | np.int16]  # whole numbers as they are in files of 16 bits
File = str | os.PathLike[str]
Source = File | npt.ArrayLike
Precision = Literal["float64", "float32"]

# Quality of soxr's resampling: the lowest that computes in double precision. HQ has errors of about 1e-7.
QUALITY = "VHQ"
LARGEST = 1e15  # largest sample: its powers are finite even in single precision
SIXTEEN_BITS = 2.0**-15  # turns samples of 16 bits into numbers in [-1, 1[
SAMPLES_PER_READ = 2**17  # of all channels together, and of the resampled sound
RATES = range(100, 1_000_001)  # in hertz: from those for the infrasound of elephants to those for bats and porpoises
UNKNOWN = 2**62  # libsndfile gives a length beyond it to FLAC files that state none
MP3_TOLERANCE = 2 * 1152  # encoders disagree on whether the frame that holds the length is counted


class Info(NamedTuple):
    """What a recording says about itself."""

    sr: int
    n_channels: int
    n_samples: int  # of each channel
    lossless: bool  # if not, the decoder gives other samples when it starts midway

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return self.n_samples / self.sr


def info(source: Source, *, sr: int | None = None) -> Info:
    """Rate, channels and length of a recording; `sr` is the rate of a waveform, and a file states its own.

    The length is what the header states, which reading verifies. If it states none, as when a program wrote FLAC into a
    pipe, the samples are counted.
    """
    _check_rate(source, sr)
    if sr is None and not is_file(source):
        raise ValueError("sr must be given for a waveform")
    with _opened(source, sr) as recording:
        n_samples = recording.frames
        if is_file(source) and n_samples >= UNKNOWN:
            state = os.stat(source)  # noqa: PTH116
            n_samples = _counted(os.fspath(source), state.st_size, state.st_mtime_ns)
        return Info(recording.samplerate, recording.channels, n_samples, _is_lossless(recording))


def samples(
    source: Source,
    target: int,
    *,
    sr: int | None = None,
    channel: int | None = None,
    dtype: Precision = "float64",
    first: int = 0,
) -> Iterator[Samples]:
    """One channel of a recording at the target rate, as for `waveform`, in chunks of any length.

    One channel of 16 bits at the target rate stays int16, which is three times as fast to read; `as_floats` makes it a
    waveform. The recording is opened when the first chunk is asked for, and closed with the iterator.
    """
    _check_rate(source, sr)
    if channel is not None and (isinstance(channel, bool) or not isinstance(channel, Integral) or channel < 0):
        raise ValueError(f"channel must be a channel's number from 0, or None for the mean of all, got {channel!r}")
    if dtype not in ("float64", "float32"):
        raise ValueError(f"dtype must be 'float64' or 'float32', got {dtype!r}")
    return _samples(source, target, sr or target, channel, dtype, first)


def as_floats(x: Samples, dtype: Precision) -> FloatArray:
    """Samples in floating point; whole numbers of 16 bits end up in [-1, 1[."""
    return np.multiply(x, SIXTEEN_BITS, dtype=dtype) if x.dtype.kind == "i" else x.astype(dtype, copy=False)


def waveform(
    source: Source,
    target: int,
    *,
    sr: int | None = None,
    channel: int | None = None,
    first: int = 0,
    last: int | None = None,
) -> npt.NDArray[np.float64]:
    """One channel of a recording, or of a stretch of it, at the target rate.

    Parameters
    ----------
    source : path or array_like, shape (sample,) or (channel, sample)
        A file that soundfile reads (WAV, FLAC, OGG, AIFF, MP3), or a waveform.
    target : int
        Samples per second to resample to, if the recording has another rate.
    sr : int, optional
        Samples per second of a waveform, by default the target. A file states its own.
    channel : int, optional
        Number of the channel to take, from 0; by default, the mean of all.
    first, last : int
        Samples from the first to just before the last, at the target rate, or to where the recording ends. Before the
        first, a lossless recording is only read as far as the resampler needs it.

    Returns
    -------
    ndarray, shape (sample,)
        In [-1, 1] if a file holds whole numbers.
    """
    about = info(source, sr=sr if is_file(source) else sr or target)
    end = math.ceil(about.n_samples * Fraction(target, about.sr))
    missing = max(0, (end if last is None else min(end, last)) - first)
    found: list[FloatArray] = [np.empty(0)]
    if missing:
        for chunk in samples(source, target, sr=sr, channel=channel, first=first):
            found.append(as_floats(chunk[:missing], "float64"))
            missing -= len(found[-1])
            if not missing:
                break
    return np.concatenate(found)


def is_file(source: Source) -> TypeGuard[File]:
    """Whether a recording is a file rather than a waveform."""
    return isinstance(source, str | os.PathLike)


def _is_lossless(recording: Any) -> bool:
    return recording.subtype.startswith(("array", "PCM", "FLOAT", "DOUBLE"))


@functools.lru_cache(maxsize=256)
def _counted(path: str, size: int, written: int) -> int:  # noqa: ARG001  # a file that is replaced is counted anew
    """How many samples of each channel a file holds."""
    with _opened(path, None) as recording:
        per_read = _samples_per_read(recording)
        return sum(iter(lambda: len(recording.read(per_read, dtype="int16", always_2d=True)), 0))


def _check_rate(source: Source, sr: int | None) -> None:
    if sr is not None:
        if is_file(source):
            raise ValueError(f"sr must be left out for a file, which states its own rate, got {sr!r}")
        check_count("sr", sr)


@contextmanager
def _opened(source: Source, sr: int | None) -> Generator[Any]:
    """The recording as a `soundfile.SoundFile` or an `_ArrayFile`; what libsndfile complains about is an OSError."""
    if not isinstance(source, str | os.PathLike):
        yield _ArrayFile(source, sr)
        return
    import soundfile  # here, because it takes as long to import as all of pcenlib

    with open(source, "rb") as file:  # noqa: PTH123  # Python says better than libsndfile why this is not possible
        states_length = mp3_header(file) is not None
    problem = "cannot read {}"
    try:
        with ExitStack() as stack:
            recording = stack.enter_context(soundfile.SoundFile(source))
            if recording.format == "MP3" and not states_length:
                unstated = stack.enter_context(Unstated(source))
                recording = stack.enter_context(soundfile.SoundFile(unstated))
            recording.seekable = lambda: False  # else soundfile seeks after each read, and MP3 loses samples
            if recording.samplerate not in RATES:
                raise ValueError(
                    f"{os.fspath(source)} states {recording.samplerate} samples per second, expected "
                    f"{RATES[0]} to {RATES[-1]}"
                )
            problem = "{} is truncated or damaged"
            yield recording
    except soundfile.LibsndfileError as error:
        reason = error.error_string or "its decoder stops with an error"  # which libsndfile does not always name
        raise OSError(f"{problem.format(os.fspath(source))}: {reason}") from error


class _ArrayFile:
    """A waveform (sample,) or (channel, sample), read as soundfile reads a file."""

    name = "source"
    subtype = "array"

    def __init__(self, source: npt.ArrayLike, sr: int | None) -> None:
        x = np.asarray(source)
        if x.ndim not in (1, 2) or x.size == 0:
            raise ValueError(
                f"source must be a path or hold samples (sample,) or (channel, sample), got shape {x.shape}"
            )
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


def _samples(
    source: Source, target: int, sr: int, channel: int | None, dtype: Precision, first: int
) -> Iterator[Samples]:
    with _opened(source, sr) as recording:
        if channel is not None and channel >= recording.channels:
            raise ValueError(
                f"channel must be below the number of channels of {recording.name}, {recording.channels}, got {channel}"
            )
        begin, skip = _seek(recording.samplerate, target, first)
        recording.seek(begin)  # to 0 as well, as soundfile does: the rounding of MP3 depends on it
        chunks = _chunks(recording, begin, channel, dtype, max(1, math.ceil(target / recording.samplerate)))
        for chunk in _resampled(chunks, recording.samplerate, target, dtype):
            yield chunk[skip:]
            skip = max(0, skip - len(chunk))


def _chunks(recording: Any, begin: int, channel: int | None, dtype: Precision, growth: int) -> Iterator[Samples]:
    """One channel of the rest of the recording, which is at sample `begin`, at its own rate; at least one chunk.

    Chunks are shorter where resampling makes them so many times as long.
    """
    stored = "int16" if recording.subtype == "PCM_16" else dtype  # as they are: three times as fast to read
    per_read, end = _samples_per_read(recording, growth), begin
    while len(block := recording.read(per_read, dtype=stored, always_2d=True)):
        end += len(block)
        x = _mixed(block, channel, dtype)
        if x.dtype.kind == "f" and not (x.min() >= -LARGEST and x.max() <= LARGEST):
            raise ValueError(f"{recording.name} must hold finite numbers of at most {LARGEST:g}")
        yield x
    _check_end(recording, begin, end)
    if end == begin:
        raise ValueError(f"{recording.name} must hold at least one sample")


def _samples_per_read(recording: Any, growth: int = 1) -> int:
    """How many samples of each channel are read at once: memory depends neither on channels nor on the rate."""
    return max(1, SAMPLES_PER_READ // (recording.channels * growth))


def _check_end(recording: Any, begin: int, end: int) -> None:
    """Raise OSError if a recording that was read from one sample to another states more; lossy ones from 0 on."""
    tolerance = MP3_TOLERANCE if recording.subtype == "MPEG_LAYER_III" else 0
    if end + tolerance < recording.frames < UNKNOWN and (begin == 0 or _is_lossless(recording)):
        raise OSError(
            f"{recording.name} is truncated or damaged: it states {recording.frames} samples, but only {end} "
            "can be read"
        )


def _mixed(block: Samples, channel: int | None, dtype: Precision) -> Samples:
    """The channel of that number, or the mean of all, of samples (sample, channel)."""
    first, *others = block.T if channel is None else [block[:, channel]]
    if not others:
        return np.ascontiguousarray(first)
    total = as_floats(first, dtype)
    with np.errstate(invalid="ignore", over="ignore"):
        for other in others:
            total = total + as_floats(other, dtype)
    return total / total.dtype.type(1 + len(others))


def _resampled(chunks: Iterator[Samples], sr: int, target: int, dtype: Precision) -> Iterator[Samples]:
    """Chunks at one rate, from chunks at another; the duration stays the same.

    A resampler assumes silence after the end, and the jump rings. We append the last samples reflected about the final
    one, then cut the surplus.
    """
    if sr == target:
        yield from chunks
        return
    resample = _resampler(sr, target, dtype)
    reach = math.ceil(_settling(sr, target) * Fraction(sr, target))
    end: Samples = np.empty(0, dtype)
    n_in = n_out = 0
    for x in chunks:
        end = np.concatenate([end, as_floats(x[-reach:], dtype)])[-reach:]
        resampled = resample(x)
        n_in, n_out = n_in + len(x), n_out + len(resampled)
        yield resampled
    n_left = math.floor(n_in * Fraction(target, sr) + Fraction(1, 2)) - n_out
    yield resample(2 * end[-1] - end[-2::-1], last=True)[:n_left]


def _resampler(sr: int, target: int, dtype: Precision) -> Callable[..., Samples]:
    """A function from the next samples at one rate to samples at another."""
    import soxr  # here, because most recordings need none

    stream = soxr.ResampleStream(sr, target, 1, dtype=dtype, quality=QUALITY)
    return lambda x, **options: stream.resample_chunk(as_floats(x, dtype), **options)


def _seek(sr: int, target: int, first: int) -> tuple[int, int]:
    """Sample to start reading at, and how many to drop after resampling, before the first one asked for."""
    if sr == target or first == 0:
        return first, 0
    grid = _grid(sr, target)
    start = max(0, first - _settling(sr, target)) // grid * grid
    return int(start * Fraction(sr, target)), first - start


def _settling(sr: int, target: int) -> int:
    """Samples at the target rate after which a resampler has forgotten where it started."""
    return 0 if sr == target else 1024 * max(1, math.ceil(target / sr))


@functools.cache
def _grid(sr: int, target: int) -> int:
    """A resampler may start anew at every so many samples at the target rate, and gives the same samples."""
    ratio = Fraction(target, sr)
    if ratio.numerator > 1:
        return ratio.numerator  # where samples before and after resampling coincide
    # To keep one sample out of several, soxr works on blocks: after a block it is in the same state, to the last bit.
    resample = _resampler(sr, target, "float64")
    sizes = (len(resample(np.zeros(ratio.denominator))) for _ in itertools.count())
    _, size, next_size = itertools.islice(filter(None, sizes), 3)
    return size if size == next_size else 1
