"""When a recording began, from what its recorder wrote into the file or its name.

In this order, the first that is there is believed: GUANO metadata, the metadata of Wildlife Acoustics, the comment of
an AudioMoth, the name of the file. A time zone is told or it is not; none is ever guessed. The name of a file tells
no zone, so it gives a local time, except for the old names of the AudioMoth, which count seconds in UTC.
"""

import os
import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import BinaryIO

from pcenlib.core.riff import chunks

__all__ = ["Clock", "read_clock"]


# YYYYMMDD_HHMMSS, as AudioMoth and Wildlife Acoustics name files, the latter also with a dollar sign, either with
# milliseconds where a recording was triggered.
NAME = re.compile(r"(?<!\d)(\d{8})[_$T](\d{6})(?:[_.](\d{3}))?(?!\d)")

# Seconds since 1970 as eight hexadecimal digits: AudioMoth, until 2018.
HEXADECIMAL_NAME = re.compile(r"[0-9A-F]{8}", re.IGNORECASE)
FIRST_AUDIOMOTH = datetime(2016, 1, 1, tzinfo=UTC)
LAST_HEXADECIMAL = datetime(2038, 1, 1, tzinfo=UTC)

# "Recorded at 19:17:30 16/01/2021 (UTC-4) by AudioMoth ...", where the first versions said no zone.
COMMENT = re.compile(
    r"Recorded at (\d\d:\d\d:\d\d)(?:\.(\d{3}))? (\d\d/\d\d/\d{4})"
    r"(?: \((UTC)(?:([+-])(\d{1,2})(?::(\d\d))?)?\))?"
)

# Years that recorders may tell. Others are slips, and at the ends of the calendar one cannot even add seconds.
YEARS = range(1900, 2200)

# Where the metadata of Wildlife Acoustics keep the time.
WAMD_TIMESTAMP = 5

# Metadata are short. What is longer is damaged, or none of ours.
LONGEST_CHUNK = 2**20


@dataclass(frozen=True)
class Clock:
    """When a recording began, and who says so.

    Parameters
    ----------
    start : datetime
        With a time zone if the recording tells one, else without.
    source : str
        Where it was found.
    conflict : str
        What else was found and does not agree; empty if all does.
    """

    start: datetime
    source: str
    conflict: str = ""

    @property
    def zone(self) -> str:
        """The time zone in words."""
        return "local time, zone not stated" if self.start.tzinfo is None else str(self.start.tzinfo)

    def __str__(self) -> str:
        return f"{self.zone}, from {self.source}" + (f"; {self.conflict}" if self.conflict else "")

    def at(self, seconds: float) -> str:
        """Time so many seconds into the recording, in ISO 8601 with milliseconds; with an offset if there is a zone."""
        start = self.start + timedelta(milliseconds=round(1000 * seconds))
        return start.isoformat(timespec="milliseconds")


def read_clock(path: str | os.PathLike[str]) -> Clock | None:
    """When a recording began, as far as its file name, or the header of a WAV file, tells.

    The header wins. If the name differs by a second or more, `conflict` quotes it. A name without a zone agrees with a
    header that has one if it is the local time there, or UTC. An entry that is not a time, as from a recorder whose
    clock was never set, tells nothing.

    Formats: GUANO, https://www.guano-md.org; the comment of an AudioMoth in its firmware,
    https://github.com/OpenAcousticDevices/AudioMoth-Firmware-Basic.
    """
    path = Path(path)
    named = _from_name(path.name)
    told = _from_header(path)
    if told is None:
        return None if named is None else Clock(named, "file name")
    start, source = told
    conflict = ""
    if named is not None and not _agree(start, named):
        conflict = f"the file name says {named.isoformat(sep=' ')}"
    return Clock(start, source, conflict)


