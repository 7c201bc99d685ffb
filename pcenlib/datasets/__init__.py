"""Data sets of calls and of recordings without any, simulated and real, behind one interface.

A data set has *clips*, each with one call at a known distance and from a known group (an individual, a day), and
*recordings*, in which there is no call. It gives the sound of one of them at a time, so that a data set larger than
memory is no different from a small one, and it can be sent to another process.

Real data sets are in `pcenlib.datasets.catalogue`. Most of them have either clips or recordings, and `Paired` makes one
of two.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pcenlib.datasets.nighthawk import Night, SimulatedNighthawk
from pcenlib.datasets.right_whale import Sea, SimulatedRightWhale
from pcenlib.datasets.sounds import Clip, Sound

__all__ = ["Clip", "DataSet", "Night", "Paired", "Sea", "SimulatedNighthawk", "SimulatedRightWhale", "Sound"]


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
