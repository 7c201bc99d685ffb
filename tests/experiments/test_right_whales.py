"""Up-calls against noise and ships, on a small synthetic copy of the data sets."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pcenlib import RIGHT_WHALE
from pcenlib.core.recordings import waveform
from pcenlib.datasets.catalogue import find
from pcenlib.experiments import right_whales
from tests import copies
from tests.experiments.homes import SR, whales_home
from tests.sounds import white, write


@pytest.fixture(scope="module")
def whales(tmp_path_factory):
    home = whales_home(tmp_path_factory.mktemp("whales"))
    for piece in ("0_1_0", "0_1_1", "2_0_0"):
        copies.sound(home / "shipsear_excerpts" / f"{piece}.flac", 5, 16000)
    ships = find("deepship", home), find("shipsear_excerpts", home)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(right_whales, "N_RESAMPLES", 20)
        patch.setattr(right_whales, "N_AREAS", 5)
        return home, right_whales.right_whales_and_ships(find("narw", home), *ships, jobs=1)


def test_protocols_have_both_values_of_s_and_both_bands():
    settings = [protocol.setting for protocol in right_whales.PROTOCOLS.values()]
    assert sorted({round(setting.s, 3) for setting in settings}) == [0.062, 0.33]
    assert {right_whales.band_name(setting) for setting in settings} == {"8-898 Hz", "55-297 Hz"}
    for setting in settings:
        assert setting.frequencies[-1] <= 300 or (setting.n_bands == 115 and setting.frequencies[-1] <= 900)


def test_loud_tones_are_told_from_noise_and_quiet_ones_less(whales):
    _, table = whales
    pcen = table.query(
        "detector == 'max-pooled PCEN' and before == 'reflection' and bands == '55-297 Hz' and s == 0.33"
        " and ships == 'DeepShip'"
    )
    areas = pcen.set_index("snr")["area"]
    assert areas["16.5"] == 1
    assert areas["upper quarter"] == 1
    assert areas.drop(["16.5", "upper quarter", "all"]).min() < 1
    assert pcen.set_index("snr").loc["upper quarter", "n_calls"] == 3
    everything = pcen.set_index("snr").loc["all"]
    assert everything["n_calls"] == 12
    assert everything["area_low"] <= everything["area"] <= everything["area_high"]


def test_counts_and_times_belong_together(whales):
    _, table = whales
    with np.errstate(divide="ignore"):
        assert_allclose(table["mtbfa"], table["duration"] / table["false_alarms"])
    for ships, n_ships, seconds in (("DeepShip", 3, 6), ("ShipsEar, excerpts", 3, 5)):
        mine = table[table["ships"] == ships]
        assert (mine["n_ships"] == n_ships).all()
        assert_allclose(mine["duration"], n_ships * RIGHT_WHALE.n_frames(seconds * SR) * RIGHT_WHALE.hop)
    assert (table["mtbfa_low"] <= table["mtbfa_high"]).all()
    assert not table.duplicated(["ships", "detector", "s", "bands", "before", "snr"]).any()
    assert table.loc[table["detector"] != "max-pooled PCEN", "s"].isna().all()


def test_ratios_are_of_the_alarms_of_the_same_calls_and_ships(whales):
    _, table = whales
    keys = ["ships", "bands", "before", "snr"]
    paper = table[table["s"].isna() | (table["s"] > 0.1)].pivot(index=keys, columns="detector")
    alarms = paper["false_alarms"] + 0.5
    assert_allclose(paper["fewer"]["max-pooled PCEN"], alarms["max-pooled flux"] / alarms["max-pooled PCEN"])
    assert_allclose(paper["fewer"]["max-pooled flux"], alarms["averaged flux"] / alarms["max-pooled flux"])
    assert paper["fewer"]["averaged flux"].isna().all()
    rows = table.dropna(subset="fewer")
    assert (rows["fewer_low"] <= rows["fewer"]).all()
    assert (rows["fewer"] <= rows["fewer_high"]).all()


def test_neighbors_by_number_are_in_one_block():
    names = [f"train/train{number}.aiff" for number in (100, 9, *range(200, 260))]
    blocks = right_whales.neighbor_blocks(names)
    assert blocks["train/train9.aiff"] == blocks["train/train100.aiff"] == blocks["train/train200.aiff"]
    assert sorted(set(blocks.values())) == [0, 1, 2, 3]
    assert list(blocks.values()).count(0) == right_whales.BLOCK


def test_what_is_left_out_of_a_settled_recording_is_its_own_reflection(whales):
    home, _ = whales
    ships = find("deepship", home)
    name = ships.recordings[0]
    x, sr, _ = right_whales.Settled(ships).recording(name)
    skipped = round(2 / RIGHT_WHALE.hop) * RIGHT_WHALE.hop_length
    assert sr == SR
    assert_allclose(x[skipped:], waveform(home / "deepship" / name, SR))
    assert_allclose(x[:skipped], x[skipped : 2 * skipped][::-1])


def test_a_background_that_starts_from_the_first_frame_raises_thresholds(whales):
    _, table = whales
    slow = table.query("s < 0.1 and snr == 'all' and bands == '8-898 Hz' and ships == 'DeepShip'")
    slow = slow.set_index("before")["threshold"]
    assert slow["nothing"] > slow["reflection"]


def test_the_loudest_moment_is_where_the_tone_or_the_bang_is(tmp_path):
    home = whales_home(tmp_path, n=2)
    bang = 0.001 * white(2 * SR, seed=99)
    bang[SR] += 0.9
    write(home / "narw" / "train" / "train2.aiff", bang, SR, format="AIFF")
    moments = right_whales.loudest_moments(find("narw", home)).set_index(["clip", "bands"])
    tone = moments.loc["train/train3.aiff", "8-898 Hz"]
    assert tone["group"] == "call"
    assert tone["frequency"] == pytest.approx(150, abs=8)
    assert tone["spread"] < 0.5
    assert 0.12 < tone["lasting"] <= 0.6
    click = moments.loc["train/train2.aiff", "8-898 Hz"]
    assert click["group"] == "noise"
    assert click["spread"] == 1
    assert click["time"] == pytest.approx(1, abs=0.13)
    summary = right_whales.noise_that_defeats(find("narw", home), n=1)
    strongest = summary[summary["share"].isna()]
    assert list(strongest["what"]) == ["train/train2.aiff"] * 2
    assert (strongest["broadband"] == 1).all()
