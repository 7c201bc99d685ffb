"""The command line: every option, every bad input, interruptions with real signals, and a quick start."""

import contextlib
import csv
import dataclasses
import json
import os
import re
import resource
import signal
import struct
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import crowsetta
import numpy as np
import psutil
import pytest
import soundfile

from pcenlib import RIGHT_WHALE
from pcenlib.__main__ import main
from tests.nights import whale, write_night, write_whales

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
WHALE = ["--setting", "right-whale", "--threshold", "3", "--jobs", "1"]


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """Two recordings of a minute: calls at 10 and 40 s, and at 20 s."""
    folder = tmp_path_factory.mktemp("recordings")
    write_whales(folder / "SM4_20200601_220000.wav", times=[10, 40])
    write_whales(folder / "SM4_20200601_230000.wav", times=[20], seed=1)
    return folder


@pytest.fixture(scope="module")
def quiet(tmp_path_factory):
    path = tmp_path_factory.mktemp("quiet") / "quiet.wav"
    write_night(path, whale, sr=2000, seconds=1200, times=[], snrs=[], seed=5)
    return path


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def detect(*arguments, status=0):
    assert main(["detect", *map(str, arguments)]) == status


def table(path="out.csv"):
    with Path(path).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def found(*arguments):
    """Whole seconds at which events start, in a table made with these arguments."""
    detect(*arguments, "--format", "csv", "--output", "out.csv", "--overwrite")
    return [int(float(row["start"]) + 0.3) for row in table()]


# Options


@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_the_default_is_a_raven_table_that_opens_elsewhere(recordings, capsys):
    detect(recordings, *WHALE)
    boxes = crowsetta.Transcriber("raven").from_file("detections.txt").to_bbox()
    assert [int(box.onset + 0.3) for box in boxes] == [10, 40, 80]  # times run over both recordings
    lines = Path("detections.txt").read_text().splitlines()
    assert lines[3].split("\t")[7] == str(recordings / "SM4_20200601_230000.wav")
    assert lines[3].split("\t")[8].startswith("20.")
    out = capsys.readouterr().out
    assert "2 files, 0.03 hours, 3 events, 0 failures" in out
    assert "written to detections.txt" in out
    assert sorted(path.name for path in Path().iterdir()) == ["detections.txt"]


def test_audacity_labels_open_elsewhere(recordings):
    detect(recordings / "SM4_20200601_220000.wav", *WHALE, "--format", "audacity", "--output", "labels.txt")
    boxes = crowsetta.Transcriber("aud-bbox").from_file("labels.txt").to_bbox()
    assert [int(box.onset + 0.3) for box in boxes] == [10, 40]
    assert all(50 < box.low_freq < box.high_freq < 250 for box in boxes)


def test_csv_tells_times_and_parameters(recordings):
    assert found(recordings, *WHALE) == [10, 40, 20]
    row = table()[0]
    assert row["time"].startswith("2020-06-01T22:00:")
    assert row["clock"] == "local time, zone not stated, from file name"
    assert (row["threshold"], row["s"], row["channel"], row["scale"]) == ("3.0", "0.33", "mean", "linear")
    detect(recordings, *WHALE, "--format", "csv")
    assert Path("detections.csv").read_text() == Path("out.csv").read_text()


def test_setting_from_a_file(recordings):
    values = dataclasses.asdict(dataclasses.replace(RIGHT_WHALE, s=0.2))
    Path("mine.toml").write_text("".join(f"{key} = {value!r}\n" for key, value in values.items()))
    assert found(recordings, "--setting", "mine.toml", "--threshold", "3", "--jobs", "1") == [10, 40, 20]
    assert table()[0]["s"] == "0.2"


def test_the_setting_is_the_nighthawks_by_default(recordings, capsys):
    detect(recordings, "--threshold", "3", "--jobs", "1", status=1)
    assert "so nothing above 1000 Hz, but the highest band is at 10892 Hz: restrict" in capsys.readouterr().out


