"""The recorder array: places, songs and distances."""

import pytest

from pcenlib.datasets.catalogue import find
from tests.experiments.homes import home_of


def test_distances_are_in_three_dimensions(tmp_path):
    dataset = find("recorder_array", home_of(tmp_path, "recorder_array"))
    (song,) = dataset.songs
    assert (song.species, song.begin, song.high) == ("REVI", 0.8, 6500.0)
    near, far = dataset.distances(song).values()
    assert near == pytest.approx(13.0)  # 3, 4, 12
    assert far == pytest.approx((37**2 + 4**2 + 12**2) ** 0.5)
    assert list(dataset.distances(song)) == dataset.recordings


def test_a_station_without_a_recording_is_left_out(tmp_path):
    home = home_of(tmp_path, "recorder_array")
    (home / "recorder_array" / "Ex-1_0+1_20200617$090000.mp3").unlink()
    dataset = find("recorder_array", home)
    assert len(dataset.distances(dataset.songs[0])) == 1
