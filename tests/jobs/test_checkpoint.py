"""A checkpoint: what it holds after cuts and damage, whose it is, and who may use it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pcenlib
from pcenlib.jobs.checkpoint import journal

HEADER = {"function": "squares", "job": "of numbers"}


@pytest.fixture
def path(tmp_path):
    """A checkpoint with three results."""
    path = tmp_path / "checkpoint.jsonl"
    with journal(path, HEADER) as (results, keep):
        assert results == {}
        assert keep({"one": 1, "two": [2, 4]}) == {"one": 1, "two": [2, 4]}
        assert keep({"three": {"x": 9}}) == {"three": {"x": 9}}
    return path


def held(path):
    with journal(path, HEADER) as (results, _):
        return results


def test_results_come_back_and_are_lines_of_json(path):
    assert held(path) == {"one": 1, "two": [2, 4], "three": {"x": 9}}
    first, *lines = map(json.loads, path.read_text().splitlines())
    assert first == {"pcenlib": pcenlib.__version__, **HEADER}
    assert lines[1].items() > {"name": "two", "result": [2, 4]}.items()


def test_without_a_file_nothing_is_kept():
    with journal(None, HEADER) as (results, keep):
        assert results == {}
        anything = {"one": object()}
        assert keep(anything) is anything


def test_a_later_result_goes_before_an_earlier_one(path):
    with journal(path, HEADER) as (_, keep):
        keep({"one": 100})
    assert held(path)["one"] == 100


def test_results_are_returned_as_they_will_be_read(path):
    with journal(path, HEADER) as (_, keep):
        assert keep({"pair": (1, 2)}) == {"pair": [1, 2]}
    assert held(path)["pair"] == [1, 2]


# Cuts and damage


def test_a_line_that_was_cut_off_is_dropped_and_the_file_goes_on_after_the_last_whole_one(path):
    whole = path.read_bytes()
    ends = [0, *(i + 1 for i, byte in enumerate(whole) if byte == ord("\n"))]
    names = ["one", "two", "three"]
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        n_lines = sum(end <= cut for end in ends[1:])
        assert list(held(path)) == names[: max(0, n_lines - 1)]
        assert path.read_bytes() == whole[: max(ends[1], ends[n_lines])]


DAMAGE = [
    b"\0\0\0\n", b"\xff\n", b"[]\n", b"{}\n", b"7\n", b"\n", b'{"name": "two"}\n', b'{"result": 5}\n',
    b'{"name": "two", "result": [2, 4]}\n', b'{"name": "two", "result": ' + b"[" * 100_000 + b"\n",
]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE, ids=range(len(DAMAGE)))
def test_what_is_damaged_is_dropped_with_a_word_and_the_rest_is_kept(path, damage):
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], damage, *lines[3:]]))
    with pytest.warns(UserWarning, match=r"checkpoint .*checkpoint\.jsonl is damaged: 1 of its 3 results were changed"):
        assert held(path) == {"one": 1, "three": {"x": 9}}
    assert path.read_bytes() == b"".join([*lines[:2], *lines[3:]])
    assert held(path) == {"one": 1, "three": {"x": 9}}  # and nothing more is said


def test_no_byte_of_an_entry_can_change_unnoticed(path):
    whole = path.read_bytes()
    begin = whole.index(b"\n") + 1
    for place in range(begin, len(whole) - 1):
        changed = bytearray(whole)
        changed[place] ^= 1
        path.write_bytes(changed)
        with pytest.warns(UserWarning, match="is damaged"):
            assert held(path).keys() < {"one": 1, "two": [2, 4], "three": {"x": 9}}.keys()


def test_an_error_on_a_full_disk_names_the_file_and_what_was_kept_stays(path):
    code = f"""
