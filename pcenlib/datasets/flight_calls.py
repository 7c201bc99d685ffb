"""Nocturnal flight calls of many species, one annotated call in each clip."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from pcenlib.datasets.interface import Clip
from pcenlib.datasets.real import About, RealSet
from pcenlib.datasets.tables import rows

__all__ = ["FlightCall", "FlightCalls"]

NUMBERS = ("call_begin", "call_end", "low_hz", "high_hz")


class FlightCall(NamedTuple):
    """The annotated call of a clip."""

    species: str
    """Its four-letter code."""
    source: str
    """Long recording that the clip was cut from."""
    begin: float
    """When the call begins, in seconds from the beginning of the clip."""
    end: float
    """When it ends."""
    low: float
    """Lowest frequency of its species, in hertz."""
    high: float
    """Highest frequency of its species, in hertz."""


@dataclass(frozen=True)
class FlightCalls(RealSet):
    """Clips of about two seconds, each with one annotated call and the night around it.

    Calls begin near 1.0 s in nearly every clip, so whoever scores these clips should cut them at random first. Other
    calls in a clip are not annotated. Nobody knows how far the birds were: distances are 0, for calls as they were
    recorded. The long recording that a clip was cut from is its group.
    """

    about = About(
        title="Nocturnal flight calls: other species",
        key="rhinehart2022",
        citation="Rhinehart, Kearney, Taylor, Chronister, Freeland-Haynes and Kitzes (2022). Nocturnal bird flight "
        "calls of North America, version 0.1. doi:10.5281/zenodo.7054404",
        licence="attribution; not for redistribution",
        obtain="clips cut from https://doi.org/10.5281/zenodo.7054404 around one annotated call each; to be made and "
        "put there by hand",
        layout="audio/*.flac, annotations.csv (file, species, source_recording, call_begin, call_end, low_hz, high_hz)",
        unit="clips",
        sr=24000,
        min_duration=2.0,
    )
    clip_duration = 2.1

    @cached_property
    def _annotated(self) -> tuple[dict[str, FlightCall], list[str], dict[str, str]]:
        """The call of each file, files as often as they are listed, and lines that say nothing of use."""
        calls: dict[str, FlightCall] = {}
        names, skipped = [], {}
        for place, row in rows(self.folder / "annotations.csv", ["file", "species", "source_recording", *NUMBERS]):
            try:
                begin, end, low, high = (float(row[column]) for column in NUMBERS)
            except ValueError as error:
                skipped[place] = str(error)
                continue
            if not (row["file"] and 0 <= begin < end and 0 <= low < high):
                skipped[place] = f"must name a file, and times and frequencies that rise, got {row}"
                continue
            names.append(f"audio/{row['file']}")
            calls.setdefault(
                names[-1], FlightCall(row["species"], row["source_recording"], begin, end, low, high)
            )
        return calls, names, skipped

    def _listed(self) -> tuple[list[str], dict[str, str]]:
        _, names, skipped = self._annotated
        return names, skipped

    @property
    def calls(self) -> dict[str, FlightCall]:
        """The call of each clip that can be used, by the clip's name, in the order of the table."""
        annotated, _, _ = self._annotated
        return {name: annotated[name] for name in self._present}

    @property
    def clips(self) -> list[Clip]:
        """Every clip, in the order of the table."""
        return [Clip(name, 0.0, call.source) for name, call in self.calls.items()]
