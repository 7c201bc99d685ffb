"""Causes of false alarms, on a small synthetic copy of ESC-50."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pcenlib.datasets.catalogue import find
from pcenlib.experiments import outdoor_noise
from tests.experiments.homes import home_of
from tests.sounds import white, write


def test_causes_are_where_the_clicks_are_and_silence_is_left_out(tmp_path, monkeypatch):
    home = home_of(tmp_path, "esc50")
    folder = home / "esc50"
    x = 0.01 * white(5 * 44100, seed=1)
    x[30000::20000] = 0.9
    write(folder / "audio" / "1-117-A-17.wav", x, 44100)
    short = 0.1 * white(5 * 44100, seed=2)
    short[round(0.8 * 44100) :] = 0
    write(folder / "audio" / "1-149-A-49.wav", short, 44100)
    monkeypatch.setattr(outdoor_noise, "BIRDS", replace(outdoor_noise.BIRDS, n_calls=5, distances=(30,)))
    table = outdoor_noise.causes_of_false_alarms(find("esc50", home), jobs=1)
    # Without padding, the saw is shorter than a second.
    assert set(table["category"]) == {"rain", "pouring_water", "named"}
    named = table["category"] == "named"
    assert_allclose(table.loc[named, "share"], table.loc[table["category"] == "pouring_water", "share"])
    shares = table[~named].groupby(["kept", "threshold", "detector"])["share"].sum()
    assert_allclose(shares[shares > 0], 1)
    flux = table.query("not kept and detector == 'max-pooled flux' and threshold == 'own 99.9 %'")
    assert flux.set_index("category").loc["pouring_water", "share"] > 0.9
    assert (table["share_low"] <= table["share_high"]).all()


def test_clips_of_one_source_are_drawn_together_and_categories_never_mixed():
    names = ["audio/1-1-A-10.wav", "audio/1-1-B-10.wav", "audio/2-2-A-10.wav", "audio/1-3-A-17.wav"]
    draws = outdoor_noise._drawn(names)
    assert_allclose(draws[0], 1)
    assert_allclose(draws[:, 0], draws[:, 1])
    assert_allclose(draws[:, 0] + draws[:, 2], 2)
    assert_allclose(draws[:, 3], 1)
    assert set(draws[:, 0]) == {0, 1, 2}
    table = outdoor_noise._shares(np.array([3, 1, 0, 4]), names, draws).set_index("category")
    assert list(table["n_clips"]) == [1, 3, 1]
    assert list(table["n_sources"]) == [1, 2, 1]
    assert list(table["share"]) == [0.5, 0.5, 0.5]
    assert table.loc["rain", "share_low"] == 0
    assert table.loc["rain", "share_high"] == pytest.approx(8 / 12)


@pytest.mark.parametrize("resampler", outdoor_noise.RESAMPLERS)
def test_every_resampler_keeps_a_tone_and_its_duration(resampler):
    time = np.arange(22050) / 44100
    y = outdoor_noise.RESAMPLERS[resampler](np.sin(2 * np.pi * 1000 * time), 44100, 22050)
    assert y.size == 11025
    assert_allclose(y[500:-500], np.sin(2 * np.pi * 1000 * time[::2])[500:-500], atol=0.01)


def test_the_books_resampler_raises_the_alarms_of_the_book(tmp_path, monkeypatch):
    esc50 = find("esc50", home_of(tmp_path, "esc50"))
    monkeypatch.setattr(outdoor_noise, "BIRDS", replace(outdoor_noise.BIRDS, n_calls=5, distances=(300,)))
    causes = outdoor_noise.causes_of_false_alarms(esc50, jobs=1)
    causes = causes.query("not kept and detector == 'max-pooled flux' and threshold == 'bird at 300 m, as written'")
    table = outdoor_noise.causes_by_resampler(esc50, jobs=1)
    assert set(table["resampler"]) == set(outdoor_noise.RESAMPLERS)
    ours = table[table["resampler"].str.startswith("this book")]
    assert causes["alarms"].sum() > 0
    assert list(ours["alarms"]) == list(causes["alarms"])
