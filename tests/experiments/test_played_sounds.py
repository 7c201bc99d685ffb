"""Alignment and levels of the playback, on a synthetic transect."""

import pytest

from pcenlib.datasets.catalogue import find
from pcenlib.experiments import played_sounds
from pcenlib.experiments.band_levels import LEAST
from pcenlib.simulation.acoustics import spreading_loss
from tests.experiments.homes import BEGINS, playback_home


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return playback_home(tmp_path_factory.mktemp("home"))


def test_recordings_are_aligned(home):
    found = {each.distance: each.begin for each in played_sounds.aligned(find("playback", home))}
    assert found == pytest.approx(BEGINS, abs=0.002)


def test_levels_fall_as_they_were_made_to(home):
    table = played_sounds.played_levels(find("playback", home))
    level = table.pivot(index="frequency", columns="distance", values="level")
    fall = (level[10.0] - level[100.0]).to_numpy()
    assert fall == pytest.approx([20, 20, 20, 25, 25, 25], abs=0.4)
    first = table[table["distance"] == 1]
    assert (first["loss"] == 0).all()
    assert (table["loss"] >= spreading_loss(table["distance"])).all()
    assert table["above"].min() > LEAST
    assert table["chance"].mean() < 0.2
