"""Sounds played in a forest: where they are in each recording, and their level against distance.

The reference, recorded nearest to the loudspeaker, tells where the master track begins: at the time at which the sounds
stand out most from what is around them. The other recordings follow by cross-correlation with it, so the time of travel
is taken off.

A *level* is that of the mean power in a sound's own band over its duration, minus the noise: the median power in that
band of stretches as long in which nothing plays there, or the power just before the sound if that is larger. Gains of
the recordings are unknown, so a level can be compared within a recording only.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from pcenlib.datasets.playback import MARKER, Playback, Played
from pcenlib.datasets.real import read
from pcenlib.experiments.band_levels import LEAST, BandPower, Level, lag
from pcenlib.experiments.stored import Experiment, describe
from pcenlib.simulation.acoustics import atmospheric_absorption, spreading_loss

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ALIGNMENT", "EXPERIMENTS", "WEATHER", "Aligned", "aligned", "played_levels"]

Array = npt.NDArray[np.floating]

WEATHER = {"temperature": 25.0, "humidity": 85.0}
"""Assumed, because nobody says what the weather in the forest was."""

TAIL = 0.15  # seconds of reverberation after a sound, in which its band is not noise
GAP = 0.05  # seconds between two sounds
APART = 100.0  # hertz between two bands that do not disturb each other
BAND = (400.0, 10500.0)
MOST = 0.5  # largest lag between recordings, in seconds: each begins at most so much before the marker
STEP = 0.001
ALIGNMENT = (BAND, MOST, STEP, GAP)
"""What `aligned` depends on."""


class Aligned(NamedTuple):
    """A recording of the master track."""

    distance: float
    name: str
    begin: float
    """Second of the recording at which the master track begins; negative if that was before."""


def aligned(dataset: Playback) -> list[Aligned]:
    """Where in each recording the master track begins, the reference first."""
    (distance, name), *others = dataset.distances.items()
    reference, sr = read(dataset.folder / name)
    begin = _begin(reference, sr, dataset.sounds)
    return [
        Aligned(distance, name, begin),
        *(
            Aligned(meters, other, begin + lag(read(dataset.folder / other)[0], reference, sr, band=BAND, most=MOST))
            for meters, other in others
        ),
    ]


def _begin(x: Array, sr: int, sounds: Sequence[Played]) -> float:
    """Second of a recording at which the master track begins: there, sounds are clearest above what is around them."""
    first, last = sounds[0].start, sounds[-1].end
    begins = np.arange(-first, x.size / sr - last - STEP, STEP)  # all sounds, and what there is of the marker
    score = np.zeros(begins.size)
    for sound in sounds:
        if sound.name == MARKER:
            continue
        power = BandPower(x, sr, sound.low, sound.high)
        start, end = begins + sound.start, begins + sound.end
        score += np.log(power(start, end) / (power(start - GAP, start) + power(end, end + GAP)))
    return float(begins[score.argmax()])


def played_levels(dataset: Playback) -> "pd.DataFrame":
    """Level of each sound at each distance, beside spreading and air.

    Returns
    -------
    DataFrame
        Columns `distance`, `sound`, `frequency` (center, in hertz), those of `Level`, `chance` (share of stretches
        without a sound that are as far above the noise as a sound must be), `tail` (level in the gap after the sound,
        re that of the sound, in dB; NaN if no more than noise), and `loss` (spreading and air from 1 m on, in dB).
    """
    import pandas as pd

    sounds = [sound for sound in dataset.sounds if sound.name != MARKER]
    marker_end = max(sound.end for sound in dataset.sounds if sound.name == MARKER)
    rows = []
    for distance, name, begin in aligned(dataset):
        x, sr = read(dataset.folder / name)
        duration = x.size / sr
        for sound in sounds:
            power = BandPower(x, sr, sound.low, sound.high)
            start, end = begin + sound.start, min(begin + sound.end, duration)
            length = end - start
            stretches = np.arange(0, begin + sounds[-1].end - length, GAP)
            stretches = stretches[stretches + length <= duration]
            near_band = [other for other in sounds if other.low < sound.high + APART and other.high > sound.low - APART]
            busy = [(begin + other.start, begin + other.end + TAIL) for other in near_band]
            busy.append((begin + dataset.sounds[0].start, begin + marker_end + TAIL))
            free = np.all([(stretches + length < a) | (stretches > b) for a, b in busy], axis=0)
            noise = power(stretches[free], stretches[free] + length)
            around = max(float(np.median(noise)), float(power(start - GAP, start)))
            level = Level.of(float(power(start, end)), around)
            before = power(np.maximum(stretches[free] - GAP, 0), np.maximum(stretches[free], GAP))
            passing = noise >= 10 ** (LEAST / 10) * np.maximum(np.median(noise), before)
            after = float(power(end, end + GAP)) - around if end + GAP <= duration else 0.0
            air = float(atmospheric_absorption(sound.center, **WEATHER))
            rows.append(
                {
                    "distance": distance,
                    "sound": sound.name,
                    "frequency": sound.center,
                    **level._asdict(),
                    "chance": passing.mean(),
                    "tail": 10 * np.log10(after) - level.level if after > 0 else np.nan,
                    "loss": float(spreading_loss(distance)) + air * (distance - 1),
                }
            )
    return pd.DataFrame(rows)


EXPERIMENTS = {
    "playback-levels": Experiment(
        run=played_levels,
        sets=("playback",),
        definition=describe("levels of played sounds, version 1", LEAST, WEATHER, TAIL, APART, *ALIGNMENT),
        keys=("distance", "sound"),
        tolerances={"level": 1e-3, "noise": 1e-3, "above": 1e-3, "loss": 1e-5},
    ),
}
"""The experiments of this module, by the names of their stored tables."""
