"""Every real data set, on a small synthetic copy of its layout: whole, and with all that can be wrong with it."""

import pickle
import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib.datasets.catalogue import DATASETS
from pcenlib.datasets.real import MISSING, Report, fault, read, wav_files
from tests import copies
from tests.copies import TABLES
from tests.sounds import white, write

ROOT = Path(__file__).parents[2]
EVERY_SET = pytest.mark.parametrize("name", DATASETS)


def sounds(dataset):
    """Waveform, rate and lead of every clip and every recording, by name."""
    all_of_them = {clip.name: dataset.clip(clip) for clip in dataset.clips}
    all_of_them |= {name: dataset.recording(name) for name in dataset.recordings}
    return {
        name: (*(read(found.source) if found.sr is None else (found.source, found.sr)), found.lead)
        for name, found in all_of_them.items()
    }


# What is said of each set


def test_every_set_has_a_copy():
    assert copies.MAKERS.keys() == DATASETS.keys()


@EVERY_SET
def test_what_is_said(name):
    about = DATASETS[name].about
    for text in (about.title, about.citation, about.licence, about.obtain, about.layout, about.unit):
        assert text
        assert text == text.strip()
    assert re.search(rf"@\w+{{{about.key},", (ROOT / "references.bib").read_text(encoding="utf-8"))
    for remote in about.remotes:
        assert remote.record.isdecimal() or re.fullmatch("md5:[0-9a-f]{32}", remote.checksum)


# Whole copies


@EVERY_SET
def test_a_whole_copy(wholes, name):
    home, files = wholes
    dataset = DATASETS[name](str(home / name))
    report = dataset.report
    assert sorted(report.present) == sorted(files[name])
    assert not report.missing
    assert not dataset.skipped
    assert not report.problem
    assert dataset.validate(home / name) == report
    of = f" of {dataset.about.n_files}" if dataset.about.n_files else ""
    assert str(report).startswith(f"{len(files[name])}{of} {dataset.about.unit} present")
    assert report.complete == (dataset.about.n_files is None)
    assert replace(report, n_files=len(files[name])).complete


@EVERY_SET
def test_names_are_unique_and_always_the_same(wholes, name):
    dataset, again = (DATASETS[name](wholes[0] / name) for _ in range(2))
    assert dataset.clips or dataset.recordings
    names = [clip.name for clip in dataset.clips]
    assert len(set(names)) == len(names)
    assert len(set(dataset.recordings)) == len(dataset.recordings)
    assert (dataset.clips, dataset.recordings) == (again.clips, again.recordings)
    assert repr(dataset) == repr(again)


@EVERY_SET
def test_sounds(wholes, name):
    dataset = DATASETS[name](wholes[0] / name)
    for x, sr, lead in sounds(dataset).values():
        assert x.ndim == 1
        assert np.isfinite(x).all()
        assert x.std() > 0.01
        assert sr == (dataset.about.sr or 44100)
        assert lead >= 0
        if dataset.clips and not dataset.recordings:
            assert len(x) / sr == pytest.approx(lead + dataset.clip_duration, rel=0.05)


@EVERY_SET
def test_no_more_than_the_folder_goes_to_another_process(wholes, name):
    dataset = DATASETS[name](wholes[0] / name)
    there = sounds(dataset)
    sent = pickle.dumps(dataset)
    assert len(sent) < 500
    back = pickle.loads(sent)  # noqa: S301
    assert back == dataset
    assert back.clips == dataset.clips
    for mine, theirs in zip(there.values(), sounds(back).values(), strict=True):
        assert_array_equal(mine[0], theirs[0])


# Files that cannot be used


def damaged(path):
    path.write_bytes(b"RIFFnonsense, and more of it" * 10)


