"""Whether a recording is all there, and whether all of it will be read.

The battery was empty, the card full, the copy interrupted: libsndfile reads what is there of most formats, and says
nothing. Of several MP3 or OGG files that were joined, it reads the first. FLAC needs no check here, because reading
itself counts the samples.
"""

import os

from pcenlib.core.packets import Unstated, mp3_header, ogg_fault
from pcenlib.core.riff import chunks

__all__ = ["check_whole", "missing_bytes"]

File = str | os.PathLike[str]

ADVICE = "To search what is there, save it anew with an audio editor"
JOINED = "is several {} files joined, of which only the first would be read. Split them, or save them as a WAV file"


def missing_bytes(path: File) -> int:
    """How many bytes of sound a file states but does not hold; 0 if it states none.

    WAV, W64, AIFF, CAF and AU files state them, and most MP3 files.
    """
    with open(path, "rb") as file:  # noqa: PTH123
        length = os.fstat(file.fileno()).st_size
        for chunk in chunks(file):
            missing = 0 if chunk.size is None else max(0, chunk.begin + chunk.size - length)
            if missing or chunk.is_sound:
                return missing
        mp3 = mp3_header(file)
    return 0 if mp3 is None else max(0, mp3.begin + mp3.n_bytes - length)


def check_whole(path: File) -> None:
    """Raise OSError if a recording is cut off, or if several were joined, of which only the first would be read."""
    missing = missing_bytes(path)
    if missing:
        raise OSError(f"{os.fspath(path)} is truncated: {missing} bytes of sound that it states are missing. {ADVICE}")
    with open(path, "rb") as file:  # noqa: PTH123
        fault = ogg_fault(file) if file.read(4) == b"OggS" else ""
        mp3 = mp3_header(file)
    if fault == "truncated":
        raise OSError(f"{os.fspath(path)} is truncated: its last page is not the last of its sound. {ADVICE}")
    if fault == "joined":
        raise OSError(f"{os.fspath(path)} {JOINED.format('OGG')}")
    # Encoders disagree on whether the frame that holds the number is counted.
    if mp3 is not None and _n_samples(path) // mp3.samples_per_frame - 1 > mp3.n_frames + 1:
        raise OSError(f"{os.fspath(path)} {JOINED.format('MP3')}")


def _n_samples(path: File) -> int:
    """Samples in all frames of an MP3 file, as libsndfile counts them if the header does not tell."""
    import soundfile  # here, because it takes as long to import as all of pcenlib

    try:
        with Unstated(path) as unstated, soundfile.SoundFile(unstated) as file:
            return int(file.frames)
    except soundfile.LibsndfileError as error:
        raise OSError(f"cannot read {os.fspath(path)}: {error.error_string}") from error
