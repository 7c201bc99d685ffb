"""Recordings of every format, and ways to damage them: cut off, joined, with a length that is unknown or wrong."""

import struct

import numpy as np

from tests.sounds import write

FORMATS = {
    "wav": {"format": "WAV"},
    "rf64": {"format": "RF64"},
    "w64": {"format": "W64"},
    "aiff": {"format": "AIFF"},
    "au": {"format": "AU"},
    "caf": {"format": "CAF"},
    "flac": {"format": "FLAC"},
    "ogg": {"format": "OGG", "subtype": "VORBIS"},
    "opus": {"format": "OGG", "subtype": "OPUS"},
    "mp3": {"format": "MP3"},
}


def recording(path, name, *, seconds=30, sr=8000, seed=0, **options):
    """Write noise in one of the formats, by extension."""
    x = 0.01 * np.random.default_rng(seed).standard_normal(seconds * sr)
    return write(path, x, sr, **FORMATS[name], **options)


def without_length(path):
    """Make a FLAC file state 0 samples, as if it had been written to a pipe, or an MP3 file state no length."""
    content = bytearray(path.read_bytes())
    if content[:4] == b"fLaC":
        content[21] &= 0xF0
        content[22:26] = bytes(4)
    else:
        at = max(content[:100].find(b"Xing"), content[:100].find(b"Info"))
        content[at : at + 4] = bytes(4)
    path.write_bytes(content)
    return path


def with_samples(path, n_samples):
    """Make a FLAC file state another number of samples."""
    content = bytearray(path.read_bytes())
    (old,) = struct.unpack(">Q", content[18:26])
    content[18:26] = struct.pack(">Q", old >> 36 << 36 | n_samples)
    path.write_bytes(content)
    return path
