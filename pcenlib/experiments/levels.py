r"""What the air takes, and how loud birds are: a fit to levels of free-living birds at known distances.

A song that several recorders heard has one source level, which cancels when its levels are compared with each other:

.. math:: L = S_\mathrm{song} - 20 \log_{10} d - a(f, T, h)\, d - e \frac{d}{100} + \text{residual}

Spreading and absorption by ISO 9613-1 are known, at the song's own center frequency and weather. The *excess* e, in dB
per 100 m, is what a forest takes beyond them, and the standard deviation of the residual is the *scatter* of the level
from recorder to recorder.

A recorder that did not hear a song is not in the table. Far away only the lucky recorders are left, which flattens the
curve. `within_songs` takes the levels as reported. `with_missing` models what was not: a level L is reported with
probability :math:`\Phi((L - \text{limit})/\text{width})`, limit and width being estimated with the rest. Source levels
are then normal around a mean that may change with how far away a song was heard, because only loud songs are heard
from afar, so what is compared is still levels within songs. As fixed effects, four levels a song are too few for the
limit not to bias them.

Intervals are over sites, then species within sites: songs of one species at one site are a few birds.
"""

import functools
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from pcenlib.datasets.level_tables import LevelTable
from pcenlib.experiments.intervals import N_RESAMPLES, interval, resample
from pcenlib.experiments.stored import Experiment, describe
from pcenlib.simulation.acoustics import atmospheric_absorption, spreading_loss

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Fit",
    "nighthawk_levels",
    "receptions",
    "site_weights",
    "song_levels",
    "song_residuals",
    "song_source_levels",
    "with_missing",
    "within_songs",
]

Array = npt.NDArray[np.float64]

SEED = 2019
NEAR = 15.0  # meters, within which source levels are read off
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


class Fit(NamedTuple):
    """Transmission beyond spreading and air."""

    excess: float
    """In dB per 100 m."""
    scatter: float
    """Standard deviation of the level of one song from recorder to recorder, in dB."""
    slope: float = np.nan
    """Fall of the level as reported, air included, in dB per decade of distance."""
    songs: float = np.nan
    """Standard deviation of source levels between songs heard equally far away, in dB."""
    limit: float = np.nan
    """Level that is reported half of the time, in dB re 20 µPa."""
    width: float = np.nan
    """Standard deviation of that limit, in dB."""


def receptions(dataset: LevelTable) -> "pd.DataFrame":
    """Levels of songs, each with its song, site, species, distance, center frequency and known loss.

    Songs that one recorder heard are left out, because they say nothing about distance.
    """
    import pandas as pd

    raw = pd.DataFrame(dataset.columns)
    table = pd.DataFrame({"site": raw["grid"], "species": raw["species"], "song": raw["event"]})
    table["distance"], table["level"] = raw["distance_m"], raw["level_db"]
    table["frequency"] = (raw["low_hz"] + raw["high_hz"]) / 2
    weather = zip(table["frequency"], raw["temp_C"], raw["rel_hum"], strict=True)
    air = [float(atmospheric_absorption(f, temperature=t, humidity=h)) for f, t, h in weather]
    table["loss"] = spreading_loss(table["distance"]) + np.array(air) * table["distance"]
    table["source"] = table["level"] + table["loss"]
    near = table[table["distance"] < NEAR].groupby("species")["source"].median()
    table["expected"] = table["species"].map(near) - table["loss"]
    return _heard_twice(table)


def _heard_twice(table: "pd.DataFrame") -> "pd.DataFrame":
    return table[table.groupby("song")["song"].transform("size") > 1].sort_values("song", kind="stable")


def site_weights(table: "pd.DataFrame", rng: np.random.Generator, n: int = N_RESAMPLES) -> Array:
    """How often each reception is in each resample: sites are drawn, then species within each.

    Parameters
    ----------
    table : DataFrame
        From `receptions`.
    rng : numpy.random.Generator
        Source of the resamples.
    n : int
        How many.

    Returns
    -------
    ndarray, shape (1 + n, reception)
        The first row is all ones, for what was measured.
    """
    groups = table.groupby(["site", "species"], sort=True).ngroup().to_numpy()
    of_site = [np.unique(groups[table["site"] == site]) for site in sorted(table["site"].unique())]
    weights = np.ones((1 + n, len(table)))
    for row in weights[1:]:
        sites = [of_site[k] for k in resample(len(of_site), rng)]
        drawn = np.concatenate([site[resample(len(site), rng)] for site in sites])
        row[:] = np.bincount(drawn, minlength=groups.max() + 1)[groups]
    return weights


def _centered(values: Array, song: npt.NDArray[np.int64]) -> Array:
    return values - (np.bincount(song, values) / np.bincount(song))[song]


def within_songs(table: "pd.DataFrame", weights: npt.ArrayLike | None = None) -> Fit:
    """Least squares on the levels that were reported, each song with its own source level.

    Parameters
    ----------
    table : DataFrame
        From `receptions`.
    weights : array_like, shape (reception,), optional
        How often each counts, the same within a song.

    Returns
    -------
    Fit
    """
    weight = np.ones(len(table)) if weights is None else np.asarray(weights, dtype=np.float64)
    song = np.unique(table["song"], return_inverse=True)[1]
    x = _centered(table["distance"].to_numpy() / 100, song)
    y = _centered(table["source"].to_numpy(), song)
    excess = -np.sum(weight * x * y) / np.sum(weight * x**2)
    n_free = np.sum(weight * (1 - 1 / np.bincount(song)[song])) - 1
    scatter = np.sqrt(np.sum(weight * (y + excess * x) ** 2) / n_free)
    decades = _centered(np.log10(table["distance"].to_numpy()), song)
    level = _centered(table["level"].to_numpy(), song)
    slope = -np.sum(weight * decades * level) / np.sum(weight * decades**2)
    return Fit(float(excess), float(scatter), float(slope))


