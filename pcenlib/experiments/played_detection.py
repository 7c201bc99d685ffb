"""Sounds played in a forest: detection functions and recall against distance.

A detector *finds* a sound if a run of frames above its threshold begins within `TOLERANCE` of the onset. Thresholds are
those at which night scenes have one alarm in ten seconds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pcenlib.core.resampling import interval, resamples
from pcenlib.core.setting import NIGHTHAWK
from pcenlib.core.streaming import AVERAGED_FLUX, DETECTORS, MAX_POOLED_FLUX, MAX_POOLED_PCEN, detection_functions
from pcenlib.datasets.playback import MARKER, Playback
from pcenlib.datasets.real import RealSet
from pcenlib.experiments.band_levels import LEAST, alarm_starts, errors
from pcenlib.experiments.intervals import alarms_in_each, cluster_draws
from pcenlib.experiments.nighthawks import PARTS, hour
from pcenlib.experiments.played_sounds import ALIGNMENT, aligned, played_levels
from pcenlib.experiments.stored import Experiment, describe
from pcenlib.simulation.acoustics import spreading_loss

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EXPERIMENTS", "SETTING", "TOLERANCE", "played_estimates", "played_novelty", "thresholds"]

Array = npt.NDArray[np.floating]
Functions = Mapping[str, Array]

SETTING = replace(NIGHTHAWK, fmin=100.0, fmax=10500.0, n_fft=2048)
"""The paper's windows, hop, number of bands and s, with bands for all of the sounds.