def truncated(path):
    whole = path.read_bytes()
    path.unlink()
    path.write_bytes(whole[: len(whole) // 2])


def header_only(path):
    whole = path.read_bytes()
    path.unlink()
    path.write_bytes(whole[:20])


def empty(path):
    path.touch()


def no_samples(path):
    copies.rewritten(path, lambda x, sr: (x[:0], sr))


def wrong_rate(path):
    copies.rewritten(path, lambda x, sr: (x, sr + 100))


def stereo(path):
    copies.rewritten(path, lambda x, sr: (x[:, [0, 0]], sr))


def short(path):
    copies.rewritten(path, lambda x, sr: (x[: len(x) // 2], sr))


def folder(path):
    path.mkdir()


KEEPS = (truncated, header_only, no_samples, wrong_rate, stereo, short)
FAULTS = {
    damaged: "cannot read it|truncated",
    truncated: "truncated: .* bytes, where its header states|cannot read it",
    header_only: "truncated|cannot read it",
    empty: "^empty$",
    no_samples: "holds no sample|expected|^empty$",
    wrong_rate: "has .* samples a second, expected",
    stereo: "has 2 channels, expected 1|there are only 2 channels",
    short: "lasts .* s, expected",
    folder: "directory|system",
}


@pytest.mark.parametrize("harm", FAULTS, ids=lambda harm: harm.__name__)
@EVERY_SET
def test_a_bad_file_is_named_and_left_out(copy, name, harm):
    about = DATASETS[name].about
    if harm is wrong_rate and about.sr is None:
        pytest.skip("a set that states no rate may have any")
    if harm is short and about.duration is None and not about.min_duration:
        pytest.skip("a set whose recordings have any length")
    home, files = copy(name)
    bad, *good = files[::-1]
    if harm not in KEEPS:
        (home / bad).unlink()
    harm(home / bad)
    dataset = DATASETS[name](home)
    ((place, reason), *others) = dataset.skipped.items()
    assert place.startswith(bad)
    assert all(other.startswith(bad) for other, _ in others)
    assert re.search(FAULTS[harm], reason)
    assert str(home) not in reason
    assert place in str(dataset.report)
    assert set(good) <= set(dataset.report.present)
    assert not dataset.report.complete
    with pytest.warns(UserWarning, match=re.escape(bad)):
        assert [*dataset.clips, *dataset.recordings]
    sounds(dataset)
    assert dataset.validate(home) == dataset.report


@EVERY_SET
def test_a_missing_file_is_named_or_counted(copy, name):
    home, files = copy(name)
    (home / files[-1]).unlink()
    dataset = DATASETS[name](home)
    assert sorted(dataset.report.present) == sorted(files[:-1])
    if name in TABLES:
        assert dataset.skipped == {files[-1]: MISSING}
        assert f"missing: {files[-1]}" in str(dataset.report) or dataset.about.n_files
    if dataset.about.n_files:
        assert dataset.report.n_missing == dataset.about.n_files - len(files) + 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [*dataset.clips, *dataset.recordings]
    sounds(dataset)


def test_a_warning_comes_once(copy):
    home, files = copy("shipsear")
    (home / files[0]).unlink()
    (home / files[0]).touch()
    dataset = DATASETS["shipsear"](home)
    with pytest.warns(UserWarning, match="empty"):
        assert dataset.recordings == files[1:]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dataset.recordings == files[1:]


# Folders and tables without which nothing can be done


@EVERY_SET
def test_no_folder(tmp_path, name):
    dataset = DATASETS[name](tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        dataset.clips or dataset.recordings  # noqa: B018
    report = dataset.validate(tmp_path / "nowhere")
    assert "nowhere" in report.problem
    assert str(report).startswith("cannot be used\n")
    assert not report.complete


@EVERY_SET
def test_an_empty_folder(tmp_path, name):
    with pytest.raises(FileNotFoundError, match=re.escape(str(tmp_path))):
        DATASETS[name](tmp_path).report  # noqa: B018
    assert str(tmp_path) in DATASETS[name].validate(tmp_path).problem


@pytest.mark.parametrize("name", TABLES)
def test_no_table(copy, name):
    home, _ = copy(name)
    (home / TABLES[name][0]).unlink()
    problem = DATASETS[name].validate(home).problem
    assert re.search(r"\.csv must be there: a table with columns .*" + TABLES[name][1], problem)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_without_its_columns(copy, name):
    home, _ = copy(name)
    path, column = TABLES[name]
    text = (home / path).read_text(encoding="utf-8")
    (home / path).unlink()
    (home / path).write_text(text.replace(column, "other"), encoding="utf-8")
    problem = DATASETS[name].validate(home).problem
    assert f"has no column {column}" in problem
    assert str(home / path) in problem


@pytest.mark.parametrize("content", [b"\xff\xfe\x00\x80", b"", b"\n\n"])
@pytest.mark.parametrize("name", TABLES)
def test_something_else_than_a_table(copy, name, content):
    home, _ = copy(name)
    (home / TABLES[name][0]).unlink()
    (home / TABLES[name][0]).write_bytes(content)
    with pytest.raises(ValueError, match="must be a table with columns"):
        DATASETS[name](home).report  # noqa: B018


@pytest.mark.parametrize("name", ["birdvox_dcase20k", "ccb18", "esc50", "flight_calls", "narw"])
def test_a_bad_line_is_named(copy, name):
    home, files = copy(name)
    path, column = TABLES[name]
    header, *lines = (home / path).read_text(encoding="utf-8").splitlines()
    values = lines[-1].split(",")
    values[header.split(",").index(column)] = "?"
    (home / path).unlink()
    (home / path).write_text("\n".join([header, *lines[:-1], ",".join(values)]), encoding="utf-8")
    dataset = DATASETS[name](home)
    place = f"{Path(path).name}, line {1 + len(lines)}"
    assert dataset.skipped[place]
    assert len(dataset.skipped) == 1
    assert set(files[:-1]) <= set(dataset.report.present)


@pytest.mark.parametrize("name", TABLES)
def test_a_line_that_comes_twice_counts_once(copy, name):
    home, files = copy(name)
    path = home / TABLES[name][0]
    text = path.read_text(encoding="utf-8")
    whole = DATASETS[name](home)
    path.unlink()
    path.write_text(text + text.splitlines()[-1] + "\n", encoding="utf-8")
    again = DATASETS[name](home)
    assert sorted(again.report.present) == sorted(files)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert (again.clips, again.recordings) == (whole.clips, whole.recordings)
    assert again.report.skipped or again.report.notes


@pytest.mark.parametrize("name", ["birdvox_dcase20k", "ccb18"])
def test_one_table_not_two(copy, name):
    home, _ = copy(name)
    (home / "more.csv").touch()
    assert "one CSV file" in DATASETS[name].validate(home).problem


# What sets share


def test_reports():
    report = Report(
        unit="clips",
        n_files=12,
        present=["a"],
        missing=list("bcdefgh"),
        skipped={"i": "empty", "t.csv, line 2": "what?"},
        repeats={"k": "a"},
        notes=["and so on"],
    )
    assert report.n_missing == 9
    assert str(report).splitlines() == [
        "1 of 12 clips present, 1 repeated, 2 left out",
        "  missing: b, c, d, e, f, and 2 others",
        "  left out: i: empty",
        "  left out: t.csv, line 2: what?",
        "  the same as others to the last byte, left out: k",
        "  and so on",
    ]


def test_a_report_of_very_many_faults_is_not_longer_than_need_be():
    lines = str(Report(unit="clips", skipped={f"{i}.wav": "empty" for i in range(4000)})).splitlines()
    assert len(lines) == 102
    assert lines[0] == "0 clips present, 4000 left out"
    assert lines[-1] == "  left out: 3900 others"


@pytest.mark.parametrize("size", [0, 0x7FFFF000, 0xFFFFFFFF])
def test_a_stream_of_unknown_length_is_not_truncated(size, tmp_path):
    path = write(tmp_path / "x.wav", white(4000), 2000)
    content = path.read_bytes()
    at = content.index(b"data") + 4
    riff_size = min(size + at, 0xFFFFFFFF).to_bytes(4, "little")
    path.write_bytes(content[:4] + riff_size + content[8:at] + size.to_bytes(4, "little") + content[at + 4 :])
    about = replace(DATASETS["shipsear"].about, sr=2000)
    assert not fault(path, about).startswith("truncated")
    path.write_bytes(content[:-1])
    assert fault(path, about).startswith("truncated")


@pytest.mark.parametrize("format", ["WAV", "RF64", "AIFF"])
def test_a_file_that_was_cut_off_is_truncated(format, tmp_path):
    path = write(tmp_path / "x", white(4000), 2000, format=format)
    about = replace(DATASETS["shipsear"].about, sr=2000)
    assert not fault(path, about)
    content = path.read_bytes()
    path.write_bytes(content[:-100])
    assert fault(path, about) == f"truncated: {len(content) - 100} bytes, where its header states {len(content)}"


def test_read_gives_a_stretch(tmp_path):
    x = white(300_000, 3)
    path = write(tmp_path / "x.wav", x, 2000, subtype="DOUBLE")
    whole, sr = read(path)
    assert sr == 2000
    assert_allclose(whole, x.mean(axis=1), atol=1e-15)
    part, _ = read(path, channel=2, first=150_000, n_samples=140_000)
    assert_array_equal(part, x[150_000:290_000, 2])


def test_wav_files_are_sorted_whatever_the_case_of_their_names(tmp_path):
    for name in ("b.WAV", "a.wav", "c.txt", "sub/d.wav"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert wav_files(tmp_path) == ["a.wav", "b.WAV"]
    assert wav_files(tmp_path, "*/*") == ["sub/d.wav"]
