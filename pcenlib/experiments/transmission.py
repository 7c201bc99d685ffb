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

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from pcenlib.core.resampling import resample
from pcenlib.datasets.level_tables import LevelTable
from pcenlib.simulation.acoustics import atmospheric_absorption, spreading_loss

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["NEAR", "Fit", "centered", "heard_twice", "receptions", "site_weights", "with_missing", "within_songs"]

Array = npt.NDArray[np.float64]

NEAR = 15.0
"""Distance in meters within which source levels are read off."""


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
    return heard_twice(table)


def heard_twice(table: "pd.DataFrame") -> "pd.DataFrame":
    """Receptions of songs that have two or more in a table, song by song."""
    return table[table.groupby("song")["song"].transform("size") > 1].sort_values("song", kind="stable")


def site_weights(table: "pd.DataFrame", rng: np.random.Generator, n: int) -> Array:
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


def centered(values: Array, song: npt.NDArray[np.int64]) -> Array:
    """Values above the mean of their song, songs being numbered from 0."""
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
    x = centered(table["distance"].to_numpy() / 100, song)
    y = centered(table["source"].to_numpy(), song)
    excess = -np.sum(weight * x * y) / np.sum(weight * x**2)
    n_free = np.sum(weight * (1 - 1 / np.bincount(song)[song])) - 1
    scatter = np.sqrt(np.sum(weight * (y + excess * x) ** 2) / n_free)
    decades = centered(np.log10(table["distance"].to_numpy()), song)
    level = centered(table["level"].to_numpy(), song)
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
