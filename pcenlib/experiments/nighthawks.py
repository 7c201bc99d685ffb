"""Figure 2 again, with recorded nighthawks and recorded nights."""

from typing import TYPE_CHECKING

import numpy as np

from pcenlib.datasets.interface import DataSet
from pcenlib.datasets.nighthawk import SR, SimulatedNighthawk
from pcenlib.datasets.real import RealSet
from pcenlib.datasets.repropagated import band_level, repropagate
from pcenlib.experiments.evaluate import evaluate
from pcenlib.experiments.protocols import NIGHTHAWK_PAPER, NIGHTHAWK_RELEASED
from pcenlib.experiments.stored import Experiment, describe
from pcenlib.experiments.tables import over_groups
from pcenlib.simulation.scenes import Night, pascals

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EXPERIMENTS", "OFFSETS", "PROTOCOLS", "SIMULATED", "simulated_scene_level"]


SEED = 2019
N_SCENES = 20

OFFSETS = (-10.0, 0.0, 10.0)
"""Assumed levels of the recorded nights over that of the simulated one, in dB."""

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


def repropagated_nighthawks(calls: RealSet, *scenes: RealSet, jobs: int = 2) -> "pd.DataFrame":
    """Figure 2 with recorded calls in recorded nights, at three assumed levels of the night, and with simulated ones.

    Columns `sound` ("recorded" or "simulated"), `offset` of the level of the night from the simulated one's in dB, and
    those of `over_groups` by `protocol`. Groups are calls of `NighthawkCalls`, or simulated birds. Scenes are night
    recordings without a call.
    """
    import pandas as pd

    level = simulated_scene_level()
    datasets: dict[tuple[str, float], DataSet] = {
        ("recorded", offset): repropagate(calls, scenes, seed=SEED, scene_level=level + offset) for offset in OFFSETS
    }
    datasets["simulated", 0.0] = SIMULATED
    tables = {
        key: over_groups(evaluate(dataset, PROTOCOLS, jobs=jobs), by=["protocol"]) for key, dataset in datasets.items()
    }
    return pd.concat(tables, names=["sound", "offset"]).reset_index(["sound", "offset"]).reset_index(drop=True)


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


EXPERIMENTS = {
    "repropagated-nighthawks": Experiment(
        run=repropagated_nighthawks,
        sets=("nighthawk", "night_soundscapes"),
        further=("birdvox_dcase20k",),
        definition=describe(
            "figure 2 with recorded calls and nights, version 2",
            PROTOCOLS,
            SIMULATED,
            OFFSETS,
            SEED,
        ),
        keys=("sound", "offset", "protocol", "distance", "detector"),
        tolerances={"n_groups": 0, "mtbfa": 1e-5, "mtbfa_low": 1e-5, "mtbfa_high": 1e-5},
    ),
    "repropagated-calls": Experiment(
        run=repropagated_calls,
        sets=("nighthawk", "night_soundscapes"),
        further=("birdvox_dcase20k",),
        definition=describe("recorded calls and their background, version 2", SIMULATED.night, SEED),
        keys=("call",),
        tolerances={"contrast": 1e-5, "30 m": 1e-4},
    ),
}
"""The experiments of this module, by the names of their stored tables."""
