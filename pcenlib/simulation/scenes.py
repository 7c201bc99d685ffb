"""A night in a forest and a bay with ships: how calls arrive there, and the noise around the sensor."""

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pcenlib.core.checks import check_range
from pcenlib.simulation import noises
from pcenlib.simulation.acoustics import propagate, propagate_in_sea, relaxation_frequencies, reverberate
from pcenlib.simulation.ships import sea_noise, ship_noise, ships

__all__ = ["Night", "Sea", "mixed", "pascals"]

Waveform = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Night:
    """Weather and noises of a night; levels in dB re 20 µPa at the microphone, rates a second.

    Parameters
    ----------
    temperature, humidity : float
        Weather, as for `acoustics.atmospheric_absorption`.
    excess : float
        Loss beyond spreading and air in dB per 100 m, at all frequencies alike. Fitted to localized songs, with the
        recorders that missed a song modeled: 1.3 dB, and a 95 % interval from -0.9 to 13 dB because there are three
        sites. As reported, it is -0.4 dB (-2.1 to 1.7). See `experiments.transmission` and chapter 3.1.
    scatter : float
        Standard deviation of the level of one call from sensor to sensor in dB: what trunks, leaves, ground, a bird's
        heading and calibration add and take. Fitted to the same songs: 4.5 dB (3.9 to 5.5).
    reverberation : float, optional
        Distance in meters at which the forest scatters as much energy to the sensor as comes straight; by default,
        nothing scatters. The ratio grows with the square of the distance, as direct sound falls.
    decay_time : float
        Time in which the scattered sound falls by 60 dB, in seconds.
    background : float
        Level of a steady pink noise, from 20 Hz.
    self_noise : float
        Level of the white noise of the microphone: an assumption, that of a signal-to-noise ratio of 76 dB at 94 dB.
    wind, gusts : float
        Level of the wind, and how many gusts come.
    rain, drops, rainy : float
        Level of rain, how many drops fall near by, and in which share of the scenes it rains.
    insects, chirps, singing : float
        Median level of an insect's song at the height of a pulse, how many chirps, and in which share of the scenes
        insects sing.
    clicks, click_rate : float
        Level at which half of the clicks start, and how many come.
    click_width : float, optional
        Width of the band that a click fills, as `octaves` of `noises.clicks`; None is white. Level, rate and width
        are fitted to what rises out of the noise in recorded nights: chapter 3.1 has the comparison.
    spread : float
        Standard deviation, from scene to scene, of each of these levels in dB.

    Notes
    -----
    A level of ``-inf`` leaves a noise out.

    Gusts, drops and the insects' level are fitted to wind, rain and crickets of ESC-50, as detection functions see
    them; those do not depend on the gain. The shares of scenes with rain and with insects are assumptions. *What the
    result depends on* shows the result for others. Rain at its default level drowns the background, so scenes with
    rain sound like the recorded ones.
    """

    temperature: float = 15.0
    humidity: float = 70.0
    excess: float = 1.3
    scatter: float = 4.5
    reverberation: float | None = None
    decay_time: float = 0.5
    background: float = 25.0
    self_noise: float = 18.0
    wind: float = 30.0
    gusts: float = 2.5
    rain: float = 30.0
    drops: float = 100.0
    rainy: float = 0.05
    insects: float = 16.0
    chirps: float = 2.5
    singing: float = 0.05
    clicks: float = 28.0
    click_rate: float = 0.07
    click_width: float | None = 1.0
    spread: float = 3.0

    def __post_init__(self) -> None:
        relaxation_frequencies(temperature=self.temperature, humidity=self.humidity)  # refuses what is no weather
        for name in ("background", "self_noise", "wind", "rain", "insects", "clicks"):
            if not getattr(self, name) < np.inf:
                raise ValueError(f"{name} must be a level in dB, or -inf for none, got {getattr(self, name)!r}")
        check_range("excess", self.excess, -np.inf)
        for name in ("rainy", "singing"):
            check_range(name, getattr(self, name), 0, 1)
        if self.reverberation is not None:
            check_range("reverberation", self.reverberation, 0, open_low=True)
        for name in ("decay_time", "gusts", "chirps", "click_width"):
            if getattr(self, name) is not None:
                check_range(name, getattr(self, name), 0, open_low=True)
        for name in ("drops", "click_rate", "spread", "scatter"):
            check_range(name, getattr(self, name), 0)

    def noise(self, n_samples: int, sr: int, rng: np.random.Generator) -> Waveform:
        """The sound of a stretch of this night, in pascals."""
        present = {"rain": rng.random() < self.rainy, "insects": rng.random() < self.singing}
        makers: dict[str, Callable[..., Waveform]] = {
            "background": functools.partial(noises.noise, slope=-3.0),
            "self_noise": noises.noise,
            "wind": functools.partial(noises.wind, rate=self.gusts),
            "rain": functools.partial(noises.rain, rate=self.drops),
            "insects": functools.partial(noises.insects, rate=self.chirps),
            "clicks": functools.partial(noises.clicks, rate=self.click_rate, fmin=1000.0, octaves=self.click_width),
        }
        total = np.zeros(n_samples)
        for (name, make), own in zip(makers.items(), rng.spawn(len(makers)), strict=True):
            level = getattr(self, name) + self.spread * own.standard_normal()
            # A generator for each noise: a night with one noise more is the same night otherwise.
            if level > -np.inf and present.get(name, True):
                total += pascals(level) * make(n_samples, sr, own)
        return total

    def arriving(self, call: Waveform, sr: int, distance: float, rng: np.random.Generator) -> Waveform:
        """A call at one meter as it arrives at a sensor; `rng` draws what its surroundings add or take.

        Silence of a tenth of a second at either end leaves room for what the filters spread.
        """
        call = propagate(
            np.pad(call, sr // 10),
            sr,
            distance,
            temperature=self.temperature,
            humidity=self.humidity,
            excess=self.excess,
        )
        # A generator for the level: the scatterers are where they are, however much the level varies.
        call *= 10 ** (self.scatter * rng.spawn(1)[0].standard_normal() / 20)
        if self.reverberation is None:
            return call
        ratio = 20 * np.log10(distance / self.reverberation)
        return reverberate(call, sr, rng, ratio=ratio, decay_time=self.decay_time)


@dataclass(frozen=True, kw_only=True)
class Sea:
    """The path of the sound, and the noise around the sensor; levels in dB re 1 µPa.

    Parameters
    ----------
    exponent : float
        Power of the distance with which intensity falls, as for `acoustics.propagate_in_sea`; 1.5, about what Munger,
        Wiggins and Hildebrand (2011) measured for up-calls on a shelf.
    reverberation : float, optional
        Distance in meters at which surface and floor scatter as much energy to the sensor as comes straight; the ratio
        grows with the square of the distance. None for a sea that scatters nothing.
    decay_time : float
        Time in which the scattered sound falls by 60 dB, in seconds.
    ambient : float
        Power spectral density of the ambient noise at 100 Hz, in dB re 1 µPa²/Hz, on a usual day; the same authors
        measured 72 to 91 dB in the band of up-calls.
    ambient_days, ambient_clips : float
        Standard deviation of that level from day to day, and from clip to clip, in dB.
    traffic : float
        Share of the clips in which a ship passes, on a usual day; some days have none, some twice as much.
    ship : float
        Level of a passing ship over the ambient noise, in dB; it varies by 6 dB.
    """

    exponent: float = 1.5
    reverberation: float | None = 5000.0
    decay_time: float = 1.5
    ambient: float = 82.0
    ambient_days: float = 3.0
    ambient_clips: float = 3.0
    traffic: float = 0.2
    ship: float = 10.0

    def __post_init__(self) -> None:
        if self.reverberation is not None:
            check_range("reverberation", self.reverberation, 0, open_low=True)
        check_range("decay_time", self.decay_time, 0, open_low=True)
        check_range("traffic", self.traffic, 0, 1)
        for name in ("exponent", "ambient_days", "ambient_clips"):
            check_range(name, getattr(self, name), 0)
        for name in ("ambient", "ship"):
            check_range(name, getattr(self, name), -np.inf)

    def day(self, rng: np.random.Generator) -> tuple[float, float]:
        """Level of the ambient noise, and share of clips with a ship, on some day."""
        ambient = self.ambient + self.ambient_days * rng.standard_normal()
        return float(ambient), float(min(1.0, self.traffic * rng.uniform(0, 2)))

    def noise(self, n_samples: int, sr: int, rng: np.random.Generator, *, ambient: float, traffic: float) -> Waveform:
        """The sound of a stretch of a day, in micropascals, perhaps with a ship; see `day`."""
        total = sea_noise(n_samples, sr, rng, level=ambient + self.ambient_clips * rng.standard_normal())
        if rng.random() < traffic:
            gain = np.sqrt(np.mean(total**2)) * 10 ** (rng.normal(self.ship, 6.0) / 20)
            total += gain * ship_noise(n_samples, sr, rng, ship=ships(1, rng)[0])
        return total

    def arriving(self, call: Waveform, sr: int, distance: float, rng: np.random.Generator) -> Waveform:
        """A call at one meter as it arrives from a distance; `rng` places the scatterers, if there are any."""
        call = propagate_in_sea(call, sr, distance, exponent=self.exponent)
        if self.reverberation is None:
            return call
        ratio = 20 * np.log10(distance / self.reverberation)
        call = reverberate(call, sr, rng, ratio=ratio, decay_time=self.decay_time)
        # The spreading loss already covers all energy, direct and scattered.
        return call / np.sqrt(1 + 10 ** (ratio / 10))


def pascals(level: float) -> float:
    """Root mean square pressure of a sound pressure level in dB re 20 µPa."""
    return float(20e-6 * 10 ** (level / 20))


def mixed(noise: Waveform, call: Waveform, begin: int) -> Waveform:
    """A stretch of noise with a call that begins at a sample of it, and that ends with the noise at the latest."""
    end = min(noise.size, begin + call.size)
    total = noise.copy()
    total[begin:end] += call[: end - begin]
    return total
