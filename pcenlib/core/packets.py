"""What MP3 and OGG files tell about their length: both are chains of short pieces, without a header for the whole.

The first frame of an MP3 may hold no sound but the number of frames and bytes (the headers Xing and Info, of variable
and of constant rate). An OGG file is a chain of pages, and flags mark the first and the last page of a stream.
"""

import os
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple, Self

__all__ = ["MP3Header", "Unstated", "mp3_begin", "mp3_header", "ogg_fault"]

BYTES_PER_SEARCH = 2**16


class MP3Header(NamedTuple):
    """What the first frame of an MP3 file states."""

    begin: int  # byte at which that frame begins
    tag: int  # byte at which the word Xing or Info stands
    n_frames: int  # besides this one
    n_bytes: int  # from `begin` to the end; 0 if not stated
    samples_per_frame: int


def mp3_begin(file: BinaryIO) -> int:
    """Byte at which the first frame of an MP3 file begins, after titles and pictures (ID3)."""
    begin = 0
    file.seek(begin)
    while len(start := file.read(10)) == 10 and start[:3] == b"ID3":
        a, b, c, d = start[6:]
        begin += 10 + (a << 21 | b << 14 | c << 7 | d)
        file.seek(begin)
    return begin


def mp3_header(file: BinaryIO) -> MP3Header | None:
    """What an MP3 file states about its length; None if it states nothing, or if the file is no MP3."""
    begin = mp3_begin(file)
    file.seek(begin)
    frame = file.read(64)
    if len(frame) < 64 or frame[0] != 0xFF or frame[1] & 0xE6 != 0xE2:  # layer III
        return None
    is_first_version, is_mono, is_checked = frame[1] & 8 != 0, frame[3] >> 6 == 3, frame[1] & 1 == 0
    at = 4 + {(True, True): 17, (True, False): 32, (False, True): 9, (False, False): 17}[is_first_version, is_mono]
    at += 2 if is_checked and frame[at : at + 4] not in (b"Xing", b"Info") else 0
    has_frames, has_bytes = frame[at + 7] & 1, frame[at + 7] & 2
    if frame[at : at + 4] not in (b"Xing", b"Info") or not has_frames:
        return None
    n_frames, n_bytes = (int.from_bytes(frame[at + i : at + i + 4]) for i in (8, 12))
    return MP3Header(begin, begin + at, n_frames, n_bytes if has_bytes else 0, 1152 if is_first_version else 576)


class Unstated:
    """An MP3 file from its first frame on, as one that neither states its length nor has an end that is known.

    Of such a file, libsndfile counts the frames. Otherwise it believes the number that is stated, or reads no more than
    would be there if all frames were as long as the first.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path
        self.file = open(path, "rb")  # noqa: PTH123, SIM115
        header = mp3_header(self.file)
        self.tag = header.tag if header else None
        self.first = mp3_begin(self.file)
        self.seek(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def __str__(self) -> str:
        return os.fspath(self.path)

    def seek(self, position: int, whence: int = os.SEEK_SET) -> int:
        """Move, but not with regard to the end."""
        if whence == os.SEEK_SET:
            self.file.seek(self.first + max(0, position))
        elif whence == os.SEEK_CUR:
            self.file.seek(max(self.first, self.file.tell() + position))
        return self.tell()

    def tell(self) -> int:
        """Bytes from the first frame on."""
        return self.file.tell() - self.first

    def readinto(self, buffer: bytearray) -> int:
        """Read as many bytes as the buffer holds, with zeros in place of the word Xing or Info."""
        begin = self.file.tell()
        n = self.file.readinto(buffer)
        if self.tag is not None:
            first, last = max(0, self.tag - begin), min(n, self.tag + 4 - begin)
            if first < last:
                buffer[first:last] = bytes(last - first)
        return n


def ogg_fault(file: BinaryIO) -> str:
    """What is wrong with the pages of an OGG file: it is truncated, or several were joined; empty if nothing is.

    A decoder would stop there, and say nothing.
    """
    begun, going_on, last, length = False, set(), 0, file.seek(0, os.SEEK_END)
    for flags, stream, end in _pages(file):
        last = end
        if flags & 2:
            if begun:
                return "joined"
            going_on.add(stream)
        else:
            begun = True
        if flags & 4:
            going_on.discard(stream)
    return "truncated" if going_on or last > length else ""


def _pages(file: BinaryIO) -> Iterator[tuple[int, bytes, int]]:
    """Flags and stream of each page of an OGG file, and where it ends."""
    position = 0
    while position >= 0:
        file.seek(position)
        header = file.read(27 + 255)
        if header[:4] == b"OggS" and len(header) >= 27:
            table = header[27 : 27 + header[26]]
            position += 27 + len(table) + sum(table)
            yield header[5], header[14:18], position
        else:
            position = _next_page(file, position + 1)


def _next_page(file: BinaryIO, position: int) -> int:
    """Where the next page begins, if not where it should; -1 if there is none."""
    while True:
        file.seek(position)
        found = file.read(BYTES_PER_SEARCH)
        if (at := found.find(b"OggS")) >= 0:
            return position + at
        if len(found) < BYTES_PER_SEARCH:
            return -1
        position += len(found) - 3
