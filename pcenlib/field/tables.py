"""Tables of detections that open at once in the programs of field biology: Raven, Audacity, all that reads CSV.

Rows are dictionaries with the keys of `Detection`, as `survey` makes them. A table of several recordings is
one table. In Raven's, times run over all recordings one after the other, as Raven shows a sequence of files, and
`Begin Path` and `File Offset (s)` say where in which file; in Audacity's they run likewise, as its tracks do when they
are aligned end to end, and labels name the file. CSV has the times in each file, and the parameters used as columns,
the same in every row, so that tables can be put together.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

__all__ = ["FORMATS", "Detection", "Format", "to_audacity", "to_csv", "to_raven"]


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


class Detection(TypedDict):
    """A row of a table: an event, where and when.

    Notes
    -----
    `file_start` is where the file starts if all files are put one after the other, in seconds, `start`, `end` and
    `peak` are seconds in the file, `low` and `high` hertz. `time` is the absolute time of `start` in ISO 8601 and
    `clock` what it rests on; both are empty if the recording does not tell.
    """

    file: str
    file_start: float
    start: float
    end: float
    peak: float
    low: float
    high: float
    score: float
    contrast: float
    time: str
    clock: str


def to_raven(rows: Sequence[Detection], parameters: Mapping[str, Any]) -> str:
    """A selection table of Raven Pro: tabs between columns, its own columns first and in its order.

    Parameters
    ----------
    rows : sequence of Detection
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
            f"{row['file_start'] + row['start']:.6f}",
            f"{row['file_start'] + row['end']:.6f}",
            f"{row['low']:.3f}",
            f"{row['high']:.3f}",
            Path(row["file"]).absolute(),
            f"{row['start']:.6f}",
            f"{row['file_start'] + row['peak']:.6f}",
            f"{row['score']:.4f}",
            f"{row['contrast']:.2f}",
            row["time"],
            row["clock"],
            "PCEN",
        ]
        for number, row in enumerate(rows, start=1)
    ]
    return _separated([RAVEN, *lines], "\t")


def to_audacity(rows: Sequence[Detection], parameters: Mapping[str, Any]) -> str:  # noqa: ARG001
    """A label track of Audacity: start, end and label, and on a second line the lowest and the highest frequency.

    Parameters
    ----------
    rows : sequence of Detection
        What was found.
    parameters : mapping
        Not used: labels have no place for them.

    Returns
    -------
    str
        Without any row, an empty text: label tracks have no header.

    Notes
    -----
    The format: https://manual.audacityteam.org/man/importing_and_exporting_labels.html.
    """
    several = len({row["file"] for row in rows}) > 1
    lines = []
    for row in rows:
        start, end = (row["file_start"] + row[key] for key in ("start", "end"))
        label = f"PCEN {row['contrast']:.1f} dB" + (f" {Path(row['file']).name}" if several else "")
        lines.append(f"{start:.6f}\t{end:.6f}\t{label}\n\\\t{row['low']:.6f}\t{row['high']:.6f}\n")
    return "".join(lines)


def to_csv(rows: Sequence[Detection], parameters: Mapping[str, Any]) -> str:
    """A tidy table: one row for each event, and the parameters used as columns.

    Parameters
    ----------
    rows : sequence of Detection
        What was found.
    parameters : mapping
        What it was found with.

    Returns
    -------
    str
    """
    digits = {"score": 4, "contrast": 2, "low": 3, "high": 3}
    names = list(Detection.__annotations__)
    lines = [
        [
            f"{value:.{digits.get(name, 6)}f}" if isinstance(value, float) else value
            for name, value in ((name, row[name]) for name in names)  # type: ignore[literal-required]
        ]
        + list(parameters.values())
        for row in rows
    ]
    return _separated([[*names, *parameters], *lines], ",")


FORMATS = {"raven": to_raven, "audacity": to_audacity, "csv": to_csv}
"""What writes each format."""


def _separated(lines: Sequence[Sequence[Any]], delimiter: str) -> str:
    with io.StringIO(newline="") as text:
        csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(lines)
        return text.getvalue()
