"""Experiments on real sound, on small synthetic copies of the data sets; and what is stored of them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.signal
from numpy.testing import assert_allclose

from pcenlib import NIGHTHAWK, RIGHT_WHALE
from pcenlib.datasets.catalogue import find
from pcenlib.experiments import fits, outdoor_noise, right_whales, stored
from pcenlib.experiments.evaluate import measure_recordings
from pcenlib.experiments.intervals import N_RESAMPLES, area_under_curve, interval, resample_weights, resampled
from pcenlib.experiments.novelty_measurements import NoveltyMeasurements
from pcenlib.experiments.results import EXPERIMENTS, Experiment, compute, result, store
from pcenlib.simulation.measurements import MODULATION_RATES, measure_ship
from tests import copies
from tests.sounds import white, write

SR = RIGHT_WHALE.sr


def home_of(tmp_path, *names):
    for name in names:
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        copies.MAKERS[name](tmp_path / name)
    return tmp_path


# Resampling


def test_area_is_the_share_of_pairs_in_order():
    rng = np.random.default_rng(0)
    calls, noise = rng.integers(0, 9, 30), rng.integers(0, 7, 40)
    pairs = [(call > other) + 0.5 * (call == other) for call in calls for other in noise]
    assert area_under_curve(calls, noise) == pytest.approx(np.mean(pairs))
    assert area_under_curve(noise, calls) == pytest.approx(1 - np.mean(pairs))


def test_resamples_come_after_what_was_measured():
    values = np.arange(5.0)
    found = resampled(values, np.random.default_rng(0))
    assert found.shape == (1 + N_RESAMPLES, 5)
    assert (found[0] == values).all()
    assert np.isin(found, values).all()
    weights = resample_weights(5, np.random.default_rng(0))
    assert (weights[0] == 1).all()
    assert (weights.sum(axis=1) == 5).all()
    assert (weights[1:] != 1).any()


def test_interval_holds_95_per_cent_of_the_resamples_and_takes_infinity():
    resamples = np.random.default_rng(0).permutation(np.arange(N_RESAMPLES, dtype=float))
    found = interval("time", [7.0, *resamples])
    inside = (resamples >= found["time_low"]) & (resamples <= found["time_high"])
    assert found["time"] == 7
    assert abs(inside.mean() - 0.95) < 0.01
    assert interval("time", np.full(1 + N_RESAMPLES, np.inf))["time_low"] == np.inf


# Right whales


def whales_home(tmp_path, *, n=12):
    """Noise clips, calls that are a loud tone in the same noise, and quiet ships."""
    folder = tmp_path / "narw"
    lines = []
    for number in range(1, 2 * n + 1):
        x = 0.01 * white(2 * SR, seed=number)
        label = number % 2
        if label:
            tone = np.hanning(SR // 2) * np.sin(2 * np.pi * 150 * np.arange(SR // 2) / SR)
            x[SR : SR + SR // 2] += (0.003 if number % 4 == 1 else 0.2) * tone
        path = folder / "train" / f"train{number}.aiff"
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, x, SR, format="AIFF")
        lines.append((path.name, label))
    copies.table(folder / "train.csv", ["clip_name", "label"], lines)
    for number in range(3):
        copies.sound(tmp_path / "deepship" / "Tug" / f"{number}.wav", 6, 32000, subtype="FLOAT")
    return tmp_path


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


# ESC-50


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


# What the simulations were fitted to


def test_a_nighthawk_is_measured_around_its_call_only(tmp_path):
    home = home_of(tmp_path, "nighthawk")
    sr = 24000
    seconds = np.arange(2 * sr) / sr
    x = 0.001 * white(2 * sr, seed=1)
    buzz = np.sin(2 * np.pi * 3500 * seconds) * (1 + np.cos(2 * np.pi * 200 * seconds)) / 4
    x += buzz * ((seconds >= 1.0) & (seconds < 1.2))
    x += np.sin(2 * np.pi * 4500 * seconds) * (seconds < 0.5)  # louder, but before what is measured
    write(home / "nighthawk" / "audio" / "coni_00.wav", x, sr)
    table = fits.nighthawk_calls(find("nighthawk", home))
    assert list(table["clip"]) == ["coni_00", "coni_01"]
    call = table.iloc[0]
    assert call["onset"] == pytest.approx(0.3, abs=0.01)
    assert call["duration"] == pytest.approx(0.2, abs=0.02)
    assert call["centre"] == pytest.approx(3500, abs=5)
    assert call["pulse_rate"] == pytest.approx(200, abs=2)


def test_nights_say_what_is_known_of_birds_and_are_measured_as_simulated_ones(tmp_path):
    home = home_of(tmp_path, "night_soundscapes", "birdvox_dcase20k")
    forest, labelled = find("night_soundscapes", home), find("birdvox_dcase20k", home)
    table = fits.night_scenes(forest, labelled)
    birds = table.drop_duplicates("scene").set_index("scene")["birds"].to_dict()
    assert birds == {
        "S4A03895_20190522_000000": "not checked",
        "S4A03895_20190522_001500": "not checked",
        "0a0b": "yes",
        "53d9": "no",
        "fd79": "yes",
        "ff3d": "no",
    }
    of_forest = table[table["source"] == "scikit-maad"]
    fields = list(NoveltyMeasurements._fields)
    assert_allclose(of_forest[fields], measure_recordings(forest, NIGHTHAWK, jobs=1)[fields], rtol=1e-9)
    pd.testing.assert_frame_equal(fits.night_scenes(forest), of_forest)


def test_up_calls_are_found_as_they_rise(tmp_path):
    home = home_of(tmp_path, "narw")
    progress = np.arange(round(0.9 * SR)) / round(0.9 * SR)
    frequency = 100 + (220 - 100) * progress**2
    x = 0.02 * white(2 * SR, seed=1)
    x[SR // 2 :][: progress.size] += 0.3 * np.sin(2 * np.pi * np.cumsum(frequency) / SR)
    write(home / "narw" / "train" / "train7.aiff", x, SR, format="AIFF")
    table = fits.right_whale_calls(find("narw", home)).set_index("clip")
    assert list(table.index) == ["train7.aiff", "train6000.aiff", "train30000.aiff"]
    call = table.loc["train7.aiff"]
    assert call["onset"] == pytest.approx(0.5, abs=0.15)
    assert call["duration"] == pytest.approx(0.9, abs=0.2)
    assert call["start"] == pytest.approx(100, abs=10)
    assert call["end"] == pytest.approx(220, abs=15)
    assert call["contrast"] > 12


def test_of_many_files_some_are_measured_evenly_spaced(tmp_path, monkeypatch):
    challenge = find("narw", whales_home(tmp_path, n=5))
    monkeypatch.setattr(fits, "MOST", 2)
    assert list(fits.right_whale_calls(challenge)["clip"]) == ["train1.aiff", "train5.aiff"]


def test_ships_are_measured_at_2_khz_and_short_passages_left_out(tmp_path):
    home = home_of(tmp_path, "deepship")  # passages of three seconds
    sr = 32000
    x = 0.3 * white(8 * sr, seed=1) * (1 + 0.9 * np.cos(2 * np.pi * 6 * np.arange(8 * sr) / sr))
    write(home / "deepship" / "Tanker" / "9.wav", x, sr, subtype="DOUBLE")
    table = fits.ship_passages(find("deepship", home))
    assert list(table["passage"]) == ["Tanker/9.wav"]
    assert table["duration"].item() == 8
    assert table["rate"].item() == 6
    measured = measure_ship(scipy.signal.resample_poly(x, 1, 16), 2000)
    assert_allclose(table[fits.LEVELS].to_numpy()[0], measured.levels, atol=1e-6)
    assert_allclose(table[fits.MODULATIONS].to_numpy()[0], measured.modulation, atol=1e-6)
    assert [float(name.split("_")[1]) for name in fits.MODULATIONS] == list(MODULATION_RATES)


# What is stored


def counting(dataset):
    return pd.DataFrame({"set": [dataset.about.title], "n": [len(dataset.recordings)]})


@pytest.fixture
def experiment(monkeypatch):
    toy = Experiment(run=counting, sets=("shipsear",), definition="counting", keys=("set",), tolerances={"n": 0})
    monkeypatch.setitem(EXPERIMENTS, "toy", toy)
    return toy


@pytest.mark.usefixtures("experiment")
def test_without_the_recordings_the_stored_result_is_shown(tmp_path):
    home = home_of(tmp_path / "home", "shipsear")
    store("toy", home, folder=tmp_path)
    assert compute("toy", tmp_path / "elsewhere") is None
    shown = result("toy", tmp_path / "elsewhere", folder=tmp_path)
    assert shown.computed is None
    assert list(shown.tables) == ["stored"]
    assert "ShipsEar: 2 recordings" in str(shown)
    assert "not computed again" in str(shown)
    with pytest.raises(FileNotFoundError, match="toy needs the data sets shipsear"):
        store("toy", tmp_path / "elsewhere", folder=tmp_path)


@pytest.mark.usefixtures("experiment")
def test_with_the_same_files_the_result_must_be_the_same(tmp_path):
    home = home_of(tmp_path / "home", "shipsear")
    store("toy", home, folder=tmp_path)
    shown = result("toy", home, folder=tmp_path)
    assert shown.same_files
    assert list(shown.tables) == ["stored"]
    assert shown.others == {}
    assert "the same result" in str(shown)
    path = tmp_path / "toy.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("ShipsEar,2", "ShipsEar,3"), encoding="utf-8")
    with pytest.raises(ValueError, match="toy is stale: n was 3 and is 2"):
        result("toy", home, folder=tmp_path)


@pytest.mark.usefixtures("experiment")
def test_with_other_files_both_results_are_shown(tmp_path):
    home = home_of(tmp_path / "home", "shipsear")
    store("toy", home, folder=tmp_path)
    copies.sound(home / "shipsear" / "another.wav", 4, 52734)
    shown = result("toy", home, folder=tmp_path)
    assert not shown.same_files
    assert [table["n"].item() for table in shown.tables.values()] == [2, 3]
    assert list(shown.others) == ["computed here"]
    assert "computed again, from these files:\n  ShipsEar: 3 recordings" in str(shown)


def test_a_result_of_another_definition_is_refused(tmp_path, experiment, monkeypatch):
    store("toy", home_of(tmp_path / "home", "shipsear"), folder=tmp_path)
    monkeypatch.setitem(EXPERIMENTS, "toy", replace(experiment, definition="counting twice"))
    with pytest.raises(ValueError, match="stale"):
        result("toy", tmp_path, folder=tmp_path)


def test_further_sets_are_taken_if_they_are_there(tmp_path, experiment, monkeypatch):
    def first_and_others(*sets):
        return pd.DataFrame({"set": [each.about.title for each in sets]})

    monkeypatch.setitem(EXPERIMENTS, "toy", replace(experiment, run=first_and_others, further=("deepship",)))
    home = home_of(tmp_path, "shipsear")
    assert list(compute("toy", home).table["set"]) == ["ShipsEar"]
    home_of(tmp_path, "deepship")
    assert list(compute("toy", home).provenance["sets"]) == ["shipsear", "deepship"]


def test_an_unknown_experiment_is_refused():
    with pytest.raises(ValueError, match=r"name must be one of right-whales-and-ships, .* got 'birds'"):
        result("birds")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_stored_result_is_of_the_present_definition_and_can_be_told_apart(name):
    table, provenance = stored.load(name, definition=EXPERIMENTS[name].definition)
    assert set(provenance["sets"]) >= set(EXPERIMENTS[name].sets)
    assert not table.duplicated(list(EXPERIMENTS[name].keys)).any()
    assert set(EXPERIMENTS[name].tolerances) <= set(table.columns)
