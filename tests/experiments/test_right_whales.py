"""Up-calls against noise and ships, on a small synthetic copy of the data sets."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pcenlib import RIGHT_WHALE
from pcenlib.datasets.catalogue import find
from pcenlib.experiments import right_whales
from tests.experiments.homes import SR, whales_home
from tests.sounds import white, write


@pytest.fixture(scope="module")
def whales(tmp_path_factory):
    home = whales_home(tmp_path_factory.mktemp("whales"))
    return home, right_whales.right_whales_and_ships(find("narw", home), find("deepship", home), jobs=1)


def test_protocols_have_both_values_of_s_and_both_bands():
    settings = [protocol.setting for protocol in right_whales.PROTOCOLS.values()]
    assert sorted({round(setting.s, 3) for setting in settings}) == [0.062, 0.33]
    assert {right_whales.band_name(setting) for setting in settings} == {"8-1000 Hz", "55-297 Hz"}
    for setting in settings:
        assert setting.n_bands == 128 or (setting.frequencies[0] >= 50 and setting.frequencies[-1] <= 300)


def test_loud_tones_are_told_from_noise_and_quiet_ones_less(whales):
    _, table = whales
    pcen = table.query(
        "detector == 'max-pooled PCEN' and before == 'reflection' and bands == '55-297 Hz' and s == 0.33"
    )
    areas = pcen.set_index("snr")["area"]
    assert areas["16.5"] == 1
    assert areas.drop(["16.5", "all"]).min() < 1
    everything = pcen.set_index("snr").loc["all"]
    assert everything["n_calls"] == 12
    assert everything["area_low"] <= everything["area"] <= everything["area_high"]


def test_counts_and_times_belong_together(whales):
    _, table = whales
    with np.errstate(divide="ignore"):
        assert_allclose(table["mtbfa"], table["duration"] / table["false_alarms"])
    frames = 3 * (RIGHT_WHALE.n_frames(6 * SR) - round(2 / RIGHT_WHALE.hop))
    assert_allclose(table["duration"], frames * RIGHT_WHALE.hop)
    assert (table["mtbfa_low"] <= table["mtbfa_high"]).all()
    assert not table.duplicated(["detector", "s", "bands", "before", "snr"]).any()
    assert table.loc[table["detector"] != "max-pooled PCEN", "s"].isna().all()


def test_a_background_that_starts_from_the_first_frame_raises_thresholds(whales):
    _, table = whales
    slow = table.query("s < 0.1 and snr == 'all' and bands == '8-1000 Hz'").set_index("before")["threshold"]
    assert slow["nothing"] > slow["reflection"]


def test_the_loudest_moment_is_where_the_tone_or_the_bang_is(tmp_path):
    home = whales_home(tmp_path, n=2)
    bang = 0.001 * white(2 * SR, seed=99)
    bang[SR] += 0.9
    write(home / "narw" / "train" / "train2.aiff", bang, SR, format="AIFF")
    moments = right_whales.loudest_moments(find("narw", home)).set_index(["clip", "bands"])
    tone = moments.loc["train/train3.aiff", "8-1000 Hz"]
    assert tone["group"] == "call"
    assert tone["frequency"] == pytest.approx(150, abs=8)
    assert tone["spread"] < 0.5
    assert 0.12 < tone["lasting"] <= 0.6
    click = moments.loc["train/train2.aiff", "8-1000 Hz"]
    assert click["group"] == "noise"
    assert click["spread"] == 1
    assert click["time"] == pytest.approx(1, abs=0.13)
    summary = right_whales.noise_that_defeats(find("narw", home), n=1)
    strongest = summary[summary["share"].isna()]
    assert list(strongest["what"]) == ["train/train2.aiff"] * 2
    assert (strongest["broadband"] == 1).all()
