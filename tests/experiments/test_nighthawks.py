"""Figure 2 with recorded calls and nights, on synthetic copies."""

import numpy as np
import pytest

from pcenlib.datasets.catalogue import find
from pcenlib.datasets.nighthawk import SimulatedNighthawk
from pcenlib.experiments import nighthawks
from pcenlib.experiments.intervals import MOST_OF_NONE, BootstrapAlarms
from tests import copies

DISTANCES = np.array([30.0, 100.0, 300.0, 500.0])


def test_the_factor_is_a_geometric_mean_up_to_300_m():
    pcen, flux = np.array([0.5, 1.5, 2.5, 99.5]), np.array([2.0, 6.0, 10.0, 0.5])
    assert nighthawks.times_fewer(DISTANCES, pcen, flux) == pytest.approx(4)
    flux[2] *= 8
    assert nighthawks.times_fewer(DISTANCES, pcen, flux) == pytest.approx(8)


def test_the_reach_is_where_pcen_raises_as_many_as_flux_at_the_first_distance():
    flux = np.array([2.0, 9.0, 9.0, 9.0])
    assert nighthawks.reach(DISTANCES, np.array([1.0, 1.0, 4.0, 9.0]), flux) == pytest.approx(200)
    assert nighthawks.reach(DISTANCES, np.array([1.0, 2.0, 2.0, 2.0]), flux) == 500
    assert nighthawks.reach(DISTANCES, np.array([3.0, 3.0, 3.0, 3.0]), flux) == 0


def test_where_no_alarm_was_counted_the_interval_reaches_farther():
    none, some = np.zeros(4), np.array([3.0, 2.0, 3.0, 4.0])
    boots = [BootstrapAlarms({}, {"max-pooled PCEN": none, "averaged flux": some}, np.ones(4)) for _ in DISTANCES]
    found = nighthawks._with_interval(nighthawks.Measured(list(DISTANCES), boots), nighthawks.times_fewer)
    assert found["estimate"] == pytest.approx(7)
    assert found["low"] == pytest.approx(3.5 / (MOST_OF_NONE + 0.5))
    assert found["high"] == pytest.approx(9)


def test_hours_are_read_from_names():
    assert nighthawks.hour("0/S4A03895_20190522_184500.wav") == "18"
    assert nighthawks.hour("1/53d9.wav") == "1/53d9.wav"
    assert not set.intersection(*(set(hours) for hours in nighthawks.PARTS.values()))


@pytest.fixture
def sets(tmp_path, monkeypatch):
    copies.buzzing_calls(tmp_path / "nighthawk")
    for hour in (0, 18):
        for minute in (0, 15):
            path = tmp_path / "night_soundscapes" / f"S4A_20190522_{hour:02d}{minute:02d}00.wav"
            copies.sound(path, 10, 22000)
    monkeypatch.setattr(nighthawks, "N_RESAMPLES", 20)
    monkeypatch.setattr(nighthawks, "N_SCENES", 2)
    few = SimulatedNighthawk(seed=1, n_calls=2, n_birds=1, distances=(30,), n_scenes=1)
    for name, value in {"OFFSETS": (0.0,), "FADES": (0.02, 0.06), "DISTANCES": (30, 500), "SIMULATED": few}.items():
        monkeypatch.setattr(nighthawks, name, value)
    nighthawks._measure.cache_clear()
    yield find("nighthawk", tmp_path), find("night_soundscapes", tmp_path)
    nighthawks._measure.cache_clear()


def test_figure_2_has_recorded_and_simulated_curves(sets):
    table = nighthawks.repropagated_nighthawks(*sets, jobs=1)
    runs = table.drop_duplicates(list(nighthawks.Run._fields))
    recorded = [("recorded", 0.0, 0.02, part) for part in ("all", "after midnight", "evening")]
    expected = [*recorded, ("recorded", 0.0, 0.06, "all"), ("simulated", 0.0, 0.02, "all")]
    assert list(runs[list(nighthawks.Run._fields)].itertuples(index=False, name=None)) == expected
    assert len(table) == 2 * 3 * (2 * 4 + 1)
    assert (table["mtbfa_low"] <= table["mtbfa_high"]).all()
    keys = ["protocol", "distance", "detector"]
    of_parts = table.query("sound == 'recorded' and fade == 0.02").set_index(["part", *keys])
    for column in ("false_alarms", "duration"):
        parts = of_parts[column]["evening"] + of_parts[column]["after midnight"]
        np.testing.assert_allclose(parts, of_parts[column]["all"])
    np.testing.assert_allclose(of_parts["threshold"]["evening"], of_parts["threshold"]["all"])
    ratios = nighthawks.repropagated_ratios(*sets, jobs=1)
    assert len(ratios) == 2 * 2 * len(expected)
    assert (ratios["low"] <= ratios["estimate"]).all()
    assert (ratios["estimate"] <= ratios["high"]).all()
    assert (ratios.loc[ratios["quantity"] == "reach", "high"] <= 500).all()


def test_calls_arrive_with_less_of_their_background_from_afar(sets):
    calls = nighthawks.repropagated_calls(*sets)
    assert list(calls["call"]) == ["audio/coni_00.wav", "audio/coni_01.wav"]
    assert (calls["30 m"] > calls["500 m"]).all()
    assert (calls["contrast"] >= 3).all()


def test_each_hour_has_all_of_its_scenes(sets):
    table = nighthawks.hours_of_night(*sets, jobs=1)
    assert list(table["hour"].unique()) == ["00", "18"]
    assert (table["n_scenes"] == 2).all()
    assert (table["p999"] <= table["maximum"]).all()
