"""How much recorders of one song differ: pairs at the same distance, and nine recorders of one bird.

Spreading and absorption make two recorders at one distance equal. What they still differ by is the *scatter*: trunks
and leaves on the path, the ground, the bird's heading, the recorder.
"""

import itertools
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pcenlib.core.resampling import interval
from pcenlib.core.streaming import detection_functions
from pcenlib.datasets.level_tables import LevelTable
from pcenlib.datasets.real import read
from pcenlib.datasets.recorder_array import LocalizedSong, RecorderArray
from pcenlib.experiments.band_levels import LEAST, BandPower, Level
from pcenlib.experiments.levels import BANDS
from pcenlib.experiments.protocols import NIGHTHAWK_PAPER
from pcenlib.experiments.stored import Experiment, describe
from pcenlib.experiments.transmission import receptions, site_weights
from pcenlib.simulation.acoustics import atmospheric_absorption, spreading_loss

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EXPERIMENTS", "SETTING", "array_levels", "song_pairs"]

Array = npt.NDArray[np.float64]

SEED = 2019
N_RESAMPLES = 1000
RATIOS = (1.0, 1.1, 1.25, 1.5, 2.0, 4.0, 40.0)  # of distances; the first bin has neighbors
EDGES = (0.0, 25.0, 50.0, 100.0, 300.0)  # meters, of the distance of neighbors
SETTING = NIGHTHAWK_PAPER.setting
"""The paper's setting for birds, because both species sing above 2 kHz."""
WEATHER = {"temperature": 15.0, "humidity": 70.0}  # assumed, for the array
SPEED = 340.0  # m/s, at that temperature
SEARCH = 0.2  # seconds to either side of where a song was marked
TOLERANCE = 0.1  # seconds to either side of the arrival
STEP = 0.005
SETTLING = 0.1


def song_pairs(dataset: LevelTable) -> "pd.DataFrame":
    """Differences between two recorders of one song, beyond spreading and air.

    Returns
    -------
    DataFrame
        A row for each of `BANDS` and bin, of `ratio` (of the two distances, all pairs) and of `distance` (geometric
        mean, pairs with a ratio below 1.1): columns `band`, `by`, `bin`, `middle`, `rms` (root mean square of the
        difference in dB, with an interval over sites and species), `median` (of its absolute value), `large` (share
        above 6 dB), `n_pairs` and `n_songs`.
    """
    import pandas as pd

    table = receptions(dataset).reset_index(drop=True)
    weights = site_weights(table, np.random.default_rng(SEED), N_RESAMPLES)
    pairs = np.array(
        [pair for rows in table.groupby("song").groups.values() for pair in itertools.combinations(rows, 2)]
    )
    source, distance = table["source"].to_numpy()[pairs], table["distance"].to_numpy()[pairs]
    difference = source[:, 0] - source[:, 1]
    ratio = distance.max(axis=1) / distance.min(axis=1)
    middle = np.sqrt(distance.prod(axis=1))
    frequency, song = table["frequency"].to_numpy()[pairs[:, 0]], table["song"].to_numpy()[pairs[:, 0]]
    bins = [("ratio", *ends, ratio, True) for ends in itertools.pairwise(RATIOS)]
    bins += [("distance", *ends, middle, ratio < RATIOS[1]) for ends in itertools.pairwise(EDGES)]
    bins.append(("distance", EDGES[0], EDGES[-1], middle, ratio < RATIOS[1]))
    rows = []
    for (band, (low, high)), (by, first, last, values, among) in itertools.product(BANDS.items(), bins):
        inside = np.flatnonzero((frequency >= low) & (frequency < high) & (values >= first) & (values < last) & among)
        if inside.size < 10:
            continue
        weight = weights[:, pairs[inside, 0]]
        total = weight.sum(axis=1)
        squares = (weight[total > 0] @ difference[inside] ** 2) / total[total > 0]
        away = np.abs(difference[inside])
        rows.append(
            {
                "band": band,
                "by": by,
                "bin": f"{first:g} to {last:g}",
                "middle": np.median(values[inside]),
                **interval("rms", np.sqrt(squares)),
                "median": np.median(away),
                "large": np.mean(away > 6),
                "n_pairs": inside.size,
                "n_songs": np.unique(song[inside]).size,
            }
        )
    return pd.DataFrame(rows)


