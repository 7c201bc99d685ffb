"""CCB18: right whales in Cape Cod Bay, located by nine hydrophones at once (section 4.1)."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from pcenlib.core.recordings import info
from pcenlib.core.setting import RIGHT_WHALE
from pcenlib.datasets.interface import Clip, Sound
from pcenlib.datasets.real import About, RealSet, Report, read
from pcenlib.datasets.tables import only_table, rows

__all__ = ["Ccb18"]

COLUMNS = ("Date", "Channel", "Begin.Time..s.", "End.Time..s.", "DistanceKm")
YEAR = "2009"
LEFT_OUT = 3  # channel that the authors' code leaves out
FILE_DURATION = 900
# Frames in a clip, and seconds of sound before it: enough for a background with a time scale of 1 s to forget.
N_FRAMES = 32
LEAD = 4.096


class _Annotation(NamedTuple):
    """A call on one channel of a file; times in seconds from the start of the file."""

    file: str
    channel: int
    middle: float
    distance: float
    date: str

    @property
    def name(self) -> str:
        """Text that says where the sound is."""
        return f"{self.file}, channel {self.channel}, {self.middle:.3f} s"


@dataclass(frozen=True)
class Ccb18(RealSet):
    """The calls of CCB18: 32 frames around the middle of each annotation, with what was heard before.

    Distances are centers of bins of 1 km, in meters; groups are days. A clip at the border of a file is moved into it.

    The paper does not describe the files; this layout is what the authors' released code implies. Times in the table
    are seconds from midnight, dates are month and day of 2009 (``219`` is 19 February) or ``yyyymmdd``, and channels
    count from 1. Channel 3 is left out.
    """

    about = About(
        title="CCB18",
        key="lostanlen2019",
        citation="Described in Lostanlen et al. (2019), section 4.1; recorded by the Cornell Lab of Ornithology.",
        licence="not published; on request",
        obtain="ask the authors of the paper (Lostanlen et al., 2019), or the Center for Conservation Bioacoustics of "
        "the Cornell Lab of Ornithology, for CCB18: annotations and recordings of 19 to 22 February and 17 April 2009",
        layout="CCB18_<yyyymmdd>_<hhmm>00.wav (or .aif, .aiff, .flac), 15 minutes each, all channels in one file; one "
        "CSV file with columns " + ", ".join(COLUMNS),
        unit="recordings",
        sr=2000,
        n_channels=None,
        duration=FILE_DURATION,
    )
    clip_duration = N_FRAMES * RIGHT_WHALE.hop

    @cached_property
    def _annotations(self) -> tuple[list[_Annotation], dict[str, str], int]:
        """Calls that the table holds, lines that it should not, and how many are of the channel that is left out."""
        files = {path.stem: path.name for path in self.folder.glob("CCB18_*") if path.suffix != ".csv"}
        found: dict[str, _Annotation] = {}
        skipped: dict[str, str] = {}
        left_out = 0
        for place, row in rows(only_table(self.folder, "annotations.csv"), COLUMNS):
            try:
                call = _annotation(row, files)
            except ValueError as error:
                skipped[place] = str(error)
                continue
            if call.channel == LEFT_OUT:
                left_out += 1
            elif call.name in found:
                skipped[place] = f"is a call that another line has: {call.name}"
            else:
                found[call.name] = call
        return list(found.values()), skipped, left_out

    def _listed(self) -> tuple[list[str], dict[str, str]]:
        calls, skipped, _ = self._annotations
        return sorted({call.file for call in calls}), skipped

    def _looked_at(self, report: Report) -> Report:
        calls, skipped, left_out = self._annotations
        channels = {name: info(self.folder / name).n_channels for name in report.present}
        beyond = {
            call.name: f"there are only {channels[call.file]} channels"
            for call in calls
            if call.channel > channels.get(call.file, call.channel)
        }
        usable = sum(call.file in channels for call in calls) - len(beyond)
        note = (
            f"{usable} of {len(calls) + len(skipped)} annotations can be used, without {left_out} of channel {LEFT_OUT}"
        )
        return replace(report, skipped={**report.skipped, **beyond}, notes=[note])

    @property
    def clips(self) -> list[Clip]:
        """Every call in a file that is there, in the order of the table."""
        present, skipped = set(self._present), self.report.skipped
        return [
            Clip(call.name, 1000 * (math.floor(call.distance) + 0.5), call.date, call)
            for call in self._annotations[0]
            if call.file in present and call.name not in skipped
        ]

    def clip(self, clip: Clip) -> Sound:
        """Sound of a clip, one channel of its file."""
        call: _Annotation = clip.key
        path, setting = self.folder / call.file, RIGHT_WHALE
        # So many samples that the last window is whole.
        n_samples = (N_FRAMES - 1) * setting.hop_length + setting.win_length
        first = round(call.middle * setting.sr) - n_samples // 2
        first = min(max(first, 0), info(path).n_samples - n_samples)
        lead = min(first, round(LEAD * setting.sr)) // setting.hop_length * setting.hop_length
        x, sr = read(path, channel=call.channel - 1, first=first - lead, n_samples=lead + n_samples)
        return Sound(x, sr, lead / setting.sr)


def _annotation(row: dict[str, str], files: dict[str, str]) -> _Annotation:
    """A line of the table; ValueError if it is not one."""
    numbers = {}
    for column in COLUMNS:
        try:
            numbers[column] = float(row[column])
        except ValueError:
            numbers[column] = math.nan
        if not (math.isfinite(numbers[column]) and numbers[column] >= 0):
            raise ValueError(f"{column} must be a number of at least 0, got {row[column]!r}")
    begin, end = numbers["Begin.Time..s."], numbers["End.Time..s."]
    day, channel = int(numbers["Date"]), int(numbers["Channel"])
    if not (begin <= end <= 24 * 3600 and channel >= 1):
        raise ValueError(f"expected times within a day and a channel from 1, got {begin:g} s, {end:g} s and {channel}")
    date = f"{YEAR}{day:04d}" if day < 10000 else str(day)
    # The file in which the call begins, as in the authors' code.
    start = int(begin) // FILE_DURATION * FILE_DURATION
    stem = f"CCB18_{date}_{start // 3600:02d}{start % 3600 // 60:02d}00"
    # A call may end in the next file; its clip does not.
    middle = round(min((begin + end) / 2 - start, FILE_DURATION), 3)
    return _Annotation(files.get(stem, f"{stem}.wav"), channel, middle, numbers["DistanceKm"], date)
