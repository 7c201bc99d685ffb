"""``python -m pcenlib data``: which data sets are there, and how to get the others."""

import argparse
import textwrap
from pathlib import Path
from typing import Any

from pcenlib.datasets.catalogue import DATASETS, VARIABLE, data_home
from pcenlib.datasets.download import download
from pcenlib.datasets.real import Report

__all__ = ["add_parser", "details", "overview"]

DESCRIPTION = f"""\
Which real data sets are in the data home, and what to do to get the others.

The data home is a folder with a folder for each set: {VARIABLE}, or --home."""

WIDTH = 100
ABSENT = "not there"


def add_parser(commands: Any) -> None:
    """Add the command to a program's, as `argparse.ArgumentParser.add_subparsers` returns them."""
    parser = commands.add_parser(
        "data",
        help="list data sets, check and download them",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=_run)
    parser.add_argument("name", nargs="?", choices=list(DATASETS), metavar="NAME", help="everything about one data set")
    parser.add_argument("--home", type=Path, metavar="FOLDER", help=f"data home (default: {VARIABLE})")
    parser.add_argument("--download", action="store_true", help="download the set of that name, if it is public")


def overview(home: Path | None) -> str:
    """Table of all data sets as text: what is in the data home, and what to do next."""
    reports = {name: _report(name, home) for name in DATASETS}
    table = [("NAME", "STATE", "NEXT")]
    table += [(name, report.summary if report else ABSENT, _next(name, report)) for name, report in reports.items()]
    widths = [max(len(row[column]) for row in table) for column in (0, 1)]
    lines = [f"{name:{widths[0]}}  {state:{widths[1]}}  {action}" for name, state, action in table]
    where = f"Data home: {home}" if home else f"No data home: set {VARIABLE}, or give --home."
    return "\n".join(
        [where, "", *lines, "", "pcenlib data NAME says everything about one of them. (pcenlib is python -m pcenlib.)"]
    )


def details(name: str, home: Path | None) -> str:
    """Everything about one data set as text: what it is, how to get it, and what of it is in the data home."""
    about = DATASETS[name].about
    folder = home / name if home else Path(f"${VARIABLE}") / name
    facts = {
        "citation": f"{about.citation} [{about.key}]",
        "licence": about.licence,
        "obtain": about.obtain,
        "folder": str(folder),
        "layout": about.layout,
    }
    lines = [about.title, ""]
    for key, text in facts.items():
        lines += textwrap.wrap(text, WIDTH, initial_indent=f"{key:9} ", subsequent_indent=" " * 10)
    report = _report(name, home)
    return "\n".join([*lines, "", str(report) if report else ABSENT, f"next: {_next(name, report)}"])


def _report(name: str, home: Path | None) -> Report | None:
    """What of a data set is there; nothing, if it has no folder."""
    return DATASETS[name].validate(home / name) if home and (home / name).is_dir() else None


def _next(name: str, report: Report | None) -> str:
    """What to do next."""
    command = f"pcenlib data {name}"
    get = f"{command} --download" if DATASETS[name].about.remotes else f"{command} says how to get it"
    if report is None:
        return get
    if report.problem:
        return f"{command} says what is wrong"
    steps = ["use it"] if report.present else []
    steps += [f"{command} says what is wrong"] if report.skipped else []
    steps += [f"for the rest, {get}"] if report.n_missing else []
    return "; ".join(steps)


def _run(options: argparse.Namespace) -> int:
    """Print what was asked for, after the download."""
    home = data_home(options.home)
    if options.download:
        if options.name is None:
            raise ValueError("--download needs the name of a data set")
        _download(options.name, home)
    print(details(options.name, home) if options.name else overview(home))
    return 0


def _download(name: str, home: Path | None) -> None:
    """Download a data set, unless it is there."""
    about = DATASETS[name].about
    if home is None:
        raise ValueError(f"there is no data home to download to: set {VARIABLE}, or give --home")
    if not about.remotes:
        raise ValueError(f"{about.title} cannot be downloaded: {about.obtain}")
    if DATASETS[name].validate(home / name).complete:
        print(f"{about.title} is complete in {home / name}")
        return
    for remote in about.remotes:
        download(remote, home / name)
