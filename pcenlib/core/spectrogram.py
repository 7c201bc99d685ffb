"""From a waveform to the magnitude spectrogram E, in the two settings of the paper.

Frame t covers samples ``t * hop_length`` to ``t * hop_length + win_length``, recorded samples only. We do not pad the
borders, because silence that nobody recorded would begin and end with a contrast that nobody heard. Only a recording
shorter than a window is zero-padded, to one frame.

Magnitudes are at least `FLOOR`, squared magnitudes at least its square. Even the rounding noise of a 24-bit recording
is a hundred times larger, so the floor is only reached in digital silence.
"""

import functools

import numpy as np
import numpy.typing as npt
import scipy

from pcenlib.core.checks import check_waveform
from pcenlib.core.recordings import Source, waveform
from pcenlib.core.setting import Setting

__all__ = ["band_magnitudes", "read_spectrogram", "spectrogram"]

FRAMES_PER_BLOCK = 512


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
        Magnitudes to the power p in double precision, nowhere below ``FLOOR**p``. Agrees with
        ``librosa.filters.mel(htk=True) @ abs(librosa.stft(center=False)) ** p``.
    """
    x = check_waveform(x)
    if (missing := setting.win_length - x.shape[-1]) > 0:
        x = np.concatenate([x, np.zeros((*x.shape[:-1], missing))], axis=-1)
    frames = np.lib.stride_tricks.sliding_window_view(x, setting.win_length, axis=-1)[..., :: setting.hop_length, :]
    n_frames = frames.shape[-2]
    E = np.empty((*x.shape[:-1], setting.n_bands, n_frames))
    # In blocks, so the transforms of a long recording are never all in memory.
    for begin in range(0, n_frames, FRAMES_PER_BLOCK):
        block = slice(begin, begin + FRAMES_PER_BLOCK)
        E[..., block] = np.swapaxes(band_magnitudes(frames[..., block, :], setting), -1, -2)
    return E


def read_spectrogram(
    source: Source,
    setting: Setting,
    *,
    sr: int | None = None,
    channel: int | None = None,
    first: int = 0,
    last: int | None = None,
) -> npt.NDArray[np.float64]:
    """E (band, frame) of a recording, or of its frames from the first to just before the last.

    `source`, `sr` and `channel` are as for `detection_functions`. Of a lossless file, only these frames are read.
    """
    begin, end = first * setting.hop_length, None
    if last is not None:
        end = begin + (last - first - 1) * setting.hop_length + setting.win_length
    x = waveform(source, setting.sr, sr=sr, channel=channel, first=begin, last=end)
    return spectrogram(x, setting)[:, : None if last is None else last - first]


def band_magnitudes(frames: npt.NDArray[np.floating], setting: Setting) -> npt.NDArray[np.floating]:
    """E (..., frame, band) of frames (..., frame, sample), in the precision of the frames."""
    # Zero-padded here: scipy.fft takes longer to pad than to transform.
    windowed = np.zeros((*frames.shape[:-1], setting.n_fft), dtype=frames.dtype)
    np.multiply(frames, setting.window, out=windowed[..., : setting.win_length], casting="same_kind")
    magnitudes = np.abs(scipy.fft.rfft(windowed))
    if setting.power == 2:
        magnitudes *= magnitudes
    if setting.scale == "linear":
        bands = magnitudes[..., setting.first_bin : setting.first_bin + setting.n_bands]
    else:
        groups = _mel_filter_groups(setting.memoryless, frames.dtype)
        bands = np.concatenate([magnitudes[..., bins] @ filters for bins, filters in groups], axis=-1)
    return np.maximum(bands, setting.floor, dtype=bands.dtype)


@functools.cache
def _mel_filter_groups(setting: Setting, dtype: npt.DTypeLike) -> list[tuple[slice, npt.NDArray[np.floating]]]:
    """The bins where each group of neighboring triangles is not zero, few of all, and its filters (bin, band) there."""
    groups = []
    for filters in np.array_split(setting.filters, min(8, setting.n_bands)):
        used = np.flatnonzero(filters.any(axis=0))
        bins = slice(int(used[0]), int(used[-1]) + 1)
        groups.append((bins, np.ascontiguousarray(filters[:, bins].T, dtype=dtype)))
    return groups
