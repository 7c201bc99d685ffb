"""The experiment of section 4 on simulated sound: right whales within 20 km of a sensor, and ninety ships.

Pressures are in micropascals over `FULL_SCALE`, so that the levels of all sounds are decibels re 1 µPa.
"""

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from pcenlib.core.checks import check_count, check_range
from pcenlib.datasets.interface import Clip, Sound
from pcenlib.simulation import callers, noises
from pcenlib.simulation.acoustics import propagate_in_sea, reverberate
from pcenlib.simulation.scenes import Sea

__all__ = ["SimulatedRightWhale"]


Waveform = npt.NDArray[np.float64]

SR = 2000
# Pressure of a sample of 1, in micropascals: 170 dB. The loudest slams of ships are beyond; floats do not clip.
FULL_SCALE = 10.0 ** (170 / 20)
# Seconds of sound before each clip: the slowest background of section 4 forgets within one.
LEAD = 4.0
# Which random numbers a generator gives out.
DAYS, CALLS, CLIPS, LENGTHS, SHIPS, SCATTERERS = range(6)


@dataclass(frozen=True, kw_only=True)
class SimulatedRightWhale:
    """Up-calls in bins of one kilometre on five days, and the passages of ninety ships.

    The counterpart of CCB18 and ShipsEar (section 4).

    Parameters
    ----------
    seed : int
        What everything random depends on.
    n_bins : int
        Number of bins; clips are labelled with the middle of theirs, 500 m, 1500 m and so on.
    n_calls : int
        Number of calls in each bin on each day.
    n_days : int
        Number of days, which differ in ambient noise and traffic.
    n_ships : int
        Number of recordings of ships.
    duration : float
        Of all recordings together, in seconds.
    modulation : float
        Factor on how deeply propellers modulate the noise of the ships, each at most wholly; 0 for not at all.
    swelling : bool
        Whether the level of the ships swells, slowly and irregularly.
    transients : bool
        Whether clanks and slams come from the ships.
    sea : Sea
        Propagation and ambient noise.
    """

    seed: int = 0
    n_bins: int = 20
    n_calls: int = 12
    n_days: int = 5
    n_ships: int = 90
    duration: float = 189 * 60.0
    modulation: float = 1.0
    swelling: bool = True
    transients: bool = True
    sea: Sea = field(default_factory=Sea)

    clip_duration = 2.0

    def __post_init__(self) -> None:
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise ValueError(f"seed must be a non-negative integer, got {self.seed!r}")
        for name in ("n_bins", "n_calls", "n_days", "n_ships"):
            check_count(name, getattr(self, name))
        check_range("duration", self.duration, 10.0 * self.n_ships)
        check_range("modulation", self.modulation, 0)

    @property
    def clips(self) -> list[Clip]:
        """Every clip, all days of the first bin, then of the second, and so on."""
        return [
            Clip(f"call {call:02d} of day {1 + day} at {bin_:02d} km", 1000.0 * bin_ + 500, f"day {1 + day}")
            for bin_ in range(self.n_bins)
            for day in range(self.n_days)
            for call in range(self.n_calls)
        ]

    @property
    def recordings(self) -> list[str]:
        """Names of the ships' recordings."""
        return [f"ship {ship:02d}" for ship in range(self.n_ships)]

    def call(self, clip: Clip) -> tuple[callers.UpCall, float, float]:
        """What a call sounds like at one metre, its distance in metres, and its onset in the clip, in seconds."""
        rng = self._rng(CALLS, *_numbers(clip.name))
        (call,) = callers.up_calls(1, rng)
        call = replace(call, duration=min(call.duration, 1.5))
        distance = max(100.0, clip.distance + rng.uniform(-500, 500))
        # Centred, but for an annotator's inaccuracy.
        return call, distance, float((self.clip_duration - call.duration) / 2 + rng.uniform(-0.2, 0.2))

    def clip(self, clip: Clip) -> Sound:
        """Sound of a clip: the call as it arrives, in the noise of its day, perhaps with a ship."""
        day, call_number, bin_ = _numbers(clip.name)
        rng = self._rng(CLIPS, day, call_number, bin_)
        ambient, traffic = self._day(day)
        call, distance, onset = self.call(clip)
        x = callers.up_call(call, SR) * np.sqrt(2) * 10 ** (call.level / 20)
        x = propagate_in_sea(x, SR, distance, exponent=self.sea.exponent)
        if self.sea.reverberation is not None:
            ratio = 20 * np.log10(distance / self.sea.reverberation)
            # Of their own generator: a sea that scatters more has the same noise.
            scatterers = self._rng(SCATTERERS, day, call_number, bin_)
            x = reverberate(x, SR, scatterers, ratio=ratio, decay_time=self.sea.decay_time)
            x /= np.sqrt(1 + 10 ** (ratio / 10))  # the spreading loss is that of all energy, straight and scattered
        n_samples = round((LEAD + self.clip_duration) * SR)
        level = ambient + self.sea.ambient_clips * rng.standard_normal()
        total = noises.sea_noise(n_samples, SR, rng, level=level)
        if rng.random() < traffic:
            gain = np.sqrt(np.mean(total**2)) * 10 ** (rng.normal(self.sea.ship, 6.0) / 20)
            total += gain * noises.ship_noise(n_samples, SR, rng, ship=noises.ships(1, rng)[0])
        begin = round((LEAD + onset) * SR)
        end = min(n_samples, begin + x.size)
        total[begin:end] += x[: end - begin]
        return Sound(total / FULL_SCALE, SR, LEAD)

    def recording(self, name: str) -> Sound:
        """Sound of a ship's passage, far above the ambient noise."""
        number = int(name.split()[1])
        ship = noises.ships(self.n_ships, self._rng(SHIPS))[number]
        ship = replace(
            ship,
            depth=min(1.0, self.modulation * ship.depth),
            swell=ship.swell if self.swelling else 0.0,
            transients=ship.transients if self.transients else 0.0,
        )
        x = noises.ship_noise(round(self._durations()[number] * SR), SR, self._rng(SHIPS, number), ship=ship)
        return Sound(x * 10 ** (150 / 20) / FULL_SCALE, SR)

    def _durations(self) -> Waveform:
        """Lengths of the recordings in seconds: of all sizes above ten seconds, and together the duration."""
        shares = np.exp(0.6 * self._rng(LENGTHS).standard_normal(self.n_ships))
        spare = self.duration - 10.0 * self.n_ships
        ends = np.round(SR * np.cumsum(10.0 + spare * shares / shares.sum()))
        return np.diff(ends, prepend=0.0) / SR

    def _day(self, day: int) -> tuple[float, float]:
        """Level of the ambient noise, and share of clips with a ship, on a day."""
        rng = self._rng(DAYS, day)
        ambient = self.sea.ambient + self.sea.ambient_days * rng.standard_normal()
        return float(ambient), float(min(1.0, self.sea.traffic * rng.uniform(0, 2)))

    def _rng(self, *purpose: int) -> np.random.Generator:
        """A generator of its own for each thing, so that it does not matter who makes what, and when."""
        return np.random.default_rng([self.seed, *purpose])


def _numbers(name: str) -> tuple[int, int, int]:
    """Day, call and bin in a name that this data set gave."""
    _, call, _, _, day, _, bin_, _ = name.split()
    return int(day), int(call), int(bin_)
