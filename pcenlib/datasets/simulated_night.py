"""A simulated night of any length, with nighthawks at known times and distances, in stretches of five minutes.

Waveforms are in pascals over `FULL_SCALE`, as those of `SimulatedNighthawk`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pcenlib.core.checks import check_count, check_range
from pcenlib.datasets.interface import Seeded, Sound
from pcenlib.datasets.nighthawk import FULL_SCALE, LEAD, SR
from pcenlib.simulation import callers
from pcenlib.simulation.scenes import Night, mixed, pascals

__all__ = ["STRETCH", "Event", "SimulatedNight"]

STRETCH = 5
"""Minutes of a stretch, in which rain, insects and the levels of all noises stay the same."""

# Seconds at the end of a minute in which no call begins, so each call belongs to one minute.
MARGIN = 0.5
# Which random numbers a generator gives out.
BIRDS, TIMES, NOISES, CALLS = range(4)


class Event(NamedTuple):
    """A call in a night."""

    time: float
    """When it arrives, in seconds since the start of the night."""
    distance: float
    """In meters."""
    bird: int
    """Number of the caller."""

    @property
    def minute(self) -> int:
        """Number of the minute that holds it, from 0."""
        return int(self.time // 60)


@dataclass(frozen=True, kw_only=True)
class SimulatedNight(Seeded):
    """Hours of a night, each with its own weather, and calls in it at random times and distances.

    Parameters
    ----------
    seed : int
        What everything random depends on.
    hours : sequence of Night
        Weather and noises of each hour.
    rates : sequence of float
        Expected number of calls in each hour. Their number is random, and so are their times.
    nearest, farthest : float
        Distances in meters between which callers are, each distance being as likely as any other.
    n_birds : int
        Number of birds, each as likely to call as any other.
    """

    hours: Sequence[Night] = (Night(),)
    rates: Sequence[float] = (30.0,)
    nearest: float = 30.0
    farthest: float = 300.0
    n_birds: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.hours) != len(self.rates):
            raise ValueError(f"rates must be as many as hours, {len(self.hours)}, got {len(self.rates)}")
        for rate in self.rates:
            check_range("rates", rate, 0)
        check_range("nearest", self.nearest, 1)
        check_range("farthest", self.farthest, self.nearest)
        check_count("n_birds", self.n_birds)

    @cached_property
    def events(self) -> list[Event]:
        """Every call of the night, in order."""
        found = []
        for hour, rate in enumerate(self.rates):
            rng = self._rng(TIMES, hour)
            for _ in range(rng.poisson(rate)):
                minute, within = 60 * hour + rng.integers(60), rng.uniform(0, 60 - MARGIN)
                distance, bird = rng.uniform(self.nearest, self.farthest), int(rng.integers(self.n_birds))
                found.append(Event(float(60 * minute + within), float(distance), bird))
        return sorted(found)

    @property
    def recordings(self) -> list[str]:
        """Names of the stretches, each by its first minute."""
        return [f"minute {minute:04d}" for minute in range(0, 60 * len(self.hours), STRETCH)]

    def recording(self, name: str) -> Sound:
        """Sound of a stretch, after half a second of the same noise for the background to settle."""
        first = int(name.split()[1])
        noise = self.hours[first // 60].noise(round((LEAD + 60 * STRETCH) * SR), SR, self._rng(NOISES, first))
        for number, event in enumerate(self.events):
            if first <= event.minute < first + STRETCH:
                begin = round((LEAD + event.time - 60 * first) * SR) - SR // 10  # `arriving` pads a tenth of a second
                noise = mixed(noise, self._arriving(number, event), begin)
        return Sound(noise / FULL_SCALE, SR, LEAD)

    def _arriving(self, number: int, event: Event) -> np.ndarray:
        """A call as it arrives, in pascals."""
        bird = callers.nighthawks(self.n_birds, self._rng(BIRDS))[event.bird]
        rng = self._rng(CALLS, number)
        level = bird.level + callers.LEVELS_BETWEEN_CALLS * rng.normal()
        call = pascals(level) * np.sqrt(2) * callers.nighthawk_call(SR, rng, bird=bird)
        return self.hours[event.minute // 60].arriving(call, SR, event.distance, rng)
