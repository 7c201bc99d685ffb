"""How a waveform becomes a spectrogram: the two settings of the paper, and those for other animals.

A `Setting` holds the numbers and what follows from them: window, bands, filters, time scale of the background.
`load_setting` reads one from a TOML file.
"""

import dataclasses
import functools
import math
import os
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Self

import numpy as np
import numpy.typing as npt

from pcenlib.core.checks import check_count, check_range

__all__ = ["FLOOR", "NAMED", "NIGHTHAWK", "RIGHT_WHALE", "Setting", "load_setting"]

FLOOR = 1e-10
"""Smallest magnitude in a spectrogram, for waveforms in [-1, 1]."""

FloatArray = npt.NDArray[np.float64]

# Beyond these is a slip of the keyboard, which would take the memory of the machine: ten times the rate of a recorder
# for bats, windows of a million samples, filters of 256 MB, a background of ten thousand frames.
HIGHEST_RATE = 10_000_000
LONGEST_WINDOW = 2**20
LARGEST_FILTERS = 2**25
SMALLEST_S = 1e-4


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
        Length of the Fourier transform in samples, at least `win_length`; the window is zero-padded.
    n_bands : int
        Number of bands.
    fmin, fmax : float
        Lowest and highest frequency in hertz. On the mel scale, the outer feet of the first and the last triangle;
        on the linear scale, the first and the last bin of the transform.
    scale : {"mel", "linear"}
        Triangles equally spaced in HTK mels, or the bins of the transform themselves.
    s : float
        Weight of the newest frame in the background M, equation 4; at least 0.0001.
    power : {1, 2}
        Bands of magnitudes, as in the paper, or of squared magnitudes, as in the authors' released code.
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
        check_count("sr", self.sr, HIGHEST_RATE)
        for name in ("win_length", "hop_length", "n_fft", "n_bands"):
            check_count(name, getattr(self, name), LONGEST_WINDOW)
        if self.n_fft < self.win_length:
            raise ValueError(f"n_fft must be at least win_length = {self.win_length}, got {self.n_fft}")
        if isinstance(self.power, bool) or not isinstance(self.power, int) or self.power not in (1, 2):
            raise ValueError(f"power must be 1 or 2, got {self.power!r}")
        check_range("s", self.s, SMALLEST_S, 1)
        check_range("fmin", self.fmin, 0)
        check_range("fmax", self.fmax, 0, self.sr / 2)
        if self.scale not in ("mel", "linear"):
            raise ValueError(f"scale must be 'mel' or 'linear', got {self.scale!r}")
        # A single bin begins and ends at the same frequency; a triangle has a width.
        if self.fmin > self.fmax or (self.fmin == self.fmax and self.scale == "mel"):
            raise ValueError(f"fmin must be below fmax = {self.fmax}, got {self.fmin}")
        if self.scale == "linear":
            self._check_linear_bands()
        elif self.n_bands * (self.n_fft // 2 + 1) > LARGEST_FILTERS:
            raise ValueError(f"n_bands = {self.n_bands} mel bands are too many for n_fft = {self.n_fft}")
        elif not self.filters.any(axis=1).all():
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
    def frequencies(self) -> FloatArray:
        """Center of each band, in hertz."""
        if self.scale == "linear":
            return np.arange(self.first_bin, self.first_bin + self.n_bands, dtype=np.float64) * self.bin_width
        return _mel_edges(self.n_bands, self.fmin, self.fmax)[1:-1]

    @property
    def band_edges(self) -> FloatArray:
        """Feet of each triangle in hertz, shape (band, 2); on the linear scale, half a bin to either side."""
        if self.scale == "linear":
            return self.frequencies[:, np.newaxis] + np.array([-0.5, 0.5]) * self.bin_width
        edges = _mel_edges(self.n_bands, self.fmin, self.fmax)
        return np.stack([edges[:-2], edges[2:]], axis=1)

    @property
    def window(self) -> FloatArray:
        """Periodic Hann window. Its copies add up to a constant at every hop that divides half its length."""
        return _hann(self.win_length)

    @property
    def filters(self) -> FloatArray:
        """Triangles (band, bin) of the mel scale, each of unit area in hertz."""
        return _mel_filters(self.sr, self.n_fft, self.n_bands, self.fmin, self.fmax)

    @property
    def period(self) -> float:
        r"""The time scale T in seconds, at least one hop. Contrasts much shorter than T stand out.

        .. math:: T = 2 \pi\,\mathrm{hop}\,\frac{\sqrt{1 - s}}{s}

        `smoothing_coefficient` is the inverse, from T to s.
        """
        return max(self.hop, 2 * math.pi * self.hop * math.sqrt(1 - self.s) / self.s)

    @property
    def memoryless(self) -> Self:
        """The same windows and bands with s and power 1. What depends on windows and bands alone is cached by it."""
        return replace(self, s=1.0, power=1)

    def with_bands(self, first: int, last: int) -> Self:
        """The same setting with only its bands `first` to `last`, both included, counted from 0."""
        if not 0 <= first <= last < self.n_bands:
            raise ValueError(f"first and last must be bands from 0 to {self.n_bands - 1} in order, got {first}, {last}")
        begins, ends = (self.frequencies,) * 2 if self.scale == "linear" else self.band_edges.T
        # An end that stays is not computed anew: rounding might move it above half of the sample rate.
        fmin = float(begins[first]) if first > 0 else self.fmin
        fmax = float(ends[last]) if last < self.n_bands - 1 else self.fmax
        return replace(self, n_bands=last - first + 1, fmin=fmin, fmax=fmax)

    def within(self, low: float, high: float) -> Self:
        """The same setting with only those bands whose centers are from `low` to `high` hertz."""
        check_range("low", low, 0)
        check_range("high", high, low, open_low=True)
        (inside,) = np.nonzero((self.frequencies >= low) & (self.frequencies <= high))
        if inside.size == 0:
            centers = f"centers go from {self.frequencies[0]:g} to {self.frequencies[-1]:g} Hz"
            raise ValueError(f"no band of the setting has its center from {low:g} to {high:g} Hz: {centers}")
        return self.with_bands(int(inside[0]), int(inside[-1]))

    def n_frames(self, n_samples: int) -> int:
        """Number of frames in that many samples; at least one."""
        return 1 + max(0, n_samples - self.win_length) // self.hop_length

    def times(self, n_frames: int) -> FloatArray:
        """Centers of the first frames, in seconds from the start of the recording."""
        return (np.arange(n_frames) * self.hop_length + self.win_length / 2) / self.sr

    def place_of_maximum(self, values: npt.NDArray[np.floating]) -> tuple[float, float]:
        """Time and frequency, in seconds and hertz, of the largest of the values (band, frame)."""
        band, frame = np.unravel_index(np.argmax(values), values.shape)
        return float(self.times(values.shape[-1])[frame]), float(self.frequencies[band])


@functools.cache
def _hann(length: int) -> FloatArray:
    return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / length)


