"""Tables of real data sets."""

import pytest

from pcenlib.datasets.tables import labels, only_table, rows


def test_rows_are_what_was_asked_for(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\ufeffa,b,c\n1,2,3\n4\n", encoding="utf-8")
    assert list(rows(path, ["c", "a"])) == [
        ("t.csv, line 2", {"c": "3", "a": "1"}),
        ("t.csv, line 3", {"c": "", "a": "4"}),
    ]


def test_the_only_table_of_a_folder(tmp_path):
    assert only_table(tmp_path, "labels.csv") == tmp_path / "labels.csv"
    (tmp_path / "a.csv").touch()
    assert only_table(tmp_path, "labels.csv") == tmp_path / "a.csv"
    (tmp_path / "b.csv").touch()
    with pytest.raises(ValueError, match="must hold one CSV file, not 2"):
        only_table(tmp_path, "labels.csv")


def test_labels_and_lines_that_give_none(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("file,call\na,1\nb,0\na,0\n,1\nc,yes\n", encoding="utf-8")
    found, skipped = labels(path, ("file", "call"))
    assert found == {"a": True, "b": False}
    assert list(skipped) == ["x.csv, line 4", "x.csv, line 5", "x.csv, line 6"]
    assert skipped["x.csv, line 6"] == "must name a file once and say 0 or 1, got 'c' and 'yes'"