def test_threshold(recordings):
    assert found(recordings, *WHALE[:2], "--threshold", "9", "--jobs", "1") == []
    assert Path("out.csv").read_text().startswith("file,file_start,start,")


def test_min_gap_and_min_duration(recordings):
    assert found(recordings, *WHALE, "--min-gap", "35") == [10, 20]
    assert table()[0]["min_gap"] == "35.0"
    assert found(recordings, *WHALE, "--min-duration", "5") == []
    assert found(recordings, *WHALE, "--min-duration", "0.5") == [10, 40, 20]


def test_band(recordings):
    assert found(recordings, *WHALE, "--band", "300-900") == []
    assert found(recordings, *WHALE, "--band", "90-250") == [10, 40, 20]
    assert float(table()[0]["fmin"]) >= 90


def test_channel(recordings):
    x, _ = soundfile.read(recordings / "SM4_20200601_220000.wav")
    y, _ = soundfile.read(recordings / "SM4_20200601_230000.wav")
    soundfile.write("stereo.wav", np.stack([x, y], axis=1), 2000)
    assert found("stereo.wav", *WHALE, "--channel", "1") == [10, 40]
    assert found("stereo.wav", *WHALE, "--channel", "2") == [20]
    assert found("stereo.wav", *WHALE) == [10, 20, 40]


def test_jobs_do_not_change_the_table(recordings):
    found(recordings, *WHALE)
    one = Path("out.csv").read_text()
    found(recordings, *WHALE[:-1], "2")
    assert Path("out.csv").read_text() == one


def test_false_alarms_per_hour(recordings, quiet, capsys):
    assert found(
        recordings, *WHALE[:2], "--false-alarms-per-hour", "3", "--calibrate", quiet, "--jobs", "1"
    )[:2] == [10, 40]  # fmt: skip
    out = capsys.readouterr().out
    assert re.search(r"threshold (\d\.\d+): \d alarms in 0\.33 quiet hours, .* per hour \(95 %: ", out)
    assert float(table()[0]["threshold"]) == pytest.approx(float(re.search(r"threshold (\d\.\d+):", out)[1]))


def test_figures(recordings):
    detect(recordings, *WHALE, "--figures")
    assert len(list(Path("detections.txt.figures").glob("event-*.png"))) == 3
    detect(recordings, *WHALE, "--figures", "1", "--overwrite")
    assert len(list(Path("detections.txt.figures").glob("event-*.png"))) == 1


def test_report_is_one_page_for_each_folder(recordings, capsys):
    detect(recordings, *WHALE, "--report")
    assert "Strongest events" in Path("detections.txt.html").read_text()
    Path("Other Nights").mkdir()
    write_whales("Other Nights/a.wav", times=[])
    detect(recordings, "Other Nights", *WHALE, "--report", "--output", "both.txt")
    pages = sorted(path.name for path in Path().glob("both.txt.*.html"))
    assert pages == [f"both.txt.1-{recordings.name}.html", "both.txt.2-Other Nights.html"]
    assert "Other Nights.html" in capsys.readouterr().out


def test_progress_shows_the_time_left(recordings, capsys):
    detect(recordings, *WHALE)
    assert re.search(r"2/2 \[\d\d:\d\d<", capsys.readouterr().err)
    detect(recordings / "SM4_20200601_220000.wav", *WHALE, "--overwrite")
    assert re.search(r"60/60 s \[\d\d:\d\d<", capsys.readouterr().err)  # within a file that is alone


def test_progress_of_a_window_that_begins_after_the_end(recordings, capsys):
    values = dataclasses.asdict(dataclasses.replace(RIGHT_WHALE, hop_length=100_000))
    Path("mine.toml").write_text("".join(f"{key} = {value!r}\n" for key, value in values.items()))
    path = next(recordings.iterdir())
    detect(path, "--setting", "mine.toml", "--threshold", "3", "--jobs", "1")
    assert "60/60 s" in capsys.readouterr().err