def array_levels(dataset: RecorderArray) -> "pd.DataFrame":
    """Level and detection functions of each localized song at each recorder.

    Returns
    -------
    DataFrame
        Columns `song` (number), `species`, `recorder`, `distance` (in meters), `loss` (spreading and air from 1 m on,
        in dB), those of `Level`, and for each detector its largest value within `TOLERANCE` of the song's arrival; with
        ``noise`` after its name, its median in the recording; with ``floor``, its largest value in a stretch as long at
        the start, where the first song has not begun.
    """
    import pandas as pd

    waves = {name: read(dataset.folder / name) for name in dataset.recordings}
    functions = {name: detection_functions(dataset.folder / name, SETTING).named() for name in waves}
    rows = []
    for number, song in enumerate(dataset.songs):
        powers = {name: BandPower(x, sr, song.low, song.high) for name, (x, sr) in waves.items()}
        distances = dataset.distances(song)
        sung = _sung(song, powers, distances)
        air = float(atmospheric_absorption((song.low + song.high) / 2, **WEATHER))
        for name, distance in distances.items():
            power, length = powers[name], song.end - song.begin
            duration = waves[name][0].size / waves[name][1]
            stretches = np.arange(0, duration - length, 0.05)
            # Nobody sings of its species from before a song, to when the last recorder has heard it and its echoes.
            busy = [(other.begin - 0.1, other.end + 0.5) for other in dataset.songs if other.species == song.species]
            free = np.all([(stretches + length < a) | (stretches > b) for a, b in busy], axis=0)
            quiet = np.percentile(power(stretches, stretches + length), 10)
            if free.any():
                quiet = np.median(power(stretches[free], stretches[free] + length))
            arrival = sung + distance / SPEED
            level = Level.of(float(power(arrival, arrival + length)), float(quiet))
            row = {"song": number, "species": song.species, "recorder": name.split("_")[0], "distance": distance}
            row |= {"loss": float(spreading_loss(distance)) + air * (distance - 1), **level._asdict()}
            for detector, values in functions[name].items():
                times = SETTING.times(values.size)
                window = length / 2 + TOLERANCE
                row[detector] = values[np.abs(times - arrival - length / 2) <= window].max()
                row[f"{detector} noise"] = np.median(values[times > SETTLING])
                row[f"{detector} floor"] = values[np.abs(times - SETTLING - window) <= window].max()
            rows.append(row)
    return pd.DataFrame(rows)


def _sung(song: LocalizedSong, powers: dict[str, BandPower], distances: dict[str, float]) -> float:
    """When the bird began: the time near the mark at which the recorders, each after its own delay, hear most."""
    sung = np.arange(song.begin - SEARCH, song.begin + SEARCH, STEP)
    length = song.end - song.begin
    heard = [
        10 * np.log10(powers[name](np.maximum(sung + distance / SPEED, 0), sung + distance / SPEED + length))
        for name, distance in distances.items()
    ]
    return float(sung[np.sum(heard, axis=0).argmax()])


EXPERIMENTS = {
    "song-pairs": Experiment(
        run=song_pairs,
        sets=("localized_songs",),
        definition=describe("recorders of one song in pairs, version 1", RATIOS, EDGES, BANDS, SEED, N_RESAMPLES),
        keys=("band", "by", "bin"),
        tolerances={"rms": 1e-4, "rms_low": 1e-3, "rms_high": 1e-3, "median": 1e-4, "n_pairs": 0},
    ),
    "array-levels": Experiment(
        run=array_levels,
        sets=("recorder_array",),
        definition=describe("songs at an array of recorders, version 1", SETTING, WEATHER, LEAST, SEARCH, TOLERANCE),
        keys=("song", "recorder"),
        tolerances={"level": 0.01, "above": 0.01, "distance": 1e-5, "max-pooled PCEN": 1e-3},
    ),
}
"""The experiments of this module, by the names of their stored tables."""
