"""Figure 2 again, with recorded nighthawks and recorded nights."""

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pcenlib.core.resampling import N_RESAMPLES, interval
from pcenlib.core.streaming import AVERAGED_FLUX, DETECTORS, MAX_POOLED_PCEN
from pcenlib.datasets.nighthawk import SR, SimulatedNighthawk
from pcenlib.datasets.real import RealSet
from pcenlib.datasets.repropagated import FADE, RepropagatedNighthawk, band_level, repropagate
from pcenlib.experiments.evaluate import clip_values, recording_functions
from pcenlib.experiments.intervals import MOST_OF_NONE, BootstrapAlarms, bootstrap_alarms
from pcenlib.experiments.protocols import NIGHTHAWK_PAPER, NIGHTHAWK_RELEASED
from pcenlib.experiments.stored import Experiment, describe
from pcenlib.experiments.tables import detection_range
from pcenlib.simulation.scenes import Night, pascals

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EXPERIMENTS", "FADES", "OFFSETS", "PARTS", "PROTOCOLS", "SIMULATED", "simulated_scene_level"]


Array = npt.NDArray[np.float64]

SEED = 2019
N_SCENES = 20
ALL = "all"
NEAR = 300.0  # largest distance of the paper's factor of five, in meters

OFFSETS = (-10.0, 0.0, 10.0)
"""Assumed levels of the recorded nights over that of the simulated one, in dB."""

FADES = (0.005, FADE, 0.060)
"""Seconds over which the background recorded with a call rises and falls."""

PARTS = {
    "after midnight": tuple(f"{hour:02d}" for hour in range(5)),
    "morning": tuple(f"{hour:02d}" for hour in range(5, 12)),
    "evening": tuple(f"{hour:02d}" for hour in range(17, 24)),
}
"""Parts of the night, and their hours."""

DISTANCES = SimulatedNighthawk.distances

SIMULATED = SimulatedNighthawk(seed=SEED, n_scenes=60)
"""What recorded calls and nights are compared with."""

PROTOCOLS = {"paper": NIGHTHAWK_PAPER, "released": NIGHTHAWK_RELEASED}


def simulated_scene_level() -> float:
    """Level of the median simulated scene between 2.5 and 5 kHz, in dB re 20 µPa.

    Returns
    -------
    float
        Over twenty scenes of the default `Night`.
    """
    n_samples = round(SimulatedNighthawk.scene_duration * SR)
    scenes = (Night().noise(n_samples, SR, np.random.default_rng([SEED, scene])) for scene in range(N_SCENES))
    return float(np.median([band_level(scene / pascals(0), SR) for scene in scenes]))


class Run(NamedTuple):
    """One of the experiments that are compared."""

    sound: str
    """ "recorded" or "simulated"."""
    offset: float
    """Level of the night over that of the simulated one, in dB."""
    fade: float
    """Seconds over which the background recorded with a call rises and falls."""
    part: str
    """Part of the night in which false alarms are counted, one of `PARTS`, or "all"."""


BASIC = Run("recorded", 0.0, FADE, ALL)


class Measured(NamedTuple):
    """What an experiment measured under one protocol, at each distance, with the same draws at all distances."""

    distances: list[float]
    alarms: list[BootstrapAlarms]


def hour(name: str) -> str:
    """Hour of a recording that has its time in its name, as in *20190522_184500.wav*; any other is by itself."""
    found = re.search(r"_(\d\d)\d{4}\.", name)
    return found[1] if found else name


@functools.cache  # two tables are of the same measurements
def _measure(calls: RealSet, scenes: tuple[RealSet, ...], jobs: int) -> dict[tuple[Run, str], Measured]:
    """Every experiment, by run and protocol."""
    level = simulated_scene_level()
    datasets: dict[Run, RepropagatedNighthawk | SimulatedNighthawk] = {
        Run("recorded", offset, fade, ALL): repropagate(
            calls, scenes, seed=SEED, scene_level=level + offset, distances=DISTANCES, fade=fade
        )
        for offset, fade in [*((offset, FADE) for offset in OFFSETS), *((0.0, fade) for fade in FADES if fade != FADE)]
    }
    datasets[Run("simulated", 0.0, FADE, ALL)] = SIMULATED
    found = {}
    for run, dataset in datasets.items():
        values = clip_values(dataset, PROTOCOLS, jobs=jobs)
        functions = recording_functions(dataset, PROTOCOLS, jobs=jobs)
        hours = {name: hour(name) for name in functions}
        parts = {ALL: list(functions)}
        if run == BASIC:
            parts |= {part: [name for name in functions if hours[name] in within] for part, within in PARTS.items()}
        for part, names in parts.items():
            for label, protocol in PROTOCOLS.items():
                mine = values[values["protocol"] == label]
                in_names = {detector: [functions[name][label][detector] for name in names] for detector in DETECTORS}
                boots = []
                for distance in dataset.distances if names else ():
                    at = mine[mine["distance"] == distance]
                    wide = at.pivot(index=["clip", "group"], columns="detector", values="value")
                    boots.append(
                        bootstrap_alarms(
                            {detector: wide[detector].to_numpy() for detector in DETECTORS},
                            in_names,
                            call_clusters=list(wide.index.get_level_values("group")),
                            recording_clusters=[hours[name] for name in names],
                            lower=protocol.lower_median,
                            count=protocol.count,
                            hop=protocol.setting.hop,
                            rng=np.random.default_rng(SEED),
                            n=N_RESAMPLES,
                        )
                    )
                if boots:
                    found[run._replace(part=part), label] = Measured(list(dataset.distances), boots)
    return found


