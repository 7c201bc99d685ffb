"""Results that a reader may not be able to compute: small tables, kept with where they came from.

A table is a CSV file in the folder `data` beside this module. Lines that start with ``#`` come before it and say where
it came from, a key and a JSON value each. One key, `definition`, is what the table is a result of, in full; a chapter
that shows the table states its own definition, and a table of another one is refused. So a stale table fails the build.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pcenlib.experiments.tables import in_order

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Stored", "check_same", "describe", "load", "save"]


# Where the tables are.
FOLDER = Path(__file__).parent / "data"


class Stored(NamedTuple):
    """A stored table, and where it came from."""

    table: "pd.DataFrame"
    provenance: Mapping[str, Any]


def save(name: str, table: "pd.DataFrame", *, definition: str, folder: Path = FOLDER, **provenance: Any) -> Path:
    """Store a table.

    Parameters
    ----------
    name : str
        Name of the table, and of its file without the suffix.
    table : DataFrame
        What to store; floating-point numbers are rounded to seven digits.
    definition : str
        What the table is a result of: everything that it depends on, as text.
    folder : Path
        Where to; the package's own folder by default.
    **provenance
        Where it came from: seed, counts, hash of a list of files. The version of this library is added.

    Returns
    -------
    Path
        The file.
    """
    from pcenlib.core.version import __version__

    header = {"definition": definition, "pcenlib": __version__, **provenance}
    path = folder / f"{name}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    with part.open("w", encoding="utf-8", newline="") as file:
        file.writelines(f"# {key}: {json.dumps(value)}\n" for key, value in header.items())
        table.to_csv(file, index=False, float_format="%.7g", lineterminator="\n")
    part.replace(path)
    return path


def load(name: str, *, definition: str | None = None, folder: Path = FOLDER) -> Stored:
    """A stored table, unless it is a result of something else.

    Parameters
    ----------
    name : str
        Name of the table.
    definition : str, optional
        What the table should be a result of.
    folder : Path
        Where from.

    Returns
    -------
    Stored
    """
    import pandas as pd

    path = folder / f"{name}.csv"
    with path.open(encoding="utf-8") as file:
        lines = file.readlines()
    n_header = next((i for i, line in enumerate(lines) if not line.startswith("# ")), len(lines))
    pairs = (line[2:].split(": ", 1) for line in lines[:n_header])
    provenance = {key: json.loads(value) for key, value in pairs}
    if "definition" not in provenance:
        raise ValueError(f"{path} must say what it is a result of, in a line that starts with '# definition: '")
    if definition is not None and provenance["definition"] != definition:
        raise ValueError(
            f"{path} is stale: it is a result of {provenance['definition']!r}, not of {definition!r}; compute it again"
        )
    table = pd.read_csv(path, skiprows=n_header)
    return Stored(in_order(table) if "detector" in table else table, provenance)


def check_same(
    name: str, old: "pd.DataFrame", new: "pd.DataFrame", *, keys: Sequence[str], tolerances: Mapping[str, float]
) -> None:
    """Raise ValueError unless a table that was stored and one that was computed now agree.

    Parameters
    ----------
    name : str
        Name of the stored table, for the error.
    old, new : DataFrame
        The two tables.
    keys : sequence of str
        Columns that tell the rows apart; both tables must have the same rows, in any order.
    tolerances : mapping of str to float
        Columns to compare, and by how much they may differ, relative to the larger of the value and 1. What is infinite
        or missing must be so in both.

    Notes
    -----
    Definitions say what was to be done; this says whether it still is.
    """
    columns = [*keys, *tolerances]
    absent = [column for column in columns if column not in old or column not in new]
    if absent:
        raise ValueError(f"stored table {name} is stale: {', '.join(absent)} must be a column of both tables")
    suffixes = ("_old", "_new")
    both = old[columns].merge(
        new[columns], on=list(keys), how="outer", suffixes=suffixes, indicator=True, validate="one_to_one"
    )
    alone = both[both["_merge"] != "both"]
    if len(alone):
        place = alone[list(keys)].iloc[0].to_dict()
        raise ValueError(f"stored table {name} is stale: both tables must have the same rows, but one has no {place}")
    for column, tolerance in tolerances.items():
        a, b = (both[f"{column}{suffix}"].to_numpy(dtype=float) for suffix in suffixes)
        with np.errstate(invalid="ignore"):
            close = np.abs(a - b) <= tolerance * np.maximum(1, np.maximum(np.abs(a), np.abs(b)))
        finite = np.isfinite(a) & np.isfinite(b)
        off = ~np.where(finite, close, (a == b) | (np.isnan(a) & np.isnan(b)))
        if off.any():
            place = both.loc[off, list(keys)].iloc[0].to_dict()
            raise ValueError(
                f"stored table {name} is stale: {column} was {a[off][0]:g} and is {b[off][0]:g} at {place}; "
                "compute it again"
            )


def describe(*things: object) -> str:
    """Text of settings, data sets and protocols, for a definition.

    Parameters
    ----------
    *things
        Anything whose text (`repr`) says what it is, as that of a frozen dataclass does.

    Returns
    -------
    str
        Their texts, with numbers rounded to seven digits: the last digit may be another on another machine.

    Examples
    --------
    >>> describe({"s": 0.1 + 0.2}, 2.0**-62)
    "{'s': 0.3}, 2.168404e-19"
    """
    text = ", ".join(map(repr, things))
    return re.sub(r"\d+\.\d+(e[+-]?\d+)?", lambda number: f"{float(number[0]):.7g}", text)
