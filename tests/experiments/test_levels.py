"""Tables of levels of localized songs, on songs of known sources."""

import numpy as np
import pandas as pd
import pytest

from pcenlib.datasets.catalogue import TABLES
from pcenlib.experiments import levels
from tests.experiments.test_transmission import LIMIT, SOURCE, dataset, songs


def test_tables(tmp_path, monkeypatch):
    monkeypatch.setattr(levels, "PARTS", {"as reported": "distance > 0"})
    monkeypatch.setattr(levels, "LIMITS", (45.0,))
    found = dataset(tmp_path, songs(2.0, limit=LIMIT, n=150))
    fits = levels.song_levels(found).set_index(["method", "site"])
    assert fits.index.is_unique
    assert len(fits) == 3 * 3
    row = fits.loc[("as reported", "all")]
    assert row["excess_low"] <= row["excess_high"]
    assert row["slope"] == pytest.approx(22, abs=3)
    residuals = levels.song_residuals(found).query("band == 'all'")
    assert (residuals["residual"].abs() < 3).all()
    assert (residuals["reported"].abs() < 2).all()
    assert (residuals["residual_low"] <= residuals["residual_high"]).all()
    sources = levels.song_source_levels(found).set_index("species")
    assert sources.loc["all", "median"] == pytest.approx(SOURCE, abs=3)
    assert sources.loc["all", "songs"] == pytest.approx(4, abs=0.8)


def test_nighthawks_only_and_every_hundredth_level(tmp_path):
    table = pd.DataFrame({"species": ["OVEN"] + ["CONI"] * 250, "level": np.arange(251.0), "distance": 1.0})
    table[["distance_CI975", "distance_CI025"]] = (1.5, 0.5)
    table.to_csv(tmp_path / "level-and-distance.csv", index=False)
    thin = levels.nighthawk_levels(TABLES["nighthawk_levels"][0](tmp_path))
    assert list(thin["level"]) == [1, 101, 201]
    assert (thin["low"] < thin["high"]).all()
