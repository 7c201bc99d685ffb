"""What MP3 does to levels and detection functions: calls of known distance, coded and decoded."""

import io
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pcenlib.core.streaming import detection_functions
from pcenlib.datasets.interface import DataSet
from pcenlib.experiments.band_levels import BandPower
from pcenlib.experiments.protocols import NIGHTHAWK_PAPER

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["coded", "coding_effects"]

SETTING = NIGHTHAWK_PAPER.setting
BANDS = {"2 to 6.5 kHz": (2000.0, 6500.0), "8 to 11 kHz": (8000.0, 11000.0)}
COMPRESSION = 0.42  # of libsndfile; about 96 kbit/s at rates from 16 to 24 kHz, as the recordings of the array have


def coded(x: npt.NDArray[np.floating], sr: int, *, gain: float = 1.0) -> npt.NDArray[np.float64]:
    """A waveform after MP3 at about 96 kbit/s, at the same times.

    Parameters
    ----------
    x : ndarray, shape (sample,)
        The waveform.
    sr : int
        Samples per second, one of 16,000, 22,050 and 24,000.
    gain : float
        By what it is multiplied before it is coded, and divided after.

    Returns
    -------
    ndarray, shape (sample,)
    """
    import soundfile  # here, because it takes as long to import as all of pcenlib

    file = io.BytesIO()
    how = {"format": "MP3", "subtype": "MPEG_LAYER_III", "bitrate_mode": "CONSTANT"}
    soundfile.write(file, gain * x, sr, compression_level=COMPRESSION, **how)
    file.seek(0)
    return np.asarray(soundfile.read(file)[0] / gain)


def coding_effects(dataset: DataSet, *, gain: float) -> "pd.DataFrame":
    """Each clip before and after MP3.

    Parameters
    ----------
    dataset : DataSet
        Its clips must be waveforms.
    gain : float
        As for `coded`.

    Returns
    -------
    DataFrame
        Columns `clip`, `distance`, `quantity` (the level in each of `BANDS`, in dB, and each detector's largest value
        and median in the clip), `before` and `after`.
    """
    import pandas as pd

    rows = []
    for clip in dataset.clips:
        sound = dataset.clip(clip)
        sr = sound.sr or SETTING.sr
        x = np.asarray(sound.source)
        measured = [_measured(each, sr, sound.lead) for each in (x, coded(x, sr, gain=gain))]
        rows += [(clip.name, clip.distance, name, value, measured[1][name]) for name, value in measured[0].items()]
    return pd.DataFrame(rows, columns=["clip", "distance", "quantity", "before", "after"])


def _measured(x: npt.NDArray[np.floating], sr: int, lead: float) -> dict[str, float]:
    found = {
        f"level, {name}": 10 * np.log10(float(BandPower(x, sr, *band)(lead, x.size / sr)))
        for name, band in BANDS.items()
    }
    for detector, values in detection_functions(x, SETTING, sr=sr).named().items():
        inside = values[round(lead / SETTING.hop) :]
        found |= {f"{detector}, maximum": float(inside.max()), f"{detector}, median": float(np.median(inside))}
    return found
