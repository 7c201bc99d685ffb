"""Every real data set, on a small synthetic copy of its layout: whole, and with all that can be wrong with it."""

import os
import pickle
import re
import shutil
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib import RIGHT_WHALE
from pcenlib.datasets import right_whale_challenge
from pcenlib.datasets.birdvox import BirdVox
from pcenlib.datasets.catalogue import DATASETS, data_home, find
from pcenlib.datasets.ccb18 import Ccb18
from pcenlib.datasets.coni_knight import ConiKnight
from pcenlib.datasets.deepship import DeepShip
from pcenlib.datasets.esc50 import OUTDOOR, Esc50, without_padding
from pcenlib.datasets.flight_calls import FlightCalls
from pcenlib.datasets.interface import Paired
from pcenlib.datasets.real import MISSING, Report, fault, read, rows, wav_files
from pcenlib.datasets.right_whale_challenge import SNR_BINS, RightWhaleChallenge, received_snr
from pcenlib.experiments.evaluate import evaluate
from pcenlib.experiments.protocols import NIGHTHAWK_PAPER, NIGHTHAWK_RELEASED, Protocol
from tests import copies
from tests.copies import TABLES
from tests.sounds import white, write

ROOT = Path(__file__).parents[2]
EVERY_SET = pytest.mark.parametrize("name", DATASETS)


@pytest.fixture(scope="session")
def wholes(tmp_path_factory):
    """A data home with a whole copy of each set, which no test changes, and the files of each."""
    home = tmp_path_factory.mktemp("home")
    files = {}
    for name, make in copies.MAKERS.items():
        (home / name).mkdir()
        files[name] = make(home / name)
    return home, files


@pytest.fixture
def copy(wholes, tmp_path):
    """A copy of one set, of which files may be replaced but not written into, and its files."""

    def make(name):
        home, files = wholes
        shutil.copytree(home / name, tmp_path / name, copy_function=os.link)
        return tmp_path / name, files[name]

    return make


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
    rewritten(path, lambda x, sr: (x[:0], sr))


def wrong_rate(path):
    rewritten(path, lambda x, sr: (x, sr + 100))


def stereo(path):
    rewritten(path, lambda x, sr: (x[:, [0, 0]], sr))


