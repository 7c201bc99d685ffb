"""Marinexplore and Cornell's challenge of 2013: right whale up-calls and noise, a public stand-in for CCB18.

There are no distances in it. What stands for distance is the signal-to-noise ratio at which a call was received, as
`received_snr` estimates it, in bins of 3 dB.
"""

import hashlib
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pcenlib.core.checks import check_waveform
from pcenlib.core.setting import RIGHT_WHALE
from pcenlib.core.spectrogram import spectrogram
from pcenlib.datasets.interface import Clip
from pcenlib.datasets.real import About, RealSet, Report, read
from pcenlib.datasets.tables import labels

__all__ = ["SNR_BINS", "RightWhaleChallenge", "received_snr"]

SNR_BINS = np.arange(1.5, 18, 3.0)
"""Centers of the bins of the signal-to-noise ratio, in dB; the outermost hold all that is beyond them."""

BAND = (50.0, 300.0)  # of up-calls, in Hz
CLIPS_PER_BLOCK = 6000


@dataclass(frozen=True)
class RightWhaleChallenge(RealSet):
    """The clips of the challenge's training set: up-calls as positives, noise as negatives.

    Of clips that are the same to the last byte, the first in the table is kept; if their labels differ, none is. Groups
    are five blocks of consecutive clips: clips with neighboring numbers are more alike than others, as if they were
    near in time.
    """

    about = About(
        title="Marinexplore and Cornell right whale challenge",
        key="marinexplore2013",
        citation="Marinexplore and Cornell University (2013). Whale detection challenge. Kaggle.",
        licence="data of a competition; not for redistribution",
        obtain="with an account of Kaggle that has accepted the rules, the training set of "
        "https://www.kaggle.com/c/whale-detection-challenge. It is not served without an account",
        layout="train/*.aiff, train.csv (clip_name, label)",
        unit="clips",
        n_files=30000,
        sr=2000,
        duration=2.0,
    )
    clip_duration = 2.0

    @cached_property
    def _labels(self) -> tuple[dict[str, bool], dict[str, str]]:
        """Whether there is an up-call in each file, and lines that do not say so."""
        found, skipped = labels(self.folder / "train.csv", ("clip_name", "label"))
        return {f"train/{name}": call for name, call in found.items()}, skipped

    def _listed(self) -> tuple[list[str], dict[str, str]]:
        found, skipped = self._labels
        return list(found), skipped

    def _looked_at(self, report: Report) -> Report:
        same = defaultdict(list)
        for name in report.present:
            same[hashlib.sha256((self.folder / name).read_bytes()).digest()].append(name)
        is_call, _ = self._labels
        repeats: dict[str, str] = {}
        for first, *others in same.values():
            contradict = any(is_call[name] != is_call[first] for name in others)
            repeats.update(dict.fromkeys([first, *others] if contradict else others, first))
        return replace(report, repeats=repeats)

    def _labelled(self, label: bool) -> list[str]:
        is_call, _ = self._labels
        return [name for name in self._present if is_call[name] == label and name not in self.report.repeats]

    @cached_property
    def clips(self) -> list[Clip]:
        """Up-calls, in the order of the table."""
        return [Clip(name, self._snr_bin(name), _block(name)) for name in self._labelled(True)]

    @property
    def recordings(self) -> list[str]:
        """Noise, in the order of the table."""
        return self._labelled(False)

    def _snr_bin(self, name: str) -> float:
        return float(SNR_BINS[np.abs(SNR_BINS - received_snr(*read(self.folder / name))).argmin()])


def received_snr(x: npt.ArrayLike, sr: int) -> float:
    """Signal-to-noise ratio of a call in a clip of a few seconds, in dB, estimated from the clip alone.

    In the band of up-calls, 50 to 300 Hz, the power of each frame of `RIGHT_WHALE` is summed. The mean of the quietest
    quarter of the frames is taken for noise N, that of the loudest quarter for signal and noise S + N, and the estimate
    is 10 log10(S/N).

    Parameters
    ----------
    x : array_like, shape (sample,)
        The waveform: at least four frames of it.
    sr : int
        Samples per second: those of `RIGHT_WHALE`.

    Returns
    -------
    float
        The ratio. For a call of half a second or more it is 1 to 3 dB too high, as the quietest frames are quieter than
        noise is on average. Stationary noise alone gives about -1 dB, so smaller ratios cannot be told apart. Any
        other sound in the band that comes and goes counts as a call.
    """
    if sr != RIGHT_WHALE.sr:
        raise ValueError(f"sr must be {RIGHT_WHALE.sr}, got {sr}")
    E = spectrogram(check_waveform(x), RIGHT_WHALE)
    quarter = E.shape[-1] // 4
    if not quarter:
        raise ValueError(f"x must last at least 4 frames, got {E.shape[-1]}")
    frequencies = RIGHT_WHALE.frequencies
    band = (frequencies >= BAND[0]) & (frequencies <= BAND[1])
    power = np.sort((E[band] ** 2).sum(axis=0))
    noise, loud = power[:quarter].mean(), power[-quarter:].mean()
    return float(10 * np.log10(max(loud / noise - 1, np.finfo(float).eps)))


def _block(name: str) -> str:
    """Which of the blocks of consecutive clips a clip is in."""
    number = re.search(r"(\d+)\.", name)
    return f"block {1 + (int(number[1]) - 1) // CLIPS_PER_BLOCK}" if number else "no number"
