"""Tables of levels, on small copies."""

import pytest

from pcenlib.datasets.catalogue import TABLES, about, find
from tests import copies


def test_columns_are_numbers_and_lines_without_one_are_left_out(tmp_path):
    songs = TABLES["localized_songs"][0]
    lines = [("a", "a1", "r", "s", 10, 60, 2000, 4000, 15, "NA"), ("b", "b1", "r", "s", 20, 50, 2000, 4000, 15, 70)]
    copies.table(tmp_path / "localized_songs" / "levels.csv", [*songs.texts, *songs.numbers], lines)
    found = find("localized_songs", tmp_path)
    assert found.columns["event"] == ["b1"]
    assert found.columns["level_db"] == [50.0]
    assert found.report.complete
    assert found.validate(found.folder) == found.report


def test_a_table_is_found_in_the_folder_of_its_set_if_its_file_is_there(tmp_path):
    (tmp_path / "nighthawk").mkdir()
    assert find("nighthawk_levels", tmp_path) is None
    table = TABLES["nighthawk_levels"][0]
    copies.table(tmp_path / "nighthawk" / table.file, ["species", *table.numbers], [("CONI", -20, 80, 90, 70)])
    assert find("nighthawk_levels", tmp_path).columns["distance"] == [80.0]
    assert "Nighthawk" in about("nighthawk_levels").title


def test_another_table_is_refused(tmp_path):
    copies.table(tmp_path / "levels.csv", ["grid", "event"], [("a", "b")])
    songs = TABLES["localized_songs"][0]
    with pytest.raises(ValueError, match="has no column recorder"):
        songs(tmp_path).report  # noqa: B018
    assert "recorder" in songs.validate(tmp_path).problem