# Bad input


def test_a_file_of_a_few_samples_does_not_end_the_report_of_a_folder():
    Path("folder").mkdir()
    for n_samples, sr in [(1, 8000), (1, 2000), (5, 2000)]:
        soundfile.write(f"folder/{n_samples} at {sr}.wav", np.full(n_samples, 0.1), sr)
    write_whales("folder/whales.wav", times=[10])
    detect("folder", *WHALE, "--report", "--format", "csv", "--output", "out.csv")
    assert len(table()) == 1
    assert "4, together" in Path("out.csv.html").read_text()


def test_bad_files_are_named_and_skipped_and_the_status_tells(recordings, capsys):
    for path in recordings.iterdir():
        Path(path.name).write_bytes(path.read_bytes())
    Path("text.wav").write_text("no sound")
    Path("empty.wav").touch()
    Path("cut.wav").write_bytes(next(recordings.iterdir()).read_bytes()[:30])
    Path("half.wav").write_bytes(next(recordings.iterdir()).read_bytes()[:100_044])
    detect(".", *WHALE, "--format", "csv", "--output", "out.csv", status=1)
    assert len(table()) == 3
    out = capsys.readouterr().out
    assert "2 files, 0.03 hours, 3 events, 4 failures" in out
    assert "half.wav is truncated: " in out
    assert all(f"{name}.wav: cannot read" in out for name in ("text", "empty", "cut"))


