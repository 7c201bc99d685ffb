"""``pcenlib detect``: find events in recordings, and write what was asked for.

What the command needs is imported when it runs, so ``--help`` appears at once.
"""

import argparse
from pathlib import Path
from typing import Any

__all__ = ["add_parser"]

DETECT = """\
Find events in recordings: a threshold on max-pooled per-channel energy normalization.

An event begins where the detector rises above the threshold. It ends where the mean power in the bands of its peak,
over the next --min-gap seconds, has come back halfway, in decibels, to what it was before. Files and folders of any
size are read in constant memory. A run that was interrupted goes on where it was when the same command is given
again."""


def add_parser(commands: Any) -> None:
    """Add the command to those of a program, as `argparse.ArgumentParser.add_subparsers` returns them."""
    parser = commands.add_parser(
        "detect",
        help="find events in recordings",
        description=DETECT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=_run)
    parser.add_argument("paths", nargs="+", metavar="FILE_OR_FOLDER", help="recordings, or folders of them")
    parser.add_argument(
        "--setting",
        default="nighthawk",
        help="nighthawk (default), right-whale, or a TOML file with the fields of Setting",
    )
    parser.add_argument("--threshold", type=float, metavar="VALUE", help="value of max-pooled PCEN that makes an event")
    parser.add_argument(
        "--false-alarms-per-hour", type=float, metavar="N", help="instead of --threshold, with --calibrate"
    )
    parser.add_argument(
        "--calibrate", nargs="+", metavar="QUIET", help="recordings, or folders of them, in which nothing calls"
    )
    parser.add_argument(
        "--min-gap", type=float, metavar="SECONDS", help="closer events are one (default: time scale of the setting)"
    )
    parser.add_argument(
        "--min-duration", type=float, default=0.0, metavar="SECONDS", help="shorter events are dropped (default: none)"
    )
    parser.add_argument("--band", type=_band, metavar="LOW-HIGH", help="only bands with centers in this range, in Hz")
    parser.add_argument("--channel", type=int, metavar="NUMBER", help="channel, from 1 (default: mean of all)")
    parser.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="recordings at a time, or threads for a single one (default: one for each core)",
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="default: detections.txt or detections.csv")
    parser.add_argument("--format", choices=["raven", "audacity", "csv"], default="raven", help="default: raven")
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="replace files that are there, and what another search left unfinished",
    )
    parser.add_argument(
        "--figures",
        type=int,
        nargs="?",
        const=0,
        metavar="N",
        help="a picture of each event, or of the N strongest, in a folder beside the output",
    )
    parser.add_argument(
        "--report",
        action="store_true",
        help="a page for each folder of recordings: when, how strong, and how it sounds",
    )


def _band(text: str) -> tuple[float, float]:
    low, _, high = text.partition("-")
    try:
        return float(low), float(high)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected two frequencies in Hz as in 2000-5000, got {text!r}") from None


def _run(options: argparse.Namespace) -> int:
    """Find events and write what was asked for, while no other process writes it."""
    from pcenlib.jobs.files import locked

    _check(options)
    output = options.output or Path("detections.csv" if options.format == "csv" else "detections.txt")
    if output.is_dir():
        raise IsADirectoryError(f"{output} is a folder: --output must be a file")
    if not output.parent.is_dir():
        raise NotADirectoryError(f"there is no folder {output.parent} to write {output.name} into")
    with locked(output):
        return _write(options, output)


