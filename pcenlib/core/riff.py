"""The chunks of WAV files (RIFF, RF64 above 4 GB, W64), of AIFF, of CAF and of AU files.

Each chunk is a name, a size and that many bytes; an AU file is a single one. A recorder that could not go back to the
header leaves a size there that means *unknown*: such sound extends to the end of the file. So does one whose size no
disk could hold. A size of 0 is ambiguous, because an empty recording states it too, so whatever follows is read as a
chunk if it looks like one. Walking ends at the first name that is not made of printable characters, in practice at the
first samples of such a file.
"""

import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

__all__ = ["UNKNOWN_SIZES", "Chunk", "chunks"]

UNKNOWN_SIZES = (0, 0x7FFFF000, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF)
"""Sizes that programs state for sound whose length they do not know yet."""

LARGEST_SIZE = 2**62  # no disk holds more, and so far beyond the end of a file one cannot even seek


class Chunk(NamedTuple):
    """One chunk of a file: where its content begins and how many bytes it has; None for sound of unknown length."""

    name: bytes
    begin: int
    size: int | None
    is_sound: bool


class _Layout(NamedTuple):
    """How the chunks of a format follow one another."""

    first: int  # where the first begins
    header: str  # of each: name and size
    sound: bytes  # name of the chunk that holds the samples
    counted: int = 0  # bytes of the header that the size counts
    aligned: int = 2  # each begins at a multiple of so many bytes


RIFF = _Layout(12, "<4sI", b"data")
AIFF = _Layout(12, ">4sI", b"SSND")
CAF = _Layout(8, ">4sQ", b"data", aligned=1)
W64 = _Layout(40, "<4s12xQ", b"data", counted=24, aligned=8)


def chunks(file: BinaryIO) -> Iterator[Chunk]:
    """The chunks of a file, in order; none for other formats. The file may be moved between two chunks."""
    start = file.read(12).ljust(12, b"\0")
    if start[:4] in (b".snd", b"dns."):
        begin, size = struct.unpack(">II" if start[:1] == b"." else "<II", start[4:])
        yield Chunk(b"data", begin, None if size in UNKNOWN_SIZES else size, is_sound=True)
        return
    layout = _layout(start)
    if layout is None:
        return
    long_size = 0
    length = struct.calcsize(layout.header)
    file.seek(layout.first)
    while len(header := file.read(length)) == length:
        name, size = struct.unpack(layout.header, header)
        if not all(32 <= character < 127 for character in name):
            return
        begin, size = file.tell(), max(0, size - layout.counted)
        if name == b"ds64":  # of RF64: size of the file, then of the sound
            _, long_size = struct.unpack("<QQ", file.read(16).ljust(16, b"\0"))
        elif name == b"data" and start[:4] == b"RF64" and size == 0xFFFFFFFF:
            size = long_size
        is_sound = name == layout.sound
        is_unknown = is_sound and (size in UNKNOWN_SIZES or size >= LARGEST_SIZE)
        yield Chunk(name, begin, None if is_unknown else size, is_sound)
        if (is_unknown and size > 0) or size >= LARGEST_SIZE:
            return
        file.seek(begin + size + -size % layout.aligned)


def _layout(start: bytes) -> _Layout | None:
    """How the chunks follow one another in a file that starts like this."""
    if start[:4] in (b"RIFF", b"RF64") and start[8:] == b"WAVE":
        return RIFF
    if start[:4] == b"FORM" and start[8:] in (b"AIFF", b"AIFC"):
        return AIFF
    if start[:4] == b"caff":
        return CAF
    return W64 if start == b"riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb" else None
