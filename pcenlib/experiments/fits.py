"""What the simulations were fitted to: measurements of recorded calls, nights and ships, one table for each.

Of a set with many files, `MOST` are measured, evenly spaced: enough to see the spread.
"""

from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import numpy as np

from pcenlib.core.evaluation import Counts, count_exceedances, merge_counts
from pcenlib.core.recordings import info, waveform
from pcenlib.core.resampling import resamples
from pcenlib.core.setting import NIGHTHAWK, RIGHT_WHALE
from pcenlib.core.streaming import AVERAGED_FLUX, MAX_POOLED_FLUX, MAX_POOLED_PCEN
from pcenlib.datasets.esc50 import Esc50
from pcenlib.datasets.interface import DataSet
from pcenlib.datasets.real import RealSet
from pcenlib.datasets.shipsear_excerpts import ShipsEarExcerpts
from pcenlib.experiments.evaluate import Workers, recording_functions
from pcenlib.experiments.novelty_measurements import (
    NoveltyMeasurements,
    TailMeasurements,
    measure_novelty,
    measure_tails,
)
from pcenlib.experiments.protocols import RIGHT_WHALE_BELOW_900
from pcenlib.experiments.stored import Experiment, describe
from pcenlib.simulation.measurements import (
    MODULATION_RATES,
    THIRD_OCTAVES,
    CallMeasurements,
    SweepMeasurements,
    measure_call,
    measure_ship,
    measure_sweep,
)
from pcenlib.simulation.scenes import Night

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "CALLS",
    "EXPERIMENTS",
    "KINDS",
    "LEVELS",
    "MODULATIONS",
    "MOST",
    "SHIP_THRESHOLDS",
    "SWEEPS",
    "THRESHOLDS",
    "alarms_in_ships",
    "alarms_per_minute",
]


T = TypeVar("T")

MOST = 200
"""How many files of a set are measured."""

AROUND_CALL = (0.7, 1.5)  # what is measured of a clip whose call is near its first second, in seconds
SHORTEST = 4.0  # passages that `measure_ship` takes, in seconds
SHORTEST_KIND = 1.5  # clips of outdoor sound, in seconds

CALLS: dict[str, Any] = {"band": (2500, 5000), "pulse_rates": (150, 300)}
"""Options of `measure_call` for nighthawks."""

SWEEPS: dict[str, Any] = {
    "starts": range(60, 161, 10),
    "ends": range(130, 311, 15),
    "durations": tuple(tenths / 10 for tenths in range(4, 14)),
    "curvatures": (1, 1.5, 2, 3),
}
"""Options of `measure_sweep` for up-calls."""