def with_missing(
    table: "pd.DataFrame",
    weights: npt.ArrayLike | None = None,
    *,
    limit: float | None = None,
    start: Fit | None = None,
) -> Fit:
    """Maximum likelihood, with receptions missing below a limit.

    Parameters
    ----------
    table, weights
        As for `within_songs`.
    limit : float, optional
        A sharp limit: levels below it are dropped, and the others known to be above it. By default, limit and width
        are estimated.
    start : Fit, optional
        Where to start.

    Returns
    -------
    Fit
    """
    from scipy.optimize import minimize
    from scipy.special import log_ndtr, logsumexp

    weight = np.ones(len(table)) if weights is None else np.asarray(weights, dtype=np.float64)
    kept = (table["level"].to_numpy() > (-np.inf if limit is None else limit)) & (weight > 0)
    kept[kept] = table[kept].groupby("song")["song"].transform("size") > 1
    table, weight = table[kept], weight[kept]
    _, first, song = np.unique(table["song"], return_index=True, return_inverse=True)
    n_heard, weight = np.bincount(song), weight[first]
    x, y = table["distance"].to_numpy() / 100, table["source"].to_numpy()
    level = table["level"].to_numpy()[:, np.newaxis]
    far = np.bincount(song, np.log(table["distance"] / 40)) / n_heard
    guess = start or within_songs(table)._replace(songs=4.0, limit=np.quantile(level, 0.02), width=3.0)
    # Gauss-Hermite quadrature over the source level of each song, around its mean.
    nodes, masses = np.polynomial.hermite_e.hermegauss(15)
    spread = 1.5 * guess.scatter / np.sqrt(n_heard)[:, np.newaxis]
    middle = (np.bincount(song, y + guess.excess * x) / n_heard)[:, np.newaxis]
    source = middle + spread * nodes
    log_mass = np.log(masses * spread) + nodes**2 / 2
    known = table["loss"].to_numpy()[:, np.newaxis] - source[song]

    def objective(parameters: Array) -> tuple[float, Array]:
        mean, slope, excess, *logs, bound = parameters
        scatter, songs, width = np.exp(logs)
        expected = -known - excess * x[:, np.newaxis]
        total = np.hypot(scatter, width)
        u, v, reported = (level - expected) / scatter, (expected - bound) / total, (level - bound) / width
        log_v, log_reported = log_ndtr(v), log_ndtr(reported)
        of_v = np.exp(-(v**2) / 2 - log_v) / np.sqrt(2 * np.pi)
        of_reported = np.exp(-(reported**2) / 2 - log_reported) / np.sqrt(2 * np.pi)
        away = (source - (mean + slope * far)[:, np.newaxis]) / songs
        by_node = np.add.reduceat(-(u**2) / 2 - logs[0] - log_v + log_reported, first, axis=0)
        by_node = by_node - away**2 / 2 - logs[1] + log_mass
        of_song = logsumexp(by_node, axis=1)
        posterior = weight[:, np.newaxis] * np.exp(by_node - of_song[:, np.newaxis])
        each = posterior[song]
        shift = np.sum(posterior * away, axis=1) / songs
        gradient = [
            np.sum(shift),
            np.sum(shift * far),
            np.sum(each * (of_v / total - u / scatter) * x[:, np.newaxis]),
            np.sum(each * (u**2 - 1 + of_v * v * (scatter / total) ** 2)),
            np.sum(posterior * (away**2 - 1)),
            np.sum(each * (of_v * v * (width / total) ** 2 - of_reported * reported)),
            np.sum(each * (of_v / total - of_reported / width)),
        ]
        return -float(np.sum(weight * of_song)), -np.array(gradient)

    first_guess = [np.mean(y), 0.0, guess.excess, *np.log([guess.scatter, guess.songs, guess.width]), guess.limit]
    bounds = [(-np.inf, np.inf)] * 3 + [(-1.0, 3.0)] * 3 + [(-np.inf, np.inf)]
    if limit is not None:
        first_guess[-2:] = [np.log(0.01), limit]
        bounds[-2:] = [(each, each) for each in first_guess[-2:]]
    found = minimize(objective, first_guess, jac=True, method="L-BFGS-B", bounds=bounds)
    _, _, excess, *logs, bound = found.x
    scatter, songs, width = np.exp(logs)
    width = width if limit is None else 0.0
    return Fit(float(excess), float(scatter), songs=float(songs), limit=float(bound), width=float(width))


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
        add(method, _heard_twice(whole.query(query)), within_songs)
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
    table["residual"] = _centered(table["source"].to_numpy(), song)
    table["reported"] = _reported(table, with_missing(table))
    weights = site_weights(table, np.random.default_rng(SEED))
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


def _reported(table: "pd.DataFrame", fit: Fit) -> Array:
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
        total += _centered(level + table["loss"].to_numpy(), song)
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