import resource, signal
from pcenlib.jobs.checkpoint import journal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with journal({str(path)!r}, {HEADER}) as (_, keep):
    size = {path.stat().st_size}
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, size + 20))
    keep({{"four": 16}})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == f"OSError: [Errno 27] File too large: '{path}'"
    assert held(path) == {"one": 1, "two": [2, 4], "three": {"x": 9}}


# Whose it is


@pytest.mark.parametrize("header", [{**HEADER, "job": "of letters"}, {**HEADER, "function": "cubes"}, {}])
def test_a_checkpoint_of_something_else_is_refused_and_left_alone(path, header):
    before = path.read_bytes()
    with (
        pytest.raises(
            ValueError, match=r"^checkpoint .*checkpoint\.jsonl belongs to another job.{,70} remove this one$"
        ),
        journal(path, header),
    ):
        pass
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_a_checkpoint_of_something_else_is_replaced_if_asked_for_and_one_of_ones_own_is_not(path):
    with journal(path, HEADER, replace=True) as (results, _):
        assert len(results) == 3
    with journal(path, {}, replace=True) as (results, keep):
        assert results == {}
        keep({"a": 1})
    with journal(path, {}) as (results, _):
        assert results == {"a": 1}


def test_a_checkpoint_of_another_version_is_refused(path, monkeypatch):
    monkeypatch.setattr("pcenlib.jobs.checkpoint.__version__", "0.0.0")
    with pytest.raises(ValueError, match="belongs to another job"), journal(path, HEADER):
        pass


@pytest.mark.parametrize("content", ["some notes", "\n", "{}\n", "RIFF"])
def test_a_file_that_is_no_checkpoint_is_left_alone(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_text(content)
    with pytest.raises(ValueError, match="or is no checkpoint"), journal(path, HEADER):
        pass
    assert path.read_text() == content


def test_a_result_that_json_cannot_hold_is_an_error_and_nothing_of_it_is_written(path):
    before = path.read_bytes()
    with (
        pytest.raises(TypeError, match=r"^function must return what JSON can hold, for the checkpoint: .*complex"),
        journal(path, HEADER) as (_, keep),
    ):
        keep({"fine": 1, "not": 2j})
    assert path.read_bytes() == before


# Who may use it


def test_a_checkpoint_is_used_by_one_at_a_time_and_leaves_no_lock_behind(path):
    with journal(path, HEADER) as (_, keep):
        with pytest.raises(OSError, match=r"^.*checkpoint\.jsonl is in use by another process$"):
            held(path)
        keep({"four": 16})
    assert held(path)["four"] == 16
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_the_lock_of_a_process_that_was_killed_is_gone_with_it(path):
    code = f"""
from pcenlib.jobs.checkpoint import journal
with journal({str(path)!r}, {HEADER}) as (_, keep):
    print("in use", flush=True)
    input()
"""
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "in use\n"
        with pytest.raises(OSError, match="in use by another process"):
            held(path)
        process.kill()
        process.wait()
        assert list(held(path)) == ["one", "two", "three"]
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_no_module_imports_what_only_some_systems_have():
    modules = {path.name: path.read_text(encoding="utf-8") for path in Path(pcenlib.__file__).parent.rglob("*.py")}
    only_unix = "fcntl|grp|posix|pty|pwd|resource|syslog|termios|tty"
    assert not [name for name, code in modules.items() if re.search(rf"\b(import|from) ({only_unix})\b", code)]


def test_a_checkpoint_works_where_there_is_no_fcntl(tmp_path):
    code = """
import sys
sys.modules["fcntl"] = None  # as on Windows
from pcenlib.jobs.run import run
options = {"jobs": 1, "checkpoint": "checkpoint.jsonl", "job": "distances", "progress": False}
print(run(abs, [-1, 2], **options).results, run(abs, [-1, 3], **options).results)
"""
    command = [sys.executable, "-W", "ignore:flock not supported", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "{'-1': 1, '2': 2} {'-1': 1, '3': 3}\n", done.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["checkpoint.jsonl"]