def test_nothing_is_overwritten_unasked(recordings, capsys):
    detect(recordings, *WHALE)
    Path("detections.txt").write_text("mine")
    detect(recordings, *WHALE, status=2)
    assert Path("detections.txt").read_text() == "mine"
    assert "detections.txt is there already: give --overwrite" in capsys.readouterr().err
    Path("other.txt.html").write_text("mine")
    detect(recordings, *WHALE, "--output", "other.txt", "--report", status=2)
    Path("more.txt.figures").mkdir()
    detect(recordings, *WHALE, "--output", "more.txt", "--figures", status=2)
    assert not Path("other.txt").exists()
    assert Path("other.txt.html").read_text() == "mine"
    detect(recordings, *WHALE, "--overwrite")
    assert Path("detections.txt").read_text() != "mine"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.wav", "--threshold", "3"], "there is no file or folder missing.wav"),
        (["empty", "--threshold", "3"], "folder empty holds no recording"),
        (["x.wav"], "give either --threshold or --false-alarms-per-hour"),
        (["x.wav", "--threshold", "3", "--false-alarms-per-hour", "1"], "give either --threshold or"),
        (["x.wav", "--false-alarms-per-hour", "1"], "--false-alarms-per-hour and --calibrate go together"),
        (["x.wav", "--threshold", "3", "--calibrate", "x.wav"], "--false-alarms-per-hour and --calibrate go together"),
        (["x.wav", "--false-alarms-per-hour", "1", "--calibrate", "no.wav"], "there is no file or folder no.wav"),
        (["x.wav", "--false-alarms-per-hour", "1", "--calibrate", "x.wav"], "they can tell 60 false alarms per hour"),
        (["x.wav", "--false-alarms-per-hour", "0", "--calibrate", "x.wav"], "false_alarms_per_hour must"),
        (["x.wav", "--false-alarms-per-hour", "1e308", "--calibrate", "x.wav"], "false_alarms_per_hour must"),
        (["x.wav", "--threshold", "1e309"], "threshold must be a finite number greater than 0"),
        (["x.wav", "--threshold", "3", "--min-gap", "1e308"], "min_gap must be a finite number in [0, 3600.0]"),
        (["x.wav", "--threshold", "3", "--jobs", "1" * 30], "jobs must be a positive integer of at most 1000"),
        (["x.wav", "--threshold", "-1"], "threshold must be a finite number greater than 0"),
        (["x.wav", "--threshold", "3", "--min-gap", "-1"], "min_gap must"),
        (["x.wav", "--threshold", "3", "--min-duration", "-1"], "min_duration must"),
        (["x.wav", "--threshold", "3", "--channel", "0"], "--channel must be a number from 1"),
        (["x.wav", "--threshold", "3", "--jobs", "0"], "jobs must be a positive integer"),
        (["x.wav", "--threshold", "3", "--figures", "-1"], "--figures must be a number of events"),
        (["x.wav", "--threshold", "3", "--setting", "owl"], "setting must be nighthawk, right-whale or a file"),
        (["x.wav", "--threshold", "3", "--setting", "bad.toml"], "bad.toml must have the keys"),
        (["x.wav", "--threshold", "3", "--band", "5000-6000"], "no band of the setting has its center from 5000"),
        (["x.wav", "--threshold", "3", "--band", "200-100"], "high must be"),
        (["x.wav", "--threshold", "3", "--output", "no/where.txt"], "there is no folder no to write where.txt into"),
    ],
)
def test_bad_commands_are_refused_before_anything_is_written(arguments, message, capsys):
    write_whales("x.wav", times=[], seconds=60)
    Path("empty").mkdir()
    Path("bad.toml").write_text("s = 0.1\n")
    before = sorted(Path().iterdir())
    detect("--setting", "right-whale", *arguments[1:], "--", arguments[0], status=2)
    error = capsys.readouterr().err
    assert re.search(f"pcenlib: .*{re.escape(message)}", error)
    assert "Traceback" not in error
    assert [path for path in sorted(Path().iterdir()) if path not in before and path.suffix != ".unfinished"] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "COMMAND"),
        (["detect"], "FILE_OR_FOLDER"),
        (["detect", "x.wav", "--threshold", "high"], "invalid float value: 'high'"),
        (["detect", "x.wav", "--band", "low"], "expected two frequencies in Hz as in 2000-5000, got 'low'"),
        (["detect", "x.wav", "--format", "xls"], "invalid choice: 'xls'"),
        (["detect", "x.wav", "--figures", "many"], "invalid int value: 'many'"),
        (["detect", "x.wav", "--loud"], "unrecognized arguments: --loud"),
    ],
)
def test_commands_that_are_none_are_refused(arguments, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert message in capsys.readouterr().err


def test_one_channel_too_many_is_the_files_failure(recordings, capsys):
    detect(recordings, *WHALE, "--channel", "2", status=1)
    assert "has 1 channels, so none of number 1" in capsys.readouterr().out


# Interruptions


@pytest.fixture
def many(tmp_path):
    """A folder of recordings, long enough to be interrupted in."""
    folder = tmp_path / "many"
    folder.mkdir()
    write_whales(folder / "00.wav", times=[10], seconds=600)
    for number in range(1, 12):
        os.link(folder / "00.wav", folder / f"{number:02d}.wav")
    return folder


@contextlib.contextmanager
def running(folder, *arguments):
    command = [sys.executable, "-m", "pcenlib", "detect", str(folder), *WHALE, *arguments]
    with subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def kept(checkpoint):
    """Recordings that a checkpoint holds."""
    lines = checkpoint.read_text().split("\n")[1:-1] if checkpoint.exists() else []
    return [json.loads(line)["name"] for line in lines]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_it_leaves_no_table_and_goes_on_where_it_was(how, many, monkeypatch):
    detect(many, *WHALE, "--output", "whole.txt")
    checkpoint = Path("out.txt.unfinished")
    with running(many, "--output", "out.txt") as process:
        end = time.monotonic() + 60
        while len(kept(checkpoint)) < 3:
            assert time.monotonic() < end
            assert process.poll() is None, "it was over before it could be interrupted"
            time.sleep(0.002)
        process.send_signal(how)
        _, error = process.communicate()
    assert process.returncode == (130 if how == signal.SIGINT else -signal.SIGKILL)
    assert ("interrupted; the same command goes on" in error) == (how == signal.SIGINT)
    assert "Traceback" not in error
    done = kept(checkpoint)
    assert 3 <= len(done) < 12
    assert not Path("out.txt").exists()

    searched = []
    from pcenlib.field import survey

    one = survey.detect_events
    monkeypatch.setattr(survey, "detect_events", lambda path, *a, **k: searched.append(path) or one(path, *a, **k))
    detect(many, *WHALE, "--output", "out.txt")
    assert searched == [str(many / f"{number:02d}.wav") for number in range(len(done), 12)]
    assert Path("out.txt").read_text() == Path("whole.txt").read_text()
    assert not checkpoint.exists()


@pytest.mark.parametrize("extra", [["--figures"], ["--report"]])
def test_interrupted_while_figures_are_written_the_same_command_goes_on(extra, recordings, capsys):
    from pcenlib.field import report

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "_strongest" if extra == ["--report"] else "figure_of_event", interrupted)
        detect(recordings, *WHALE, *extra, status=130)
    if extra == ["--report"]:
        Path("detections.txt.html").write_text("of a run that was killed between two pages")
    before = Path("detections.txt").read_text()  # which comes first
    detect(recordings, *WHALE, *extra)
    assert Path("detections.txt").read_text() == before
    assert not list(Path().glob("*.unfinished*"))
    detect(recordings, *WHALE, *extra, status=2)
    assert "is there already" in capsys.readouterr().err


