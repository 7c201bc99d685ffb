"""Every real data set, by the name of its folder in the data home.

The data home is a folder with a folder for each set that is there: the environment variable ``PCENLIB_DATA``, or
whatever is given in its place.
"""

import os
from pathlib import Path

from pcenlib.datasets.birdvox import BirdVox
from pcenlib.datasets.ccb18 import Ccb18
from pcenlib.datasets.coni_knight import ConiKnight
from pcenlib.datasets.deepship import DeepShip
from pcenlib.datasets.esc50 import Esc50
from pcenlib.datasets.flight_calls import FlightCalls
from pcenlib.datasets.level_tables import LevelTable, LocalizedSongs, NighthawkLevels
from pcenlib.datasets.night_soundscapes import NightSoundscapes
from pcenlib.datasets.nighthawk_calls import NighthawkCalls
from pcenlib.datasets.real import About, RealSet
from pcenlib.datasets.right_whale_challenge import RightWhaleChallenge
from pcenlib.datasets.shipsear import ShipsEar
from pcenlib.datasets.shipsear_excerpts import ShipsEarExcerpts

__all__ = ["DATASETS", "TABLES", "about", "data_home", "find"]

VARIABLE = "PCENLIB_DATA"

DATASETS: dict[str, type[RealSet]] = {
    "coni_knight": ConiKnight,
    "birdvox_dcase20k": BirdVox,
    "esc50": Esc50,
    "ccb18": Ccb18,
    "shipsear": ShipsEar,
    "narw": RightWhaleChallenge,
    "deepship": DeepShip,
    "shipsear_excerpts": ShipsEarExcerpts,
    "nighthawk": NighthawkCalls,
    "night_soundscapes": NightSoundscapes,
    "flight_calls": FlightCalls,
}
"""The paper's sets, then public stand-ins."""

TABLES: dict[str, tuple[type[LevelTable], str]] = {
    "localized_songs": (LocalizedSongs, "localized_songs"),
    "nighthawk_levels": (NighthawkLevels, "nighthawk"),
}
"""Sets that are a table without sound, each with its folder in the data home."""


def about(name: str) -> About:
    """What is known about a data set, a key of `DATASETS` or `TABLES`."""
    return TABLES[name][0].about if name in TABLES else DATASETS[name].about


def data_home(home: str | os.PathLike[str] | None = None) -> Path | None:
    """Folder that holds the data sets.

    Parameters
    ----------
    home : path, optional
        The folder; by default, what the environment variable ``PCENLIB_DATA`` says.

    Returns
    -------
    Path or None
        The folder, which need not be there; None if nothing says which.
    """
    found = os.fspath(home) if home else os.environ.get(VARIABLE)
    return Path(found).expanduser() if found else None


def find(name: str, home: str | os.PathLike[str] | None = None) -> RealSet | None:
    """A data set in the data home, if its folder is there.

    Parameters
    ----------
    name : str
        Name of the set, a key of `DATASETS` or `TABLES`.
    home : path, optional
        As for `data_home`.

    Returns
    -------
    RealSet or None
        The set, complete or not: its `report` says. None if there is no data home, or no such folder in it.
    """
    if name not in DATASETS and name not in TABLES:
        raise ValueError(f"name must be one of {', '.join([*DATASETS, *TABLES])}, got {name!r}")
    folder = data_home(home)
    if name in TABLES:
        table, place = TABLES[name]
        return table(folder / place) if folder and (folder / place / table.file).is_file() else None
    return DATASETS[name](folder / name) if folder and (folder / name).is_dir() else None
