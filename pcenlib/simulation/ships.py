"""The noise of the sea and of ships.

Each function is deterministic given its random generator.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pcenlib.core.checks import check_count, check_range
from pcenlib.simulation.noises import clicks, irregular_level, noise

__all__ = ["Ship", "sea_noise", "ship_noise", "ships"]

Waveform = npt.NDArray[np.float64]


def sea_noise(n_samples: int, sr: int, rng: np.random.Generator, *, level: float, slope: float = -5.0) -> Waveform:
    """Ambient noise of the sea, as a spectral level at 100 Hz and its slope.

    Parameters
    ----------
    n_samples, sr : int
        Length, and samples per second.
    rng : numpy.random.Generator
        Source of the noise.
    level : float
        Power spectral density at 100 Hz, in dB re 1 µPa²/Hz; 60 in a calm sea without ships, 90 near shipping lanes
        (Wenz, 1962).
    slope : float
        Change of the density, in dB an octave.

    Returns
    -------
    ndarray, shape (n_samples,)
        Pressure in micropascals.
    """
    x = noise(n_samples, sr, rng, slope=slope)
    return x * np.sqrt(10 ** (level / 10) / _density(100.0, sr, slope))


def _density(frequency: float, sr: int, slope: float, fmin: float = 20.0) -> float:
    """Power spectral density, in 1/Hz, of `noise`, which has a power of 1."""
    everywhere = np.append(np.linspace(0, sr / 2, 4097), frequency)
    shape = 10 ** (slope * np.log2(np.maximum(everywhere, fmin) / fmin) / 10)
    return float(shape[-1] / (shape[:-1].mean() * sr / 2))


@dataclass(frozen=True, kw_only=True)
class Ship:
    """A ship that passes: cavitation noise modulated by its propeller, tones, and transients, in a level that swells.

    The defaults of `depth`, `swell` and `slope` are the medians of `ships`.

    Parameters
    ----------
    shaft_rate : float
        Rotations a second: 2 to 20 are 120 to 1200 a minute (section 4.2).
    blades : int
        Blades of the propeller.
    depth : float
        How deep shaft and blades modulate the noise, in [0, 1].
    swell : float
        Standard deviation, in dB, of a slow and irregular change of the level; 0 for none.
    slope : float
        Change of the noise's power spectral density, in dB an octave.
    tones : float
        Level of the strongest tone, at a multiple of the blade rate, over the noise in a band of 8 Hz, in dB.
    transients : float
        How many clanks and slams come in a second.
    closest, speed : float
        Distance at the closest point of approach in meters, and speed in m/s.
    """

    shaft_rate: float = 3.0
    blades: int = 4
    depth: float = 0.04
    swell: float = 0.28
    slope: float = -2.7
    tones: float = 10.0
    transients: float = 0.05
    closest: float = 50.0
    speed: float = 5.0

    def __post_init__(self) -> None:
        check_count("blades", self.blades)
        for name in ("shaft_rate", "closest", "speed"):
            check_range(name, getattr(self, name), 0, open_low=True)
        check_range("depth", self.depth, 0, 1)
        for name in ("swell", "transients"):
            check_range(name, getattr(self, name), 0)
        for name in ("slope", "tones"):
            check_range(name, getattr(self, name), -np.inf)


def ships(n_ships: int, rng: np.random.Generator) -> list[Ship]:
    """Ships that differ as recorded ones do.

    Parameters
    ----------
    n_ships : int
        How many.
    rng : numpy.random.Generator
        Source of the differences.

    Returns
    -------
    list of Ship

    Notes
    -----
    Slopes, tones, rates, depths and swells are fitted to the passages of DeepShip (Irfan et al., 2021). Measured alike,
    by `measurements.measure_ship`, simulated ships have about the strongest rates of the recorded ones, the excesses of
    these rates, the median modulation spectrum, and the slopes, tones included. Shafts and blades keep to the paper's 2
    to 20 Hz, and most are slow.

    Transients are fitted to the alarms of the detection functions in the same passages, in the stored table
    *ship-tails*. Most ships hardly clank and a few give most of the alarms, so the rates of transients have a gamma
    distribution and the alarms of a ship a negative binomial one. Its shape is the most likely one given the alarms in
    these passages and in the excerpts of ShipsEar. The mean rate is fitted to DeepShip's alarms of max-pooled PCEN at a
    threshold of 2.33, the level to those at 2.9 and 3.2, and the width, about an octave, to those of averaged flux
    above 0.7. Spread and decay are not fitted.
    """
    check_count("n_ships", n_ships)
    fleet = []
    for _ in range(n_ships):
        blades = int(rng.integers(3, 6))
        fleet.append(
            Ship(
                shaft_rate=float(2 * (10 / blades) ** rng.uniform() ** 2),
                blades=blades,
                depth=float(min(0.9, Ship.depth * np.exp(rng.standard_normal()))),
                swell=float(Ship.swell * np.exp(0.8 * rng.standard_normal())),
                slope=float(rng.normal(Ship.slope, 1.5)),
                tones=float(rng.uniform(5, 13)),
                transients=float(rng.gamma(TRANSIENT_SHAPE, TRANSIENT_RATE / TRANSIENT_SHAPE)),
                closest=float(rng.uniform(20, 80)),
                speed=float(rng.uniform(2, 8)),
            )
        )
    return fleet


# Transients: how many come in a second, on average over ships; the shape of the gamma distribution of their rates; and
# the level over the noise, in dB, at which half of them start.
TRANSIENT_RATE, TRANSIENT_SHAPE, TRANSIENT_LEVEL = 0.45, 0.2, 9.0
# Number of multiples of the blade rate at which a ship has a tone.
TONES = 8
# About how many times a second the level of a ship swells, in hertz.
SWELL_RATE = 4.0


def ship_noise(n_samples: int, sr: int, rng: np.random.Generator, *, ship: Ship) -> Waveform:
    r"""A ship passing by.

    .. math:: g(t)\, \bigl(m(t)\, \mathrm{noise}(t) + \mathrm{tones} + \mathrm{transients}\bigr),\quad
              m(t) = 1 + \mathrm{depth}\,\bigl(0.7 \cos 2\pi f_\mathrm{blade} t + 0.3 \cos 2\pi f_\mathrm{shaft} t\bigr)

    with a gain g in proportion to one over the distance, which is smallest halfway through, and to the swell, whose
    decibels are Gaussian and vary about four times a second. A transient is a burst of noise in a band of about an
    octave, anywhere, that decays within some 20 ms; half of them start 9 dB above the noise, with a spread of 6 dB.

    Parameters
    ----------
    n_samples, sr : int
        Length, and samples per second.
    rng : numpy.random.Generator
        Source of noise, phases and transients.
    ship : Ship
        Who passes.

    Returns
    -------
    ndarray, shape (n_samples,)
        Sound with a root mean square of 1.
    """
    time = np.arange(n_samples) / sr
    blade_rate = ship.shaft_rate * ship.blades
    blade, shaft = rng.uniform(0, 2 * np.pi, 2)
    modulation = 0.7 * np.cos(2 * np.pi * blade_rate * time + blade)
    modulation += 0.3 * np.cos(2 * np.pi * ship.shaft_rate * time + shaft)
    x = (1 + ship.depth * modulation) * noise(n_samples, sr, rng, slope=ship.slope)
    swell = ship.swell * irregular_level(n_samples, sr, rng, SWELL_RATE)
    weaker = rng.exponential(6.0, TONES)  # than the strongest, in dB
    for order, level in enumerate(ship.tones - (weaker - weaker.min()), start=1):
        frequency = order * blade_rate
        power = 8 * _density(frequency, sr, ship.slope) * 10 ** (level / 10)
        if frequency < sr / 2:
            x += np.sqrt(2 * power) * np.cos(2 * np.pi * frequency * time + rng.uniform(0, 2 * np.pi))
    transients = clicks(n_samples, sr, rng, rate=ship.transients, decay=0.02, octaves=1.0)
    x += 10 ** (TRANSIENT_LEVEL / 20) * transients
    along = ship.speed * (time - time[-1] / 2)
    x *= ship.closest / np.hypot(ship.closest, along)
    x *= 10 ** (swell / 20)
    return x / np.sqrt(np.mean(x**2))