def _write(options: argparse.Namespace, output: Path) -> int:
    """Find events, write the table, then what is made from it, and say how it went."""
    from pcenlib.field.survey import survey
    from pcenlib.field.tables import FORMATS
    from pcenlib.jobs.files import write_whole

    figures = output.with_name(f"{output.name}.figures")
    checkpoint = output.with_name(f"{output.name}.unfinished")
    pages = _pages(options, output) if options.report else {}
    wanted = [output, *([figures] if options.figures is not None else []), *pages]
    for path in [] if options.overwrite or checkpoint.exists() else wanted:
        _check_free(path)
    if options.figures is not None and figures.exists() and not figures.is_dir():
        raise NotADirectoryError(f"{figures} is a file, where a folder of figures goes")
    for path in pages:
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a folder, where a page goes")
    report: Any = _report() if options.figures is not None or options.report else None

    search = _search(options)
    found = survey(
        options.paths,
        search,
        jobs=options.jobs,
        checkpoint=checkpoint,
        replace=options.overwrite,
        levels=options.report,
    )
    table = FORMATS[options.format](found.events, search.parameters)
    # One that is there beside the checkpoint is this one, if this command was interrupted after it.
    if not options.overwrite and output.exists() and output.read_bytes() != table.encode("utf-8", "backslashreplace"):
        _check_free(output)
    write_whole(output, table)
    failed: dict[str, str] = {}
    if options.figures is not None:
        failed |= report.write_figures(found, search, figures, strongest=options.figures or None)
    if options.report:
        failed |= report.write_pages(found, search, pages)
    written = ", ".join(str(path) for path in wanted if str(path) not in failed)
    print(f"{found}\nthreshold {search.threshold:g}, written to {written}")
    for name, reason in failed.items():
        print(f"  not written: {name}: {reason}")
    if not failed:  # else the same command tries again, without another search
        checkpoint.unlink()
    return 1 if found.failures or failed else 0


def _check_free(path: Path) -> None:
    if path.exists():
        raise FileExistsError(f"{path} is there already: give --overwrite, or another --output")


def _report() -> Any:
    """The module that draws: imported before a search that would be in vain without it."""
    from pcenlib.field.packages import require

    require("matplotlib", "--figures and --report")
    import matplotlib as mpl

    mpl.use("Agg")  # no window, whatever the machine
    from pcenlib.field import report

    return report


def _check(options: argparse.Namespace) -> None:
    """Raise ValueError unless the options fit together."""
    if (options.threshold is None) == (options.false_alarms_per_hour is None):
        raise ValueError("give either --threshold or --false-alarms-per-hour")
    if (options.false_alarms_per_hour is None) != (options.calibrate is None):
        raise ValueError(
            "--false-alarms-per-hour and --calibrate go together: a rate, and quiet recordings to reach it on"
        )
    if options.channel is not None and options.channel < 1:
        raise ValueError(f"--channel must be a number from 1, got {options.channel}")
    if options.figures is not None and options.figures < 0:
        raise ValueError(f"--figures must be a number of events, got {options.figures}")


def _search(options: argparse.Namespace) -> Any:
    """What the options ask to look for, calibrated if they say so."""
    from pcenlib.core.setting import load_setting
    from pcenlib.field.calibration import calibrate_threshold
    from pcenlib.field.search import Search

    setting = load_setting(options.setting)
    if options.band:
        setting = setting.within(*options.band)
    shared = {"setting": setting, "min_gap": options.min_gap, "channel": options.channel and options.channel - 1}
    threshold = options.threshold
    if threshold is None:
        calibration = calibrate_threshold(
            options.calibrate, false_alarms_per_hour=options.false_alarms_per_hour, jobs=options.jobs, **shared
        )
        print(calibration)
        threshold = calibration.threshold
    return Search(threshold=threshold, min_duration=options.min_duration, **shared)


def _pages(options: argparse.Namespace, output: Path) -> dict[Path, list[str]]:
    """Where the report of each folder goes, and the recordings that are in it."""
    from pcenlib.field.survey import find_recordings

    folders: dict[Path, list[str]] = {}
    for path in find_recordings(options.paths):
        folders.setdefault(path.parent, []).append(str(path))
    if len(folders) == 1:
        return {output.with_name(f"{output.name}.html"): files for files in folders.values()}
    return {
        output.with_name(f"{output.name}.{number}-{folder.name or 'recordings'}.html"): files
        for number, (folder, files) in enumerate(folders.items(), start=1)
    }
