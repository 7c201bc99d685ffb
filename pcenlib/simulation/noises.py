"""Callers and noises, as waveforms at the source: what is heard before any distance.

Each function is deterministic given its random generator. Callers peak near 1, steady noises have a root mean square
of 1, and the drops and clicks of intermittent ones peak around 1; levels are set by whoever mixes them.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from pcenlib.core.checks import check_count, check_range

__all__ = [
    "Ship",
    "clicks",
    "insects",
    "modulated_noise",
    "noise",
    "noise_burst",
    "pulsation",
    "rain",
    "sea_noise",
    "ship_noise",
    "ships",
    "wind",
]


Waveform = npt.NDArray[np.float64]


def noise(n_samples: int, sr: int, rng: np.random.Generator, *, slope: float = 0.0, fmin: float = 20.0) -> Waveform:
    """Gaussian noise whose power spectral density changes by `slope` dB an octave: 0 is white, -3 is pink.

    Parameters
    ----------
    n_samples, sr : int
        Length, and samples per second.
    rng : numpy.random.Generator
        Source of the noise.
    slope : float
        Change of the power spectral density, in dB an octave.
    fmin : float
        Frequency in hertz below which the density stays as it is there.

    Returns
    -------
    ndarray, shape (n_samples,)
        Noise with a root mean square of 1.
    """
    check_count("n_samples", n_samples)
    check_range("sr", sr, 0, open_low=True)
    check_range("slope", slope, -np.inf)
    check_range("fmin", fmin, 0, sr / 2, open_low=True)
    n_fft = n_samples if slope == 0 else scipy.fft.next_fast_len(n_samples, real=True)
    x = rng.standard_normal(n_fft)
    if slope != 0:
        octaves = np.log2(np.maximum(scipy.fft.rfftfreq(n_fft, 1 / sr), fmin) / fmin)
        x = scipy.fft.irfft(scipy.fft.rfft(x) * 10 ** (slope * octaves / 20), n_fft)[:n_samples]
    return x / np.sqrt(np.mean(x**2))


def noise_burst(
    sr: int, rng: np.random.Generator, *, fmin: float = 1000.0, fmax: float = 10000.0, duration: float = 0.2
) -> Waveform:
    """A hiss that fills a band of frequencies evenly: the plainest call that spans several octaves.

    Parameters
    ----------
    sr : int
        Samples per second.
    rng : numpy.random.Generator
        Source of the hiss.
    fmin, fmax : float
        Lowest and highest frequency, in hertz.
    duration : float
        In seconds, of which 10 ms are a fade at either end.

    Returns
    -------
    ndarray
        The burst, with a peak of 1.
    """
    check_range("fmax", fmax, 0, sr / 2, open_low=True)
    check_range("fmin", fmin, 0, fmax)
    check_range("duration", duration, 0.02)
    n_samples = round(duration * sr)
    frequency = scipy.fft.rfftfreq(n_samples, 1 / sr)
    inside = (frequency >= fmin) & (frequency <= fmax)
    if not inside.any():
        raise ValueError(f"fmin and fmax must be at least {1 / duration:g} Hz apart, got {fmin:g} and {fmax:g}")
    hiss = scipy.fft.irfft(scipy.fft.rfft(rng.standard_normal(n_samples)) * inside, n_samples)
    time = np.arange(n_samples) / sr
    burst = np.clip(np.minimum(time, duration - time) / 0.010, 0, 1) * hiss
    return burst / np.abs(burst).max()


def pulsation(
    n_samples: int, sr: int, *, period: float, active: float = 0.5, depth: float = 1.0, phase: float = 0.0
) -> Waveform:
    """The gain of a source that is switched on and off, as a propeller or a piston does with the noise of a ship.

    Parameters
    ----------
    n_samples, sr : int
        Length, and samples per second.
    period : float
        Time from one activation to the next, in seconds.
    active : float
        Share of the period during which the source is on, in ]0, 1].
    depth : float
        1 switches the source off between activations, 0 leaves it on.
    phase : float
        Share of the first period that has passed when the waveform begins, in [0, 1].

    Returns
    -------
    ndarray, shape (n_samples,)
        1 while the source is on, ``1 - depth`` while it is off.
    """
    check_count("n_samples", n_samples)
    check_range("sr", sr, 0, open_low=True)
    check_range("period", period, 0, open_low=True)
    check_range("active", active, 0, 1, open_low=True)
    check_range("depth", depth, 0, 1)
    check_range("phase", phase, 0, 1)
    on = (np.arange(n_samples) / (sr * period) + phase) % 1 < active
    return np.where(on, 1.0, 1 - depth)


def modulated_noise(
    n_samples: int,
    sr: int,
    rng: np.random.Generator,
    *,
    period: float,
    active: float = 0.5,
    depth: float = 1.0,
    phase: float = 0.0,
    slope: float = 0.0,
) -> Waveform:
    """Noise switched on and off: the simplest ship.

    Parameters
    ----------
    n_samples, sr : int
        Length, and samples per second.
    rng : numpy.random.Generator
        Source of the noise.
    period, active, depth, phase : float
        When it is on, as for `pulsation`.
    slope : float
        Change of the power spectral density, in dB an octave, as for `noise`.

    Returns
    -------
    ndarray, shape (n_samples,)
        Noise with a root mean square of 1 while it is on.
    """
    gain = pulsation(n_samples, sr, period=period, active=active, depth=depth, phase=phase)
    return gain * noise(n_samples, sr, rng, slope=slope)


def wind(n_samples: int, sr: int, rng: np.random.Generator, *, spread: float = 6.0, rate: float = 0.3) -> Waveform:
    """Wind in leaves and at the microphone: noise that falls by 6 dB an octave, swelling and ebbing with the gusts.

    Parameters
    ----------
    n_samples, sr : int
        Length, and samples per second.
    rng : numpy.random.Generator
        Source of the noise and of the gusts.
    spread : float
        Standard deviation of the level from gust to lull, in dB.
    rate : float
        About how many gusts come in a second.

    Returns
    -------
    ndarray, shape (n_samples,)
        Noise with a root mean square of 1.
    """
    check_range("spread", spread, 0)
    check_range("rate", rate, 0, open_low=True)
    steady = noise(n_samples, sr, rng, slope=-6.0)
    level = spread * _irregular_level(n_samples, sr, rng, rate)
    gusty = steady * 10 ** (level / 20)
    return gusty / np.sqrt(np.mean(gusty**2))


def _irregular_level(n_samples: int, sr: int, rng: np.random.Generator, rate: float) -> Waveform:
    """A level that rises and falls about `rate` times a second, at random, with a mean square of 1."""
    # A value at random every quarter of a swing, smoothed and joined by lines, whose mean square is 4/3.
    n_knots = int(np.ceil(4 * rate * n_samples / sr)) + 1
    knots = np.convolve(rng.standard_normal(n_knots + 2), [0.5, 1.0, 0.5], mode="valid") / np.sqrt(4 / 3)
    return np.interp(4 * rate * np.arange(n_samples) / sr, np.arange(n_knots), knots)


def clicks(
    n_samples: int,
    sr: int,
    rng: np.random.Generator,
    *,
    rate: float,
    decay: float = 0.003,
    spread: float = 6.0,
    fmin: float = 0.0,
    octaves: float | None = None,
) -> Waveform:
    """Short sounds at random times: a twig, a drop, a leaf, an electric discharge.

    Parameters
    ----------
    n_samples, sr : int
        Length, and samples per second.
    rng : numpy.random.Generator
        Source of the clicks.
    rate : float
        How many come in a second, on average; their times are independent.
    decay : float
        Time in which a click falls by a factor of e, in seconds.
    spread : float
        Standard deviation of their levels, in dB.
    fmin : float
        Frequency in hertz below which they hold little.
    octaves : float, optional
        Width of the band that a click fills, from a quarter of this to four times as much; where it lies, above `fmin`,
        is different for each. By default they are white.

    Returns
    -------
    ndarray, shape (n_samples,)
        Decaying bursts of noise; half of them start stronger than a standard deviation of 1.
    """
    check_count("n_samples", n_samples)
    check_range("sr", sr, 0, open_low=True)
    check_range("rate", rate, 0)
    check_range("decay", decay, 0, open_low=True)
    check_range("spread", spread, 0)
    check_range("fmin", fmin, 0, sr / 2)
    if octaves is not None:
        check_range("octaves", octaves, 0, open_low=True)
    length = max(1, round(8 * decay * sr))
    x = np.zeros(n_samples + length)
    envelope = np.exp(-np.arange(length) / (decay * sr))
    for begin in np.sort(rng.integers(0, n_samples, rng.poisson(rate * n_samples / sr))):
        gain = 10 ** (spread * rng.standard_normal() / 20)
        burst = rng.standard_normal(length)
        if octaves is not None:
            burst = _resonance(burst, sr, rng, low=max(fmin, sr / length), octaves=octaves * 4 ** rng.uniform(-1, 1))
        x[begin : begin + length] += gain * envelope * burst
    if fmin > 0 and x.any():
        # Before the end is cut off: what the filter spreads past one end must not enter at the other.
        n_fft = scipy.fft.next_fast_len(x.size, real=True)
        squared = scipy.fft.rfftfreq(n_fft, 1 / sr) ** 2
        x = scipy.fft.irfft(scipy.fft.rfft(x, n_fft) * squared / np.hypot(squared, fmin**2), n_fft)
    return x[:n_samples]


def _resonance(white: Waveform, sr: int, rng: np.random.Generator, *, low: float, octaves: float) -> Waveform:
    """White noise in a band of so many octaves, centred anywhere above `low`; its power stays the same."""
    frequency = scipy.fft.rfftfreq(white.size, 1 / sr)
    centre = np.exp(rng.uniform(np.log(low), np.log(sr / 2)))
    # The width of a bell curve is that of the rectangle with its height and area: sqrt(2 pi) standard deviations.
    gain = np.exp(-np.pi * (np.log2(np.maximum(frequency, frequency[1]) / centre) / octaves) ** 2)
    return scipy.fft.irfft(scipy.fft.rfft(white) * gain / np.sqrt(np.mean(gain**2)), white.size)


def rain(n_samples: int, sr: int, rng: np.random.Generator, *, rate: float = 60.0) -> Waveform:
    """Rain: single drops near the microphone, above the hiss of all the others.

    Parameters
    ----------
    n_samples, sr : int
        Length, and samples per second.
    rng : numpy.random.Generator
        Source of the drops.
    rate : float
        Near drops in a second.

    Returns
    -------
    ndarray, shape (n_samples,)
        Noise with a root mean square of 1.
    """
    hiss = noise(n_samples, sr, rng)
    drops = clicks(n_samples, sr, rng, rate=rate, decay=0.0015, spread=8.0, fmin=1000.0)
    shower = hiss + 4 * drops
    return shower / np.sqrt(np.mean(shower**2))


def insects(
    n_samples: int,
    sr: int,
    rng: np.random.Generator,
    *,
    carrier: float = 4800.0,
    rate: float = 2.5,
    pulses: int = 4,
) -> Waveform:
    """A cricket: chirps of a few pure-toned pulses each.

    Parameters
    ----------
    n_samples, sr : int
        Length, and samples per second.
    rng : numpy.random.Generator
        Source of the irregularities.
    carrier : float
        Frequency of the tone, in hertz.
    rate : float
        Chirps in a second.
    pulses : int
        Pulses in a chirp, 33 a second.

    Returns
    -------
    ndarray, shape (n_samples,)
        Song with a peak of about 1.

    Notes
    -----
    Carrier, pulses and chirps are those of field crickets at 20 degrees Celsius (Bennet-Clark, 1989).
    """
    check_count("n_samples", n_samples)
    check_range("sr", sr, 0, open_low=True)
    check_range("carrier", carrier, 0, sr / 2, open_low=True)
    check_range("rate", rate, 0, open_low=True)
    check_count("pulses", pulses)
    period, width = 0.030, 0.016
    n_pulse = round(width * sr)
    envelope = np.hanning(n_pulse)
    x = np.zeros(n_samples)
    begin = rng.uniform(0, 1 / rate)
    while begin < n_samples / sr:
        strength = rng.normal(1, 0.1)
        for pulse in range(pulses):
            first = round((begin + pulse * period + rng.normal(0, 0.001)) * sr)
            at = np.arange(max(0, first), min(n_samples, first + n_pulse))
            tone = np.sin(2 * np.pi * carrier * rng.normal(1, 0.003) * (at - first) / sr)
            x[at] += strength * envelope[at - first] * tone
        begin += rng.normal(1, 0.05) / rate
    return x


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
        Distance at the closest point of approach in metres, and speed in m/s.
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
                swell=float(Ship.swell * np.exp(0.5 * rng.standard_normal())),
                slope=float(rng.normal(Ship.slope, 1.5)),
                tones=float(rng.uniform(5, 13)),
                transients=float(10 ** rng.uniform(-2, -0.7)),
                closest=float(rng.uniform(20, 80)),
                speed=float(rng.uniform(2, 8)),
            )
        )
    return fleet


# Number of multiples of the blade rate at which a ship has a tone.
TONES = 8
# About how many times a second the level of a ship swells, in hertz.
SWELL_RATE = 4.0


def ship_noise(n_samples: int, sr: int, rng: np.random.Generator, *, ship: Ship) -> Waveform:
    r"""A ship passing by.

    .. math:: g(t)\, \bigl(m(t)\, \mathrm{noise}(t) + \mathrm{tones} + \mathrm{transients}\bigr),\quad
              m(t) = 1 + \mathrm{depth}\,\bigl(0.7 \cos 2\pi f_\mathrm{blade} t + 0.3 \cos 2\pi f_\mathrm{shaft} t\bigr)

    with a gain g in proportion to one over the distance, which is smallest halfway through, and to the swell, whose
    decibels are Gaussian and vary about four times a second.

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
    swell = ship.swell * _irregular_level(n_samples, sr, rng, SWELL_RATE)
    weaker = rng.exponential(6.0, TONES)  # than the strongest, in dB
    for order, level in enumerate(ship.tones - (weaker - weaker.min()), start=1):
        frequency = order * blade_rate
        power = 8 * _density(frequency, sr, ship.slope) * 10 ** (level / 10)
        if frequency < sr / 2:
            x += np.sqrt(2 * power) * np.cos(2 * np.pi * frequency * time + rng.uniform(0, 2 * np.pi))
    x += clicks(n_samples, sr, rng, rate=ship.transients, decay=0.02, spread=8.0)
    along = ship.speed * (time - time[-1] / 2)
    x *= ship.closest / np.hypot(ship.closest, along)
    x *= 10 ** (swell / 20)
    return x / np.sqrt(np.mean(x**2))