def short(path):
    rewritten(path, lambda x, sr: (x[: len(x) // 2], sr))


def folder(path):
    path.mkdir()


def rewritten(path, change):
    """The same file, with other samples."""
    kind = soundfile.info(path)
    x, sr = change(*soundfile.read(path, always_2d=True))
    path.unlink()
    write(path, x, sr, format=kind.format, subtype=kind.subtype)


KEEPS = (truncated, header_only, no_samples, wrong_rate, stereo, short)
FAULTS = {
    damaged: "cannot read it|truncated",
    truncated: "truncated: .* bytes, where its header states",
    header_only: "truncated",
    empty: "^empty$",
    no_samples: "holds no sample|expected",
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


@pytest.mark.parametrize("name", ["birdvox_dcase20k", "ccb18", "esc50", "narw"])
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


# Experiments


WHALE = {"paper": Protocol(setting=RIGHT_WHALE)}
NIGHTHAWK = {"paper": NIGHTHAWK_PAPER, "released": NIGHTHAWK_RELEASED}


@pytest.mark.parametrize(
    ("positives", "negatives", "protocols"),
    [
        ("coni_knight", "birdvox_dcase20k", NIGHTHAWK),
        ("coni_knight", "esc50", NIGHTHAWK),
        ("nighthawk", "night_soundscapes", NIGHTHAWK),
        ("ccb18", "shipsear", WHALE),
        ("narw", "deepship", WHALE),
        ("narw", "narw", WHALE),
    ],
)
def test_experiments(wholes, positives, negatives, protocols):
    home, _ = wholes
    pair = Paired(find(positives, home), find(negatives, home))
    table = evaluate(pair, protocols, jobs=1)
    distances = {clip.distance for clip in pair.clips}
    assert set(table["distance"]) == distances
    assert set(table["group"]) == {clip.group for clip in pair.clips}
    assert len(table) == 3 * len(protocols) * len({(clip.distance, clip.group) for clip in pair.clips})
    assert (table["mtbfa"] > 0).all()


def test_workers_read_for_themselves(wholes):
    home, _ = wholes
    pair = Paired(find("ccb18", home), find("shipsear", home))
    one, two = (evaluate(pair, WHALE, jobs=jobs) for jobs in (1, 2))
    assert one.equals(two)


def test_pairs_take_clips_of_one_and_recordings_of_the_other(wholes):
    home, _ = wholes
    whales, ships = find("narw", home), find("deepship", home)
    pair = Paired(whales, ships)
    assert pair.clip_duration == 2.0
    assert pair.clips == whales.clips
    assert pair.recordings == ships.recordings
    assert pickle.loads(pickle.dumps(pair)) == pair  # noqa: S301
    assert_array_equal(pair.clip(pair.clips[0]).source, whales.clip(pair.clips[0]).source)
    assert pair.recording(ships.recordings[0]) == ships.recording(ships.recordings[0])


# The catalogue


def test_data_home(monkeypatch, tmp_path):
    monkeypatch.delenv("PCENLIB_DATA", raising=False)
    assert data_home() is None
    assert find("esc50") is None
    monkeypatch.setenv("PCENLIB_DATA", str(tmp_path))
    assert data_home() == tmp_path
    assert data_home("~/other") == Path.home() / "other"
    assert find("esc50") is None
    (tmp_path / "esc50").mkdir()
    assert find("esc50") == Esc50(tmp_path / "esc50")
    with pytest.raises(ValueError, match="name must be one of coni_knight"):
        find("esc51")


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


def test_rows_are_what_was_asked_for(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\ufeffa,b,c\n1,2,3\n4\n", encoding="utf-8")
    assert list(rows(path, ["c", "a"])) == [
        ("t.csv, line 2", {"c": "3", "a": "1"}),
        ("t.csv, line 3", {"c": "", "a": "4"}),
    ]


def test_wav_files_are_sorted_whatever_the_case_of_their_names(tmp_path):
    for name in ("b.WAV", "a.wav", "c.txt", "sub/d.wav"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert wav_files(tmp_path) == ["a.wav", "b.WAV"]
    assert wav_files(tmp_path, "*/*") == ["sub/d.wav"]


# What is particular to each


def test_coni_knight_has_nominal_distances_and_days(wholes):
    clips = ConiKnight(wholes[0] / "coni_knight").clips
    assert [(clip.distance, clip.group) for clip in clips] == [
        (distance, day) for distance in (30, 500) for day in ("20160701", "20160701", "20160702")
    ]
    assert clips[-1].name == "511_3634_ABC-1-500_20160702_22303634.wav"


def test_coni_knight_names_files_with_other_names(copy):
    home, files = copy("coni_knight")
    (home / files[0]).rename(home / "call.wav")
    dataset = ConiKnight(home)
    assert list(dataset.skipped) == ["call.wav"]
    assert "<nominal metres>" in dataset.skipped["call.wav"]


def test_birdvox_scenes_have_no_bird_wherever_they_are(copy):
    home, files = copy("birdvox_dcase20k")
    assert BirdVox(home).recordings == [files[0], files[2]]
    (home / "wav").mkdir()
    (home / files[0]).rename(home / "wav" / files[0])
    assert BirdVox(home).recordings == [f"wav/{files[0]}", files[2]]


@pytest.mark.parametrize("name", ["birdvox_dcase20k", "ccb18"])
def test_one_table_not_two(copy, name):
    home, _ = copy(name)
    (home / "more.csv").touch()
    assert "one CSV file" in DATASETS[name].validate(home).problem


def test_esc50_outdoors(wholes):
    dataset = Esc50(wholes[0] / "esc50")
    assert len(OUTDOOR) == 20
    assert [dataset.category(name) for name in dataset.recordings] == ["rain", "pouring_water", "hand_saw"]


def test_esc50_padding(copy):
    home, files = copy("esc50")
    x, sr = soundfile.read(home / files[1])
    x[100_000:] = 0
    (home / files[1]).unlink()
    write(home / files[1], x, sr)
    assert_allclose(Esc50(home).recording(files[1]).source, x[:100_000], atol=1e-4)
    padded = Esc50(home, padded=True).recording(files[1])
    assert padded.source == home / files[1]
    assert padded.sr is None
    assert "padded=True" in repr(Esc50(home, padded=True))


def test_esc50_silence_is_an_error(copy):
    home, files = copy("esc50")
    rewritten(home / files[1], lambda x, sr: (0 * x, sr))
    with pytest.raises(ValueError, match=re.escape(files[1])):
        Esc50(home).recording(files[1])


def test_without_padding():
    assert without_padding(np.array([0.0, 1, 0, 2, 0, 0])).tolist() == [0, 1, 0, 2]
    assert without_padding(np.array([1.0])).tolist() == [1]
    assert without_padding(np.zeros(3)).size == 0


def test_ccb18_bins_days_and_channels(wholes):
    dataset = Ccb18(wholes[0] / "ccb18")
    assert dataset.clips == [
        ("CCB18_20090219_001500.wav, channel 1, 100.500 s", 500.0, "20090219"),
        ("CCB18_20090219_001500.wav, channel 5, 111.500 s", 500.0, "20090219"),
        ("CCB18_20090417_234500.wav, channel 4, 540.500 s", 12500.0, "20090417"),
        ("CCB18_20090417_234500.wav, channel 5, 540.500 s", 12500.0, "20090417"),
    ]
    assert dataset.report.notes == ["4 of 4 annotations can be used, without 1 of channel 3"]


@pytest.mark.parametrize(
    ("begin", "lead", "middle"),
    [(300.0, 4.096, 1.024), (2.0, 1.408, 1.024), (0.0, 0.0, 0.5), (899.9, 4.096, 2.112)],
)
def test_ccb18_clips_are_around_their_calls(tmp_path, begin, lead, middle):
    x = np.zeros((900 * 2000, 2))
    at = min(round((begin + 0.5) * 2000), len(x) - 1)
    x[at, 1] = 0.5
    write(tmp_path / "CCB18_20090220_120000.flac", x, 2000, format="FLAC")
    columns = ["Date", "Channel", "Begin.Time..s.", "End.Time..s.", "DistanceKm"]
    copies.table(tmp_path / "calls.csv", columns, [(20090220, 2, 43200 + begin, 43201 + begin, 3.0)])
    dataset = Ccb18(tmp_path)
    (clip,) = dataset.clips
    assert clip[1:] == (3500.0, "20090220")
    found = dataset.clip(clip)
    assert found.sr == 2000
    assert found.lead == pytest.approx(lead, abs=0.065)
    n_lead = round(found.lead * 2000)
    assert n_lead % RIGHT_WHALE.hop_length == 0
    assert RIGHT_WHALE.n_frames(len(found.source) - n_lead) == 32
    assert (np.argmax(found.source) - n_lead) / 2000 == pytest.approx(middle, abs=0.065)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ((219, 1, 1000, 999, 1), "times within a day"),
        ((219, 0, 1000, 1001, 1), "channel from 1"),
        ((219, 1, 90000, 90001, 1), "times within a day"),
        ((219, 1, 1000, 1001, ""), "DistanceKm must be a number of at least 0, got ''"),
        ((219, 1, 1000, 1001, "NaN"), "DistanceKm"),
        ((219, 1, 1000, 1001, -1), "DistanceKm"),
        ((219, 9, 1000, 1001, 1), "only 5 channels"),
    ],
)
def test_ccb18_lines_that_cannot_be(copy, line, reason):
    home, _ = copy("ccb18")
    path = home / TABLES["ccb18"][0]
    text = path.read_text(encoding="utf-8")
    path.unlink()
    path.write_text(text + ",".join(map(str, line)) + "\n", encoding="utf-8")
    dataset = Ccb18(home)
    (found,) = dataset.skipped.values()
    assert reason in found
    with pytest.warns(UserWarning, match="CCB18: left out"):
        assert len(dataset.clips) == 4
    assert dataset.report.notes == ["4 of 5 annotations can be used, without 1 of channel 3"]


def test_deepship_has_a_folder_for_each_class(wholes):
    assert DeepShip(wholes[0] / "deepship").recordings == ["Passengership/12.wav", "Tanker/12.wav", "Tanker/9.wav"]


def test_flight_calls_have_what_comes_before(wholes):
    dataset = FlightCalls(wholes[0] / "nighthawk")
    clip = dataset.clips[1]
    assert clip == ("audio/coni_01.wav", 0.0, "audio/coni_01.wav")
    found = dataset.clip(clip)
    x, _ = soundfile.read(dataset.folder / clip.name)
    assert_array_equal(found.source, x[: round(1.35 * 24000)])
    assert found.lead == pytest.approx(0.65)


# The right whale challenge


def test_right_whales_are_in_blocks_and_bins(wholes):
    dataset = RightWhaleChallenge(wholes[0] / "narw")
    assert [clip.group for clip in dataset.clips] == ["block 1", "block 1", "block 5"]
    assert dataset.recordings == ["train/train1.aiff", "train/train5999.aiff", "train/train29999.aiff"]
    assert {clip.distance for clip in dataset.clips} <= set(SNR_BINS)


def test_repeats_are_left_out(copy):
    home, files = copy("narw")
    (home / files[5]).unlink()
    shutil.copy(home / files[1], home / files[5])
    dataset = RightWhaleChallenge(home)
    assert dataset.report.repeats == {files[5]: files[1]}
    assert dataset.report.summary == "6 of 30000 clips present, 1 repeated"
    assert [clip.name for clip in dataset.clips] == [files[1], files[3]]
    assert not dataset.skipped


def test_repeats_that_contradict_each_other_are_all_left_out(copy):
    home, files = copy("narw")
    (home / files[5]).unlink()
    shutil.copy(home / files[0], home / files[5])
    dataset = RightWhaleChallenge(home)
    assert dataset.report.repeats == {files[0]: files[0], files[5]: files[0]}
    assert [clip.name for clip in dataset.clips] == [files[1], files[3]]
    assert dataset.recordings == [files[2], files[4]]


@pytest.mark.parametrize("snr", [3.0, 10.0, 20.0])
def test_received_snr_of_a_tone_in_noise(snr):
    """A tone of 0.6 s against the noise in the band of up-calls; noise is underestimated by design."""
    rng = np.random.default_rng(0)
    estimates = []
    for _ in range(50):
        x = 0.01 * rng.standard_normal(4000)
        in_band = 0.01**2 * (300 - 50) / 1000
        time = np.arange(1200) / 2000
        x[1500:2700] += np.sqrt(2 * in_band * 10 ** (snr / 10)) * np.sin(2 * np.pi * 150 * time + rng.uniform(0, 6))
        estimates.append(received_snr(x, 2000))
    assert snr + 0.5 < np.mean(estimates) < snr + 2.5
    assert np.std(estimates) < 1.0


def test_received_snr_does_not_depend_on_gain_nor_on_other_bands():
    x = 0.1 * white(4000)
    x[1000:2000] *= 4
    assert received_snr(100 * x, 2000) == pytest.approx(received_snr(x, 2000))
    hum = np.sin(2 * np.pi * 703.125 * np.arange(4000) / 2000)
    hum[:2000] = 0
    assert received_snr(x + hum, 2000) == pytest.approx(received_snr(x, 2000), abs=1.0)


def test_received_snr_of_noise_alone_is_the_least_there_is():
    estimates = [received_snr(white(4000, seed=seed), 2000) for seed in range(100)]
    assert np.mean(estimates) == pytest.approx(-0.9, abs=0.4)
    assert received_snr(np.zeros(4000), 2000) < -100


def test_received_snr_refuses_what_it_cannot_judge():
    with pytest.raises(ValueError, match="sr must be 2000, got 4000"):
        received_snr(np.ones(4000), 4000)
    with pytest.raises(ValueError, match="at least 4 frames, got 3"):
        received_snr(np.ones(256 + 2 * 128), 2000)


def test_bins_beyond_the_outermost(monkeypatch, wholes):
    for snr, expected in ((-5, 1.5), (2.9, 1.5), (3.1, 4.5), (50, 16.5)):
        monkeypatch.setattr(right_whale_challenge, "received_snr", lambda *_, snr=snr: snr)
        clips = RightWhaleChallenge(wholes[0] / "narw").clips
        assert {clip.distance for clip in clips} == {expected}
