"""The experiment of section 4 on simulated sound: right whales within 20 km of a sensor, and ninety ships.

Pressures are in micropascals over `FULL_SCALE`, so the levels of all sounds are in decibels re 1 µPa.
"""

from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np
import numpy.typing as npt

from pcenlib.core.checks import check_count, check_range
from pcenlib.datasets.interface import Clip, Seeded, Sound
from pcenlib.simulation import callers
from pcenlib.simulation.scenes import Sea, mixed
from pcenlib.simulation.ships import ship_noise, ships

__all__ = ["FULL_SCALE", "LEAD", "SR", "SimulatedRightWhale"]

Waveform = npt.NDArray[np.float64]

SR = 2000
# Pressure of a sample of 1, in micropascals: 170 dB. The loudest slams of ships are beyond; floats do not clip.
FULL_SCALE = 10.0 ** (170 / 20)
# Seconds of sound before each clip: the slowest background of section 4 forgets within one.
LEAD = 4.0
# Which random numbers a generator gives out.
DAYS, CALLS, CLIPS, LENGTHS, SHIPS, SCATTERERS = range(6)


@dataclass(frozen=True, kw_only=True)
class SimulatedRightWhale(Seeded):
    """Up-calls in bins of one kilometer on five days, and the passages of ninety ships.

    The counterpart of CCB18 and ShipsEar (section 4).

    Parameters
    ----------
    seed : int
        What everything random depends on.
    n_bins : int
        Number of bins; clips are labeled with the middle of theirs, 500 m, 1500 m and so on.
    n_calls, n_days : int
        Number of calls in each bin on each day, and of days, which differ in ambient noise and traffic.
    n_ships, duration : int and float
        Number of recordings of ships, and their total length in seconds.
    modulation : float
        Factor on how deeply propellers modulate the noise of the ships, each at most wholly; 0 for not at all.
    swelling, transients : bool
        Whether the level of the ships swells, slowly and irregularly; and whether they clank and slam.
    sea : Sea
        Propagation and ambient noise.
    """

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
        super().__post_init__()
        for name in ("n_bins", "n_calls", "n_days", "n_ships"):
            check_count(name, getattr(self, name))
        check_range("duration", self.duration, 10.0 * self.n_ships)
        check_range("modulation", self.modulation, 0)

    @property
    def clips(self) -> list[Clip]:
        """Every clip, all days of the first bin, then of the second, and so on."""
        keys = product(range(self.n_bins), range(1, self.n_days + 1), range(self.n_calls))
        return [
            Clip(f"call {call:02d} of day {day} at {km:02d} km", 1000.0 * km + 500, f"day {day}", (day, call, km))
            for km, day, call in keys
        ]

    @property
    def recordings(self) -> list[str]:
        """Names of the ships' recordings."""
        return [f"ship {ship:02d}" for ship in range(self.n_ships)]

    def call(self, clip: Clip) -> tuple[callers.UpCall, float, float]:
        """What a call sounds like at one meter, its distance in meters, and its onset in the clip, in seconds."""
        rng = self._rng(CALLS, *clip.key)
        (call,) = callers.up_calls(1, rng)
        call = replace(call, duration=min(call.duration, 1.5))
        distance = max(100.0, clip.distance + rng.uniform(-500, 500))
        # Centered, but for an annotator's inaccuracy.
        return call, distance, float((self.clip_duration - call.duration) / 2 + rng.uniform(-0.2, 0.2))

    def clip(self, clip: Clip) -> Sound:
        """Sound of a clip: the call as it arrives, in the noise of its day, perhaps with a ship."""
        call, distance, onset = self.call(clip)
        x = callers.up_call(call, SR) * np.sqrt(2) * 10 ** (call.level / 20)
        # Each has its own generator: a sea that scatters more has the same noise.
        x = self.sea.arriving(x, SR, distance, self._rng(SCATTERERS, *clip.key))
        ambient, traffic = self.sea.day(self._rng(DAYS, clip.key[0]))
        n_samples = round((LEAD + self.clip_duration) * SR)
        noise = self.sea.noise(n_samples, SR, self._rng(CLIPS, *clip.key), ambient=ambient, traffic=traffic)
        return Sound(mixed(noise, x, round((LEAD + onset) * SR)) / FULL_SCALE, SR, LEAD)

    def recording(self, name: str) -> Sound:
        """Sound of a ship's passage, far above the ambient noise."""
        number = int(name.split()[1])
        ship = ships(self.n_ships, self._rng(SHIPS))[number]
        ship = replace(
            ship,
            depth=min(1.0, self.modulation * ship.depth),
            swell=ship.swell if self.swelling else 0.0,
            transients=ship.transients if self.transients else 0.0,
        )
        x = ship_noise(round(self._durations()[number] * SR), SR, self._rng(SHIPS, number), ship=ship)
        return Sound(x * 10 ** (150 / 20) / FULL_SCALE, SR)

    def _durations(self) -> Waveform:
        """Lengths of the recordings in seconds: of all sizes above ten seconds, and together the duration."""
        shares = np.exp(0.6 * self._rng(LENGTHS).standard_normal(self.n_ships))
        spare = self.duration - 10.0 * self.n_ships
        ends = np.round(SR * np.cumsum(10.0 + spare * shares / shares.sum()))
        return np.diff(ends, prepend=0.0) / SR
