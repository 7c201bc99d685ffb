"""Recorded nighthawks sent to distances at which nobody recorded them, in recorded nights.

A recorded call is cut out, limited to the band in which it stands out from its own background, and set to the level
that calls have at one meter in `SimulatedNighthawk`. The air and the forest of a `Night` do the rest. The recorded
background left within the call travels with it. The level of the recorded nights is unknown, so all scenes of a set get
one gain that gives the median scene an assumed level in the band of the calls. Every other scene is heard behind calls;
the rest are the recordings without a call, so no scene is both, and of scenes a quarter of an hour apart every hour has
both. The last 50 ms of each scene are left out, where resampling ends.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pcenlib.core.checks import check_count, check_range
from pcenlib.core.recordings import waveform
from pcenlib.datasets.interface import Clip, Seeded, Sound
from pcenlib.datasets.nighthawk import FULL_SCALE, LEAD, SCATTERERS, SR, SimulatedNighthawk, sound_of_clip
from pcenlib.datasets.real import RealSet, read
from pcenlib.simulation.measurements import CallMeasurements, measure_call
from pcenlib.simulation.scenes import Night, pascals

__all__ = ["BAND", "FADE", "ClearCall", "RepropagatedNighthawk", "band_level", "clear_calls", "repropagate"]

Waveform = npt.NDArray[np.float64]

BAND = (2500.0, 5000.0)
"""Band of the calls, in hertz."""

FADE = 0.020
"""A call is faded in and out over so many seconds, outside of what was measured as the call."""

STRETCH = (0.7, 1.5)  # of a file, in seconds, where its call is: as in chapter 3.1
PULSE_RATES = (150.0, 300.0)
LEAST_STRIATION, LEAST_CONTRAST = 5.0, 3.0
# Seconds at the end of a scene that are left out.
ENDING = 0.05
# Samples of a set that are measured to find its gain: enough for a median.
MEASURED_SCENES = 100


class ClearCall(NamedTuple):
    """A recorded call that is clear enough to be propagated."""

    name: str
    measured: CallMeasurements
    waveform: Waveform
    """The call alone at `SR` samples a second; its loudest 10 ms have a root mean square of 1."""


def clear_calls(calls: RealSet, *, fade: float = FADE) -> list[ClearCall]:
    """Calls of `NighthawkCalls` with clear pulses and power (5 and 3 dB or more), cut out and limited to their band.

    Parameters
    ----------
    calls : RealSet
        `NighthawkCalls`.
    fade : float
        Seconds over which the recorded background rises before a call, and falls after it.

    Returns
    -------
    list of ClearCall
    """
    check_range("fade", fade, 0, open_low=True)
    found = []
    for clip in calls.clips:
        x, sr = read(calls.folder / clip.name)
        begin, end = (round(time * sr) for time in STRETCH)
        x = x[begin:end]
        measured = measure_call(x, sr, band=BAND, pulse_rates=PULSE_RATES)
        if measured.striation >= LEAST_STRIATION and measured.contrast >= LEAST_CONTRAST:
            found.append(ClearCall(clip.name, measured, _cut_out(x, sr, measured, fade)))
    return found


def _cut_out(x: npt.NDArray[np.floating], sr: int, measured: CallMeasurements, fade: float) -> Waveform:
    import soxr
    from scipy.signal import butter, sosfiltfilt  # here, because it takes long to import

    filtered = sosfiltfilt(butter(4, BAND, "bandpass", fs=sr, output="sos"), x)
    first = max(0, round((measured.onset - fade) * sr))
    last = min(x.size, round((measured.onset + measured.duration + fade) * sr))
    call = filtered[first:last]
    ramp = np.minimum(np.arange(call.size), np.arange(call.size)[::-1]) / (fade * sr)
    call = soxr.resample(call * np.sin(np.pi / 2 * np.minimum(ramp, 1)) ** 2, sr, SR)
    window = round(0.010 * SR)
    return call / np.sqrt(np.convolve(call**2, np.ones(window) / window, mode="same").max())


def band_level(x: npt.ArrayLike, sr: int) -> float:
    """Level of a waveform in the band of the calls, in dB re its unit.

    Parameters
    ----------
    x : array_like, shape (sample,)
        The waveform.
    sr : int
        Samples per second.

    Returns
    -------
    float
        Of the mean power between 2.5 and 5 kHz.
    """
    from scipy.signal import periodogram

    frequency, density = periodogram(np.asarray(x), sr)
    inside = (frequency >= BAND[0]) & (frequency <= BAND[1])
    return float(10 * np.log10(density[inside].sum() * frequency[1]))


@dataclass(frozen=True, kw_only=True)
class RepropagatedNighthawk(Seeded):
    """Recorded calls at each distance in recorded nights, and other scenes of these nights; see `repropagate`.

    Each call is a group, heard in several scenes, because nobody knows which calls come from the same bird.

    Parameters
    ----------
    seed : int
        What the choice of scenes and moments depends on.
    calls : sequence of ClearCall
        From `clear_calls`.
    scenes, gains : sequence of RealSet and of float
        Sets of recordings without a call, and the factor from the samples of each set to pascals.
    n_scenes_per_call : int
        How often each call is heard at each distance, each time in another stretch of night.
    distances, source_level, night
        As for `SimulatedNighthawk`. The noises of the night are not used.
    """

    calls: Sequence[ClearCall] = field(repr=False, compare=False)
    scenes: Sequence[RealSet]
    gains: Sequence[float]
    distances: Sequence[float] = SimulatedNighthawk.distances
    n_scenes_per_call: int = 8
    source_level: float = SimulatedNighthawk.source_level
    night: Night = field(default_factory=Night)
    sounds: str = field(init=False, default="")
    """Hash of the waveforms of the calls, and of the files of the scenes."""

    clip_duration = SimulatedNighthawk.clip_duration

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("n_scenes_per_call", self.n_scenes_per_call)
        if not self.calls or len(self.scenes) != len(self.gains) or sum(map(len, self._names)) < 2:
            raise ValueError("calls must hold at least one call, and scenes two recordings, with a gain for each set")
        for distance in self.distances:
            check_range("distances", distance, 1)
        digest = hashlib.sha256()
        for call in self.calls:
            digest.update(f"{call.name} {call.waveform.size}\n".encode() + call.waveform.tobytes())
        for scenes in self.scenes:
            digest.update(scenes.sha256.encode())
        object.__setattr__(self, "sounds", digest.hexdigest()[:16])

    @property
    def clips(self) -> list[Clip]:
        """Every clip, by distance, then by call."""
        return [
            Clip(f"{call} {number} at {distance:g} m", float(distance), self.calls[call].name, (call, number))
            for distance in self.distances
            for call in range(len(self.calls))
            for number in range(self.n_scenes_per_call)
        ]

    @property
    def recordings(self) -> list[str]:
        """Every other scene of each set."""
        return [f"{which}/{name}" for which, names in enumerate(self._names) for name in names[1::2]]

    @property
    def backgrounds(self) -> list[str]:
        """The scenes that are heard behind calls."""
        return [f"{which}/{name}" for which, names in enumerate(self._names) for name in names[::2]]

    @cached_property
    def _names(self) -> list[Sequence[str]]:
        """Recordings of each set. They go along to workers, which need not look at the folders again."""
        return [scenes.recordings for scenes in self.scenes]

    def call(self, clip: Clip) -> Waveform:
        """The call of a clip as it arrives, in pascals."""
        x = pascals(self.source_level) * self.calls[clip.key[0]].waveform
        scatterers = self._rng(*clip.key, round(1000 * clip.distance), SCATTERERS)
        return self.night.arriving(x, SR, clip.distance, scatterers)

    def clip(self, clip: Clip) -> Sound:
        """Sound of a clip: the call as it arrives, somewhere in one of the scenes kept for that."""
        rng = self._rng(*clip.key, round(1000 * clip.distance))
        scene = self._scene(str(rng.choice(self.backgrounds)))
        n_samples = round((LEAD + self.clip_duration) * SR)
        first = int(rng.integers(scene.size - n_samples))
        return sound_of_clip(scene[first : first + n_samples], self.call(clip), rng.uniform(0.15, 0.3))

    def recording(self, name: str) -> Sound:
        """Sound of a scene."""
        return Sound(self._scene(name) / FULL_SCALE, SR)

    def _scene(self, name: str) -> Waveform:
        """A scene in pascals."""
        which, _, file = name.partition("/")
        path = self.scenes[int(which)].folder / file
        return self.gains[int(which)] * waveform(path, SR)[: -round(ENDING * SR)]


def repropagate(
    calls: RealSet,
    scenes: Sequence[RealSet],
    *,
    seed: int,
    scene_level: float,
    distances: Sequence[float] = SimulatedNighthawk.distances,
    fade: float = FADE,
) -> RepropagatedNighthawk:
    """A data set of recorded calls and nights, at an assumed level of the nights.

    Parameters
    ----------
    calls : RealSet
        `NighthawkCalls`.
    scenes : sequence of RealSet
        Sets of recordings without a call.
    seed, distances
        As for `RepropagatedNighthawk`.
    scene_level : float
        Level of the median scene of each set between 2.5 and 5 kHz, in dB re 20 µPa.
    fade : float
        As for `clear_calls`.

    Returns
    -------
    RepropagatedNighthawk
    """
    gains = []
    for each in scenes:
        levels = [band_level(*read(each.folder / name)) for name in each.recordings[:MEASURED_SCENES]]
        gains.append(pascals(scene_level) / 10 ** (float(np.median(levels)) / 20))
    cut_out = clear_calls(calls, fade=fade)
    return RepropagatedNighthawk(calls=cut_out, scenes=scenes, gains=gains, seed=seed, distances=distances)
