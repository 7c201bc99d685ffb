"""DeepShip, on a synthetic copy."""

from pcenlib.datasets.deepship import DeepShip


def test_deepship_has_a_folder_for_each_class(wholes):
    assert DeepShip(wholes[0] / "deepship").recordings == ["Passengership/12.wav", "Tanker/12.wav", "Tanker/9.wav"]
