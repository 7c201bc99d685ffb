"""Synchronous recorders around singing birds whose places an array found."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from pcenlib.datasets.real import About, OnlyRecordings
from pcenlib.datasets.tables import rows

__all__ = ["LocalizedSong", "RecorderArray"]

STATIONS = "Vignette_Coordinates.csv"
SONGS = "Vignette_Detections_20200617_090000_Localized.csv"
PLACE = ("Easting", "Northing", "Elevation")
Place = tuple[float, ...]


class LocalizedSong(NamedTuple):
    """A song, with the place of the bird."""

    species: str
    begin: float
    """In seconds of the recordings, as somebody marked it, at no stated recorder."""
    end: float
    low: float
    """In hertz."""
    high: float
    place: Place
    """East, north and up, in meters."""


@dataclass(frozen=True)
class RecorderArray(OnlyRecordings):
    """Seven seconds of nine recorders that share one clock, coded as MP3 before they were published."""

    about = About(
        title="Recorder array",
        key="locar",
        citation="Hedley, Becker and Huang (2023). locaR: a set of tools for sound localization, version 0.1.2, an R "
        "package. doi:10.32614/CRAN.package.locaR",
        licence="MIT",
        obtain="example data of https://github.com/rhedley/locaR; to be put there by hand",
        layout=f"<station>_<channels>_<time>.mp3, {STATIONS}, {SONGS}",
        unit="recordings",
        sr=24000,
        duration=7.0,
    )

    def _listed(self) -> tuple[list[str], dict[str, str]]:
        return sorted(path.name for path in self.folder.glob("*.mp3")), {}

    @cached_property
    def stations(self) -> dict[str, Place]:
        """Place of each station, in meters east, north and up."""
        table = (row for _, row in rows(self.folder / STATIONS, ("Station", *PLACE)))
        return {row["Station"]: tuple(float(row[axis]) for axis in PLACE) for row in table}

    @cached_property
    def songs(self) -> list[LocalizedSong]:
        """Localized songs, in the order of their table."""
        columns = ("Species", "From", "To", "F_Low", "F_High", *PLACE)
        table = (row for _, row in rows(self.folder / SONGS, columns))
        return [
            LocalizedSong(
                row["Species"],
                begin=float(row["From"]),
                end=float(row["To"]),
                low=float(row["F_Low"]),
                high=float(row["F_High"]),
                place=tuple(float(row[axis]) for axis in PLACE),
            )
            for row in table
        ]

    def distances(self, song: LocalizedSong) -> dict[str, float]:
        """Recording of each station, and its distance from the bird in meters."""
        names = {name.split("_")[0]: name for name in self.recordings}
        return {names[each]: math.dist(place, song.place) for each, place in self.stations.items() if each in names}
