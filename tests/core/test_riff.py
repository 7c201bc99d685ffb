"""Chunks of WAV and AIFF files: as written, of unknown length, above 4 GB, and cut off."""

import io
import struct

import pytest

from pcenlib.core.riff import UNKNOWN_SIZES, Chunk, chunks
from tests.sounds import white, write


def chunk(name, content, *, size=None, order="<"):
    stated = len(content) if size is None else size
    return name + struct.pack(f"{order}I", stated) + content + b"\0" * (len(content) % 2)


def wav(*content, form=b"RIFF"):
    return form + bytes(4) + b"WAVE" + b"".join(content)


def names(content):
    return [found.name for found in chunks(io.BytesIO(content))]


def test_chunks_by_hand():
    content = wav(chunk(b"fmt ", bytes(16)), chunk(b"odd ", b"abc"), chunk(b"data", bytes(8)), chunk(b"guan", b"text"))
    assert list(chunks(io.BytesIO(content))) == [
        Chunk(b"fmt ", 20, 16, is_sound=False),
        Chunk(b"odd ", 44, 3, is_sound=False),
        Chunk(b"data", 56, 8, is_sound=True),
        Chunk(b"guan", 72, 4, is_sound=False),
    ]


def test_a_file_may_be_read_between_two_chunks():
    file = io.BytesIO(wav(chunk(b"one ", b"1234"), chunk(b"two ", b"56")))
    assert [file.read(found.size) for found in chunks(file)] == [b"1234", b"56"]


@pytest.mark.parametrize(("format", "sound"), [("WAV", b"data"), ("RF64", b"data"), ("AIFF", b"SSND")])
@pytest.mark.parametrize("n_samples", [1000, 1001])
def test_files_as_they_are_written(format, sound, n_samples, tmp_path):
    path = write(tmp_path / "x", white(n_samples), 2000, format=format)
    with path.open("rb") as file:
        (found,) = [found for found in chunks(file) if found.is_sound]
    assert found.name == sound
    assert found.begin + found.size == path.stat().st_size


@pytest.mark.parametrize("size", [1, 800, 5_000_000_000])
def test_the_size_of_sound_above_four_gigabytes(size):
    ds64 = chunk(b"ds64", struct.pack("<QQQI", 0, size, 400, 0))
    content = wav(ds64, chunk(b"data", b"", size=0xFFFFFFFF), form=b"RF64")
    assert [found.size for found in chunks(io.BytesIO(content)) if found.is_sound] == [size]


@pytest.mark.parametrize("size", UNKNOWN_SIZES)
@pytest.mark.parametrize("form", [b"RIFF", b"RF64"])
def test_sound_of_unknown_length_goes_to_the_end_of_the_file(form, size):
    ds64 = chunk(b"ds64", struct.pack("<QQQI", 0, size, 0, 0)) if form == b"RF64" else b""
    data = chunk(b"data", bytes(2000), size=min(size, 0xFFFFFFFF) if form == b"RIFF" else 0xFFFFFFFF)
    *before, last = chunks(io.BytesIO(wav(ds64, chunk(b"guan", b"text"), data, form=form)))
    assert before[-1].name == b"guan"
    assert (last.name, last.size, last.is_sound) == (b"data", None, True)


def test_chunks_after_an_empty_recording_are_found():
    assert names(wav(chunk(b"data", b""), chunk(b"guan", b"text"))) == [b"data", b"guan"]


class Counted(io.BytesIO):
    """A file that counts how often it is read."""

    n_reads = 0

    def read(self, size=-1):
        self.n_reads += 1
        return super().read(size)


@pytest.mark.parametrize("sound", [bytes(80_000), white(10_000).tobytes()], ids=["silence", "noise"])
def test_sound_is_not_searched_for_chunks(sound):
    file = Counted(wav(chunk(b"data", sound, size=0)))
    assert [found.name for found in chunks(file)] == [b"data"]
    assert file.n_reads == 3


@pytest.mark.parametrize("content", [b"", b"RIFF", b"RIFF\0\0\0\0AVI " + chunk(b"data", b"12"), b"fLaC" + bytes(100)])
def test_other_files_have_no_chunks(content):
    assert names(content) == []
