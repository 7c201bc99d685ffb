"""Templates of flight calls, on a synthetic set in which one species can be told from noise and one cannot."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from pcenlib import NIGHTHAWK
from pcenlib.datasets.catalogue import find
from pcenlib.experiments import template_birds
from pcenlib.experiments.intervals import area_under_curve
from pcenlib.experiments.template_birds import MARGIN, flight_call_templates, shares, stretch_around
from pcenlib.experiments.templates import REPRESENTATIONS
from tests import copies
from tests.sounds import white, write

SR = 24000


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """Three sweeps and three silent birds, each from a recording of its own, a second sweep from the first, a loner."""
    home = tmp_path_factory.mktemp("birds")
    (home / "flight_calls" / "audio").mkdir(parents=True)
    time = np.arange(round(0.08 * SR)) / SR
    sweep = np.hanning(time.size) * np.sin(2 * np.pi * (6000 * time + 20000 * time**2))
    lines = []
    for number, (species, source) in enumerate(
        [("SWEP", "A"), ("SWEP", "B"), ("SWEP", "C"), ("SWEP", "A"), *(("NONE", each) for each in "ABC"), ("LONE", "A")]
    ):
        x = 0.01 * white(round(2.1 * SR), seed=number)
        if species == "SWEP":
            x[SR : SR + sweep.size] += 0.1 * sweep
        write(home / "flight_calls" / "audio" / f"{number}.flac", x, SR, format="FLAC")
        lines.append((f"{number}.flac", species, source, 1.0, 1.08, 5000, 11999))
    columns = ["file", "species", "source_recording", "call_begin", "call_end", "low_hz", "high_hz"]
    copies.table(home / "flight_calls" / "annotations.csv", columns, lines)
    return find("flight_calls", home)


@pytest.fixture(scope="module")
def table(calls):
    return flight_call_templates(calls)


def test_pairs_are_of_one_species_and_two_recordings(table):
    pairs = table.pivot(index="species", columns="of", values="n_pairs")
    assert list(pairs.columns) == sorted(REPRESENTATIONS)
    assert (pairs.loc["SWEP"] == 10).all()  # 12 ordered pairs of four calls, less the two within a recording
    assert (pairs.loc["NONE"] == 6).all()
    assert "LONE" not in pairs.index
    assert (table["n_left_out"] == 0).all()


def test_a_call_that_is_there_is_found_and_one_that_is_not_is_not(table):
    share = (table["higher"] / table["n_pairs"]).groupby(table["species"])
    assert share.min()["SWEP"] == 1
    assert 0 < share.mean()["NONE"] < 1


def test_clips_are_cut_at_random_and_calls_are_where_they_were(calls):
    begins = set()
    for name in list(calls.calls)[:4]:
        pictures, call = template_birds._pictures(calls, name)
        loudest = pictures["log(E/median)"].sum(axis=0).argmax()
        assert call.start <= loudest < call.stop
        begins.add(call.start)
    assert len(begins) == 4
    assert np.ptp(list(begins)) * NIGHTHAWK.hop <= template_birds.CUT


def test_the_outcome_of_a_pair_does_not_depend_on_the_others(calls, table, monkeypatch):
    some = {name: call for name, call in calls.calls.items() if call.species == "NONE"}
    monkeypatch.setattr(type(calls), "calls", some)
    again = flight_call_templates(calls)
    pd.testing.assert_frame_equal(again, table[table["species"] == "NONE"].reset_index(drop=True))


def test_a_stretch_is_around_the_call_with_room_before_it():
    margin = round(MARGIN / NIGHTHAWK.hop)
    assert stretch_around(slice(300, 340), 20, 1000) == slice(300 - margin, 340 + margin)
    assert stretch_around(slice(300, 340), 60, 1000) == slice(290 - margin, 350 + margin)
    assert stretch_around(slice(50, 90), 20, 1000) is None
    assert stretch_around(slice(300, 340), 20, 345) is None
    assert stretch_around(slice(300, 340), 700, 1000) is None


def test_shares_are_of_all_pairs_and_ratios_of_the_same_species():
    rows = []
    for species, n_pairs, higher in (("A", 6, (3.0, 6.0)), ("B", 2, (2.0, 2.0)), ("C", 4, (1.0, 4.0))):
        rows += [
            {"species": species, "of": of, "n_pairs": n_pairs, "higher": higher[of == "PCEN"]} for of in REPRESENTATIONS
        ]
    found = shares(pd.DataFrame(rows))
    assert_allclose(found.loc["PCEN", ["share", "share_low", "share_high"]].astype(float), 1)
    assert_allclose(found.loc["log(E/M)", "share"], 0.5)
    assert_allclose(found.loc["PCEN", "ratio"], 2)
    assert_allclose(found.loc["PCEN", ["ratio_low", "ratio_high"]].astype(float), [1, 4])
    assert area_under_curve([found.loc["PCEN", "ratio_high"]], [found.loc["PCEN", "ratio_low"]]) == 1


def test_other_sets_are_refused(tmp_path):
    (tmp_path / "narw").mkdir()
    with pytest.raises(ValueError, match="must be FlightCalls"):
        flight_call_templates(find("narw", tmp_path))
