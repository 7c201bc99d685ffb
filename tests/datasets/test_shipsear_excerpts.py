"""Excerpts of ShipsEar, on a synthetic copy."""

import pytest

from pcenlib.datasets.shipsear_excerpts import ShipsEarExcerpts


def test_pieces_come_in_the_order_of_their_numbers_and_know_their_recording(wholes):
    excerpts = ShipsEarExcerpts(wholes[0] / "shipsear_excerpts")
    assert excerpts.recordings == ["0_1_2.flac", "0_1_10.flac", "2_0_1.flac"]
    assert [excerpts.source(name) for name in excerpts.recordings] == ["0_1", "0_1", "2_0"]
    assert not excerpts.clips


def test_other_files_are_no_pieces(copy):
    folder, files = copy("shipsear_excerpts")
    for name in ("notes.txt", "0_1.flac", "0_1_3.wav", "mixed_0_1_3.flac"):
        (folder / name).touch()
    assert ShipsEarExcerpts(folder).recordings == files
    with pytest.raises(ValueError, match=r"^name must be that of a piece, such as 0_1_17.flac, got '0_1.flac'"):
        ShipsEarExcerpts.source("0_1.flac")