def test_a_file_that_was_replaced_since_an_interruption_is_searched_again(many, monkeypatch):
    from pcenlib.field import survey

    detect(many, *WHALE, "--output", "whole.txt")
    checkpoint = Path("out.txt.unfinished")
    with running(many, "--output", "out.txt") as process:
        end = time.monotonic() + 60
        while len(kept(checkpoint)) < 3:
            assert time.monotonic() < end
            time.sleep(0.002)
        process.kill()
        process.communicate()
    (many / "00.wav").unlink()  # the others are links to the same sound
    write_whales(many / "00.wav", times=[20], seconds=600)
    searched = []
    one = survey.detect_events
    monkeypatch.setattr(survey, "detect_events", lambda path, *a, **k: searched.append(path) or one(path, *a, **k))
    detect(many, *WHALE, "--format", "csv", "--output", "out.txt")
    assert [int(float(row["start"]) + 0.3) for row in table("out.txt")] == [20] + [10] * 11
    assert str(many / "00.wav") in searched
    assert str(many / "01.wav") not in searched


def test_what_another_command_left_unfinished_is_not_taken_for_this_ones(recordings, capsys):
    detect(recordings, *WHALE, "--output", "out.txt")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "unlink", lambda *_, **__: None)
        detect(recordings, *WHALE, "--output", "out.txt", "--overwrite")
    detect(recordings, *WHALE, "--min-gap", "35", "--output", "out.txt", status=2)
    assert "out.txt.unfinished belongs to another job" in capsys.readouterr().err
    detect(recordings, *WHALE, "--min-gap", "35", "--output", "out.txt", "--overwrite")
    assert len(Path("out.txt").read_text().splitlines()) == 1 + 2
    assert not Path("out.txt.unfinished").exists()


@pytest.mark.filterwarnings("default:checkpoint out.csv.unfinished is damaged")
@pytest.mark.parametrize("entry", ['{"name": 5, "result": 5}', "{}", "[" * 100_000, '{"result": {"events": [[]]}}'])
def test_a_damaged_checkpoint_costs_a_line_and_another_search(entry, recordings, capsys):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "unlink", lambda *_, **__: None)
        detect(recordings, *WHALE, "--format", "csv", "--output", "out.csv")
    checkpoint = Path("out.csv.unfinished")
    first, *rest = checkpoint.read_text().splitlines()
    checkpoint.write_text("\n".join([first, entry, *rest[1:], ""]))
    capsys.readouterr()
    detect(recordings, *WHALE, "--format", "csv", "--output", "out.csv")
    assert [int(float(row["start"]) + 0.3) for row in table()] == [10, 40, 20]
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("pcenlib: ")]
    assert told == [
        "pcenlib: checkpoint out.csv.unfinished is damaged: 1 of its 2 results were changed since they were written, "
        "and are computed again"
    ]


