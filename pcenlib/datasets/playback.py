"""Sounds played from a loudspeaker in a forest, and recorded at known distances."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from pcenlib.datasets.real import About, OnlyRecordings
from pcenlib.datasets.tables import rows

__all__ = ["MARKER", "Playback", "Played"]

MARKER = "start_marker"
COLUMNS = ("start", "end", "bottom.freq", "top.freq", "orig.sound.file")
NAME = re.compile(r".*_(\d+)m\.wav", re.ASCII)


class Played(NamedTuple):
    """A sound of the master track."""

    name: str
    start: float
    """In seconds of the master track."""
    end: float
    low: float
    """In hertz."""
    high: float

    @property
    def center(self) -> float:
        """Center of the band, in hertz."""
        return (self.low + self.high) / 2


@dataclass(frozen=True)
class Playback(OnlyRecordings):
    """One transect in a forest of Costa Rica: a recording for each distance, the nearest as the reference.

    Each recording holds the whole master track: a marker of one second, then sounds of 0.2 s with gaps of 0.05 s. So
    no recording is free of calls; this set is for measuring, not for false alarms. Where in a recording the track
    begins is not stated, nor are recorder, gain and weather.
    """

    about = About(
        title="Playback in a forest",
        key="barulho",
        citation="Araya-Salas. baRulho: quantifying (animal) sound degradation, an R package. "
        "https://github.com/ropensci/baRulho",
        licence="none stated; not for redistribution",
        obtain="recordings and table of one transect that come with the tutorials of baRulho; to be put there by hand",
        layout="<name>_<meters>m.wav, master_anotations.csv",
        unit="recordings",
        sr=44100,
    )

    @cached_property
    def sounds(self) -> list[Played]:
        """Sounds of the master track in order, the marker first."""
        table = (row for _, row in rows(self.folder / "master_anotations.csv", COLUMNS))
        return [
            Played(
                row["orig.sound.file"],
                float(row["start"]),
                float(row["end"]),
                1000 * float(row["bottom.freq"]),
                1000 * float(row["top.freq"]),
            )
            for row in table
        ]

    @property
    def distances(self) -> dict[float, str]:
        """Recording at each distance in meters, the nearest first."""
        found = ((NAME.fullmatch(name), name) for name in self.recordings)
        return dict(sorted((float(match[1]), name) for match, name in found if match))
