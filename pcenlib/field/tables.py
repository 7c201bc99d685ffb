"""Tables of detections that open at once in the programs of field biology: Raven, Audacity, all that reads CSV.

Several recordings make one table. In Raven's, times run over all recordings one after the other, as Raven shows a
sequence of files, and `Begin Path` and `File Offset (s)` say where in which file. In Audacity's they run on too, as
tracks do when they are aligned end to end, and labels name the file. CSV has the times in each file, and the parameters
used as columns, the same in every row, so tables can be put together.

No text is taken for a formula. A recording whose name begins as one does, with ``=`` for example, is written with
``./`` before it: that is the same file, for every program that reads the table. Other text gets an apostrophe.
"""

import csv
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pcenlib.field.events import Event

__all__ = ["FORMATS", "Format", "label", "to_audacity", "to_csv", "to_raven"]


# What a cell begins with that spreadsheets compute, or pass over before they look.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")

Format = Literal["raven", "audacity", "csv"]

RAVEN = [
    "Selection",
    "View",
    "Channel",
    "Begin Time (s)",
    "End Time (s)",
    "Low Freq (Hz)",
    "High Freq (Hz)",
    "Begin Path",
    "File Offset (s)",
    "PCEN Peak Time (s)",
    "PCEN Score",
    "PCEN Contrast (dB)",
    "Recorder Time",
    "Recorder Clock",
    "Annotation",
]


def label(path: str | os.PathLike[str]) -> str:
    """Name of a file or folder for people: one line, with escapes for what cannot be printed."""
    name = Path(path).name
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in name)


def to_raven(events: Sequence[Event], parameters: Mapping[str, Any]) -> str:
    """A selection table of Raven Pro: tabs between columns, its own columns first and in its order.

    Parameters
    ----------
    events : sequence of Event
        What was found.
    parameters : mapping
        What it was found with; `channel` is what Raven shows.

    Returns
    -------
    str

    Notes
    -----
    Raven counts channels from 1; the mean of all is shown on the first.
    """
    channel = parameters.get("channel")
    lines = [
        [
            number,
            "Spectrogram 1",
            1 + channel if isinstance(channel, int) else 1,
            f"{event.file_start + event.start:.6f}",
            f"{event.file_start + event.end:.6f}",
            f"{event.low:.3f}",
            f"{event.high:.3f}",
            Path(event.file).absolute(),
            f"{event.start:.6f}",
            f"{event.file_start + event.peak:.6f}",
            f"{event.score:.4f}",
            f"{event.contrast:.2f}",
            _text(event.time),
            _text(event.clock),
            "PCEN",
        ]
        for number, event in enumerate(events, start=1)
    ]
    return _separated([RAVEN, *lines], "\t")


def to_audacity(events: Sequence[Event], parameters: Mapping[str, Any]) -> str:  # noqa: ARG001
    """A label track of Audacity: start, end and label, and on a second line the lowest and the highest frequency.

    Labels have no place for the parameters, and no header: without any event, the text is empty.
    The format: https://manual.audacityteam.org/man/importing_and_exporting_labels.html.
    """
    several = len({event.file for event in events}) > 1
    lines = []
    for event in events:
        start, end = event.file_start + event.start, event.file_start + event.end
        text = f"PCEN {event.contrast:.1f} dB" + (f" {label(event.file)}" if several else "")
        lines.append(f"{start:.6f}\t{end:.6f}\t{text}\n\\\t{event.low:.6f}\t{event.high:.6f}\n")
    return "".join(lines)


def to_csv(events: Sequence[Event], parameters: Mapping[str, Any]) -> str:
    """A tidy table: one row for each event, and the parameters used as columns."""
    digits = {"score": 4, "contrast": 2, "low": 3, "high": 3}
    lines = [
        [
            f"{value:.{digits.get(name, 6)}f}" if isinstance(value, float) else _text(value)
            for name, value in event._replace(file=_path(event.file))._asdict().items()
        ]
        + [_text(value) if isinstance(value, str) else value for value in parameters.values()]
        for event in events
    ]
    return _separated([[*Event._fields, *parameters], *lines], ",")


FORMATS = {"raven": to_raven, "audacity": to_audacity, "csv": to_csv}
"""What writes each format."""


def _path(path: str) -> str:
    """The same path, but none that a spreadsheet takes for a formula."""
    return f"./{path}" if path.startswith(FORMULA) else path


def _text(text: str) -> str:
    """Text that a spreadsheet shows as it is, in most of them without the apostrophe."""
    return f"'{text}" if text.startswith(FORMULA) else text


def _separated(lines: Sequence[Sequence[Any]], delimiter: str) -> str:
    return "".join(_line(line, delimiter) for line in lines)


def _line(cells: Sequence[Any], delimiter: str) -> str:
    """A line of CSV. With this end of a line, the writer also quotes cells that hold a carriage return."""
    with io.StringIO(newline="") as text:
        csv.writer(text, delimiter=delimiter, lineterminator="\r\n").writerow(cells)
        return text.getvalue().removesuffix("\r\n") + "\n"
