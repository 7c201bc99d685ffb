"""What the simulations were fitted to, on small synthetic copies of the data sets."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from pcenlib import NIGHTHAWK
from pcenlib.core.recordings import waveform
from pcenlib.datasets.catalogue import find
from pcenlib.datasets.right_whale import SimulatedRightWhale
from pcenlib.experiments import fits, stored
from pcenlib.experiments.evaluate import measure_recordings
from pcenlib.experiments.novelty_measurements import NoveltyMeasurements, TailMeasurements, measure_tails
from pcenlib.experiments.stored import load
from pcenlib.simulation.measurements import MODULATION_RATES, measure_ship
from tests.experiments.homes import SR, home_of, whales_home
from tests.sounds import resampled, white, write


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


def test_kinds_of_outdoor_sound_are_measured_without_their_padding(tmp_path):
    esc50 = find("esc50", home_of(tmp_path, "esc50"))  # rain, pouring water and a hand saw
    sr, path = 44100, esc50.folder / "audio" / "1-110-A-10.wav"
    x = 0.1 * white(3 * sr, seed=1)
    write(path, np.concatenate([x, np.zeros(2 * sr)]), sr)
    table = fits.outdoor_kinds(esc50)
    assert table[["clip", "kind", "source"]].drop_duplicates().to_numpy().tolist() == [["1-110-A-10", "rain", "110"]]
    expected = measure_tails(waveform(x, NIGHTHAWK.sr, sr=sr), NIGHTHAWK, fits.THRESHOLDS)
    assert_allclose(table[list(TailMeasurements._fields)], [expected[name] for name in table["detector"]], atol=0.01)
    write(path, np.concatenate([x[:sr], np.zeros(4 * sr)]), sr)  # a second is too short
    assert fits.outdoor_kinds(esc50).empty


@pytest.mark.parametrize("kind", [kind for kind, night in fits.KINDS.items() if night])
def test_simulated_kinds_are_among_the_recorded_sources(kind):
    recorded = load("outdoor-kinds", definition=fits.EXPERIMENTS["outdoor-kinds"].definition).table
    recorded = recorded[recorded["kind"] == kind].astype({"detector": str})
    rows = []
    for seed in range(16):
        x = fits.KINDS[kind].noise(5 * NIGHTHAWK.sr, NIGHTHAWK.sr, np.random.default_rng([2019, seed]))
        tails = measure_tails(x, NIGHTHAWK, fits.THRESHOLDS)
        rows += [{"source": seed, "detector": name, **measured._asdict()} for name, measured in tails.items()]
    fields = ["p99", "p999", "middle"]
    of_sources, of_scenes = (t.groupby(["detector", "source"])[fields].mean() for t in (recorded, pd.DataFrame(rows)))
    low, high = (of_sources.groupby("detector").quantile(q) for q in (0.2, 0.8))
    median = of_scenes.groupby("detector").median()
    assert ((median >= low) & (median <= high)).to_numpy().all(), pd.concat([low, median, high], axis=1)


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
    measured = measure_ship(resampled(x, sr, 2000), 2000)
    assert_allclose(table[fits.LEVELS].to_numpy()[0], measured.levels, atol=1e-6)
    assert_allclose(table[fits.MODULATIONS].to_numpy()[0], measured.modulation, atol=1e-6)
    assert [float(name.split("_")[1]) for name in fits.MODULATIONS] == list(MODULATION_RATES)


def test_alarms_are_counted_ship_by_ship_after_two_seconds(tmp_path):
    home = home_of(tmp_path, "deepship", "shipsear_excerpts")
    sr = 16000
    for name, slams in (("0_1_2", [1.0]), ("0_1_10", [3.0, 4.0]), ("2_0_1", [])):
        x = 0.001 * white(5 * sr, seed=len(slams))
        for slam in slams:
            x[round(slam * sr) :][: sr // 20] *= 300
        write(home / "shipsear_excerpts" / f"{name}.flac", x, sr, subtype="PCM_24")
    table = fits.ship_tails(find("deepship", home), find("shipsear_excerpts", home))
    assert list(table["source"].unique()) == ["DeepShip", "ShipsEar, excerpts"]
    keys = ["source", "ship", "detector", "threshold"]
    assert not table.duplicated(keys).any()
    assert len(table) == (3 + 2) * sum(map(len, fits.SHIP_THRESHOLDS.values()))
    excerpts = table[table["source"] == "ShipsEar, excerpts"].set_index(["ship", "detector", "threshold"])
    assert excerpts["alarms"].loc["0_1", "max-pooled PCEN", 3.2] == 2
    assert excerpts["alarms"].loc["2_0", "max-pooled PCEN", 3.2] == 0
    assert excerpts["duration"].loc["0_1"].iloc[0] == pytest.approx(2 * 3, abs=0.2)
    alone = fits.ship_tails(find("deepship", home))
    pd.testing.assert_frame_equal(alone, table[table["source"] == "DeepShip"])


def test_alarms_per_minute_have_an_interval_over_ships():
    rows = [
        {"ship": str(ship), "duration": 30.0, "detector": "d", "threshold": threshold, "alarms": alarms}
        for ship in range(20)
        for threshold, alarms in ((1.0, 4), (2.0, 10 * (ship < 2)))
    ]
    every, some = fits.alarms_per_minute(pd.DataFrame(rows), np.random.default_rng(0)).itertuples()
    assert (every.detector, every.threshold) == ("d", 1.0)
    assert (every.estimate, every.low, every.high) == (8, 8, 8)
    # Two of twenty ships have all of them: of 1 minute each 20, binomial.
    assert some.estimate == 2
    assert some.low == 0
    assert 4 <= some.high <= 6


def test_simulated_ships_give_the_alarms_of_recorded_ones():
    table = stored.load("ship-tails").table
    recorded = table[table["source"] == "DeepShip"]
    fleet = SimulatedRightWhale(seed=0, n_ships=90, duration=30 * 60)
    simulated = fits.alarms_per_minute(fits.alarms_in_ships(fleet, jobs=1), np.random.default_rng(0))
    both = simulated.merge(fits.alarms_per_minute(recorded, np.random.default_rng(0)), on=["detector", "threshold"])
    both = both[both["threshold"] != 1.8]  # of max-pooled PCEN, where simulated ships give a third fewer
    assert len(both) == 17
    assert (both["estimate_x"] >= both["low_y"]).all()
    assert (both["estimate_x"] <= both["high_y"]).all()
