"""Many recordings: which, in what order, as one table, and the same however many search them."""

import dataclasses
import functools
import json
import math
import os
import tracemalloc
from pathlib import Path

import pandas as pd
import pytest
import soundfile
from numpy.testing import assert_allclose

import pcenlib
from pcenlib import RIGHT_WHALE, detect
from pcenlib.core import streaming
from pcenlib.field import search as one_recording
from pcenlib.field.calibration import calibrate_threshold
from pcenlib.field.search import Search
from pcenlib.field.survey import find_recordings, split_jobs, survey
from tests.damage import without_length
from tests.nights import write_whales
from tests.sounds import white, write

WHALES = Search(setting=RIGHT_WHALE, threshold=3.0)


@pytest.fixture(scope="module")
def whales(tmp_path_factory):
    path = tmp_path_factory.mktemp("whales") / "whales.wav"
    write_whales(path)
    return path


def test_three_lines_of_python(whales):
    table = pcenlib.detect(whales, pcenlib.RIGHT_WHALE, threshold=3.0)
    assert isinstance(table, pd.DataFrame)
    assert list(table.columns) == [
        "file", "file_start", "start", "end", "peak", "low", "high", "score", "contrast", "time", "clock",
    ]  # fmt: skip
    assert len(table) == 3


def test_a_table_without_events_has_its_columns(whales):
    table = detect(whales, RIGHT_WHALE, threshold=9.0)
    assert table.empty
    assert "start" in table.columns


def test_a_folder_is_one_table_and_bad_files_are_named(tmp_path):
    write_whales(tmp_path / "b.wav", times=[10])
    (tmp_path / "deep").mkdir()
    write_whales(tmp_path / "deep" / "a.flac", times=[30], seconds=40)
    (tmp_path / "bad.wav").write_text("no sound")
    with pytest.warns(UserWarning, match=r"1 recordings could not be read: .*bad\.wav: cannot read"):
        table = detect(tmp_path, RIGHT_WHALE, threshold=3.0, jobs=2)
    assert table["file"].tolist() == [str(tmp_path / "b.wav"), str(tmp_path / "deep" / "a.flac")]
    assert_allclose(table["start"], [10, 30], atol=0.2)
    assert_allclose(table["file_start"], [0, 60])
    with pytest.raises(ValueError, match=r"bad\.wav: Format not recognised"):
        detect(tmp_path / "bad.wav", RIGHT_WHALE, threshold=3.0)


