"""Acoustic indices of nights, and whether they notice calls: simulated nights, a recorded day, recorded flight calls.

E is that of the paper's setting for birds in 24 bands instead of 128, for all indices. What the ledger judges was
fixed before any result: what mean PCEN is (see `indices`), which bands are a nighthawk's, how calls are spread over
an hour, and what comes before a second of sound.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pcenlib.core.resampling import interval
from pcenlib.core.setting import NIGHTHAWK, Setting
from pcenlib.core.spectrogram import read_spectrogram
from pcenlib.datasets.flight_calls import FlightCalls
from pcenlib.datasets.night_soundscapes import NightSoundscapes
from pcenlib.datasets.simulated_night import SimulatedNight
from pcenlib.experiments.indices import INDICES, indices, indices_by_minute
from pcenlib.experiments.intervals import area_under_curve, cluster_draws
from pcenlib.experiments.seeded import Seeded
from pcenlib.experiments.stored import Experiment, describe
from pcenlib.simulation import callers
from pcenlib.simulation.scenes import Night

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "EXPERIMENTS",
    "LONG_NIGHT",
    "SEEDED",
    "SETTING",
    "UNIT",
    "WEATHER",
    "by_index",
    "call_bands",
    "cells_with_a_call",
    "shares_higher",
]

Array = npt.NDArray[np.floating]

SETTING = replace(NIGHTHAWK, n_bands=24)
"""What E is for all indices. Windows, hop and s are the paper's, and there are 24 bands."""

UNIT = 1e-4
"""What the whole numbers in the table of the simulated night count."""

WEATHER: Mapping[str, Night] = {
    "calm": Night(rainy=0.0, singing=0.0),
    "insects": Night(rainy=0.0, singing=1.0, insects=30.0),
    "wind": Night(rainy=0.0, singing=0.0, wind=55.0),
    "rain": Night(rainy=1.0, singing=0.0),
}
"""What is heard in the long night, two hours each."""

LONG_NIGHT = SimulatedNight(
    seed=2019,
    hours=tuple(night for night in WEATHER.values() for _ in range(2)),
    rates=(0.0, 60.0) * len(WEATHER),
)
"""Eight hours. In the second hour of each weather, nighthawks call about once a minute."""

NEAR = 100.0  # meters
GUARD = 0.02  # seconds before an annotated onset that belong to the call: annotations are no finer
SECOND = 1.0
SEED = 2019  # of the bootstrap


def call_bands(setting: Setting) -> npt.NDArray[np.bool_]:
    """Bands of a nighthawk's call: those whose centers are within a standard deviation of its resonance."""
    bird = callers.Nighthawk()
    return (setting.frequencies >= bird.end - bird.width) & (setting.frequencies <= bird.start + bird.width)


def cells_with_a_call(night: SimulatedNight, setting: Setting, *, farthest: float = np.inf) -> npt.NDArray[np.bool_]:
    """Which cells (minute, band) of a night hold a call from at most a distance, heard or not."""
    called = np.zeros(60 * len(night.hours), dtype=bool)
    called[[event.minute for event in night.events if event.distance <= farthest]] = True
    return called[:, np.newaxis] & call_bands(setting)


def _of_night(night: SimulatedNight, setting: Setting) -> Array:
    """Indices (minute, index, band) of a night."""
    minutes: list[Array] = []
    for name in night.recordings:
        sound = night.recording(name)
        minutes.extend(indices_by_minute(sound.source, setting, sr=sound.sr, lead=sound.lead))
    return np.array(minutes)


def _wide(values: Array) -> "pd.DataFrame":
    """A row for each time, and a column for each index and band."""
    import pandas as pd

    names = [f"{index} {band:02d}" for index in INDICES for band in range(values.shape[-1])]
    return pd.DataFrame(values.reshape(len(values), -1), columns=names)


def by_index(table: "pd.DataFrame", *, unit: float = 1.0) -> dict[str, Array]:
    """Each index of a stored table as an array (time, band); `unit` is `UNIT` for the simulated night."""
    return {name: unit * table.filter(regex=rf"^{name} \d+$").to_numpy(dtype=float) for name in INDICES}


def indices_of_night(night: SimulatedNight, setting: Setting) -> "pd.DataFrame":
    """A row for each `minute`, and a column for each index and band, in whole numbers of `UNIT`."""
    table = _wide(_of_night(night, setting) / UNIT).round().astype(int)
    table.insert(0, "minute", range(len(table)))
    return table


def areas_of_cells(night: SimulatedNight, setting: Setting) -> "pd.DataFrame":
    """How often each index is higher where a call is: area under the curve over the cells of a night.

    For each `index` and `cells`: with any call against those without; with a call from within 100 m against the same;
    and with any call, once the median of each band over the night has been subtracted.
    """
    import pandas as pd

    values = np.moveaxis(_of_night(night, setting), 1, 0)
    called = cells_with_a_call(night, setting)
    near = cells_with_a_call(night, setting, farthest=NEAR)
    rows = []
    for index, cells in zip(INDICES, values, strict=True):
        compared = {
            "all": (cells[called], cells[~called]),
            "within 100 m": (cells[near], cells[~called]),
            "band by band": ((leveled := cells - np.median(cells, axis=0))[called], leveled[~called]),
        }
        rows += [
            {"index": index, "cells": name, "n_calls": len(mine), "area": float(area_under_curve(mine, others))}
            for name, (mine, others) in compared.items()
        ]
    return pd.DataFrame(rows)


