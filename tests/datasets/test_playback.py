"""The playback: its table and its distances."""

from pcenlib.datasets.catalogue import find
from pcenlib.datasets.playback import MARKER, Played
from tests.experiments.homes import home_of


def test_sounds_and_distances(tmp_path):
    dataset = find("playback", home_of(tmp_path, "playback"))
    marker, high, low = dataset.sounds
    assert marker.name == MARKER
    assert high == Played("high", 2.05, 2.25, 7000.0, 8000.0)
    assert low.center == 3500.0
    assert dataset.distances == {1.0: "reference_1m.wav", 10.0: "test_sound_10m.wav", 100.0: "test_sound_100m.wav"}
    assert list(dataset.distances) == [1.0, 10.0, 100.0]
