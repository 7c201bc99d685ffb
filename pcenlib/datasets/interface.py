"""What data sets are made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from pcenlib.core.recordings import Source

__all__ = ["Clip", "DataSet", "Paired", "Reflected", "Sound"]


class Clip(NamedTuple):
    """A short stretch of sound with one call in it."""

    name: str
    """Its own, within the data set."""
    distance: float
    """Between caller and sensor, in metres; or what stands for it."""
    group: str
    """What the results vary over, such as an individual or a day."""


class Sound(NamedTuple):
    """Samples, as `detection_functions` takes them."""

    source: Source
    """A path or a waveform."""
    sr: int | None = None
    """Samples per second of a waveform."""
    lead: float = 0.0
    """Seconds at the start that belong to what was heard before, and are there for the background to settle."""


class DataSet(Protocol):
    """What an experiment asks of a data set.

    Notes
    -----
    Every experiment, chapters 3.3 and 4.2 first. Data sets are frozen dataclasses: their text (`repr`) says all that
    the sound depends on.
    """

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


@dataclass(frozen=True)
class Paired:
    """A data set with the clips of one and the recordings of another, as in sections 3.3 and 4.2.

    Parameters
    ----------
    positives, negatives : DataSet
        Where clips and recordings are from.
    """

    positives: DataSet
    negatives: DataSet

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
        return self.negatives.recordings

    def clip(self, clip: Clip) -> Sound:
        """Sound of a clip."""
        return self.positives.clip(clip)

    def recording(self, name: str) -> Sound:
        """Sound of a recording."""
        return self.negatives.recording(name)


@dataclass(frozen=True)
class Reflected:
    """A data set whose clips come after themselves reversed, where nothing else is known of what was heard before.

    So the background has settled, at the level of the clip, when the clip begins, and nothing jumps where the two meet.
    The price is that a call lies in its own past: the shorter the clip and the slower the background, the more it hides
    itself.

    Parameters
    ----------
    dataset : DataSet
        The data set. Clips that have something before them keep it, and recordings are left alone.
    """

    dataset: DataSet

    @property
    def clip_duration(self) -> float:
        """Length of each clip in seconds, without the sound before it."""
        return self.dataset.clip_duration

    @property
    def clips(self) -> Sequence[Clip]:
        """Every clip."""
        return self.dataset.clips

    @property
    def recordings(self) -> Sequence[str]:
        """Every recording."""
        return self.dataset.recordings

    def clip(self, clip: Clip) -> Sound:
        """Sound of a clip, after itself reversed."""
        sound = self.dataset.clip(clip)
        if sound.lead:
            return sound
        if sound.sr is None:
            raise ValueError("clips must be waveforms, not files, to be reversed")
        x = np.asarray(sound.source)
        return Sound(np.concatenate([x[..., ::-1], x], axis=-1), sound.sr, x.shape[-1] / sound.sr)

    def recording(self, name: str) -> Sound:
        """Sound of a recording."""
        return self.dataset.recording(name)
