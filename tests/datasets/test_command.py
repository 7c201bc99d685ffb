"""The command that says which data sets are there."""

import argparse
from dataclasses import replace

import pytest

from pcenlib.datasets import command
from pcenlib.datasets.catalogue import DATASETS
from pcenlib.datasets.command import add_parser, details, overview
from pcenlib.datasets.download import Remote
from tests import copies


@pytest.fixture
def home(tmp_path):
    """A data home with one set whole, one in part, one damaged, one useless, and one with no sound of it."""
    for name in ("deepship", "narw", "shipsear", "birdvox_dcase20k", "night_soundscapes"):
        copies.MAKERS[name](tmp_path / name)
    (tmp_path / "shipsear" / "bad.wav").touch()
    (tmp_path / "birdvox_dcase20k" / "labels.csv").unlink()
    for path in (tmp_path / "night_soundscapes").iterdir():
        path.write_bytes(b"")
    return tmp_path


def run(*arguments):
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers(required=True))
    options = parser.parse_args(["data", *map(str, arguments)])
    return options.run(options)


def test_overview(home):
    lines = overview(home).splitlines()
    assert lines[0] == f"Data home: {home}"
    states = {line.split()[0]: line.split(maxsplit=1)[1] for line in lines[3 : 3 + len(DATASETS)]}
    assert list(states) == list(DATASETS)
    assert states["deepship"].split("  ")[0] == "3 recordings present"
    assert states["deepship"].endswith("  use it")
    assert "6 of 30000 clips present" in states["narw"]
    assert states["narw"].endswith("use it; for the rest, pcenlib data narw says how to get it")
    assert "2 of 90 recordings present, 1 left out" in states["shipsear"]
    assert "use it; pcenlib data shipsear says what is wrong; for the rest, " in states["shipsear"]
    assert states["birdvox_dcase20k"].startswith("cannot be used")
    assert states["night_soundscapes"].endswith("  pcenlib data night_soundscapes says what is wrong")
    assert states["coni_knight"].startswith("not there ")
    assert states["coni_knight"].endswith("  pcenlib data coni_knight says how to get it")
    assert states["esc50"].endswith("  pcenlib data esc50 --download")


def test_overview_without_a_home():
    text = overview(None)
    assert text.startswith("No data home: set PCENLIB_DATA, or give --home.")
    assert text.count("not there") == len(DATASETS)


@pytest.mark.parametrize("name", DATASETS)
def test_details(home, name):
    text = " ".join(details(name, home).split())
    about = DATASETS[name].about
    for fact in (about.title, about.citation, about.key, about.licence, about.obtain, about.layout, str(home / name)):
        assert " ".join(fact.split()).replace("- ", "-") in text.replace("- ", "-")


def test_details_hold_the_report(home):
    assert "left out: bad.wav: empty" in details("shipsear", home)
    assert "labels.csv must be there" in details("birdvox_dcase20k", home)
    assert details("esc50", home).endswith("not there\nnext: pcenlib data esc50 --download")
    assert "$PCENLIB_DATA/esc50" in details("esc50", None)


def test_the_command(home, monkeypatch, capsys):
    monkeypatch.setenv("PCENLIB_DATA", str(home))
    assert run() == 0
    assert capsys.readouterr().out == overview(home) + "\n"
    assert run("narw", "--home", home / "other") == 0
    assert capsys.readouterr().out == details("narw", home / "other") + "\n"
    with pytest.raises(SystemExit):
        run("esc51")


def test_download(home, monkeypatch, capsys):
    asked = []

    def fake(remote, folder):
        asked.append((remote, folder))
        copies.esc50(folder)

    monkeypatch.setattr(command, "download", fake)
    assert run("esc50", "--home", home, "--download") == 0
    ((remote, folder),) = asked
    assert isinstance(remote, Remote)
    assert folder == home / "esc50"
    assert "4 of 2000 clips present" in capsys.readouterr().out


def test_what_is_complete_is_not_downloaded(home, monkeypatch, capsys):
    about = DATASETS["deepship"].about
    monkeypatch.setattr(DATASETS["deepship"], "about", replace(about, remotes=(Remote(file="x"),)))
    assert run("deepship", "--home", home, "--download") == 0
    assert "DeepShip is complete in" in capsys.readouterr().out


def test_downloads_that_cannot_be(home, monkeypatch):
    monkeypatch.delenv("PCENLIB_DATA", raising=False)
    with pytest.raises(ValueError, match="no data home to download to: set PCENLIB_DATA"):
        run("esc50", "--download")
    with pytest.raises(ValueError, match="--download needs the name of a data set"):
        run("--download", "--home", home)
    with pytest.raises(ValueError, match="CCB18 cannot be downloaded: ask the authors"):
        run("ccb18", "--download", "--home", home)
