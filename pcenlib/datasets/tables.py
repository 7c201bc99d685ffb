"""Tables that come with real data sets."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

__all__ = ["labels", "only_table", "rows"]


def rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Lines of a CSV file: file and line number, for reports, and the columns asked for, empty where a cell is missing.

    OSError or ValueError if it is not a table with these columns.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path} must be there: a table with columns {', '.join(columns)}")
    with path.open(encoding="utf-8-sig", newline="") as file:
        try:
            table = csv.DictReader(file)
            lacking = [column for column in columns if column not in (table.fieldnames or ())]
            if lacking:
                raise ValueError(f"has no column {', '.join(lacking)}: it has {', '.join(table.fieldnames or ())}")
            for row in table:
                yield f"{path.name}, line {table.line_num}", {column: row[column] or "" for column in columns}
        except (csv.Error, ValueError) as error:
            raise ValueError(f"{path} must be a table with columns {', '.join(columns)}: {error}") from error


def only_table(folder: Path, default: str) -> Path:
    """The one CSV file in a folder, or the default name if there is none; ValueError if there are several."""
    tables = sorted(folder.glob("*.csv"))
    if len(tables) > 1:
        raise ValueError(f"{folder} must hold one CSV file, not {len(tables)}")
    return tables[0] if tables else folder / default


def labels(path: Path, columns: tuple[str, str]) -> tuple[dict[str, bool], dict[str, str]]:
    """The label of each name in a CSV file with columns of names and of labels 0 or 1; and bad lines, with why."""
    found: dict[str, bool] = {}
    skipped = {}
    for place, row in rows(path, columns):
        name, label = (row[column] for column in columns)
        if label not in ("0", "1") or not name or name in found:
            skipped[place] = f"must name a file once and say 0 or 1, got {name!r} and {label!r}"
        else:
            found[name] = label == "1"
    return found, skipped
