"""From a waveform to the magnitude spectrogram E, in the two settings of the paper.

A frame is made of recorded samples only: frame t covers samples ``t * hop_length`` to
``t * hop_length + win_length``. Nothing is padded at the borders, because silence that nobody recorded would start
and end with a contrast that nobody heard. A recording shorter than one window is completed with zeros to one frame.

Magnitudes are floored at `FLOOR`, squared magnitudes at its square. Even the rounding noise of a 24-bit recording gives
magnitudes a hundred times larger, so the floor is only ever reached in digital silence.
"""

import functools
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np
import numpy.typing as npt
import scipy

from pcenlib._checks import check_count, check_range, check_waveform

__all__ = ["FLOOR", "NIGHTHAWK", "RIGHT_WHALE", "Setting", "spectrogram"]

FLOOR = 1e-10
"""Smallest magnitude that `spectrogram` returns, for waveforms in [-1, 1]."""

FRAMES_PER_BLOCK = 512


@dataclass(frozen=True, kw_only=True)
class Setting:
    """How a waveform becomes a spectrogram, and the time scale of its background.

    Parameters
    ----------
    sr : int
        Samples per second.
    win_length, hop_length : int
        Length of the Hann window and step between two windows, in samples.
    n_fft : int
        Length of the Fourier transform in samples, at least `win_length`; the window is completed with zeros.
    n_bands : int
        Number of bands.
    fmin, fmax : float
        Lowest and highest frequency in hertz. On the mel scale, the outer feet of the first and the last triangle;
        on the linear scale, the first and the last bin of the transform.
    scale : {"mel", "linear"}
        Triangles equally spaced in HTK mels, or the bins of the transform themselves.
    s : float
        Weight of the newest frame in the background M, equation 4.
    power : {1, 2}
        Bands of magnitudes, as in the paper, or of squared magnitudes, as in the authors' released code.

    Notes
    -----
    Chapter 1, *Introduction*, shows both settings of the paper: `NIGHTHAWK` (section 3.1) and `RIGHT_WHALE`
    (section 4.1).
    """

    sr: int
    win_length: int
    hop_length: int
    n_fft: int
    n_bands: int
    fmin: float
    fmax: float
    scale: Literal["mel", "linear"]
    s: float
    power: int = 1

    def __post_init__(self) -> None:
        for name in ("sr", "win_length", "hop_length", "n_fft", "n_bands"):
            check_count(name, getattr(self, name))
        if self.n_fft < self.win_length:
            raise ValueError(f"n_fft must be at least win_length = {self.win_length}, got {self.n_fft}")
        if isinstance(self.power, bool) or not isinstance(self.power, int) or self.power not in (1, 2):
            raise ValueError(f"power must be 1 or 2, got {self.power!r}")
        check_range("s", self.s, 0, 1, open_low=True)
        check_range("fmin", self.fmin, 0)
        check_range("fmax", self.fmax, 0, self.sr / 2)
        if self.scale not in ("mel", "linear"):
            raise ValueError(f"scale must be 'mel' or 'linear', got {self.scale!r}")
        # A single bin begins and ends at the same frequency; a triangle has a width.
        if self.fmin > self.fmax or (self.fmin == self.fmax and self.scale == "mel"):
            raise ValueError(f"fmin must be below fmax = {self.fmax}, got {self.fmin}")
        if self.scale == "linear":
            self._check_linear_bands()
        elif not _mel_filters(self).any(axis=1).all():
            raise ValueError(
                f"n_bands = {self.n_bands} mel bands are too narrow for n_fft = {self.n_fft}: "
                "some hold no bin of the transform; take a longer n_fft or fewer bands"
            )

    def _check_linear_bands(self) -> None:
        expected = (self.fmax - self.fmin) / self.bin_width + 1
        if abs(expected - self.n_bands) > 1e-6 or abs(self.fmin / self.bin_width - self.first_bin) > 1e-6:
            raise ValueError(
                f"fmin, fmax and n_bands must name bins of the transform, which are {self.bin_width:g} Hz apart: "
                f"got {self.n_bands} bands from {self.fmin:g} to {self.fmax:g} Hz"
            )

    @property
    def hop(self) -> float:
        """Time between two frames, in seconds."""
        return self.hop_length / self.sr

    @property
    def floor(self) -> float:
        """Smallest value in a band, `FLOOR` or its square."""
        return FLOOR**self.power

    @property
    def bin_width(self) -> float:
        """Distance between two bins of the transform, in hertz."""
        return self.sr / self.n_fft

    @property
    def first_bin(self) -> int:
        """Number of the transform's bin at `fmin`, for the linear scale."""
        return round(self.fmin / self.bin_width)

    @property
    def frequencies(self) -> npt.NDArray[np.float64]:
        """Centre of each band, in hertz."""
        if self.scale == "linear":
            return np.arange(self.first_bin, self.first_bin + self.n_bands, dtype=np.float64) * self.bin_width
        return _mel_edges(self)[1:-1]

    def with_bands(self, first: int, last: int) -> Self:
        """The same setting with some of its bands alone: `first` to `last`, both included, counted from 0."""
        if not 0 <= first <= last < self.n_bands:
            raise ValueError(
                f"first and last must be bands from 0 to {self.n_bands - 1}, in order, got {first}, {last}"
            )
        if self.scale == "linear":
            begins = ends = self.frequencies
        else:
            edges = _mel_edges(self)
            begins, ends = edges[:-2], edges[2:]
        # What stays at its place is left alone: rounding might move it above half of the sample rate.
        fmin = float(begins[first]) if first > 0 else self.fmin
        fmax = float(ends[last]) if last < self.n_bands - 1 else self.fmax
        return replace(self, n_bands=last - first + 1, fmin=fmin, fmax=fmax)

    def n_frames(self, n_samples: int) -> int:
        """Number of frames in so many samples; at least one."""
        return 1 + max(0, n_samples - self.win_length) // self.hop_length

    def times(self, n_frames: int) -> npt.NDArray[np.float64]:
        """Centre of each of the first frames, in seconds from the start of the recording."""
        return (np.arange(n_frames) * self.hop_length + self.win_length / 2) / self.sr

    def place_of_maximum(self, values: npt.NDArray[np.floating]) -> tuple[float, float]:
        """Time and frequency, in seconds and hertz, of the largest of the values (band, frame)."""
        band, frame = np.unravel_index(np.argmax(values), values.shape)
        return float(self.times(values.shape[-1])[frame]), float(self.frequencies[band])


