"""Results that a reader may not be able to compute: small tables, kept with where they came from.

A table is a CSV file in the folder `data` beside this module. Lines that start with ``#`` come before it and say where
it came from, a key and a JSON value each. One key, `definition`, says in full what the table is a result of. Whoever
loads a table states its definition, and a table of another one is refused, so a stale table fails the build.

An `Experiment` says how such a table is computed from recordings. Each module on real sound declares its own.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pcenlib.core.version import __version__
from pcenlib.experiments.tables import in_order
from pcenlib.jobs.files import write_whole

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Experiment", "Stored", "as_text", "check_same", "describe", "load", "save"]


# Where the tables are.
FOLDER = Path(__file__).parent / "data"


class Stored(NamedTuple):
    """A stored table, and where it came from."""

    table: "pd.DataFrame"
    provenance: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """An experiment on real sound.

    Parameters
    ----------
    run : callable
        From data sets to a table.
    sets : sequence of str
        Names of the data sets that it needs.
    further : sequence of str
        Names of those that it takes if they are there, after the others.
    definition : str
        What the table is a result of, the files aside.
    keys : sequence of str
        Columns that tell its rows apart.
    tolerances : mapping of str to float
        Columns to compare when it is computed again, as for `check_same`.
    note : str
        What to know before running it: how long it takes, what it needs.
    """

    run: "Callable[..., pd.DataFrame]"
    sets: Sequence[str]
    further: Sequence[str] = ()
    definition: str
    keys: Sequence[str]
    tolerances: Mapping[str, float]
    note: str = ""


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
        Where it came from: seed, counts, hash of the files. The version of this library is added.

    Returns
    -------
    Path
        The file.
    """
    header = {"definition": definition, "pcenlib": __version__, **provenance}
    lines = "".join(f"# {key}: {json.dumps(value)}\n" for key, value in header.items())
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.csv"
    write_whole(path, lines + as_text(table))
    return path


def as_text(table: "pd.DataFrame") -> str:
    """A table as it is stored."""
    return str(table.to_csv(index=False, float_format="%.7g", lineterminator="\n"))


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
    """
    from pandas.testing import assert_series_equal

    stale = f"stored table {name} is stale"
    columns = [*keys, *tolerances]
    absent = [column for column in columns if column not in old or column not in new]
    if absent:
        raise ValueError(f"{stale}: {', '.join(absent)} must be a column of both tables")
    both = old[columns].merge(
        new[columns], on=list(keys), how="outer", suffixes=("", " now"), indicator=True, validate="one_to_one"
    )
    alone = both[both["_merge"] != "both"]
    if len(alone):
        place = alone[list(keys)].iloc[0].to_dict()
        raise ValueError(f"{stale}: both tables must have the same rows, but one has no {place}")
    both = both.set_index(list(keys)).astype({column: float for name in tolerances for column in (name, f"{name} now")})
    for column, tolerance in tolerances.items():
        try:
            assert_series_equal(
                both[column], both[f"{column} now"], rtol=tolerance, atol=tolerance, check_names=False, obj=column
            )
        except AssertionError as error:
            raise ValueError(f"{stale}, compute it again: {error}") from error


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
