"""The experiment of section 3 on simulated sound: five nighthawks, eleven sensors, and nights without any.

Waveforms are in pascals over `FULL_SCALE`, so the levels of all sounds are in decibels re 20 µPa.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from pcenlib.core.checks import check_count, check_range
from pcenlib.datasets.interface import Clip, Seeded, Sound
from pcenlib.simulation import callers
from pcenlib.simulation.scenes import Night, mixed, pascals

__all__ = ["FULL_SCALE", "LEAD", "SR", "SimulatedNighthawk", "sound_of_clip"]

Waveform = npt.NDArray[np.float64]

SR = 22050
# Pressure of the largest sample, in pascals: 114 dB, as with the gain of a recorder for quiet nights.
FULL_SCALE = 10.0
# Seconds of sound before each clip: more than enough for a background with a time scale of 0.1 s to forget.
LEAD = 0.5
# Which random numbers a generator gives out.
BIRDS, CALLS, CLIPS, SCENES, SCATTERERS = range(5)


@dataclass(frozen=True, kw_only=True)
class SimulatedNighthawk(Seeded):
    """Calls of five nighthawks, each heard by eleven sensors at once, and ten-second scenes without a call.

    The counterpart of CONI-Knight and BirdVox-DCASE-20k (section 3): 64 calls at 11 distances are 704 clips.

    Parameters
    ----------
    seed : int
        What everything random depends on.
    n_calls, n_birds : int
        Number of calls, and of the birds between whom they are shared out evenly.
    distances : sequence of float
        Distances of the sensors, in meters.
    n_scenes : int
        Number of scenes without a call. A smaller set holds the first scenes of a larger one.
    source_level : float
        Mean sound pressure level of the loudest moment of a call at one meter, in dB re 20 µPa; see
        `callers.Nighthawk`.
    night : Night
        Weather and noises, of calls and scenes alike.
    """

    n_calls: int = 64
    n_birds: int = 5
    distances: Sequence[float] = (30, 60, 100, 150, 200, 250, 300, 350, 400, 450, 500)
    n_scenes: int = 600
    source_level: float = callers.Nighthawk.level
    night: Night = field(default_factory=Night)

    clip_duration = 0.7
    scene_duration = 10.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("n_calls", "n_birds", "n_scenes"):
            check_count(name, getattr(self, name))
        check_range("source_level", self.source_level, -np.inf)
        for distance in self.distances:
            check_range("distances", distance, 1)

    @property
    def clips(self) -> list[Clip]:
        """Every clip, all calls at the first distance, then all at the second, and so on."""
        return [
            Clip(f"call {call:02d} at {distance:g} m", float(distance), f"bird {1 + call % self.n_birds}", call)
            for distance in self.distances
            for call in range(self.n_calls)
        ]

    @property
    def recordings(self) -> list[str]:
        """Names of the scenes."""
        return [f"scene {scene:04d}" for scene in range(self.n_scenes)]

    def call(self, clip: Clip) -> tuple[Waveform, float]:
        """A call at one meter, in pascals, and its onset in the clip, in seconds: the same at all distances."""
        birds = callers.nighthawks(self.n_birds, self._rng(BIRDS))
        bird = birds[clip.key % self.n_birds]
        rng = self._rng(CALLS, clip.key)
        waveform = callers.nighthawk_call(SR, rng, bird=bird)
        level = bird.level - callers.Nighthawk().level + self.source_level + callers.LEVELS_BETWEEN_CALLS * rng.normal()
        # Anywhere within a frame, with the whole call in the clip.
        return pascals(level) * np.sqrt(2) * waveform, float(rng.uniform(0.15, 0.3))

    def clip(self, clip: Clip) -> Sound:
        """Sound of a clip: the call as it arrives at that sensor, in noise that each sensor hears for itself."""
        which = (clip.key, round(1000 * clip.distance))
        call, onset = self.call(clip)
        call = self.night.arriving(call, SR, clip.distance, self._rng(SCATTERERS, *which))
        noise = self.night.noise(round((LEAD + self.clip_duration) * SR), SR, self._rng(CLIPS, *which))
        return sound_of_clip(noise, call, onset)

    def recording(self, name: str) -> Sound:
        """Sound of a scene."""
        rng = self._rng(SCENES, int(name.split()[1]))
        return Sound(self.night.noise(round(self.scene_duration * SR), SR, rng) / FULL_SCALE, SR)


def sound_of_clip(noise: Waveform, call: Waveform, onset: float) -> Sound:
    """Sound of a clip: a call from `Night.arriving`, `onset` seconds into the clip, in noise; both in pascals."""
    x = mixed(noise, call, round((LEAD + onset) * SR) - SR // 10)
    return Sound(x / FULL_SCALE, SR, LEAD)
