"""Files that are there as a whole or not at all."""

import errno
import os

import pytest

from pcenlib.jobs.files import locked, write_whole
from pcenlib.jobs.run import run


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


def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_on_a_full_disk_nothing_half_written_stays_and_the_error_names_the_file(tmp_path, monkeypatch):
    path = tmp_path / "table.txt"
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"^\[Errno 28\] No space left on device: '.*table\.txt\.writing'$"):
        write_whole(path, "table")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OSError, match=r"^\[Errno 28\] No space left on device: '.*checkpoint\.jsonl'$"):
        run(abs, [1], jobs=1, progress=False, checkpoint=tmp_path / "checkpoint.jsonl", job="distances")


def test_text_that_is_not_unicode_is_written_with_escapes(tmp_path):
    write_whole(tmp_path / "table.txt", "caf\xe9 " + os.fsdecode(b"caf\xe9"))
    assert (tmp_path / "table.txt").read_text(encoding="utf-8") == r"café caf\udce9"


def test_a_file_is_locked_for_one_at_a_time(tmp_path):
    with locked(tmp_path / "table.txt"):
        with pytest.raises(OSError, match=r"table\.txt is in use by another process$"), locked(tmp_path / "table.txt"):
            pass
        with locked(tmp_path / "other.txt"):
            pass
    with locked(tmp_path / "table.txt"):
        pass
    assert list(tmp_path.iterdir()) == []