SHIP_THRESHOLDS: dict[str, tuple[float, ...]] = {
    AVERAGED_FLUX: (0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
    MAX_POOLED_FLUX: (4.0, 4.5, 5.0, 5.5, 6.0, 6.5),
    MAX_POOLED_PCEN: (1.8, 2.0, 2.33, 2.6, 2.9, 3.2),
}
"""Thresholds at which the alarms in ships are counted. Those of half recall are among them, near by to far away."""

LEVELS = [f"level_{centre:.0f}" for centre in THIRD_OCTAVES]
"""Columns for the levels of a ship in thirds of an octave."""

MODULATIONS = [f"modulation_{rate:g}" for rate in MODULATION_RATES]
"""Columns for its modulation spectrum."""


THRESHOLDS = {AVERAGED_FLUX: (0.25, 0.35, 0.45), MAX_POOLED_FLUX: (1.6, 2.0, 2.4), MAX_POOLED_PCEN: (1.5, 1.75, 2.25)}
"""Three thresholds of each detector, about those of half of the calls far away, at a middle distance and near by."""

KINDS: dict[str, Night | None] = {
    "rain": Night(rainy=1, singing=0, clicks=-inf),
    "wind": Night(background=-inf, self_noise=-inf, rainy=0, singing=0, clicks=-inf),
    "crickets": Night(rainy=0, singing=1, clicks=-inf),
    "thunderstorm": None,
}
"""Kinds of recorded outdoor sound, and the simulated night that was fitted to each."""


def nighthawk_calls(calls: RealSet) -> "pd.DataFrame":
    """Measure recorded nighthawks, `NighthawkCalls`: column `clip`, and the fields of `CallMeasurements`."""
    import pandas as pd

    rows = []
    for clip in _evenly(calls.clips):
        path = calls.folder / clip.name
        sr = info(path).sr
        first, last = (round(time * sr) for time in AROUND_CALL)
        x = waveform(path, sr, first=first, last=last)
        rows.append({"clip": path.stem, **measure_call(x, sr, **CALLS)._asdict()})
    return pd.DataFrame(rows)


def night_scenes(forest: RealSet, labelled: RealSet | None = None) -> "pd.DataFrame":
    """Measure what detection functions make of recorded nights, `NightSoundscapes` and, if it is there, `BirdVox`.

    Columns `scene`, `source`, `birds` ("yes", "no" or "not checked"), `detector`, and the fields of
    `NoveltyMeasurements`. Only `BirdVox` has scenes with a bird.
    """
    import pandas as pd

    scenes = [(forest, name, "scikit-maad", "not checked") for name in _evenly(forest.recordings)]
    if labelled is not None:
        without = set(labelled.recordings)
        for name in sorted(_evenly(labelled.report.present)):
            scenes.append((labelled, name, labelled.about.title, "no" if name in without else "yes"))
    rows = []
    for dataset, name, source, birds in scenes:
        about = {"scene": Path(name).stem, "source": source, "birds": birds}
        for detector, measured in measure_novelty(waveform(dataset.folder / name, NIGHTHAWK.sr), NIGHTHAWK).items():
            rows.append({**about, "detector": detector, **measured._asdict()})
    return pd.DataFrame(rows)


def outdoor_kinds(esc50: RealSet) -> "pd.DataFrame":
    """Measure what detection functions make of recorded rain, wind, crickets and thunder, in `Esc50`.

    Columns `clip`, `kind`, `source`, the recording that the clip was cut from, `detector`, and the fields of
    `TailMeasurements` at `THRESHOLDS`. Clips of less than a second and a half are left out.
    """
    import pandas as pd

    rows = []
    for name in esc50.recordings:
        if (kind := Esc50.category(name)) not in KINDS:
            continue
        source, sr, _ = Esc50(esc50.folder).recording(name)
        x = waveform(source, NIGHTHAWK.sr, sr=sr)
        if x.size < SHORTEST_KIND * NIGHTHAWK.sr:
            continue
        about = {"clip": Path(name).stem, "kind": kind, "source": Esc50.source(name)}
        tails = measure_tails(x, NIGHTHAWK, THRESHOLDS)
        rows += [{**about, "detector": detector, **measured._asdict()} for detector, measured in tails.items()]
    return pd.DataFrame(rows)


def right_whale_calls(challenge: RealSet) -> "pd.DataFrame":
    """Measure recorded up-calls, `RightWhaleChallenge`: column `clip`, and the fields of `SweepMeasurements`."""
    import pandas as pd

    rows = []
    for clip in _evenly(challenge.clips):
        x = waveform(challenge.folder / clip.name, RIGHT_WHALE.sr)
        rows.append({"clip": Path(clip.name).name, **measure_sweep(x, RIGHT_WHALE.sr, **SWEEPS)._asdict()})
    return pd.DataFrame(rows)


def ship_passages(ships: RealSet) -> "pd.DataFrame":
    """Measure recorded ships, `DeepShip`; passages of less than four seconds are left out.

    Columns `passage`, `duration` in seconds, `slope`, `rate` and `excess` as in `ShipMeasurements`, `LEVELS` and
    `MODULATIONS`.
    """
    import pandas as pd

    rows = []
    for name in _evenly([name for name in ships.recordings if info(ships.folder / name).duration >= SHORTEST]):
        x = waveform(ships.folder / name, RIGHT_WHALE.sr)
        measured = measure_ship(x, RIGHT_WHALE.sr)
        rows.append(
            {
                "passage": name,
                "duration": x.size / RIGHT_WHALE.sr,
                "slope": measured.slope,
                "rate": measured.rate,
                "excess": measured.excess,
                **dict(zip(LEVELS, measured.levels, strict=True)),
                **dict(zip(MODULATIONS, measured.modulation, strict=True)),
            }
        )
    return pd.DataFrame(rows)


def ship_tails(ships: RealSet, excerpts: RealSet | None = None) -> "pd.DataFrame":
    """`alarms_in_ships` of recorded ships, `DeepShip` and, if it is there, `ShipsEarExcerpts`."""
    import pandas as pd

    tables = [alarms_in_ships(ships, jobs=1)]
    if isinstance(excerpts, ShipsEarExcerpts):
        tables.append(alarms_in_ships(excerpts, ship=excerpts.source, jobs=1))
    sources = (each.about.title for each in (ships, excerpts) if each is not None)
    return pd.concat(dict(zip(sources, tables, strict=True)), names=["source"]).reset_index("source")


def alarms_in_ships(
    dataset: DataSet, *, ship: Callable[[str], str] = str, **workers: Unpack[Workers]
) -> "pd.DataFrame":
    """False alarms of the detection functions in ships, recorded or simulated: the tails that decide.

    Parameters
    ----------
    dataset : DataSet
        Its recordings are ships.
    ship : callable
        The ship of a recording, by its name; by default, each has its own.
    **workers
        `Workers`.

    Returns
    -------
    DataFrame
        Columns `ship`, `duration` in seconds without what the protocol leaves out, `detector`, `threshold`, as in
        `SHIP_THRESHOLDS`, and `alarms`, the number of peaks above it under `RIGHT_WHALE_BELOW_900`.
    """
    import pandas as pd

    counts: dict[str, list[Counts]] = {}
    for name, by_protocol in recording_functions(dataset, {"": RIGHT_WHALE_BELOW_900}, **workers).items():
        counted = count_exceedances([by_protocol[""]], SHIP_THRESHOLDS, count=RIGHT_WHALE_BELOW_900.count)
        counts.setdefault(ship(name), []).append(counted)
    rows = []
    for name, parts in counts.items():
        together = merge_counts(parts)
        about = {"ship": name, "duration": together.n_frames * RIGHT_WHALE.hop}
        for detector, thresholds in SHIP_THRESHOLDS.items():
            for threshold, alarms in zip(thresholds, together.alarms[detector], strict=True):
                rows.append({**about, "detector": detector, "threshold": threshold, "alarms": alarms})
    return pd.DataFrame(rows)


def alarms_per_minute(table: "pd.DataFrame", rng: np.random.Generator) -> "pd.DataFrame":
    """Alarms per minute of all ships of a table of `alarms_in_ships`, with intervals of 95 % over ships.

    Columns `detector`, `threshold`, `estimate`, `low` and `high`. The same ships are drawn for all thresholds.
    """
    import pandas as pd

    drawn = resamples(table["ship"].nunique(), rng)
    rows = []
    for (detector, threshold), ships in table.groupby(["detector", "threshold"], sort=False):
        minutes = ships["duration"].to_numpy()[drawn].sum(axis=1) / 60
        rates = ships["alarms"].to_numpy()[drawn].sum(axis=1) / minutes
        low, high = np.quantile(rates, (0.025, 0.975))
        rows.append({"detector": detector, "threshold": threshold, "estimate": rates[0], "low": low, "high": high})
    return pd.DataFrame(rows)


def _evenly(things: Sequence[T]) -> Sequence[T]:
    """At most `MOST` of them, evenly spaced."""
    return things[:: max(1, len(things) // MOST)][:MOST]


EXPERIMENTS = {
    "nighthawk-calls": Experiment(
        run=nighthawk_calls,
        sets=("nighthawk",),
        definition=describe("measure_call of recorded nighthawks, version 1", AROUND_CALL, CALLS, MOST),
        keys=("clip",),
        tolerances=dict.fromkeys(CallMeasurements._fields, 1e-5),
    ),
    "night-scenes": Experiment(
        run=night_scenes,
        sets=("night_soundscapes",),
        further=("birdvox_dcase20k",),
        definition=describe("measure_novelty of recorded nights, version 1", NIGHTHAWK, MOST),
        keys=("scene", "detector"),
        tolerances=dict.fromkeys(NoveltyMeasurements._fields, 1e-5),
    ),
    "outdoor-kinds": Experiment(
        run=outdoor_kinds,
        sets=("esc50",),
        definition=describe(
            "measure_tails of recorded outdoor sound, version 1", NIGHTHAWK, THRESHOLDS, tuple(KINDS), SHORTEST_KIND
        ),
        keys=("clip", "detector"),
        tolerances=dict.fromkeys(TailMeasurements._fields, 1e-3),
    ),
    "right-whale-calls": Experiment(
        run=right_whale_calls,
        sets=("narw",),
        definition=describe("measure_sweep of recorded up-calls, version 2", SWEEPS, MOST),
        keys=("clip",),
        tolerances=dict.fromkeys(SweepMeasurements._fields, 1e-5),
    ),
    "ship-passages": Experiment(
        run=ship_passages,
        sets=("deepship",),
        definition=describe("measure_ship of recorded passages at 2 kHz, up to 900 Hz, version 3", MOST),
        keys=("passage",),
        tolerances=dict.fromkeys(["duration", "slope", "rate", "excess", *LEVELS, *MODULATIONS], 1e-5),
    ),
    "ship-tails": Experiment(
        run=ship_tails,
        sets=("deepship",),
        further=("shipsear_excerpts",),
        definition=describe("alarms in recorded ships, version 1", RIGHT_WHALE_BELOW_900, SHIP_THRESHOLDS),
        keys=("source", "ship", "detector", "threshold"),
        tolerances={"duration": 1e-5, "alarms": 0},
    ),
}
"""The experiments of this module, by the names of their stored tables."""
