"""CONI-Knight, on a synthetic copy."""

from pcenlib.datasets.coni_knight import ConiKnight


def test_coni_knight_has_nominal_distances_and_days(wholes):
    clips = ConiKnight(wholes[0] / "coni_knight").clips
    assert [(clip.distance, clip.group) for clip in clips] == [
        (distance, day) for distance in (30, 500) for day in ("20160701", "20160701", "20160702")
    ]
    assert clips[-1].name == "511_3634_ABC-1-500_20160702_22303634.wav"


def test_coni_knight_names_files_with_other_names(copy):
    home, files = copy("coni_knight")
    (home / files[0]).rename(home / "call.wav")
    dataset = ConiKnight(home)
    assert list(dataset.skipped) == ["call.wav"]
    assert "<nominal metres>" in dataset.skipped["call.wav"]
