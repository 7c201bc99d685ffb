"""Levels of birds at known distances, measured by others: tables, each with its citation, and no sound.

Neither table comes with this library. The first may not be passed on.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from pcenlib.datasets.real import About, RealSet, Report
from pcenlib.datasets.tables import rows

__all__ = ["LevelTable", "LocalizedSongs", "NighthawkLevels"]


@dataclass(frozen=True)
class LevelTable(RealSet):
    """A data set that is one table."""

    file: ClassVar[str]
    texts: ClassVar[tuple[str, ...]]
    numbers: ClassVar[tuple[str, ...]]

    @cached_property
    def columns(self) -> dict[str, list[str] | list[float]]:
        """Columns of the table by name. Lines without all of the numbers are left out."""
        lines = [row for _, row in rows(self.folder / self.file, (*self.texts, *self.numbers))]
        lines = [row for row in lines if all(row[name] not in ("", "NA") for name in self.numbers)]
        texts: dict[str, list[str] | list[float]] = {name: [row[name] for row in lines] for name in self.texts}
        return texts | {name: [float(row[name]) for row in lines] for name in self.numbers}

    @cached_property
    def report(self) -> Report:
        """Whether the table is there and can be read."""
        return Report(unit=self.about.unit, n_files=1, present=[self.file] if self.columns else [])


@dataclass(frozen=True)
class LocalizedSongs(LevelTable):
    """Calibrated levels of birds' songs at recorders whose distance an array measured.

    Levels are in dB re 20 µPa at the recorder, with the noise taken off. A recorder that did not hear a song has no
    line.
    """

    about = About(
        title="Levels of localized songs",
        key="edwards",
        citation="Edwards, Knight, Rhinehart, Lapp and Yip. soundDist: estimating distance to birds recorded by an "
        "autonomous recording unit. https://github.com/BrandonEdwards/soundDist",
        licence="none stated; not for redistribution",
        obtain="from the authors of the soundDist project; to be put there by hand",
        layout="levels.csv",
        unit="tables",
    )
    file = "levels.csv"
    texts = ("grid", "event", "recorder", "species")
    numbers = ("distance_m", "level_db", "low_hz", "high_hz", "temp_C", "rel_hum")


@dataclass(frozen=True)
class NighthawkLevels(LevelTable):
    """The distance that a model by D. Yip and E. Knight gives for the relative level of a nighthawk's call.

    It comes with a recognizer of the Alberta Biodiversity Monitoring Institute: a regression of distance on level, for
    SM4 recorders in open habitat, with a 95 % interval.
    """

    about = About(
        title="Distances of Common Nighthawks by level",
        key="yip2020",
        citation="Yip, Knight, et al. (2020). Sound level measurements from audio recordings provide objective "
        "distance estimates for distance sampling wildlife populations. Remote Sensing in Ecology and Conservation 6, "
        "301-315.",
        licence="MIT",
        obtain="from the Common Nighthawk recognizer of the Alberta Biodiversity Monitoring Institute; to be put there "
        "by hand",
        layout="level-and-distance.csv",
        unit="tables",
    )
    file = "level-and-distance.csv"
    texts = ("species",)
    numbers = ("level", "distance", "distance_CI975", "distance_CI025")
