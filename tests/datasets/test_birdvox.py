"""BirdVox-DCASE-20k, on a synthetic copy."""

from pcenlib.datasets.birdvox import BirdVox


def test_birdvox_scenes_have_no_bird_wherever_they_are(copy):
    home, files = copy("birdvox_dcase20k")
    assert BirdVox(home).recordings == [files[0], files[2]]
    (home / "wav").mkdir()
    (home / files[0]).rename(home / "wav" / files[0])
    assert BirdVox(home).recordings == [f"wav/{files[0]}", files[2]]
