"""The chunks of WAV files (RIFF, and RF64 above 4 GB) and of AIFF files.

Each chunk is a name of four characters, a size and that many bytes. A recorder that could not go back to the header
leaves a size there that means *unknown*: such sound extends to the end of the file. A size of 0 is ambiguous, because
an empty recording states it too, so whatever follows is read as a chunk if it looks like one. Walking ends at the first
name that is not made of printable characters, in practice at the first samples of such a file.
"""

import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

__all__ = ["UNKNOWN_SIZES", "Chunk", "chunks"]

UNKNOWN_SIZES = (0, 0x7FFFF000, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF)
"""Sizes that programs state for sound whose length they do not know yet."""

SOUND = {b"WAVE": b"data", b"AIFF": b"SSND", b"AIFC": b"SSND"}


class Chunk(NamedTuple):
    """One chunk of a file: where its content begins and how many bytes it has; None for sound of unknown length."""

    name: bytes
    begin: int
    size: int | None
    is_sound: bool


def chunks(file: BinaryIO) -> Iterator[Chunk]:
    """The chunks of a WAV or AIFF file, in order; none for other formats. The file may be moved between two chunks."""
    form, _, kind = struct.unpack("<4sI4s", file.read(12).ljust(12, b"\0"))
    if form not in (b"RIFF", b"RF64", b"FORM") or kind not in SOUND:
        return
    long_size = 0
    while len(header := file.read(8)) == 8:
        name, size = struct.unpack(">4sI" if form == b"FORM" else "<4sI", header)
        if not all(32 <= character < 127 for character in name):
            return
        begin = file.tell()
        if name == b"ds64":  # of RF64: size of the file, then of the sound
            _, long_size = struct.unpack("<QQ", file.read(16).ljust(16, b"\0"))
        elif name == b"data" and form == b"RF64" and size == 0xFFFFFFFF:
            size = long_size
        is_sound = name == SOUND[kind]
        is_unknown = is_sound and size in UNKNOWN_SIZES
        yield Chunk(name, begin, None if is_unknown else size, is_sound)
        if is_unknown and size > 0:
            return
        file.seek(begin + size + size % 2)
