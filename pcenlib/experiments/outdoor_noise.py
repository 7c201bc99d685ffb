"""What raises false alarms among the outdoor sounds of ESC-50, by their kind (section 3.3)."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pcenlib.core.recordings import waveform
from pcenlib.core.resampling import N_RESAMPLES, interval
from pcenlib.core.streaming import DETECTORS, MAX_POOLED_FLUX
from pcenlib.datasets.esc50 import Esc50
from pcenlib.datasets.interface import Clip, Sound
from pcenlib.datasets.nighthawk import SimulatedNighthawk
from pcenlib.datasets.real import RealSet
from pcenlib.experiments.evaluate import clip_values, recording_functions
from pcenlib.experiments.intervals import alarms_in_each, cluster_draws
from pcenlib.experiments.protocols import NIGHTHAWK_PAPER, NIGHTHAWK_RELEASED, Protocol
from pcenlib.experiments.stored import Experiment, describe
from pcenlib.experiments.tables import calibrate

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BIRDS", "EXPERIMENTS", "NAMED", "OWN", "PROTOCOLS", "RESAMPLERS", "TOGETHER"]


Array = npt.NDArray[np.float64]
Resampler = Callable[[Array, int, int], Array]  # from a waveform and two rates to a waveform

SEED = 2019
QUANTILES = (0.99, 0.999)
SHORTEST = 1.0  # seconds; of what is shorter, too little is left when the background has settled

NAMED = ("pouring_water", "crackling_fire", "water_drops")
"""Categories that the paper names as the main causes."""

TOGETHER = "named"
"""Row of a table for all of `NAMED` together."""

BIRDS = SimulatedNighthawk(seed=SEED, distances=(30, 100, 300), n_scenes=1)
"""Whose calls the thresholds are from."""

PROTOCOLS = {"as written": NIGHTHAWK_PAPER, "as released": NIGHTHAWK_RELEASED}
"""How the thresholds of the birds are found, and false alarms counted at them."""

OWN = replace(NIGHTHAWK_PAPER, minimum_subtracted=False, count="frames")
"""How false alarms are counted above quantiles of the detection functions themselves."""


def causes_of_false_alarms(esc50: RealSet, *, jobs: int = 2) -> "pd.DataFrame":
    """Share of each kind of outdoor noise in the false alarms of each detector, in `Esc50` (section 3.3).

    For each `detector`, `threshold` and whether the set's padding was `kept`: for each `category` the number of clips
    and of the sources that they were cut from, the number of false alarms, and their `share` of all, with an interval
    of 95 % from a bootstrap over the sources of each category. The row "named" has the three categories together that
    the paper names. Thresholds are those of the simulated bird at a distance, half of whose calls exceed them, as
    written or as released; and quantiles of the detection function over all of these clips. A clip that is shorter than
    a second without its padding is left out.
    """
    import pandas as pd

    birds = _thresholds_of_birds(PROTOCOLS, jobs)
    protocols = PROTOCOLS | {"own": OWN}
    names = _long_enough(esc50)
    draws = _drawn(names)
    tables = {}
    for kept in (False, True):
        functions = recording_functions(Esc50(esc50.folder, padded=kept), protocols, names, jobs=jobs).values()
        for detector in DETECTORS:
            own = [each["own"][detector] for each in functions]
            limits = {
                f"own {100 * share:g} %": ("own", float(limit))
                for share, limit in zip(QUANTILES, np.quantile(np.concatenate(own), QUANTILES), strict=True)
            }
            for threshold, (label, limit) in (birds[detector] | limits).items():
                values = [each[label][detector] for each in functions]
                alarms = alarms_in_each(values, [limit], count=protocols[label].count)[0]
                tables[kept, threshold, detector] = _shares(alarms, names, draws)
    columns = ["kept", "threshold", "detector"]
    return pd.concat(tables, names=columns).reset_index(columns).reset_index(drop=True)


def _long_enough(esc50: RealSet) -> list[str]:
    """Names of the clips of outdoor noise that last a second or more without their padding."""
    dataset = Esc50(esc50.folder)
    sounds = ((name, dataset.recording(name)) for name in dataset.recordings)
    return [name for name, sound in sounds if np.asarray(sound.source).size >= SHORTEST * (sound.sr or 1)]


def _thresholds_of_birds(protocols: Mapping[str, Protocol], jobs: int) -> dict[str, dict[str, tuple[str, float]]]:
    """For each detector, protocol and threshold at half recall of all birds together, by their name in the table."""
    values = clip_values(BIRDS, protocols, jobs=jobs).assign(group="all birds")
    found: dict[str, dict[str, tuple[str, float]]] = {detector: {} for detector in DETECTORS}
    for label, protocol in protocols.items():
        for row in calibrate(values[values["protocol"] == label], lower=protocol.lower_median).to_dict("records"):
            found[row["detector"]][f"bird at {row['distance']:g} m, {label}"] = label, row["threshold"]
    return found


def _drawn(names: Sequence[str]) -> Array:
    """How often each clip is in each draw of the bootstrap over the sources of each category; the first has all."""
    sources, categories = [Esc50.source(name) for name in names], [Esc50.category(name) for name in names]
    drawn = cluster_draws(sources, np.random.default_rng(SEED), strata=categories)
    return np.array([np.bincount(draw, minlength=len(names)) for draw in drawn], dtype=np.float64)


def _shares(alarms: Array, names: Sequence[str], draws: Array) -> "pd.DataFrame":
    """Share of each category in all alarms, and of the named ones, with an interval; missing where there is none."""
    import pandas as pd

    categories = np.array([Esc50.category(name) for name in names])
    sources = np.array([Esc50.source(name) for name in names])
    kinds = {kind: categories == kind for kind in sorted(set(categories))}
    rows = []
    total = draws @ alarms
    for kind, mine in {**kinds, TOGETHER: np.isin(categories, NAMED)}.items():
        counts = draws[:, mine] @ alarms[mine]
        # A resample without any alarm has no share of any kind.
        shares = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
        shares[0] = shares[0] if total[0] else np.nan
        rows.append(
            {
                "category": kind,
                "n_clips": int(mine.sum()),
                "n_sources": len(set(sources[mine])),
                "alarms": int(counts[0]),
                **interval("share", shares),
            }
        )
    return pd.DataFrame(rows)


def _soxr(quality: str) -> Resampler:
    def resample(x: Array, sr: int, target: int) -> Array:
        import soxr

        return np.asarray(soxr.resample(x, sr, target, quality=quality))

    return resample


def _polyphase(x: Array, sr: int, target: int) -> Array:
    from scipy.signal import resample_poly

    common = math.gcd(sr, target)
    return np.asarray(resample_poly(x, target // common, sr // common))


RESAMPLERS: Mapping[str, Resampler] = {
    "this book's: soxr VHQ": lambda x, sr, target: waveform(x, target, sr=sr),
    "soxr HQ": _soxr("HQ"),
    "soxr quick": _soxr("QQ"),
    "resample_poly": _polyphase,
}
"""How a waveform of 44.1 kHz can become one of 22.05 kHz."""


@dataclass(frozen=True)
class Resampled:
    """The clips of `Esc50` without their padding, resampled by one of `RESAMPLERS`.

    Parameters
    ----------
    esc50 : Esc50
        The clips.
    resampler : str
        A key of `RESAMPLERS`.
    """

    esc50: Esc50
    resampler: str

    clip_duration = 0.0

    @property
    def clips(self) -> list[Clip]:
        """None."""
        return []

    @property
    def recordings(self) -> list[str]:
        """All clips."""
        return self.esc50.recordings

    def clip(self, clip: Clip) -> Sound:
        """Sound of a clip with a call: there is none."""
        raise ValueError(f"clip must be one of none, got {clip.name!r}")

    def recording(self, name: str) -> Sound:
        """Sound of a clip, at the rate of the protocols."""
        sound = self.esc50.recording(name)
        target = NIGHTHAWK_PAPER.setting.sr
        return Sound(RESAMPLERS[self.resampler](np.asarray(sound.source), int(sound.sr or target), target), target)


def causes_by_resampler(esc50: RealSet, *, jobs: int = 2) -> "pd.DataFrame":
    """The columns of `causes_of_false_alarms` for max-pooled flux as written, by `resampler` and `threshold`."""
    import pandas as pd

    protocols = {"as written": NIGHTHAWK_PAPER}
    thresholds = _thresholds_of_birds(protocols, jobs)[MAX_POOLED_FLUX]
    names = _long_enough(esc50)
    draws = _drawn(names)
    tables = {}
    for resampler in RESAMPLERS:
        dataset = Resampled(Esc50(esc50.folder), resampler)
        functions = recording_functions(dataset, protocols, names, jobs=jobs).values()
        values = [each["as written"][MAX_POOLED_FLUX] for each in functions]
        for threshold, (_, limit) in thresholds.items():
            alarms = alarms_in_each(values, [limit], count=NIGHTHAWK_PAPER.count)[0]
            tables[resampler, threshold] = _shares(alarms, names, draws)
    columns = ["resampler", "threshold"]
    return pd.concat(tables, names=columns).reset_index(columns).reset_index(drop=True)


DEFINITION = (PROTOCOLS, OWN, BIRDS, QUANTILES, SHORTEST, N_RESAMPLES, SEED)

EXPERIMENTS = {
    "esc50-causes": Experiment(
        run=causes_of_false_alarms,
        sets=("esc50",),
        definition=describe("false alarms by category, bootstrap over sources, version 3", *DEFINITION),
        keys=("kept", "threshold", "detector", "category"),
        tolerances={"n_clips": 0, "n_sources": 0, "alarms": 0, "share": 1e-5},
    ),
    "esc50-resamplers": Experiment(
        run=causes_by_resampler,
        sets=("esc50",),
        definition=describe(
            "false alarms of max-pooled flux by category and resampler, version 1", *RESAMPLERS, *DEFINITION
        ),
        keys=("resampler", "threshold", "category"),
        tolerances={"n_clips": 0, "n_sources": 0, "alarms": 0, "share": 1e-5},
    ),
}
"""The experiments of this module, by the names of their stored tables."""