def repropagated_nighthawks(calls: RealSet, *scenes: RealSet, jobs: int = 2) -> "pd.DataFrame":
    """Figure 2 with recorded calls in recorded nights, under several assumptions, and with simulated ones.

    Columns: the fields of `Run`, `protocol`, `distance`, `detector`, the `threshold` that half of all calls exceed, the
    number of `false_alarms`, the `duration` of the recordings, and `mtbfa` with an interval of 95 % from a bootstrap
    over calls (simulated: birds) and over hours of the night (simulated: scenes). Calls are those of `NighthawkCalls`,
    and scenes are night recordings without a call.
    """
    import pandas as pd

    rows = []
    for (run, protocol), measured in _measure(calls, scenes, jobs).items():
        for distance, boot in zip(measured.distances, measured.alarms, strict=True):
            for detector in DETECTORS:
                times = boot.mtbfa(detector)
                rows.append(
                    {
                        **run._asdict(),
                        "protocol": protocol,
                        "distance": distance,
                        "detector": detector,
                        "threshold": boot.thresholds[detector][0],
                        "false_alarms": int(boot.alarms[detector][0]),
                        "duration": boot.durations[0],
                        "mtbfa": times["estimate"],
                        "mtbfa_low": times["low"],
                        "mtbfa_high": times["high"],
                    }
                )
    return pd.DataFrame(rows)


def repropagated_ratios(calls: RealSet, *scenes: RealSet, jobs: int = 2) -> "pd.DataFrame":
    """How PCEN compares to averaged flux over distances, in each experiment of `repropagated_nighthawks`.

    Columns: the fields of `Run`, `protocol`, and `quantity`: "times fewer" false alarms than averaged flux, the
    geometric mean over distances up to 300 m; or "reach", the distance in meters up to which PCEN raises as few as
    averaged flux at 30 m, at most 500; with its `estimate`, `low` and `high`.
    """
    import pandas as pd

    quantities = {"times fewer": times_fewer, "reach": reach}
    rows = [
        {**run._asdict(), "protocol": protocol, "quantity": name, **_with_interval(measured, quantity)}
        for (run, protocol), measured in _measure(calls, scenes, jobs).items()
        for name, quantity in quantities.items()
    ]
    return pd.DataFrame(rows)


def times_fewer(distances: Array, pcen: Array, flux: Array) -> float:
    """Geometric mean over distances up to 300 m of alarms of averaged flux over those of PCEN, a half added to each."""
    near = distances <= NEAR
    return float(np.exp(np.log(flux[near] / pcen[near]).mean()))


def reach(distances: Array, pcen: Array, flux: Array) -> float:
    """Distance up to which PCEN raises as few alarms, a half added, as averaged flux at the first; at most the last."""
    return min(float(distances[-1]), detection_range(distances, 1 / pcen, 1 / flux[0]))


def _with_interval(measured: Measured, quantity: Callable[[Array, Array, Array], float]) -> dict[str, float]:
    """A quantity with its interval over draws, which reaches as far as the alarms that none in the recordings allows.

    Where a detector raised none, no draw can show the ones that it might have had, as for `BootstrapAlarms.ratio`.
    """
    distances = np.array(measured.distances)
    pcen, flux = (
        0.5 + np.array([boot.alarms[detector] for boot in measured.alarms])
        for detector in (MAX_POOLED_PCEN, AVERAGED_FLUX)
    )
    values = [quantity(distances, *both) for both in zip(pcen.T, flux.T, strict=True)]
    found = interval("value", values)
    more_pcen, more_flux = (np.where(alarms[:, 0] == 0.5, MOST_OF_NONE + 0.5, alarms[:, 0]) for alarms in (pcen, flux))
    return {
        "estimate": found["value"],
        "low": min(found["value_low"], quantity(distances, more_pcen, flux[:, 0])),
        "high": max(found["value_high"], quantity(distances, pcen[:, 0], more_flux)),
    }


