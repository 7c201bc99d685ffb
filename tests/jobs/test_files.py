"""Files that are there as a whole or not at all."""

import os

import pytest

from pcenlib.jobs.files import write_whole


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "table.txt"
    write_whole(path, "before")

    def fail(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space left"):
        write_whole(path, "after")
    assert path.read_text() == "before"
    monkeypatch.undo()
    write_whole(path, b"bytes")
    assert path.read_bytes() == b"bytes"
    assert [one.name for one in tmp_path.iterdir()] == ["table.txt"]