def test_a_table_of_ones_own_beside_a_checkpoint_is_not_overwritten_unasked(recordings, capsys):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pcenlib.jobs.files.write_whole", interrupt)
        detect(recordings, *WHALE, status=130)
    Path("detections.txt").write_text("mine")
    detect(recordings, *WHALE, status=2)
    assert Path("detections.txt").read_text() == "mine"
    assert "detections.txt is there already: give --overwrite" in capsys.readouterr().err
    detect(recordings, *WHALE, "--overwrite")
    assert sorted(path.name for path in Path().iterdir()) == ["detections.txt"]


# The table comes first, and everything under one lock


def interrupt(*_, **__):
    raise KeyboardInterrupt


def test_any_name_and_year_has_its_table_picture_and_page(capsys):
    names = ["two $ of $.wav", "\\$x_$.wav", "line\nbreak\t.wav", "99981231_235959.wav", "00010101_000000.wav"]
    Path("folder").mkdir()
    for number, name in enumerate(names):
        write_whales(Path("folder", name), times=[10 + number], seconds=40)
    Path("folder", os.fsdecode(b"caf\xe9.wav")).write_text("not Unicode, and no sound")
    detect("folder", *WHALE, "--format", "csv", "--report", "--figures", "--output", "out.csv", status=1)
    assert sorted(int(float(row["start"]) + 0.3) for row in table()) == [10, 11, 12, 13, 14]
    page = Path("out.csv.html").read_text(encoding="utf-8")
    assert all(name in page for name in ("two $ of $.wav", r"caf\udce9.wav", r"line\nbreak\t.wav"))
    assert len(list(Path("out.csv.figures").iterdir())) == 5
    assert "not written" not in capsys.readouterr().out


