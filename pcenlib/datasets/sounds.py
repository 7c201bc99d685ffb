"""What data sets are made of."""

from typing import NamedTuple

from pcenlib.recordings import Source

__all__ = ["Clip", "Sound"]


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