def _mel_edges(n_bands: int, fmin: float, fmax: float) -> FloatArray:
    """Feet and tips of the triangles, n_bands + 2 in all, in hertz and equally spaced in HTK mels."""
    low, high = 2595 * np.log10(1 + np.array([fmin, fmax]) / 700)
    return 700 * (10 ** (np.linspace(low, high, n_bands + 2) / 2595) - 1)


# Cached by what they depend on: another s has the same filters, and these take half a megabyte.
@functools.cache
def _mel_filters(sr: int, n_fft: int, n_bands: int, fmin: float, fmax: float) -> FloatArray:
    edges = _mel_edges(n_bands, fmin, fmax)[:, np.newaxis]
    bins = np.arange(n_fft // 2 + 1) * (sr / n_fft)
    left, tip, right = edges[:-2], edges[1:-1], edges[2:]
    triangles = np.minimum((bins - left) / (tip - left), (right - bins) / (right - tip))
    return np.maximum(triangles, 0) * 2 / (right - left)


NIGHTHAWK = Setting(
    sr=22050, win_length=256, hop_length=32, n_fft=1024, n_bands=128, fmin=2000, fmax=11025, scale="mel", s=0.09
)
"""The setting of section 3.1, 12 ms windows every 1.5 ms, 128 mel bands from 2 to 11.025 kHz.

Windows are zero-padded to 1024 samples, as in the authors' code. With 256, five of the 128 bands would be empty.
"""

RIGHT_WHALE = Setting(
    sr=2000, win_length=256, hop_length=128, n_fft=256, n_bands=128, fmin=7.8125, fmax=1000, scale="linear", s=0.33
)
"""The setting of section 4.1, 128 ms windows every 64 ms, 128 bands from 8 Hz to 1 kHz, bins 1 to 128 of the FFT."""

NAMED = {"nighthawk": NIGHTHAWK, "right-whale": RIGHT_WHALE}
"""The settings of the paper, as the command line calls them."""


def load_setting(source: str | os.PathLike[str]) -> Setting:
    """A setting of the paper by its name, or one from a file.

    Parameters
    ----------
    source : str or path
        A name of `NAMED`, or a TOML file with the fields of `Setting` and no others; `power` may be left out.

    Returns
    -------
    Setting
        Errors name the file and the key.
    """
    if source in NAMED:
        return NAMED[str(source)]
    path = Path(source)
    if path.suffix.lower() != ".toml":
        raise ValueError(f"setting must be {', '.join(NAMED)} or a file that ends in .toml, got {os.fspath(source)!r}")
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # of TOML, of UTF-8, of numbers that are too long
        raise ValueError(f"{path} is not a TOML file: {error}") from error
    fields = dataclasses.fields(Setting)
    names = [field.name for field in fields]
    required = {field.name for field in fields if field.default is dataclasses.MISSING}
    told = [f"{name} is unknown" for name in sorted(set(values) - set(names))]
    told += [f"{name} is missing" for name in sorted(required - set(values))]
    if told:
        raise ValueError(f"{path} must have the keys {', '.join(names)}: {'; '.join(told)}")
    try:
        return Setting(**values)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
