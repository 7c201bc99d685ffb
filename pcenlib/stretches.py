"""A short stretch of a long recording, read again: what an event needs beyond its detection function."""

import contextlib
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pcenlib.spectrogram import Setting

__all__ = ["Shape", "read_frames", "read_seconds", "recording_shape"]

# Samples, at the lower of the two rates, after which a resampler has forgotten where it started.
SETTLING = 1024


class Shape(NamedTuple):
    """Samples per second, number of channels, and duration in seconds, as a recording states them.

    Notes
    -----
    Chapter *Your own recordings*.
    """

    sr: int
    channels: int
    duration: float


def recording_shape(path: str | os.PathLike[str]) -> Shape:
    """Rate, channels and duration of a recording.

    Parameters
    ----------
    path : path
        A file that soundfile reads.

    Returns
    -------
    Shape

    Notes
    -----
    Chapter *Your own recordings*.
    """
    with _opened(path) as file:
        return Shape(file.samplerate, file.channels, file.frames / file.samplerate)


def read_seconds(
    path: str | os.PathLike[str], start: float, end: float, *, sr: int, channel: int | None = None
) -> npt.NDArray[np.float64]:
    """Samples of a recording between two times, as far as it goes.

    Parameters
    ----------
    path : path
        A file that soundfile reads.
    start, end : float
        In seconds from the start of the recording.
    sr : int
        Samples per second of the result.
    channel : int, optional
        Number of the channel, from 0; by default, the mean of all.

    Returns
    -------
    ndarray, shape (sample,)

    Notes
    -----
    Chapter *Your own recordings*.
    """
    first = max(0, round(start * sr))
    return _read(path, first, max(first, round(end * sr)), sr, channel)


def read_frames(
    path: str | os.PathLike[str], setting: Setting, first: int, last: int, *, channel: int | None = None
) -> npt.NDArray[np.float64]:
    """Samples of which `spectrogram` makes the frames `first` to `last - 1` of a recording.

    Parameters
    ----------
    path : path
        A file that soundfile reads.
    setting : Setting
        Window, hop and sampling rate.
    first, last : int
        Numbers of frames.
    channel : int, optional
        Number of the channel, from 0; by default, the mean of all.

    Returns
    -------
    ndarray, shape (sample,)

    Notes
    -----
    Chapter *Your own recordings*.
    """
    begin = first * setting.hop_length
    return _read(path, begin, begin + (last - first - 1) * setting.hop_length + setting.win_length, setting.sr, channel)


def _read(path: str | os.PathLike[str], begin: int, end: int, sr: int, channel: int | None) -> npt.NDArray[np.float64]:
    """Samples `begin` to `end - 1` of one channel, counted at the rate of the result."""
    with _opened(path) as file:
        # Resampling starts where samples of both rates coincide, so that the result lies on the recording's own grid.
        common = math.gcd(file.samplerate, sr)
        step, target_step = file.samplerate // common, sr // common
        margin = 0 if file.samplerate == sr else SETTLING * max(1, math.ceil(sr / file.samplerate))
        start = max(0, begin - margin) // target_step
        stop = -(-(end + margin) // target_step)
        file.seek(min(start * step, file.frames))
        samples = file.read((stop - start) * step, dtype="float64", always_2d=True)
        x = samples.mean(axis=1) if channel is None else samples[:, channel]
        if file.samplerate != sr:
            import soxr

            x = soxr.resample(x, file.samplerate, sr, quality="VHQ")
    return np.ascontiguousarray(x[begin - start * target_step : end - start * target_step])


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[Any]:
    """The recording as a `soundfile.SoundFile`; what libsndfile complains about is an OSError."""
    import soundfile  # here, because it takes as long to import as all of pcenlib

    with Path(path).open("rb"):  # Python says better than libsndfile why this is not possible
        pass
    try:
        with soundfile.SoundFile(path) as file:
            yield file
    except soundfile.LibsndfileError as error:
        raise OSError(f"cannot read {os.fspath(path)}: {error.error_string}") from error
