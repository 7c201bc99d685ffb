"""Callers as waveforms at one meter, each peaking near 1 and deterministic given its random generator."""

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from pcenlib.core.checks import check_count, check_range

__all__ = ["Nighthawk", "UpCall", "nighthawk_call", "nighthawks", "scops_owl_hoot", "up_call", "up_calls"]

Waveform = npt.NDArray[np.float64]

Caller = TypeVar("Caller", "Nighthawk", "UpCall")


@dataclass(frozen=True, kw_only=True)
class Nighthawk:
    """A Common Nighthawk (*Chordeiles minor*) that calls: what its *peent* sounds like at one meter.

    The defaults are fitted to the calls in which the nocturnal flight-call recordings of Rhinehart et al. (2022) show
    the pulses clearly: measured alike, by `measurements.measure_call`, simulated calls have the medians and the spreads
    of the recorded ones.

    Parameters
    ----------
    pulse_rate : float
        Pulses a second, too fast to be heard apart: the fine vertical lines of a spectrogram.
    start, end : float
        Center of the resonance at the beginning and at the end of the call, in hertz.
    width : float
        Standard deviation of the resonance's gain over frequency, in hertz.
    duration : float
        In seconds.
    attack, release : float
        Time in which the call grows to its full level, and falls from it, in seconds.
    level : float
        Sound pressure level of the call's loudest moment at one meter, in dB re 20 µPa. Nobody measured it for these
        birds. 91 dB is the median of free-living songbirds heard by recorders nearer than 15 m; species differ, from
        84 to 98 dB (`experiments.levels`).
    """

    pulse_rate: float = 219.0
    start: float = 4050.0
    end: float = 3350.0
    width: float = 560.0
    duration: float = 0.21
    attack: float = 0.010
    release: float = 0.010
    level: float = 91.0

    def __post_init__(self) -> None:
        for name in ("pulse_rate", "start", "end", "width", "duration", "attack", "release"):
            check_range(name, getattr(self, name), 0, open_low=True)
        check_range("level", self.level, -np.inf)


# Standard deviations between individuals and between the calls of one, each relative to the value; levels in dB.
BETWEEN_BIRDS = {"pulse_rate": 0.03, "start": 0.03, "end": 0.04, "width": 0.1, "duration": 0.08, "attack": 0.3}
BETWEEN_CALLS = {"pulse_rate": 0.01, "start": 0.01, "end": 0.015, "width": 0.05, "duration": 0.04, "attack": 0.2}
# Localized songs of one species at one site differ by 3 dB, birds and songs of one bird together, which nobody can tell
# apart there.
LEVELS_BETWEEN_BIRDS, LEVELS_BETWEEN_CALLS = 2.5, 1.7


def nighthawks(n_birds: int, rng: np.random.Generator) -> list[Nighthawk]:
    """Individuals that differ as real ones do."""
    check_count("n_birds", n_birds)
    return [_varied(Nighthawk(), rng, BETWEEN_BIRDS, LEVELS_BETWEEN_BIRDS) for _ in range(n_birds)]


def _varied(caller: Caller, rng: np.random.Generator, spread: dict[str, float], level_spread: float) -> Caller:
    """A caller, or a call, that differs from another by so much."""
    changed = {name: getattr(caller, name) * np.exp(sd * rng.standard_normal()) for name, sd in spread.items()}
    return replace(caller, level=caller.level + level_spread * rng.standard_normal(), **changed)


def nighthawk_call(sr: int, rng: np.random.Generator, *, bird: Nighthawk | None = None) -> Waveform:
    """The buzzing *peent* of a Common Nighthawk (*Chordeiles minor*).

    Pulses, too fast to be heard apart, ring in a broad resonance that falls within a fifth of a second. The pulses
    are a little irregular in strength, and everything varies by a few per cent from call to call.

    Parameters
    ----------
    sr : int
        Samples per second, at least 16000, and enough for the bird's resonance.
    rng : numpy.random.Generator
        Source of the variation between calls.
    bird : Nighthawk, optional
        Who calls; by default, the median bird.

    Returns
    -------
    ndarray
        About a fifth of a second of sound, with a peak of 1.
    """
    bird = bird or Nighthawk()
    check_range("sr", sr, max(16000, 2 * (max(bird.start, bird.end) + bird.width)))
    call = _varied(bird, rng, BETWEEN_CALLS, 0.0)
    time = np.arange(round(call.duration * sr)) / sr
    progress = time / call.duration
    resonance = call.start + (call.end - call.start) * progress**2
    # A pulse train is a sum of cosines at the multiples of its rate, and the resonance weights them. We leave out those
    # that it keeps below -70 dB, or that are above half the sample rate.
    low = min(call.start, call.end) - 4 * call.width
    high = min(max(call.start, call.end) + 4 * call.width, sr / 2)
    harmonics = np.arange(max(1, np.ceil(low / call.pulse_rate)), np.ceil(high / call.pulse_rate))[:, np.newaxis]
    harmonics *= call.pulse_rate
    weights = np.exp(-0.5 * ((harmonics - resonance) / call.width) ** 2)
    pulses = np.sum(weights * np.cos(2 * np.pi * harmonics * time), axis=0)
    strength = rng.normal(1, 0.2, int(call.duration * call.pulse_rate) + 2)
    irregular = np.interp(time * call.pulse_rate, np.arange(strength.size), strength)
    envelope = np.clip(np.minimum(time / call.attack, (call.duration - time) / call.release), 0, 1)
    waveform = envelope * irregular * pulses
    return waveform / np.abs(waveform).max()