A longer transform, because mel bands near 100 Hz are narrower than the bins of 1024. The bands end below half of the
scenes' rate, where the resampler decides what is in them.
"""

TOLERANCE = 0.025
"""Seconds; half of a gap."""

SEED = 2019
NEAR, FAR = 10.0, 100.0
LOW, HIGH = 3000.0, 5000.0  # sounds below and above are the groups of the loss of bandwidth
PERIOD = 10.0  # seconds of night scenes for one alarm
SETTLING = 0.5


class Recorded(NamedTuple):
    """Detection functions of a recording, and where its sounds begin."""

    distance: float
    times: Array
    functions: Functions
    onsets: Array
    quiet: slice
    """Frames before the marker, after the background has settled."""


def _recorded(dataset: Playback) -> list[Recorded]:
    found = []
    for distance, name, begin in aligned(dataset):
        functions = detection_functions(dataset.folder / name, SETTING).named()
        times = SETTING.times(len(functions[AVERAGED_FLUX]))
        onsets = np.array([begin + sound.start for sound in dataset.sounds if sound.name != MARKER])
        marker = begin + dataset.sounds[0].start - SETTING.win_length / SETTING.sr
        quiet = slice(round(2 / SETTING.s), int(np.searchsorted(times, marker)))
        found.append(Recorded(distance, times, functions, onsets, quiet))
    return found


def thresholds(scenes: Sequence[Functions], draws: Sequence[npt.NDArray[np.int64]]) -> dict[str, Array]:
    """Lowest thresholds of each detector above which scenes have at most one alarm in `PERIOD` seconds.

    Parameters
    ----------
    scenes : sequence of mapping of str to ndarray, shape (frame,)
        Detection functions of each scene, as long as each other.
    draws : sequence of ndarrays
        Which scenes are in each resample, from `cluster_draws`.

    Returns
    -------
    dict of str to ndarray, shape (draw,)
    """
    found = {}
    for detector in DETECTORS:
        values = [scene[detector] for scene in scenes]
        every = np.sort(np.concatenate(values))
        # Candidates are among the tenth of the frames with the largest values, where alarms are far more than allowed.
        edges = np.unique(every[-every.size // 10 :])
        edges = edges[np.linspace(0, edges.size - 1, min(edges.size, 4000)).round().astype(int)]
        alarms = alarms_in_each(values, edges, count="peaks")
        seconds = SETTING.hop * np.array([each.size for each in values])
        rates = (alarms[:, draw].sum(axis=1) / seconds[draw].sum() for draw in draws)
        found[detector] = np.array([edges[max(np.flatnonzero(rate > 1 / PERIOD), default=-1) + 1] for rate in rates])
    return found


def _scenes(*nights: RealSet) -> tuple[list[Functions], list[str]]:
    """Detection functions of every scene without a call, and its hour."""
    skipped = round(SETTLING / SETTING.hop)
    scenes: list[Functions] = []
    names = [(each, name) for each in nights for name in each.recordings]
    for each, name in names:
        functions = detection_functions(each.recording(name).source, SETTING).named()
        scenes.append({detector: values[skipped:] for detector, values in functions.items()})
    return scenes, [hour(name) for _, name in names]


def played_novelty(dataset: Playback, *nights: RealSet) -> "pd.DataFrame":
    """Each detector at each sound and distance.

    Returns
    -------
    DataFrame
        Columns `distance`, `sound`, `frequency`, `detector`, `value` (largest within `TOLERANCE` of the onset), `noise`
        (median before the marker), `floor` (mean of the largest values in stretches as long before the marker),
        `threshold`, `error` (of the nearest alarm, in seconds; NaN if the sound is not found), and `chance` (share of
        onsets that would be found if the alarms of this recording came at random).
    """
    import pandas as pd

    sounds = [sound for sound in dataset.sounds if sound.name != MARKER]
    scenes, _ = _scenes(*nights)
    at = thresholds(scenes, [np.arange(len(scenes))])
    rows = []
    for recorded in _recorded(dataset):
        n_frames = round(2 * TOLERANCE / SETTING.hop)
        for detector, values in recorded.functions.items():
            quiet = values[recorded.quiet]
            stretches = quiet[: quiet.size // n_frames * n_frames].reshape(-1, n_frames)
            starts = recorded.times[alarm_starts(values, at[detector][0])]
            missed_by = errors(starts, recorded.onsets, tolerance=TOLERANCE)
            rate = starts.size / (recorded.times[-1] - recorded.times[0])
            about = {
                "detector": detector,
                "noise": np.median(quiet),
                "floor": stretches.max(axis=1).mean() if stretches.size else np.nan,
                "threshold": at[detector][0],
                "chance": -np.expm1(-2 * TOLERANCE * rate),
            }
            for sound, onset, error in zip(sounds, recorded.onsets, missed_by, strict=True):
                value = values[np.abs(recorded.times - onset) <= TOLERANCE].max()
                own = {"distance": recorded.distance, "sound": sound.name, "frequency": sound.center}
                rows.append({**own, **about, "value": value, "error": error})
    return pd.DataFrame(rows)


def played_estimates(dataset: Playback, *nights: RealSet) -> "pd.DataFrame":
    """What the playback says of the paper's claims, with intervals over sounds, and for recall over hours too.

    Returns
    -------
    DataFrame
        Columns `quantity`, `distance` (in meters; 0 for quantities of several), `detector` ("none" for quantities of
        several, or of levels), `estimate`, `low`, `high` and `n`. Quantities are "far over near", the mean rise of a
        detector above the noise at 100 m over that at 10 m, and the same "without the floor" that noise alone reaches;
        "recall", "threshold" and "outperforms", over the distances from 10 m on, and the same with the scenes "after
        midnight" alone; "bandwidth", in dB, and "bandwidth, all sounds", where sounds that are not heard at 100 m count
        with the most that they can have.
    """
    import pandas as pd

    rng = np.random.default_rng(SEED)
    novelty = played_novelty(dataset, *nights)
    rise = (novelty["value"] - novelty["noise"]).groupby([novelty["detector"], novelty["distance"], novelty["sound"]])
    rises = rise.first().unstack("sound")
    draws = resamples(rises.shape[1], rng)
    rows: list[dict[str, object]] = []

    def add(quantity: str, values: npt.ArrayLike, n: int, *, distance: float = 0.0, detector: str = "none") -> None:
        ends = dict(zip(("estimate", "low", "high"), interval("", values).values(), strict=True))
        rows.append({"quantity": quantity, "distance": distance, "detector": detector, **ends, "n": n})

    for detector in DETECTORS:
        far, near = (rises.xs((detector, meters)).to_numpy() for meters in (FAR, NEAR))
        add("far over near", far[draws].mean(axis=1) / near[draws].mean(axis=1), far.size, detector=detector)
        alone = novelty[novelty["detector"] == detector].groupby("distance")[["noise", "floor"]].first()
        far, near = (values - alone.loc[d].diff()["floor"] for values, d in ((far, FAR), (near, NEAR)))
        ratio = far[draws].mean(axis=1) / near[draws].mean(axis=1)
        add("far over near, without the floor", ratio, far.size, detector=detector)

    scenes, hours = _scenes(*nights)
    recorded = [each for each in _recorded(dataset) if each.distance >= NEAR]
    early = [k for k, name in enumerate(hours) if name in PARTS["after midnight"]]
    for part, chosen in {"": range(len(hours)), ", after midnight": early}.items():
        nightly = [scenes[k] for k in chosen]
        at = thresholds(nightly, cluster_draws([hours[k] for k in chosen], rng))
        total = {}
        for detector in DETECTORS:
            found = np.zeros((len(recorded), len(draws)))
            for row, each in zip(found, recorded, strict=True):
                for k, (threshold, draw) in enumerate(zip(at[detector], draws, strict=True)):
                    starts = each.times[alarm_starts(each.functions[detector], threshold)]
                    row[k] = np.isfinite(errors(starts, each.onsets[draw], tolerance=TOLERANCE)).sum()
                share = row / draws.shape[1]
                add(f"recall{part}", share, draws.shape[1], distance=each.distance, detector=detector)
            add(f"threshold{part}", at[detector], len(nightly), detector=detector)
            total[detector] = found.sum(axis=0) + 0.5
        flux = np.maximum(total[AVERAGED_FLUX], total[MAX_POOLED_FLUX])
        add(f"outperforms{part}", total[MAX_POOLED_PCEN] / flux, len(recorded) * draws.shape[1])

    levels = played_levels(dataset)
    for name, column in (("bandwidth", "level"), ("bandwidth, all sounds", "most")):
        levels["most"] = levels["level"].fillna(levels["noise"] + 10 * np.log10(10 ** (LEAST / 10) - 1))
        wide = levels.pivot(index="frequency", columns="distance", values=column)
        lost = (wide[NEAR] - wide[FAR] - spreading_loss(FAR, reference=NEAR)).dropna()
        groups = [lost[lost.index > HIGH].to_numpy(), lost[lost.index < LOW].to_numpy()]
        high, low = (group[resamples(group.size, rng)].mean(axis=1) for group in groups)
        add(name, high - low, len(groups[0]) + len(groups[1]))
    return pd.DataFrame(rows)


SETS: Mapping[str, Any] = {"sets": ("playback", "night_soundscapes"), "further": ("birdvox_dcase20k",)}
DEFINITION = (SETTING, TOLERANCE, PERIOD, SETTLING, ALIGNMENT, SEED)
EXPERIMENTS = {
    "playback-novelty": Experiment(
        run=played_novelty,
        **SETS,
        definition=describe("detection functions of played sounds, version 1", *DEFINITION),
        keys=("distance", "sound", "detector"),
        tolerances={"value": 1e-4, "noise": 1e-4, "threshold": 1e-4, "error": 1e-4},
    ),
    "playback-estimates": Experiment(
        run=played_estimates,
        **SETS,
        definition=describe("what a playback says of the claims, version 1", *DEFINITION, LEAST, LOW, HIGH),
        keys=("quantity", "distance", "detector"),
        tolerances={"estimate": 1e-3, "low": 1e-3, "high": 1e-3, "n": 0},
    ),
}
"""The experiments of this module, by the names of their stored tables."""