def _from_name(name: str) -> datetime | None:
    stem = name.partition(".")[0]
    if HEXADECIMAL_NAME.fullmatch(stem):
        start = datetime.fromtimestamp(int(stem, 16), UTC)
        return start if FIRST_AUDIOMOTH <= start < LAST_HEXADECIMAL else None
    for found in NAME.finditer(name):
        date, time, milliseconds = found.groups()
        parsed = _parsed(date + time, "%Y%m%d%H%M%S")
        if parsed is not None:
            return parsed + timedelta(milliseconds=int(milliseconds or 0))
    return None


def _from_header(path: Path) -> tuple[datetime, str] | None:
    """Time and source of the best of what a WAV file tells."""
    found: dict[str, datetime | None] = {}
    with path.open("rb") as file:
        for name, content in _metadata(file):
            source, read = TELLS[name]
            found[source] = found.get(source) or read(content)  # an editor may have added another chunk of that name
    for source, _ in TELLS.values():
        start = found.get(source)
        if start is not None:
            return start, source
    return None


def _metadata(file: BinaryIO) -> Iterator[tuple[bytes, bytes]]:
    """Names and contents of the chunks of a WAV file that may tell the time; nothing for other files."""
    for chunk in chunks(file):
        if chunk.name in TELLS and chunk.size is not None and chunk.size <= LONGEST_CHUNK:
            yield chunk.name, file.read(chunk.size)


def _from_guano(content: bytes) -> datetime | None:
    for line in content.decode("utf-8", "replace").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "Timestamp":
            return _parsed(value.strip())
    return None


def _from_wamd(content: bytes) -> datetime | None:
    """Entries of Wildlife Acoustics: number and size of each, then its content; the time is text."""
    position = 0
    while position + 6 <= len(content):
        number, size = struct.unpack_from("<HI", content, position)
        if number == WAMD_TIMESTAMP:
            text = content[position + 6 : position + 6 + size].decode("ascii", "replace")
            return _parsed(text.strip("\0 "))
        position += 6 + size
    return None


def _from_comment(content: bytes) -> datetime | None:
    lines = content.decode("ascii", "replace").split("\n")
    # What stands before the last AudioMoth in its line: one pattern for all would look for it again and again.
    found = next(filter(None, (COMMENT.search(line[: max(0, line.rfind("AudioMoth"))]) for line in lines)), None)
    if found is None:
        return None
    time, milliseconds, date, utc, sign, hours, minutes = found.groups()
    start = _parsed(f"{date} {time}", "%d/%m/%Y %H:%M:%S")
    if start is None:
        return None
    start += timedelta(milliseconds=int(milliseconds or 0))
    if utc is None:
        return start
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    if int(minutes or 0) > 59 or offset >= timedelta(days=1):
        return None  # no zone at all
    return start.replace(tzinfo=timezone(-offset if sign == "-" else offset))


# Chunks that may tell the time, in the order in which they are believed: the name of the source, and who reads it.
TELLS: dict[bytes, tuple[str, Callable[[bytes], datetime | None]]] = {
    b"guan": ("GUANO", _from_guano),
    b"wamd": ("wamd", _from_wamd),
    b"LIST": ("AudioMoth header", _from_comment),
}


def _parsed(text: str, pattern: str | None = None) -> datetime | None:
    """The time that a text says, None if it says none."""
    try:
        time = datetime.fromisoformat(text) if pattern is None else datetime.strptime(text, pattern)
    except ValueError:
        return None
    return time if time.year in YEARS else None


def _agree(told: datetime, named: datetime) -> bool:
    """Whether a time from a header and one from a name are less than a second apart."""
    if (told.tzinfo is None) == (named.tzinfo is None):
        candidates = [told]
    elif told.tzinfo is None:  # the name counts in UTC, and the header does not say what it counts in
        candidates = [told.replace(tzinfo=UTC)]
    else:
        candidates = [told.replace(tzinfo=None), told.astimezone(UTC).replace(tzinfo=None)]
    return any(abs(candidate - named) < timedelta(seconds=1) for candidate in candidates)
