"""What every data set has: clips with a call, at a distance, and recordings without one.

A data set lists its clips and recordings, and gives the sound of each when it is asked for, in any process. Detectors
are scored on both: thresholds come from the clips, false alarms from the recordings. Simulated, re-propagated and real
sets all have this interface, so an experiment runs on any of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from pcenlib.core.recordings import Source

__all__ = ["Clip", "DataSet", "Paired", "Reflected", "Seeded", "Sound"]


class Clip(NamedTuple):
    """A short stretch of sound with one call in it."""

    name: str
    """Unique within the data set."""
    distance: float
    """Between caller and sensor, in meters; or what stands for it."""
    group: str
    """What the results vary over, such as an individual or a day."""
    key: Any = None
    """What its data set finds the sound by, if that is not the name."""


class Sound(NamedTuple):
    """Samples, as `detection_functions` takes them."""

    source: Source
    """A path or a waveform."""
    sr: int | None = None
    """Samples per second of a waveform."""
    lead: float = 0.0
    """Seconds at the start that were heard before, for the background to settle."""


class DataSet(Protocol):
    """What an experiment asks of a data set: a frozen dataclass whose `repr` says all that the sound depends on."""

    @property
    def clip_duration(self) -> float:
        """Length of each clip in seconds, without the sound before it."""

    @property
    def clips(self) -> Sequence[Clip]:
        """Every clip, in an order that never changes."""

    @property
    def recordings(self) -> Sequence[str]:
        """Name of every recording without a call, in an order that never changes."""

    def clip(self, clip: Clip) -> Sound:
        """Sound of a clip, with what was heard before it."""

    def recording(self, name: str) -> Sound:
        """Sound of a recording."""


@dataclass(frozen=True, kw_only=True)
class Seeded:
    """A data set with random numbers, which all depend on a seed."""

    seed: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise ValueError(f"seed must be a non-negative integer, got {self.seed!r}")

    def _rng(self, *purpose: int) -> np.random.Generator:
        """A generator for each purpose, so it does not matter who makes what, and when."""
        return np.random.default_rng([self.seed, *purpose])


@dataclass(frozen=True)
class Paired:
    """A data set with the clips of one and the recordings of another, as in sections 3.3 and 4.2.

    Parameters
    ----------
    positives : DataSet
        Where the clips come from.
    negatives : DataSet, optional
        Where the recordings come from; by default, the same data set.
    """

    positives: DataSet
    negatives: DataSet | None = None

    @property
    def clip_duration(self) -> float:
        """Length of each clip in seconds, without the sound before it."""
        return self.positives.clip_duration

    @property
    def clips(self) -> Sequence[Clip]:
        """Every clip of the first."""
        return self.positives.clips

    @property
    def recordings(self) -> Sequence[str]:
        """Every recording of the second."""
        return (self.negatives or self.positives).recordings

    def clip(self, clip: Clip) -> Sound:
        """Sound of a clip."""
        return self.positives.clip(clip)

    def recording(self, name: str) -> Sound:
        """Sound of a recording."""
        return (self.negatives or self.positives).recording(name)


class Reflected(Paired):
    """A pair whose clips are preceded by their own mirror image, for clips without any sound before them.

    So the background has settled at the level of the clip when the clip begins, and nothing jumps where the two meet.
    The price is that a call is in its own past: the shorter the clip and the slower the background, the more it hides
    itself. Clips that have sound before them keep it, and recordings are unchanged.
    """

    def clip(self, clip: Clip) -> Sound:
        """Sound of a clip, after itself reversed."""
        sound = super().clip(clip)
        if sound.lead:
            return sound
        if sound.sr is None:
            raise ValueError("clips must be waveforms, not files, to be reversed")
        x = np.asarray(sound.source)
        return Sound(np.concatenate([x[..., ::-1], x], axis=-1), sound.sr, x.shape[-1] / sound.sr)
