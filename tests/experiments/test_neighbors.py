"""Recorders of one song, on levels of known scatter and on an array that hears a simulated bird."""

import numpy as np
import pandas as pd
import pytest
import soundfile

from pcenlib.datasets.catalogue import find
from pcenlib.experiments import neighbors
from tests import copies
from tests.experiments.test_transmission import SCATTER, dataset, songs
from tests.sounds import white


def test_two_recorders_differ_by_the_scatter_of_both(tmp_path, monkeypatch):
    monkeypatch.setattr(neighbors, "N_RESAMPLES", 50)
    found = neighbors.song_pairs(dataset(tmp_path, songs(0.0, n=150)))
    every = found[found["band"] == "all"]
    assert (every["rms_low"] <= every["rms_high"]).all()
    near = every[every["by"] == "ratio"].iloc[0]
    assert near["bin"] == "1 to 1.1"
    assert near["rms"] == pytest.approx(np.sqrt(2) * SCATTER, rel=0.06)
    assert near["median"] == pytest.approx(0.6745 * np.sqrt(2) * SCATTER, rel=0.08)
    by_distance = every[every["by"] == "distance"]
    assert by_distance["n_pairs"].iloc[:-1].sum() == pytest.approx(near["n_pairs"], abs=3)
    assert by_distance["n_pairs"].iloc[-1] == near["n_pairs"]


def test_an_excess_is_not_in_neighbors_but_in_distant_pairs(tmp_path, monkeypatch):
    monkeypatch.setattr(neighbors, "N_RESAMPLES", 2)
    found = neighbors.song_pairs(dataset(tmp_path, songs(20.0, n=100)))
    ratios = found[(found["band"] == "all") & (found["by"] == "ratio")].set_index("bin")["rms"]
    assert ratios["1 to 1.1"] < 1.5 * SCATTER
    assert ratios["4 to 40"] > 2 * ratios["1 to 1.1"]


def test_levels_at_an_array(tmp_path):
    """A bird at the origin sings twice, 0.1 s later than somebody marked; levels fall by 6 dB with each doubling."""
    folder, sr = tmp_path / "recorder_array", 24000
    stations = {"Ex-1": 10.0, "Ex-2": 20.0, "Ex-3": 80.0}
    begins, length = (1.5, 4.0), 0.3
    time = np.arange(round(length * sr)) / sr
    tone = np.sin(2 * np.pi * 4000 * time) * np.hanning(time.size)
    folder.mkdir()
    for number, (station, distance) in enumerate(stations.items()):
        x = 0.0004 * white(7 * sr, seed=number)
        for begin in begins:
            first = round((begin + distance / neighbors.SPEED) * sr)
            x[first : first + tone.size] += tone / distance
        soundfile.write(folder / f"{station}_0+1.mp3", x, sr, format="MP3")
    place = ["Easting", "Northing", "Elevation"]
    lines = [(station, distance, 0, 0) for station, distance in stations.items()]
    copies.table(folder / "Vignette_Coordinates.csv", ["Station", *place], lines)
    columns = ["Species", "From", "To", "F_Low", "F_High", *place]
    marked = [("REVI", begin - 0.1, begin - 0.1 + length, 2000, 6500, 0, 0, 0) for begin in begins]
    copies.table(folder / "Vignette_Detections_20200617_090000_Localized.csv", columns, marked)
    table = neighbors.array_levels(find("recorder_array", tmp_path))
    assert isinstance(table, pd.DataFrame)
    assert len(table) == 6
    for _, song in table.groupby("song"):
        level = song.set_index("distance")["level"]
        assert level[10.0] - level[20.0] == pytest.approx(6.02, abs=0.3)
        assert level[10.0] - level[80.0] == pytest.approx(18.06, abs=0.5)
    assert (table["max-pooled PCEN"] > table["max-pooled PCEN floor"]).all()
    assert (table["max-pooled PCEN floor"] > table["max-pooled PCEN noise"]).all()