def test_a_name_that_is_not_unicode_can_be_said():
    Path("folder").mkdir()
    Path("folder", os.fsdecode(b"caf\xe9.wav")).write_text("no sound")
    command = [sys.executable, "-m", "pcenlib", "detect", "folder", *WHALE]
    done = subprocess.run(
        command, env=ENVIRONMENT | {"PYTHONIOENCODING": "utf-8"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert r"caf\udce9.wav: " in done.stdout
    assert Path("detections.txt").exists()


def test_a_picture_or_page_that_fails_is_named_and_the_table_is_there(recordings, capsys):
    from pcenlib.field import report

    draw = report.figure_of_event

    def fail(event, search):
        if event.start > 30:
            raise ZeroDivisionError("of all things")
        return draw(event, search)

    command = [recordings, *WHALE, "--figures", "--report"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "figure_of_event", fail)
        detect(*command, status=1)
    assert len(Path("detections.txt").read_text().splitlines()) == 4
    assert len(list(Path("detections.txt.figures").iterdir())) == 2
    out = capsys.readouterr().out
    reason = r"ZeroDivisionError: of all things \(in test_command\.py, line \d+\)"
    assert re.search(rf"not written: detections\.txt\.figures.event-00002\.png: {reason}\n", out)
    assert re.search(rf"not written: detections\.txt\.html: {reason}\n", out)
    assert "written to detections.txt, detections.txt.figures\n" in out
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pcenlib.field.survey.detect_events", None)  # there is no need to search again
        detect(*command)
    assert len(list(Path("detections.txt.figures").iterdir())) == 3
    assert sorted(path.name for path in Path().iterdir()) == [
        "detections.txt", "detections.txt.figures", "detections.txt.html",
    ]  # fmt: skip


def test_the_same_command_is_refused_until_the_first_has_written_all(recordings, monkeypatch, capsys):
    from pcenlib.field import report

    command = [recordings, *WHALE, "--report"]
    make = report.report
    monkeypatch.setattr(report, "report", lambda *a: detect(*command, status=2) or make(*a))
    detect(*command)
    assert capsys.readouterr().err.count("pcenlib: detections.txt is in use by another process\n") == 1
    assert sorted(path.name for path in Path().iterdir()) == ["detections.txt", "detections.txt.html"]


def test_what_cannot_be_written_is_refused_before_the_search(recordings, monkeypatch, capsys):
    monkeypatch.setattr("pcenlib.field.survey.survey", None)
    Path("folder").mkdir()
    Path("a.txt.figures").write_text("a file")
    Path("b.txt.html").mkdir()
    for arguments, message in [
        (["--output", "folder"], "folder is a folder: --output must be a file"),
        (["--output", "a.txt", "--figures"], "a.txt.figures is a file, where a folder of figures goes"),
        (["--output", "b.txt", "--report"], "b.txt.html is a folder, where a page goes"),
        (["--output", "."], ". is a folder: --output must be a file"),
    ]:
        detect(recordings, *WHALE, *arguments, "--overwrite", status=2)
        assert capsys.readouterr().err == f"pcenlib: {message}\n"


# Interruptions, and workers that die, with real signals


@pytest.fixture
def long(tmp_path):
    """A short recording, and two that last six hours, of which the disk holds next to nothing."""
    folder = tmp_path / "long"
    folder.mkdir()
    write_whales(folder / "0.wav", times=[10], seconds=40)
    hours = 6 * 3600 * 22050 * 2  # bytes
    header = struct.pack(
        "<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + hours, b"WAVE", b"fmt ", 16, 1, 1, 22050, 44100, 2, 16, b"data", hours
    )
    for name in ("1.wav", "2.wav"):
        (folder / name).write_bytes(header)
        os.truncate(folder / name, len(header) + hours)
    return folder


@contextlib.contextmanager
def at_work(paths, checkpoint):
    """A command with two workers that are at work, the first in a group of processes."""
    arguments = [
        "--setting",
        "right-whale",
        "--threshold",
        "3",
        "--band",
        "100-200",
        "--jobs",
        "2",
        "--output",
        "out.txt",
    ]
    command = [sys.executable, "-m", "pcenlib", "detect", *map(str, paths), *arguments]
    options = {"env": ENVIRONMENT, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **options, start_new_session=True) as process:
        try:
            end = time.monotonic() + 60
            while not checkpoint(Path("out.txt.unfinished")):
                assert time.monotonic() < end
                time.sleep(0.01)
            time.sleep(1)
            assert process.poll() is None, "it was over before it could be interrupted"
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize(("send", "alone"), [(os.kill, False), (os.killpg, False), (os.kill, True)])
def test_an_interrupt_ends_long_recordings_within_two_seconds_and_keeps_what_is_finished(send, alone, long):
    paths = [long / "1.wav"] if alone else [long]
    with at_work(paths, (lambda path: path.exists()) if alone else kept) as process:
        begin = time.monotonic()
        send(process.pid, signal.SIGINT)
        _, error = process.communicate(timeout=60)
        # Two seconds of a machine that does nothing else.
        assert time.monotonic() - begin < 2 * max(1, os.getloadavg()[0] / os.cpu_count())
    assert process.returncode == 130
    told = [line for line in re.split(r"[\r\n]+", error) if line and not re.search(r"\d+%\|", line)]  # not the bar
    assert told == ["pcenlib: interrupted; the same command goes on where this one was"]
    assert len(kept(Path("out.txt.unfinished"))) == (0 if alone else 1)


def test_a_worker_that_is_killed_costs_a_line(long):
    with at_work([long], kept) as process:
        workers = [one for one in psutil.Process(process.pid).children() if "spawn_main" in " ".join(one.cmdline())]
        workers[-1].kill()
        _, error = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "Traceback" not in error
    told = error.splitlines()[-1]
    assert told.startswith("pcenlib: a worker died while one of these was computed: ")
    assert len(kept(Path("out.txt.unfinished"))) == 1


@pytest.mark.parametrize("module", ["argparse", "pcenlib.datasets", "pcenlib.field.command", "numpy", "soundfile"])
def test_an_interrupt_while_it_starts_is_one_line(module, recordings):
    code = f"""
import runpy, sys
class Interrupting:
    def find_spec(self, name, *_):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.modules.pop({module!r}, None)
sys.meta_path.insert(0, Interrupting())
sys.argv = ["pcenlib", "detect", {str(recordings)!r}, "--threshold", "3", "--jobs", "1"]
runpy.run_module("pcenlib", run_name="__main__", alter_sys=True)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.splitlines()[-1] == "pcenlib: interrupted; the same command goes on where this one was"
    assert "Traceback" not in done.stderr


# Starting


WINDOWS = """
import signal, sys
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
del signal.pthread_sigmask
from pcenlib.__main__ import main
"""


def test_it_runs_where_there_is_nothing_that_only_unix_has(recordings):
    command = ["detect", str(recordings), *WHALE[:-1], "2"]
    code = f"{WINDOWS}if __name__ == '__main__':\n sys.exit(main({command}))"
    command = [sys.executable, "-W", "ignore:flock not supported", "-c", code]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in Path().iterdir()) == ["detections.txt"]


PLAIN = """
import sys
for name in ("matplotlib", "pandas", "numba"):
    sys.modules[name] = None  # as after a plain installation
from pcenlib.field import survey
detect_events = survey.detect_events
def told(*a, **k):
    print("searched")
    return detect_events(*a, **k)
survey.detect_events = told
from pcenlib.__main__ import main
"""


@pytest.mark.parametrize("extra", [["--report"], ["--figures"], []])
def test_a_plain_installation_says_before_the_search_what_is_missing(extra, recordings):
    command = ["detect", str(recordings), *WHALE, *extra]
    code = f"{PLAIN}sys.exit(main({command}))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    if extra:
        told = "pcenlib: --figures and --report need matplotlib: pip install 'pcenlib[field]'\n"
        assert (done.returncode, done.stdout, done.stderr) == (2, "", told)
    else:  # which needs nothing more
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("searched") == 2


def test_a_table_in_python_says_before_the_search_that_it_needs_pandas(recordings):
    code = f"{PLAIN}import pcenlib\npcenlib.detect({str(recordings)!r}, pcenlib.RIGHT_WHALE, threshold=3.0)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == ""
    assert (
        done.stderr.splitlines()[-1]
        == "ModuleNotFoundError: tables in Python need pandas: pip install 'pcenlib[field]'"
    )


def test_the_extra_brings_what_is_missing():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert extras["field"] == ["matplotlib", "pandas"]


def test_help_is_there_at_once():
    heavy = ["numba", "matplotlib", "pandas", "soundfile", "scipy.signal", "librosa", "pcenlib.field.survey"]
    code = (
        "import sys\nfrom pcenlib.__main__ import main\ntry:\n main(['detect', '--help'])\nexcept SystemExit: pass\n"
        f"sys.exit(bool(set({heavy}) & set(sys.modules)))"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Of the processor, which others may keep waiting; some 0.2 s on a machine that does nothing else.
    assert after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime < 1.5
    assert result.returncode == 0, "something heavy was imported"
    options = re.findall(r"--[a-z-]+", """
        --setting --threshold --false-alarms-per-hour --calibrate --min-gap --min-duration --band --channel --jobs
        --output --format --overwrite --figures --report
    """)  # fmt: skip
    for option in options:
        assert option in result.stdout


def test_it_runs_as_a_module_and_as_a_script():
    result = subprocess.run([sys.executable, "-m", "pcenlib", "--help"], cwd=ROOT, capture_output=True, check=True)
    assert b"usage: pcenlib" in result.stdout
    assert 'pcenlib = "pcenlib.__main__:main"' in (ROOT / "pyproject.toml").read_text()