@dataclass(frozen=True, kw_only=True)
class UpCall:
    """An up-call of a North Atlantic right whale (*Eubalaena glacialis*).

    The defaults are the medians of the calls of the Marinexplore and Cornell challenge (2013), and the spreads of
    `up_calls` are theirs.

    Parameters
    ----------
    start, end : float
        Frequency at the beginning and at the end, in hertz.
    duration : float
        In seconds.
    curvature : float
        The frequency rises as this power of time; 1 is a straight line, above it the rise comes late.
    harmonic : float
        Level of the second harmonic below the first, in dB.
    level : float
        Source level, root mean square, in dB re 1 µPa at one meter. Munger, Wiggins and Hildebrand (2011) measured 176
        to 178 dB for up-calls of North Pacific right whales, Parks and Tyack (2005) 137 to 162 dB for other tonal calls
        of North Atlantic ones. The default is between them: in a `scenes.Sea`, it makes up-calls as hard to find at a
        distance as they were for the buoy and the glider of Johnson et al. (2022).
    """

    start: float = 103.0
    end: float = 215.0
    duration: float = 0.88
    curvature: float = 1.5
    harmonic: float = -20.0
    level: float = 168.0

    def __post_init__(self) -> None:
        for name in ("start", "end", "duration", "curvature"):
            check_range(name, getattr(self, name), 0, open_low=True)
        for name in ("harmonic", "level"):
            check_range(name, getattr(self, name), -np.inf)


UP_CALL_SPREAD = {"start": 0.2, "end": 0.15, "duration": 0.25, "curvature": 0.3}
UP_CALL_LEVELS = 4.0


def up_calls(n_calls: int, rng: np.random.Generator) -> list[UpCall]:
    """Calls that differ as recorded ones do; each rises by at least half an octave."""
    check_count("n_calls", n_calls)
    calls = [_varied(UpCall(), rng, UP_CALL_SPREAD, UP_CALL_LEVELS) for _ in range(n_calls)]
    return [replace(call, end=max(call.end, np.sqrt(2) * call.start)) for call in calls]


def up_call(call: UpCall, sr: int) -> Waveform:
    """The waveform of an up-call: a tone that rises, with its second harmonic, swelling and fading.

    Parameters
    ----------
    call : UpCall
        What it sounds like.
    sr : int
        Samples per second, more than four times its highest frequency.

    Returns
    -------
    ndarray
        The call, with a peak of about 1.
    """
    check_range("sr", sr, 4 * max(call.start, call.end))
    time = np.arange(round(call.duration * sr)) / sr
    progress = time / call.duration
    # The integral of the frequency start + (end - start) progress^curvature.
    rise = (call.end - call.start) * call.duration * progress ** (call.curvature + 1) / (call.curvature + 1)
    phase = 2 * np.pi * (call.start * time + rise)
    tone = np.sin(phase) + 10 ** (call.harmonic / 20) * np.sin(2 * phase)
    return np.clip(np.minimum(progress, 1 - progress) / 0.15, 0, 1) * tone


def scops_owl_hoot(sr: int, rng: np.random.Generator) -> Waveform:
    """The whistled hoot of a Eurasian Scops Owl (*Otus scops*), one of those that it gives every three seconds or so.

    A pure tone near 1.3 kHz of a quarter of a second that falls quickly at first. Duration and frequency vary by a few
    per cent from hoot to hoot, as they differ between males (Galeotti and Sacchi, 2001).

    Parameters
    ----------
    sr : int
        Samples per second, at least 4000.
    rng : numpy.random.Generator
        Source of the variation between hoots.

    Returns
    -------
    ndarray
        About 0.25 s of sound, with a peak near 1.
    """
    check_range("sr", sr, 4000)
    frequency, duration = np.array([1300, 0.25]) * rng.normal(1, 0.04, 2)
    time = np.arange(round(duration * sr)) / sr
    phase = 2 * np.pi * np.cumsum(frequency * (1 + 0.15 * np.exp(-time / 0.02))) / sr
    return np.clip(np.minimum(time / 0.015, (duration - time) / 0.040), 0, 1) * np.sin(phase)