def test_recordings_are_found_in_order_and_once(tmp_path):
    for name in ("b.WAV", "a.flac", "notes.txt", "._b.WAV", "c/d.mp3", ".hidden/e.wav", "c/a.ogg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    names = ["a.flac", "b.WAV", "c/a.ogg", "c/d.mp3"]
    assert find_recordings([tmp_path]) == [tmp_path / name for name in names]
    assert find_recordings([tmp_path / "c" / "d.mp3", tmp_path])[0] == tmp_path / "c" / "d.mp3"
    assert len(find_recordings([tmp_path, tmp_path / "c", tmp_path / "b.WAV"])) == 4
    assert find_recordings([tmp_path / "notes.txt"]) == [tmp_path / "notes.txt"]  # as one wishes


def test_no_recordings_are_an_error(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"folder .*empty holds no recording: no file that ends in \.aif"):
        find_recordings([tmp_path / "empty"])
    with pytest.raises(FileNotFoundError, match=r"there is no file or folder .*missing\.wav"):
        find_recordings([tmp_path / "missing.wav"])
    with pytest.raises(ValueError, match="at least one"):
        find_recordings([])


def test_a_survey_sums_itself_up(tmp_path):
    write_whales(tmp_path / "a.wav", times=[10], seconds=36)
    (tmp_path / "b.wav").write_text("no sound")
    found = survey([tmp_path], WHALES, jobs=1, progress=False)
    assert str(found).startswith("1 files, 0.01 hours, 1 events, 1 failures\n")
    assert "b.wav: cannot read" in str(found)


# Nothing is passed over without a word


def test_links_to_folders_are_followed_and_each_folder_is_searched_once(tmp_path):
    for name in ("night/a.wav", "night/deep/b.wav", "card/c.wav", "card/.trash/d.wav"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        write_whales(tmp_path / name, times=[10], seconds=40)
    night = tmp_path / "night"
    (night / "a card").symlink_to(tmp_path / "card")
    (night / "again").symlink_to(night / "deep")
    (night / "deep" / "up").symlink_to(night)
    names = ["a card/c.wav", "a.wav", "deep/b.wav"]
    assert find_recordings([night]) == [night / name for name in names]
    assert detect(night, RIGHT_WHALE, threshold=3.0)["file"].tolist() == [str(night / name) for name in names]


@pytest.fixture
def unreadable(tmp_path, monkeypatch):
    """A folder with one recording, a link that leads nowhere, a pipe, and a folder that cannot be listed."""
    write_whales(tmp_path / "a.wav", times=[10], seconds=40)
    (tmp_path / "card").symlink_to(tmp_path / "gone")
    os.mkfifo(tmp_path / "pipe.wav")
    (tmp_path / "private").mkdir()
    for name in ("scandir", "listdir"):  # whoever may do everything may also list it
        monkeypatch.setattr(os, name, functools.partial(refuse, getattr(os, name), str(tmp_path / "private")))
    return tmp_path


def refuse(function, refused, path):
    if os.fspath(path) == refused:
        raise PermissionError(13, "Permission denied", refused)
    return function(path)


def test_what_cannot_be_followed_or_listed_is_named_in_the_outcome(unreadable):
    found = survey([unreadable], WHALES, jobs=1, progress=False)
    assert list(found.recordings) == [str(unreadable / "a.wav")]
    assert {Path(name).name: reason.split(":")[0] for name, reason in found.failures.items()} == {
        "card": "[Errno 2] No such file or directory",
        "pipe.wav": f"{unreadable / 'pipe.wav'} is neither a file nor a folder",
        "private": "[Errno 13] Permission denied",
    }
    with pytest.raises(OSError, match=r"(?s)^every recording to calibrate with must be readable.*private.*denied"):
        calibrate_threshold([unreadable], RIGHT_WHALE, false_alarms_per_hour=100, jobs=1, progress=False)


# What a checkpoint holds


def names_in(checkpoint):
    return [json.loads(line)["name"] for line in checkpoint.read_text().splitlines()[1:]]


def kept(checkpoint, *paths, search=WHALES):
    return survey(paths, search, jobs=1, progress=False, checkpoint=checkpoint)


def test_a_checkpoint_does_not_take_a_folder_for_another_by_its_name(tmp_path, monkeypatch):
    for name, time in [("A", 10), ("B", 20)]:
        (tmp_path / name).mkdir()
        write_whales(tmp_path / name / "x.wav", times=[time], seconds=40)
        os.utime(tmp_path / name / "x.wav", (0, 0))  # as two recorders may write at the same time
    for name, time in [("A", 10), ("B", 20), ("A", 10)]:
        monkeypatch.chdir(tmp_path / name)
        (event,) = kept(tmp_path / "checkpoint", ".").events
        assert round(event.start) == time
    assert len(names_in(tmp_path / "checkpoint")) == 2  # nothing was searched twice
    monkeypatch.chdir(tmp_path)
    assert [(event.file, round(event.start)) for event in kept(tmp_path / "checkpoint", "A", "B").events] == [
        (str(Path("A", "x.wav")), 10), (str(Path("B", "x.wav")), 20),
    ]  # fmt: skip
    assert len(names_in(tmp_path / "checkpoint")) == 2


def test_a_checkpoint_knows_a_recording_that_was_replaced_and_a_link_that_leads_elsewhere(tmp_path):
    for name, time in [("one", 10), ("two", 20)]:
        write_whales(tmp_path / f"{name}.wav", times=[time], seconds=40)
        os.utime(tmp_path / f"{name}.wav", (0, 0))
    link = tmp_path / "link.wav"
    for name, time in [("one", 10), ("two", 20)]:
        link.unlink(missing_ok=True)
        link.symlink_to(tmp_path / f"{name}.wav")
        assert [round(event.start) for event in kept(tmp_path / "checkpoint", link).events] == [time]
    write_whales(tmp_path / "two.wav", times=[30], seconds=40)
    assert [round(event.start) for event in kept(tmp_path / "checkpoint", link).events] == [30]


def test_a_checkpoint_is_of_one_search_to_the_last_digit_and_another_can_replace_it(tmp_path, whales):
    kept(tmp_path / "checkpoint", whales)
    other = dataclasses.replace(WHALES, threshold=math.nextafter(3.0, 4.0))
    with pytest.raises(ValueError, match="belongs to another job"):
        kept(tmp_path / "checkpoint", whales, search=other)
    options = {"jobs": 1, "progress": False, "checkpoint": tmp_path / "checkpoint"}
    assert len(survey([whales], other, replace=True, **options).events) == 3
    assert len(kept(tmp_path / "checkpoint", whales, search=other).events) == 3


# How many search


def test_a_single_recording_is_shared_among_threads_and_several_among_processes(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert split_jobs(None, 1) == (1, 4)
    assert split_jobs(3, 1) == (1, 3)
    assert split_jobs(None, 2) == (4, 1)
    assert split_jobs(3, 2) == (3, 1)


def test_jobs_do_not_change_the_events_of_one_recording(whales, monkeypatch):
    alone = detect(whales, RIGHT_WHALE, threshold=3.0)
    monkeypatch.setattr(streaming, "FRAMES_PER_PART", 500)
    asked = []
    blocks = one_recording.detection_blocks
    monkeypatch.setattr(one_recording, "detection_blocks", lambda *a, **k: asked.append(k["jobs"]) or blocks(*a, **k))
    for jobs in (1, 2, 3):
        pd.testing.assert_frame_equal(detect(whales, RIGHT_WHALE, threshold=3.0, jobs=jobs), alone)
    detect(whales.parent, RIGHT_WHALE, threshold=3.0, jobs=2)  # a folder with one recording in it
    assert asked == [1, 2, 3, 2]


def test_jobs_do_not_change_the_events_of_a_folder(tmp_path):
    for seed in range(3):
        write_whales(tmp_path / f"{seed}.wav", times=[10 + seed, 40], seed=seed)
    alone = detect(tmp_path, RIGHT_WHALE, threshold=3.0)
    assert len(alone) == 6
    pd.testing.assert_frame_equal(detect(tmp_path, RIGHT_WHALE, threshold=3.0, jobs=2), alone)


def test_memory_does_not_grow_with_the_folder(tmp_path):
    def peak(n_files):
        folder = tmp_path / f"{n_files}"
        folder.mkdir()
        for number in range(n_files):
            os.link(one, folder / f"{number:02d}.wav")
        tracemalloc.start()
        found = survey([folder], WHALES, jobs=1, progress=False)
        _, size = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(found.events) == n_files
        return size

    one = tmp_path / "one.wav"
    write_whales(one, times=[30], seconds=600)
    peak(1)
    assert peak(24) < peak(2) + 2**20


# Bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 0}, "threshold must"),
        ({"threshold": math.nan}, "threshold must"),
        ({"threshold": "high"}, "threshold must"),
        ({"min_gap": -1}, "min_gap must"),
        ({"min_gap": 1e308}, r"min_gap must be a finite number in \[0, 3600\.0\]"),
        ({"min_duration": -1}, "min_duration must"),
        ({"min_duration": 1e308}, r"min_duration must be a finite number in \[0, 86400\.0\]"),
        ({"channel": -1}, "channel must"),
        ({"channel": True}, "channel must"),
        ({"jobs": 0}, "jobs must"),
        ({"jobs": 10**12}, "jobs must be a positive integer of at most 1000"),
    ],
)
def test_bad_options_are_refused(options, message, whales):
    with pytest.raises(ValueError, match=f"^{message}"):
        detect(whales, RIGHT_WHALE, **{"threshold": 3.0, **options})
    if "jobs" not in options and "threshold" not in options and "min_duration" not in options:
        with pytest.raises(ValueError, match=f"^{message}"):
            calibrate_threshold([whales], RIGHT_WHALE, false_alarms_per_hour=100, **options)


@pytest.mark.parametrize("name", ["flac", "mp3"])
def test_a_length_that_is_not_stated_is_counted_for_the_files_that_follow(name, tmp_path, capfd):
    write_whales(tmp_path / "a.wav", times=[10], seconds=30, sr=8000)
    x, sr = soundfile.read(tmp_path / "a.wav")
    (tmp_path / "a.wav").unlink()
    # Loud at the end, so an MP3's first frame is short.
    x[20 * sr :] += 0.3 * white(10 * sr)
    options = {"bitrate_mode": "VARIABLE"} if name == "mp3" else {}
    without_length(write(tmp_path / f"a.{name}", x, sr, format=name.upper(), **options))
    write_whales(tmp_path / "b.wav", times=[10])
    found = survey([tmp_path], WHALES, jobs=1, progress=False, levels=True)
    assert found.hours * 3600 == pytest.approx(90, abs=0.3)
    assert [event.file_start for event in found.events][-1] == pytest.approx(30, abs=0.3)
    assert not found.failures
    capfd.readouterr()
