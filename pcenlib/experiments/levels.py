"""Levels of free-living birds at known distances, as tables: fits, residuals by distance, levels at one meter.

`transmission` has the model; nothing of the published tables but summaries is stored.
"""

import functools
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pcenlib.core.resampling import interval
from pcenlib.datasets.level_tables import LevelTable
from pcenlib.experiments.stored import Experiment, describe
from pcenlib.experiments.transmission import (
    NEAR,
    Fit,
    centered,
    heard_twice,
    receptions,
    site_weights,
    with_missing,
    within_songs,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EXPERIMENTS", "nighthawk_levels", "song_levels", "song_residuals", "song_source_levels"]

SEED = 2019
N_RESAMPLES = 200  # each of them a fit
EDGES = (0, 10, 15, 20, 30, 40, 50, 70, 100, 150, 300)  # meters, of the bins of residuals
BANDS = {"all": (0.0, np.inf), "below 4 kHz": (0.0, 4000.0), "4 to 5.5 kHz": (4000.0, 5500.0)}
BANDS |= {"above 5.5 kHz": (5500.0, np.inf)}
# Fits to levels as reported, of some of the receptions; and limits in dB below which levels are dropped.
PARTS = {
    "as reported": "distance > 0",
    "nearer than 30 m": "distance < 30",
    "nearer than 50 m": "distance < 50",
    "nearer than 100 m": "distance < 100",
    "farther than 15 m": "distance > 15",
    "expected above 50 dB": "expected > 50",
    "expected above 55 dB": "expected > 55",
}
LIMITS = (42.0, 45.0, 48.0, 50.0)
FEWEST = 10  # receptions in a bin
N_DRAWN = 100  # tables drawn from a fit


def song_levels(dataset: LevelTable) -> "pd.DataFrame":
    """Every fit, for all sites together and for each site.

    Returns
    -------
    DataFrame
        Columns `method` (of `PARTS`, or how receptions are missing), `site` (``all`` or one), those of `Fit`, with the
        ends of intervals for all sites, `n_songs` and `n_receptions`.
    """
    import pandas as pd

    whole = receptions(dataset)
    rows = []

    def add(method: str, table: "pd.DataFrame", fit: Callable[..., Fit], *, n: int = N_RESAMPLES) -> None:
        for site, part in [("all", table), *table.groupby("site")]:
            measured = fit(part)
            row: dict[str, object] = {"method": method, "site": site, **measured._asdict()}
            if site == "all" and n:
                weights = site_weights(part, np.random.default_rng(SEED), n)
                fits = [measured, *(fit(part, each) for each in weights[1:])]
                for name in ("excess", "scatter", "slope"):
                    row |= interval(name, [getattr(each, name) for each in fits])
            rows.append(row | {"n_songs": part["song"].nunique(), "n_receptions": len(part)})

    for method, query in PARTS.items():
        add(method, heard_twice(whole.query(query)), within_songs)
    add("missing modeled", whole, functools.partial(with_missing, start=with_missing(whole)))
    for limit in LIMITS:
        add(f"missing below {limit:g} dB", whole, functools.partial(with_missing, limit=limit), n=0)
    return pd.DataFrame(rows)


def song_residuals(dataset: LevelTable) -> "pd.DataFrame":
    """What is left of levels beyond spreading and air, by distance and frequency.

    Returns
    -------
    DataFrame
        A row for each of `BANDS` and bin of distances: columns `band`, `bin`, `distance` (median, in meters), `loss`
        (median known loss, in dB), `residual` (median, in dB above the mean of the song, with an interval), `spread`
        (standard deviation), `reported` (what `with_missing` expects the residual to be, given that the recorder heard
        the song), and `n_receptions`.
    """
    import pandas as pd

    table = receptions(dataset)
    song = np.unique(table["song"], return_inverse=True)[1]
    table["residual"] = centered(table["source"].to_numpy(), song)
    table["reported"] = _reported(table, with_missing(table))
    weights = site_weights(table, np.random.default_rng(SEED), N_RESAMPLES)
    bins = pd.cut(table["distance"], EDGES, labels=[f"{a} to {b} m" for a, b in itertools.pairwise(EDGES)])
    rows = []
    for band, (low, high) in BANDS.items():
        of_band = (table["frequency"] >= low) & (table["frequency"] < high)
        for name in bins.cat.categories:
            inside = np.flatnonzero(of_band & (bins == name))
            part = table.iloc[inside]
            if len(part) < FEWEST:
                continue
            drawn = (np.repeat(part["residual"], weight[inside].astype(int)) for weight in weights)
            medians = [np.median(each) for each in drawn if len(each)]
            rows.append(
                {
                    "band": band,
                    "bin": name,
                    **part[["distance", "loss"]].median(),
                    **interval("residual", medians),
                    "spread": part["residual"].std(),
                    "reported": part["reported"].mean(),
                    "n_receptions": len(part),
                }
            )
    return pd.DataFrame(rows)


def _reported(table: "pd.DataFrame", fit: Fit) -> npt.NDArray[np.float64]:
    """Mean residual of each reception in tables drawn from a fit, with the same songs and recorders."""
    from scipy.special import ndtr

    rng = np.random.default_rng(SEED)
    song = np.unique(table["song"], return_inverse=True)[1]
    lost = (table["loss"] + fit.excess * table["distance"] / 100).to_numpy()
    source = (np.bincount(song, table["level"] + lost) / np.bincount(song))[song]
    total = np.zeros(len(table))
    for _ in range(N_DRAWN):
        level = np.full(len(table), np.nan)
        # The mean of what was reported is a little above the source level: a song is drawn around it as levels are.
        drawn = source + (fit.scatter / np.sqrt(np.bincount(song)) * rng.standard_normal(song.max() + 1))[song]
        while (missing := np.flatnonzero(np.isnan(level))).size:
            tried = drawn[missing] - lost[missing] + fit.scatter * rng.standard_normal(missing.size)
            heard = rng.random(missing.size) < ndtr((tried - fit.limit) / fit.width)
            level[missing[heard]] = tried[heard]
        total += centered(level + table["loss"].to_numpy(), song)
    return total / N_DRAWN


def song_source_levels(dataset: LevelTable) -> "pd.DataFrame":
    """Levels at one meter by species, from recorders nearer than 15 m.

    Returns
    -------
    DataFrame
        A row for each species, and for all: columns `species`, `median`, `lower` and `upper` quartile in dB re 20 µPa,
        `songs` (standard deviation between songs of one species at one site, from all recorders, with what the scatter
        adds to their means taken off), `n_songs` and `n_receptions` (near ones).
    """
    import pandas as pd

    table = receptions(dataset)
    scatter = within_songs(table).scatter
    near = table[table["distance"] < NEAR]
    rows = []
    for species, part in [("all", table), *table.groupby("species")]:
        own = near if species == "all" else near[near["species"] == species]
        means = part.groupby(["site", "species", "song"])["source"].agg(["mean", "size"])
        groups = means["mean"].groupby(["site", "species"])
        variance = ((means["mean"] - groups.transform("mean")) ** 2).sum() / max(len(means) - groups.ngroups, 1)
        lower, median, upper = own["source"].quantile([0.25, 0.5, 0.75])
        row = {"species": species, "median": median, "lower": lower, "upper": upper}
        row["songs"] = np.sqrt(max(0.0, variance - (scatter**2 / means["size"]).mean()))
        rows.append(row | {"n_songs": len(means), "n_receptions": len(own)})
    return pd.DataFrame(rows)


def nighthawk_levels(dataset: LevelTable) -> "pd.DataFrame":
    """Every hundredth line for Common Nighthawks: columns `level` (relative dB), `distance`, `low`, `high` (meters)."""
    import pandas as pd

    table = pd.DataFrame(dataset.columns).query("species == 'CONI'").drop(columns="species")
    names = {"distance_CI025": "low", "distance_CI975": "high"}
    return table.rename(columns=names)[["level", "distance", "low", "high"]].iloc[::100]


EXPERIMENTS = {
    "song-levels": Experiment(
        run=song_levels,
        sets=("localized_songs",),
        definition=describe("transmission of localized songs, version 1", PARTS, LIMITS, SEED, N_RESAMPLES),
        keys=("method", "site"),
        tolerances={"excess": 0.05, "scatter": 0.01, "slope": 0.001},
    ),
    "song-residuals": Experiment(
        run=song_residuals,
        sets=("localized_songs",),
        definition=describe("residuals of localized songs, version 1", EDGES, BANDS, SEED, N_RESAMPLES),
        keys=("band", "bin"),
        tolerances={"residual": 1e-4, "spread": 1e-4, "reported": 0.05},
    ),
    "song-source-levels": Experiment(
        run=song_source_levels,
        sets=("localized_songs",),
        definition=describe("source levels of localized songs, version 1", NEAR),
        keys=("species",),
        tolerances={"median": 1e-5, "songs": 1e-5},
    ),
    "nighthawk-levels": Experiment(
        run=nighthawk_levels,
        sets=("nighthawk_levels",),
        definition="distances of nighthawks by level, version 1",
        keys=("level",),
        tolerances={"distance": 1e-5},
    ),
}
"""The experiments of this module, by the names of their stored tables."""