def spectrogram(x: npt.ArrayLike, setting: Setting) -> npt.NDArray[np.float64]:
    r"""Magnitude spectrogram E of a waveform.

    .. math:: E[t, f] = \sum_k B[f, k]\ \Bigl| \sum_n w[n]\, x[n + t\,\mathrm{hop}]\, e^{-2 \pi i k n / N} \Bigr|^p

    with a Hann window w and the bands B of the setting: triangles of unit area in hertz on the mel scale, single
    bins on the linear one. The power p is 1 in the paper.

    Parameters
    ----------
    x : array_like, shape (..., sample)
        Waveform at ``setting.sr`` samples per second.
    setting : Setting
        Window, hop and bands.

    Returns
    -------
    ndarray, shape (..., band, frame)
        Magnitudes to the power p in double precision, nowhere below ``FLOOR**p``.

    Notes
    -----
    Every chapter uses it. Agrees with ``librosa.filters.mel(htk=True) @ abs(librosa.stft(center=False)) ** p``.
    """
    x = check_waveform(x)
    missing = setting.win_length - x.shape[-1]
    if missing > 0:
        x = np.concatenate([x, np.zeros((*x.shape[:-1], missing))], axis=-1)
    frames = np.lib.stride_tricks.sliding_window_view(x, setting.win_length, axis=-1)[..., :: setting.hop_length, :]
    n_frames = frames.shape[-2]
    E = np.empty((*x.shape[:-1], setting.n_bands, n_frames))
    # In blocks, so that the transforms of a long recording are never all in memory.
    for begin in range(0, n_frames, FRAMES_PER_BLOCK):
        block = slice(begin, begin + FRAMES_PER_BLOCK)
        E[..., block] = np.swapaxes(_band_magnitudes(frames[..., block, :], setting), -1, -2)
    return E


