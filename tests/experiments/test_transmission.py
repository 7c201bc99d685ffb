"""What the air takes, from songs of known sources at known distances."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

from pcenlib.datasets.catalogue import TABLES
from pcenlib.experiments.transmission import receptions, site_weights, with_missing, within_songs
from pcenlib.simulation.acoustics import atmospheric_absorption

SOURCE, SCATTER, LIMIT, WIDTH = 91.0, 4.5, 46.0, 3.0


def songs(excess, *, limit=-np.inf, n=400, n_recorders=12, seed=0):
    """Levels of songs of two sites and species, each heard by several recorders unless it is too soft."""
    rng = np.random.default_rng(seed)
    distance = np.clip(np.exp(rng.normal(np.log(45), 0.6, (n, n_recorders))), 4, 280)
    loss = 20 * np.log10(distance) + float(atmospheric_absorption(4000.0, temperature=15, humidity=70)) * distance
    level = rng.normal(SOURCE, 4, (n, 1)) - loss - excess * distance / 100 + rng.normal(0, SCATTER, distance.shape)
    heard = rng.random(distance.shape) < ndtr((level - limit) / WIDTH)
    heard &= heard.sum(axis=1, keepdims=True) >= 4
    song = np.broadcast_to(np.arange(n)[:, np.newaxis], distance.shape)[heard]
    return pd.DataFrame(
        {
            "grid": np.where(song % 2, "one", "two"),
            "event": [f"{each:04d}" for each in song],
            "recorder": "r",
            "species": np.where(song % 4 < 2, "a", "b"),
            "distance_m": distance[heard],
            "level_db": level[heard],
            "low_hz": 3000.0,
            "high_hz": 5000.0,
            "temp_C": 15.0,
            "rel_hum": 70.0,
        }
    )


def dataset(tmp_path, table):
    table.to_csv(tmp_path / "levels.csv", index=False)
    return TABLES["localized_songs"][0](tmp_path)


@pytest.mark.parametrize("excess", [0.0, 5.0])
def test_if_all_was_heard_both_fits_find_the_excess(tmp_path, excess):
    table = receptions(dataset(tmp_path, songs(excess)))
    for fit in (within_songs(table), with_missing(table)):
        assert fit.excess == pytest.approx(excess, abs=0.6)
        assert fit.scatter == pytest.approx(SCATTER, rel=0.05)


@pytest.mark.parametrize("excess", [0.0, 5.0])
def test_missing_receptions_flatten_the_curve_unless_they_are_modeled(tmp_path, excess):
    table = receptions(dataset(tmp_path, songs(excess, limit=LIMIT)))
    assert within_songs(table).excess < excess - 2
    fit = with_missing(table)
    assert fit.excess == pytest.approx(excess, abs=1.5)
    assert fit.scatter == pytest.approx(SCATTER, rel=0.05)
    assert fit.limit == pytest.approx(LIMIT, abs=1.5)
    assert with_missing(table, limit=LIMIT + 2 * WIDTH).excess == pytest.approx(excess, abs=1.5)


def test_the_source_level_of_a_song_cancels(tmp_path):
    table = receptions(dataset(tmp_path, songs(1.0, n=50)))
    louder = table.copy()
    louder[["level", "source"]] += 10 * (table[["song"]].to_numpy().astype(int) % 3)
    assert within_songs(louder) == pytest.approx(within_songs(table), nan_ok=True)


def test_a_song_that_counts_twice_is_there_twice(tmp_path):
    table = receptions(dataset(tmp_path, songs(1.0, n=40)))
    twice = table["song"] < "0010"
    copy = table[twice].assign(song="x" + table["song"])
    both = pd.concat([table, copy])
    for fit in (within_songs, with_missing):
        assert fit(table, 1 + twice) == pytest.approx(fit(both), rel=0.01, abs=0.01, nan_ok=True)


def test_whole_species_of_whole_sites_are_drawn(tmp_path):
    table = receptions(dataset(tmp_path, songs(1.0, n=40)))
    weights = site_weights(table, np.random.default_rng(0), 30)
    assert (weights[0] == 1).all()
    groups = [weights[:, (table["site"] == s) & (table["species"] == k)] for s in ("one", "two") for k in "ab"]
    for group in groups:
        assert (group == group[:, :1]).all()
    totals = sum(group[:, 0] for group in groups)
    assert (totals == 4).all()
    assert len({tuple(row) for row in weights}) > 5