def hours_of_night(calls: RealSet, *scenes: RealSet, jobs: int = 2) -> "pd.DataFrame":
    """What the recordings without a call are like, by hour: columns `hour`, `detector`, `n_scenes`, `p999`, `maximum`.

    The value that one frame in a thousand exceeds, and the largest, are of detection functions from which no minimum
    is subtracted.
    """
    import pandas as pd

    dataset = repropagate(calls, scenes, seed=SEED, scene_level=0.0)
    protocol = {"": replace(NIGHTHAWK_PAPER, minimum_subtracted=False)}
    functions = recording_functions(dataset, protocol, [*dataset.recordings, *dataset.backgrounds], jobs=jobs)
    rows = []
    for each in sorted({hour(name) for name in functions}):
        mine = [functions[name][""] for name in functions if hour(name) == each]
        for detector in DETECTORS:
            values = np.concatenate([of_scene[detector] for of_scene in mine])
            about = {"hour": each, "detector": detector, "n_scenes": len(mine)}
            rows.append({**about, "p999": np.quantile(values, 0.999), "maximum": values.max()})
    return pd.DataFrame(rows)


def repropagated_calls(calls: RealSet, *scenes: RealSet) -> "pd.DataFrame":
    """The recorded calls that are propagated, and the background that is in them.

    For each clear call its `contrast` in dB, `duration`, `pulse_rate` and `striation`, as `measure_call` has them; and
    for each distance, in columns named by it, the level of the recorded background within the arriving call, over that
    of the median scene, both between 2.5 and 5 kHz, in dB. The recorded background is `contrast` dB below the loudest
    moment of its call.
    """
    import pandas as pd

    level = simulated_scene_level()
    dataset = repropagate(calls, scenes, seed=SEED, scene_level=level)
    dataset = replace(dataset, night=replace(dataset.night, scatter=0.0))  # the level of the median sensor
    rows = []
    window = round(0.010 * SR)
    for call in dataset.calls:
        left: dict[str, float] = {}
        for clip in dataset.clips:
            if clip.group == call.name and (column := f"{clip.distance:g} m") not in left:
                power = np.convolve(dataset.call(clip) ** 2, np.ones(window) / window, mode="same").max()
                arriving = 10 * np.log10(power) - 20 * np.log10(pascals(0))
                left[column] = arriving - call.measured.contrast - level
        measured = {name: getattr(call.measured, name) for name in ("contrast", "duration", "pulse_rate", "striation")}
        rows.append({"call": call.name, **measured, **left})
    return pd.DataFrame(rows)


WITH_NIGHTS: Mapping[str, Any] = {"sets": ("nighthawk", "night_soundscapes"), "further": ("birdvox_dcase20k",)}
DEFINITION = (PROTOCOLS, SIMULATED, OFFSETS, FADES, PARTS, N_RESAMPLES, SEED)

EXPERIMENTS = {
    "repropagated-nighthawks": Experiment(
        run=repropagated_nighthawks,
        **WITH_NIGHTS,
        definition=describe("figure 2 with recorded calls and nights, version 3", *DEFINITION),
        keys=(*Run._fields, "protocol", "distance", "detector"),
        tolerances={"threshold": 1e-5, "false_alarms": 0, "mtbfa": 1e-5},
    ),
    "repropagated-ratios": Experiment(
        run=repropagated_ratios,
        **WITH_NIGHTS,
        definition=describe("PCEN over averaged flux with recorded calls and nights, version 1", *DEFINITION),
        keys=(*Run._fields, "protocol", "quantity"),
        tolerances={"estimate": 1e-5, "low": 1e-5, "high": 1e-5},
    ),
    "repropagated-calls": Experiment(
        run=repropagated_calls,
        **WITH_NIGHTS,
        definition=describe("recorded calls and their background, version 3", SIMULATED.night, SEED),
        keys=("call",),
        tolerances={"contrast": 1e-5, "30 m": 1e-4},
    ),
    "repropagated-hours": Experiment(
        run=hours_of_night,
        **WITH_NIGHTS,
        definition=describe("detection functions of recorded nights by hour, version 1", NIGHTHAWK_PAPER),
        keys=("hour", "detector"),
        tolerances={"n_scenes": 0, "p999": 1e-5, "maximum": 1e-5},
    ),
}
"""The experiments of this module, by the names of their stored tables."""