def _band_magnitudes(frames: npt.NDArray[np.floating], setting: Setting) -> npt.NDArray[np.floating]:
    """E (..., frame, band) of frames (..., frame, sample), in the precision of the frames."""
    # Completed with zeros here: scipy.fft takes longer to do so than to transform.
    windowed = np.zeros((*frames.shape[:-1], setting.n_fft), dtype=frames.dtype)
    np.multiply(frames, _hann(setting.win_length), out=windowed[..., : setting.win_length], casting="same_kind")
    magnitudes = np.abs(scipy.fft.rfft(windowed))
    if setting.power == 2:
        magnitudes *= magnitudes
    if setting.scale == "linear":
        bands = magnitudes[..., setting.first_bin : setting.first_bin + setting.n_bands]
    else:
        # Neighbouring bands together, with the few bins that they are made of: nearly all of the filters is zeros.
        groups = [magnitudes[..., bins] @ filters for bins, filters in _mel_filter_groups(setting, frames.dtype)]
        bands = np.concatenate(groups, axis=-1)
    return np.maximum(bands, setting.floor, dtype=bands.dtype)


@functools.cache
def _hann(length: int) -> npt.NDArray[np.float64]:
    """Periodic Hann window, the one that sums to a constant at every hop that divides its half."""
    return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / length)


def _mel_edges(setting: Setting) -> npt.NDArray[np.float64]:
    """The n_bands + 2 feet and tips of the triangles, in hertz, equally spaced in HTK mels."""
    low, high = 2595 * np.log10(1 + np.array([setting.fmin, setting.fmax]) / 700)
    return 700 * (10 ** (np.linspace(low, high, setting.n_bands + 2) / 2595) - 1)


@functools.cache
def _mel_filters(setting: Setting) -> npt.NDArray[np.float64]:
    """Triangles (band, bin), each of unit area in hertz."""
    edges = _mel_edges(setting)[:, np.newaxis]
    bins = np.arange(setting.n_fft // 2 + 1) * setting.bin_width
    left, tip, right = edges[:-2], edges[1:-1], edges[2:]
    triangles = np.minimum((bins - left) / (tip - left), (right - bins) / (right - tip))
    return np.maximum(triangles, 0) * 2 / (right - left)


@functools.cache
def _mel_filter_groups(setting: Setting, dtype: npt.DTypeLike) -> list[tuple[slice, npt.NDArray[np.floating]]]:
    """The triangles in groups of bands: the bins where a group is not zero, and its filters (bin, band) there."""
    groups = []
    for filters in np.array_split(_mel_filters(setting), min(8, setting.n_bands)):
        used = np.flatnonzero(filters.any(axis=0))
        bins = slice(int(used[0]), int(used[-1]) + 1)
        groups.append((bins, np.ascontiguousarray(filters[:, bins].T, dtype=dtype)))
    return groups


NIGHTHAWK = Setting(
    sr=22050, win_length=256, hop_length=32, n_fft=1024, n_bands=128, fmin=2000, fmax=11025, scale="mel", s=0.09
)
"""The setting of section 3.1, 12 ms windows every 1.5 ms, 128 mel bands from 2 to 11.025 kHz.

The transform is completed with zeros to 1024 samples, as the authors' code does: at 256, five of the 128 bands would
hold no bin at all.
"""

RIGHT_WHALE = Setting(
    sr=2000, win_length=256, hop_length=128, n_fft=256, n_bands=128, fmin=7.8125, fmax=1000, scale="linear", s=0.33
)
"""The setting of section 4.1, 128 ms windows every 64 ms, 128 bands from 8 Hz to 1 kHz.

The bands are bins 1 to 128 of a 256-point transform.
"""