def indices_of_scenes(scenes: NightSoundscapes) -> "pd.DataFrame":
    """A row for each recording, with its `time` of day in hours, and a column for each index and band."""
    values = []
    for name in scenes.recordings:
        sound = scenes.recording(name)
        values.append(indices(read_spectrogram(sound.source, SETTING, sr=sound.sr), s=SETTING.s))
    table = _wide(np.array(values))
    clocks = [name.removesuffix(".wav").rsplit("_", 1)[1] for name in scenes.recordings]
    table.insert(0, "time", [int(clock[:2]) + int(clock[2:4]) / 60 for clock in clocks])
    return table


def indices_of_flight_calls(flight_calls: FlightCalls) -> "pd.DataFrame":
    """Each index in the second that holds a flight call, and in the second before it.

    Returns
    -------
    DataFrame
        For each clip its `source` and `species`, the `frames` of either second, and for each index its mean over the
        bands of the species, ``before`` and ``with`` the call.

    Notes
    -----
    A call begins about a second after its clip, so the second that holds it begins 20 ms before the annotated onset,
    and the second before it ends there. If the clip has less than a second on one side, both are as short. PCEN's
    background goes through both, after the mirror image of the clip's beginning, and has settled in each.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for clip in flight_calls.clips:
        call, sound = flight_calls.calls[clip.name], flight_calls.clip(clip)
        E = read_spectrogram(sound.source, SETTING, sr=sound.sr)
        onset = round((call.begin - GUARD) / SETTING.hop)
        n_frames = min(round(SECOND / SETTING.hop), onset, E.shape[1] - onset)
        inside = (SETTING.frequencies >= call.low) & (SETTING.frequencies <= call.high)
        seconds = {"before": onset, "with": onset + n_frames}
        found = {
            f"{index} {when}": value
            for when, end in seconds.items()
            for index, value in zip(
                INDICES, indices(E[:, :end], s=SETTING.s, past=end - n_frames)[:, inside].mean(axis=1), strict=True
            )
        }
        rows.append({"clip": len(rows), "source": call.source, "species": call.species, "frames": n_frames, **found})
    return pd.DataFrame(rows)


def shares_higher(table: "pd.DataFrame") -> "pd.DataFrame":
    """How often each index is higher with the call, and how much more often than acoustic complexity.

    Parameters
    ----------
    table : DataFrame
        From `indices_of_flight_calls`.

    Returns
    -------
    DataFrame
        For each `index` its `share` of the clips, and the `ratio` of that to the share of acoustic complexity, each
        with an interval of 95 % from a bootstrap over the recordings that clips were cut from, the same for all.
    """
    import pandas as pd

    draws = cluster_draws(table["source"].tolist(), np.random.default_rng(SEED))
    higher = {index: (table[f"{index} with"] > table[f"{index} before"]).to_numpy() for index in INDICES}
    shares = {index: np.array([values[draw].mean() for draw in draws]) for index, values in higher.items()}
    rows = [
        {"index": index, **interval("share", share), **interval("ratio", share / shares[INDICES[0]])}
        for index, share in shares.items()
    ]
    return pd.DataFrame(rows)


COLUMNS = [f"{index} {band:02d}" for index in INDICES for band in range(SETTING.n_bands)]

EXPERIMENTS = {
    "soundscape-day": Experiment(
        run=indices_of_scenes,
        sets=("night_soundscapes",),
        definition=describe("acoustic indices of scenes, version 1", SETTING, INDICES),
        keys=("time",),
        tolerances=dict.fromkeys(COLUMNS, 1e-5),
    ),
    "flight-call-indices": Experiment(
        run=indices_of_flight_calls,
        sets=("flight_calls",),
        definition=describe("acoustic indices with and before a call, version 1", SETTING, INDICES, GUARD, SECOND),
        keys=("clip",),
        tolerances={"frames": 0} | {f"{index} {when}": 1e-5 for index in INDICES for when in ("before", "with")},
    ),
}
"""The experiments of this module on recordings, by the names of their stored tables."""

SEEDED = {
    "long-night": Seeded(
        dataset=LONG_NIGHT,
        measure=indices_of_night,
        of=(SETTING,),
        keys=("seed", "minute"),
        seeds=(LONG_NIGHT.seed,),
    ),
    "night-hours": Seeded(
        dataset=SimulatedNight(),
        measure=areas_of_cells,
        of=(SETTING,),
        keys=("seed", "index", "cells"),
        seeds=range(2019, 2029),
    ),
}
"""Those on simulated sound."""
