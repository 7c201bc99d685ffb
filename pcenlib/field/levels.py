"""How loud the background of a recording is, minute by minute."""

import numpy as np
import numpy.typing as npt

from pcenlib.core.recordings import waveform
from pcenlib.field.search import Search

__all__ = ["band_level", "noise_levels"]


# For the noise level over time: so many seconds of every minute, in so many pieces of which the median is taken.
LEVEL_EVERY, LEVEL_SECONDS, LEVEL_PIECES = 60.0, 2.0, 8


def band_level(x: npt.ArrayLike, sr: int, low: float, high: float) -> float:
    """Level of a waveform between two frequencies, in dB relative to a full-scale square wave; at least -200.

    A full-scale sine has -3 dB.
    """
    import scipy.fft

    x = np.asarray(x, dtype=np.float64)
    frequencies = scipy.fft.rfftfreq(x.size, 1 / sr)
    power = np.abs(scipy.fft.rfft(x) / x.size) ** 2
    power[1 : (x.size + 1) // 2] *= 2  # the negative frequencies
    return float(10 * np.log10(max(power[(frequencies >= low) & (frequencies <= high)].sum(), 1e-20)))


def noise_levels(path: str, search: Search, duration: float) -> list[list[float]]:
    """Seconds from the start and noise level of each minute of a recording, in the bands of a search.

    The level is the median of `band_level` over short pieces, so a short call does not count.
    """
    setting = search.setting
    levels = []
    for start in np.arange(0, max(duration - LEVEL_SECONDS, 0) + 1e-9, LEVEL_EVERY):
        first = round(start * setting.sr)
        last = first + round(LEVEL_SECONDS * setting.sr)
        x = waveform(path, setting.sr, channel=search.channel, first=first, last=last)
        pieces = [piece for piece in np.array_split(x, LEVEL_PIECES) if piece.size]
        if pieces:  # not if a recording is shorter than a sample of the setting
            level = np.median([band_level(piece, setting.sr, setting.fmin, setting.fmax) for piece in pieces])
            levels.append([float(start), round(float(level), 2)])
    return levels
