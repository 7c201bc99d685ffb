"""Data sets of calls and of recordings without any, simulated and real, behind one interface.

A data set has *clips*, each with one call at a known distance and from a known group (an individual, a day), and
*recordings*, in which there is no call. It gives the sound of one of them at a time, so that a data set larger than
memory is no different from a small one, and it can be sent to another process.

Real data sets are in `pcenlib.datasets.catalogue`. Most of them have either clips or recordings, and `Paired` makes one
of two. Some have clips of which nobody kept what came before; `Reflected` puts something there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pcenlib.datasets.nighthawk import Night, SimulatedNighthawk
from pcenlib.datasets.right_whale import Sea, SimulatedRightWhale
from pcenlib.datasets.sounds import Clip, Sound

__all__ = [
    "Clip",
    "DataSet",
    "Night",
    "Paired",
    "Reflected",
    "Sea",
    "SimulatedNighthawk",
    "SimulatedRightWhale",
    "Sound",
]


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

    Notes
    -----
    Chapters 3.3 and 4.2 with ``data="real"``, and *On real sound*.
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

    Notes
    -----
    Chapters *Right whales and real ships* and *The paper's own data*.
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
