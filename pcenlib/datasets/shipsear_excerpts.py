"""Excerpts of two recordings of ShipsEar, the paper's own negatives, as another data set republishes them."""

import re
from dataclasses import dataclass

from pcenlib.datasets.real import About, OnlyRecordings

__all__ = ["ShipsEarExcerpts"]

NAME = re.compile(r"(\d+_\d+)_(\d+)\.flac", re.ASCII)


@dataclass(frozen=True)
class ShipsEarExcerpts(OnlyRecordings):
    """Pieces of five seconds of recordings of ShipsEar, at 16 kHz.

    What is known of their origin is their source and their numbers. Which of ShipsEar's 90 recordings they come from,
    which ships these are, and how far away, is not stated; nor is the filter that took 52,734 samples per second to
    16,000. All pieces with the same two first numbers come from one recording, their cluster, which `source` gives.

    Nor is it stated whether numbered pieces adjoin. Spectra of the half seconds before and after a join differ no more
    than those within a piece, about 2 dB, and half as much as those of other pieces: pieces follow each other in time.
    But a linear prediction from the end of a piece misses the first four samples of the next by more than it misses
    samples within a piece, as if two to eight samples were missing, or as if each piece had been resampled by itself.
    Joining them would insert clicks, so every piece is a recording by itself.
    """

    about = About(
        title="ShipsEar, excerpts",
        key="santos2016",
        citation="Santos-Domínguez, Torres-Guijarro, Cardenal-López and Pena-Gimenez (2016). ShipsEar: an underwater "
        "vessel noise database. Applied Acoustics 113, 64-69.",
        licence="none stated; not for redistribution",
        obtain="they are part of https://github.com/xvk0013/Generating-Underwater-Acoustic-Multi-Target-Datasets; no "
        "checksums are published, so they are not downloaded here",
        layout="<recording>_<piece>.flac, with recordings such as 0_1 and 2_0",
        unit="recordings",
        sr=16000,
        duration=5.0,
    )

    def _listed(self) -> tuple[list[str], dict[str, str]]:
        """Names as published; recordings in order, and the pieces of each by their numbers."""
        found = filter(None, (NAME.fullmatch(path.name) for path in self.folder.iterdir()))
        return [match[0] for match in sorted(found, key=lambda match: (match[1], int(match[2])))], {}

    @staticmethod
    def source(name: str) -> str:
        """Recording that a piece comes from, as in *0_1* for *0_1_17.flac*."""
        match = NAME.fullmatch(name)
        if match is None:
            raise ValueError(f"name must be that of a piece, such as 0_1_17.flac, got {name!r}")
        return match[1]
