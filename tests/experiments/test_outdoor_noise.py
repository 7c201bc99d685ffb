"""Causes of false alarms, on a small synthetic copy of ESC-50."""

from dataclasses import replace

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
    assert set(table["category"]) == {"rain", "pouring_water"}  # without padding, the saw is shorter than a second
    shares = table.groupby(["kept", "threshold", "detector"])["share"].sum()
    assert_allclose(shares[shares > 0], 1)
    flux = table.query("not kept and detector == 'max-pooled flux' and threshold == 'own 99.9 %'")
    assert flux.set_index("category").loc["pouring_water", "share"] > 0.9
    assert (table["share_low"] <= table["share_high"]).all()
