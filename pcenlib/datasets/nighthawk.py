"""The experiment of section 3 on simulated sound: five nighthawks, eleven sensors, and nights without any.

Waveforms are in pascals over `FULL_SCALE`, so that the levels of all sounds are decibels re 20 µPa.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from pcenlib import sources
from pcenlib._checks import check_count, check_range
from pcenlib.acoustics import propagate, relaxation_frequencies, reverberate
from pcenlib.datasets.sounds import Clip, Sound

__all__ = ["Night", "SimulatedNighthawk"]

Waveform = npt.NDArray[np.float64]

SR = 22050
# Pressure of the largest sample, in pascals: 114 dB, as with the gain of a recorder for quiet nights.
FULL_SCALE = 10.0
# Seconds of sound before each clip: more than enough for a background with a time scale of 0.1 s to forget.
LEAD = 0.5
# Which random numbers a generator gives out.
BIRDS, CALLS, CLIPS, SCENES, SCATTERERS = range(5)


@dataclass(frozen=True, kw_only=True)
class Night:
    """Weather and noises of a night; levels in dB re 20 µPa at the microphone, rates a second.

    Parameters
    ----------
    temperature, humidity : float
        Weather, as for `acoustics.atmospheric_absorption`.
    foliage : float
        Share of the way from bird to sensor that leads through dense foliage.
    reverberation : float, optional
        Distance in metres at which the forest scatters as much energy to the sensor as comes straight; by default,
        nothing scatters. The ratio grows with the square of the distance, as direct sound falls.
    decay_time : float
        Time in which the scattered sound falls by 60 dB, in seconds.
    background : float
        Level of a steady pink noise, from 20 Hz.
    self_noise : float
        Level of the white noise of the microphone.
    wind, gusts : float
        Level of the wind, and how many gusts come.
    rain, drops, rainy : float
        Level of rain, how many drops fall near by, and in which share of the scenes it rains.
    insects, chirps, singing : float
        Level of the peak pressure of a near insect's song, how many chirps, and in which share of the scenes it sings.
    clicks, click_rate : float
        Level at which half of the clicks start, and how many come.
    click_width : float, optional
        Width of the band that a click fills, as `octaves` of `sources.clicks`; None is white. Level, rate and width
        are fitted to what rises out of the noise in recorded nights: chapter 3.1 has the comparison.
    spread : float
        Standard deviation, from scene to scene, of each of these levels in dB.

    Notes
    -----
    Chapters 3.1, *Data and spectrograms*, and *What the result hangs on*. A level of ``-inf`` leaves a noise out.
    """

    temperature: float = 15.0
    humidity: float = 70.0
    foliage: float = 0.1
    reverberation: float | None = None
    decay_time: float = 0.5
    background: float = 25.0
    self_noise: float = 18.0
    wind: float = 30.0
    gusts: float = 0.3
    rain: float = 30.0
    drops: float = 60.0
    rainy: float = 0.01
    insects: float = 20.0
    chirps: float = 2.5
    singing: float = 0.02
    clicks: float = 28.0
    click_rate: float = 0.07
    click_width: float | None = 1.0
    spread: float = 3.0

    def __post_init__(self) -> None:
        relaxation_frequencies(temperature=self.temperature, humidity=self.humidity)  # refuses what is no weather
        for name in ("background", "self_noise", "wind", "rain", "insects", "clicks"):
            if not getattr(self, name) < np.inf:
                raise ValueError(f"{name} must be a level in dB, or -inf for none, got {getattr(self, name)!r}")
        for name in ("foliage", "rainy", "singing"):
            check_range(name, getattr(self, name), 0, 1)
        if self.reverberation is not None:
            check_range("reverberation", self.reverberation, 0, open_low=True)
        for name in ("decay_time", "gusts", "chirps", "click_width"):
            if getattr(self, name) is not None:
                check_range(name, getattr(self, name), 0, open_low=True)
        for name in ("drops", "click_rate", "spread"):
            check_range(name, getattr(self, name), 0)

    def noise(self, n_samples: int, sr: int, rng: np.random.Generator) -> Waveform:
        """The sound of a stretch of this night, in pascals."""
        present = {"rain": rng.random() < self.rainy, "insects": rng.random() < self.singing}
        makers: dict[str, Callable[..., Waveform]] = {
            "background": functools.partial(sources.noise, slope=-3.0),
            "self_noise": sources.noise,
            "wind": functools.partial(sources.wind, rate=self.gusts),
            "rain": functools.partial(sources.rain, rate=self.drops),
            "insects": functools.partial(sources.insects, rate=self.chirps, carrier=rng.uniform(4200, 5600)),
            "clicks": functools.partial(sources.clicks, rate=self.click_rate, fmin=1000.0, octaves=self.click_width),
        }
        total = np.zeros(n_samples)
        for (name, make), own in zip(makers.items(), rng.spawn(len(makers)), strict=True):
            level = getattr(self, name) + self.spread * own.standard_normal()
            # A generator for each noise: a night with one noise more is the same night otherwise.
            if level > -np.inf and present.get(name, True):
                total += pascals(level) * make(n_samples, sr, own)
        return total


@dataclass(frozen=True, kw_only=True)
class SimulatedNighthawk:
    """Calls of five nighthawks, each heard by eleven sensors at once, and ten-second scenes without a call.

    The counterpart of CONI-Knight and BirdVox-DCASE-20k (section 3): 64 calls at 11 distances are 704 clips.

    Parameters
    ----------
    seed : int
        What everything random depends on.
    n_calls, n_birds : int
        Number of calls, and of the birds between whom they are shared out evenly.
    distances : sequence of float
        Distances of the sensors, in metres.
    n_scenes : int
        Number of scenes without a call. A smaller set holds the first scenes of a larger one.
    source_level : float
        Mean sound pressure level of the loudest moment of a call at one metre, in dB re 20 µPa.
    night : Night
        Weather and noises, of calls and scenes alike.

    Notes
    -----
    Chapters 3.1, *Data and spectrograms*, and 3.3, *Results*.
    """

    seed: int = 0
    n_calls: int = 64
    n_birds: int = 5
    distances: Sequence[float] = (30, 60, 100, 150, 200, 250, 300, 350, 400, 450, 500)
    n_scenes: int = 600
    source_level: float = 90.0
    night: Night = field(default_factory=Night)

    clip_duration = 0.7
    scene_duration = 10.0

    def __post_init__(self) -> None:
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise ValueError(f"seed must be a non-negative integer, got {self.seed!r}")
        for name in ("n_calls", "n_birds", "n_scenes"):
            check_count(name, getattr(self, name))
        check_range("source_level", self.source_level, -np.inf)
        for distance in self.distances:
            check_range("distances", distance, 1)

    @property
    def clips(self) -> list[Clip]:
        """Every clip, all calls at the first distance, then all at the second, and so on."""
        return [
            Clip(f"call {call:02d} at {distance:g} m", float(distance), f"bird {1 + call % self.n_birds}")
            for distance in self.distances
            for call in range(self.n_calls)
        ]

    @property
    def recordings(self) -> list[str]:
        """Names of the scenes."""
        return [f"scene {scene:04d}" for scene in range(self.n_scenes)]

    def call(self, clip: Clip) -> tuple[Waveform, float]:
        """A call at one metre, in pascals, and its onset in the clip, in seconds: the same at all distances."""
        number = _number(clip.name)
        birds = sources.nighthawks(self.n_birds, self._rng(BIRDS))
        bird = birds[number % self.n_birds]
        rng = self._rng(CALLS, number)
        waveform = sources.nighthawk_call(SR, rng, bird=bird)
        level = bird.level - sources.Nighthawk().level + self.source_level + sources.LEVELS_BETWEEN_CALLS * rng.normal()
        # Anywhere within a frame, and so that the whole call is in the clip.
        return pascals(level) * np.sqrt(2) * waveform, float(rng.uniform(0.15, 0.3))

    def clip(self, clip: Clip) -> Sound:
        """Sound of a clip: the call as it arrives, in noise that each sensor hears for itself."""
        which = (_number(clip.name), round(1000 * clip.distance))
        call, onset = self.call(clip)
        night = self.night
        call = np.pad(call, SR // 10)  # room for what the filters of the way spread
        call = propagate(
            call,
            SR,
            clip.distance,
            temperature=night.temperature,
            humidity=night.humidity,
            foliage=night.foliage * clip.distance,
        )
        if night.reverberation is not None:
            ratio = 20 * np.log10(clip.distance / night.reverberation)
            call = reverberate(call, SR, self._rng(SCATTERERS, *which), ratio=ratio, decay_time=night.decay_time)
        x = night.noise(round((LEAD + self.clip_duration) * SR), SR, self._rng(CLIPS, *which))
        begin = round((LEAD + onset) * SR) - SR // 10
        end = min(x.size, begin + call.size)
        x[begin:end] += call[: end - begin]
        return Sound(x / FULL_SCALE, SR, LEAD)

    def recording(self, name: str) -> Sound:
        """Sound of a scene."""
        rng = self._rng(SCENES, _number(name))
        return Sound(self.night.noise(round(self.scene_duration * SR), SR, rng) / FULL_SCALE, SR)

    def _rng(self, *purpose: int) -> np.random.Generator:
        """A generator of its own for each thing, so that it does not matter who makes what, and when."""
        return np.random.default_rng([self.seed, *purpose])


def pascals(level: float) -> float:
    """Root mean square pressure of a sound pressure level in dB re 20 µPa."""
    return float(20e-6 * 10 ** (level / 20))


def _number(name: str) -> int:
    """The number in a name that this data set gave."""
    return int(name.split()[1])
