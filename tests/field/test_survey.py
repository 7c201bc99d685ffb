"""Many recordings: which, in what order, as one table, and the same however many search them."""

import math
import os
import tracemalloc

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
        ({"min_duration": -1}, "min_duration must"),
        ({"channel": -1}, "channel must"),
        ({"channel": True}, "channel must"),
        ({"jobs": 0}, "jobs must"),
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
