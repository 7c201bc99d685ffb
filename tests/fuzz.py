"""Damage recordings of every format, and search them: what comes out is a table, or an error that names the file.

Each damaged file is searched in a worker that may use 500 MB and a few seconds. `python -m tests.fuzz 12000` tries so
many files, shows where it is, and keeps those that came to something else.
"""

import argparse
import collections
import contextlib
import io
import math
import multiprocessing
import os
import struct
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from pcenlib import RIGHT_WHALE
from pcenlib.core.recordings import info, samples
from pcenlib.core.riff import chunks
from pcenlib.field.clocks import read_clock
from pcenlib.field.levels import noise_levels
from pcenlib.field.search import Search, detect_events
from tests.damage import recording, without_length
from tests.sounds import write

SEED = 2019
SEARCH = Search(setting=RIGHT_WHALE, threshold=3.0)
MEMORY = 500e6  # bytes in all
SECONDS = 10.0  # of the processor for a file
PATIENCE = 120.0  # seconds on the clock, on a machine that is busy
EXTREMES = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1)

KINDS = {
    **{f"{subtype}.wav": {"format": "WAV", "subtype": subtype} for subtype in
       ("PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE", "ULAW", "IMA_ADPCM", "MS_ADPCM")},
    "extensible.wav": {"format": "WAVEX"},
    "x.rf64": {"format": "RF64"},
    "x.w64": {"format": "W64"},
    **{f"{subtype}.aiff": {"format": "AIFF", "subtype": subtype} for subtype in ("PCM_16", "PCM_24", "FLOAT", "ULAW")},
    **{f"{subtype}.au": {"format": "AU", "subtype": subtype} for subtype in ("PCM_16", "FLOAT", "ULAW")},
    **{f"{subtype}.caf": {"format": "CAF", "subtype": subtype} for subtype in ("PCM_16", "ALAC_16")},
    **{f"{subtype}.flac": {"format": "FLAC", "subtype": subtype} for subtype in ("PCM_16", "PCM_24")},
    "vorbis.ogg": {"format": "OGG", "subtype": "VORBIS"},
    "opus.ogg": {"format": "OGG", "subtype": "OPUS"},
    **{f"{mode}.mp3": {"format": "MP3", "bitrate_mode": mode} for mode in ("CONSTANT", "VARIABLE")},
}  # fmt: skip


class Trial(NamedTuple):
    """What became of one damaged file: a table, an error that names it, or something else that must not be."""

    number: int
    kind: str
    outcome: str
    fault: str = ""


def originals(folder):
    """Names and contents of small recordings of every format, with the metadata of recorders, some without a length."""
    found = {}
    x = 0.01 * np.random.default_rng(SEED).standard_normal((2 * 8000, 2))
    x[8000:10000] *= 30
    for number, (name, options) in enumerate(KINDS.items()):
        found[name] = write(folder / name, x[:, : 1 + number % 2], 8000, **options).read_bytes()
    for name in ("flac", "mp3"):
        path = without_length(recording(folder / f"piped.{name}", name, seconds=2))
        found[path.name] = path.read_bytes()
    told = {
        b"LIST": b"INFOICMT"
        + struct.pack("<I", 64)
        + b"Recorded at 19:17:30 16/01/2021 (UTC-4) by AudioMoth 1 ".ljust(64),
        b"guan": b"GUANO|Version: 1.0\nTimestamp: 2021-01-16T19:17:30-04:00\n",
        b"wamd": struct.pack("<HI", 5, 20) + b"2021-01-16 19:17:30\0",
    }
    for name, content in told.items():
        found[f"{name.decode()}.wav"] = (
            found["PCM_16.wav"] + name + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)
        )
    return found


def damaged(contents, number):
    """Kind and content of the damaged file of that number."""
    rng = np.random.default_rng([SEED, number])
    kind = sorted(contents)[number % len(contents)]
    content = bytearray(contents[kind])
    for _ in range((1, 1, 1, 2, 3)[rng.integers(5)]):
        ways = [_flipped, _flipped, _truncated, _spliced, _extreme, _extreme, _extreme, _doubled, _deleted, _zeroed]
        content = ways[rng.integers(len(ways))](content, contents, rng)
    return kind, bytes(content)


def _place(content, rng):
    """Where to damage a file: the beginning is damaged more often."""
    return int(rng.integers(max(1, min(len(content), (64, 300, len(content))[rng.integers(3)]))))


def _piece(content, rng):
    """Beginning and end of a chunk, if there are any, or of any piece."""
    walk = chunks(io.BytesIO(content))
    found = [(chunk.begin - 8, chunk.begin + chunk.size) for chunk in walk if chunk.size is not None]
    if found and rng.random() < 0.7:
        return found[rng.integers(len(found))]
    begin = _place(content, rng)
    return begin, begin + int(rng.integers(1, 2000))


def _flipped(content, _, rng):
    for _ in range(rng.integers(1, 5) if content else 0):
        content[_place(content, rng)] ^= 1 << rng.integers(8)
    return content


def _truncated(content, _, rng):
    return content[: rng.integers(len(content) + 1)]


def _spliced(content, contents, rng):
    other = contents[sorted(contents)[rng.integers(len(contents))]]
    at, begin = _place(content, rng), rng.integers(len(other))
    return content[:at] + other[begin : begin + int(rng.integers(1, 5000))] + content[at:]


def _extreme(content, _, rng):
    size = 2 ** int(rng.integers(4))
    value = EXTREMES[rng.integers(len(EXTREMES))] % 256**size
    at = _place(content, rng)
    content[at : at + size] = value.to_bytes(size, ("little", "big")[rng.integers(2)])
    return content


def _doubled(content, _, rng):
    begin, end = _piece(content, rng)
    return content[:end] + content[begin:end] * int(rng.integers(1, 4)) + content[end:]


def _deleted(content, _, rng):
    begin, end = _piece(content, rng)
    return content[:begin] + content[end:]


def _zeroed(content, _, rng):
    begin, end = _piece(content, rng)
    return content[:begin] + bytes(len(content[begin:end])) + content[end:]


def search(path):
    """All that a search of a folder does with a file, and a count of its samples."""
    events = detect_events(path, SEARCH)
    read_clock(path)
    about = info(path)
    levels = noise_levels(path, SEARCH, about.duration)
    counted = sum(map(len, samples(path, about.sr)))
    assert abs(counted - about.n_samples) <= (0 if about.lossless else 2 * 1152), (
        "its length is not that of its samples"
    )
    assert all(0 <= event.start <= event.end and math.isfinite(event.score) for event in events)
    assert np.isfinite(np.ravel(levels)).all()


def outcome(path):
    """`table`, `refused`, or what went wrong."""
    begin = time.process_time()
    try:
        search(path)
        found = "table"
    except (OSError, ValueError) as error:
        found = "refused" if path in str(error) else f"the error does not name the file: {error!r}"
    except BaseException:
        found = traceback.format_exc()
    seconds = time.process_time() - begin
    return found if seconds < SECONDS else f"{found}, after {seconds:.1f} s of the processor"


def _work(connection):
    """What the worker does: search one file after the other, in so much memory."""
    import resource

    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what the MP3 decoder says
    warnings.simplefilter("error")
    connection.send(outcome(connection.recv()))  # one that is whole, so the libraries are in memory
    if sys.platform == "linux":
        pages, resident, *_ = map(int, Path("/proc/self/statm").read_text().split())
        limit = (pages - resident) * resource.getpagesize() + int(MEMORY)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    while path := connection.recv():
        connection.send(outcome(path))


class Worker:
    """A process that searches files, and that is replaced if it dies or does not answer."""

    def __init__(self, whole):
        self.whole = whole
        self.process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process:
            with contextlib.suppress(OSError):
                self.connection.send("")
            self.process.join(5)
            self.process.kill()
            self.process.join()
            self.connection.close()
            self.process = None

    def look(self, path):
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.connection, other = context.Pipe()
            self.process = context.Process(target=_work, args=(other,), daemon=True)
            self.process.start()
            other.close()
            whole = self._asked(self.whole)
            if whole != "table":
                raise RuntimeError(f"a recording that is whole should give a table: {whole}")
        return self._asked(path)

    def _asked(self, path):
        self.connection.send(os.fspath(path))
        try:
            found = self.connection.recv() if self.connection.poll(PATIENCE) else "no answer: it hangs"
        except EOFError:
            self.process.join()
            found = f"the worker died: {self.process.exitcode}"
        if found.startswith(("no answer", "the worker died")):
            self.__exit__()
        return found


def trials(numbers, folder):
    """What becomes of the damaged files of some numbers; those with a fault stay in the folder."""
    whole = folder / "whole"
    whole.mkdir()
    contents = originals(whole)
    with Worker(whole / "PCM_16.wav") as worker:
        for number in numbers:
            kind, content = damaged(contents, number)
            path = folder / f"{number}-{kind}"
            path.write_bytes(content)
            found = worker.look(path)
            if found in ("table", "refused"):
                path.unlink()
                yield Trial(number, kind, found)
            else:
                yield Trial(number, kind, "fault", found)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n", type=int, help="how many files")
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    numbers = range(options.first, options.first + options.n)
    found = []
    for trial in tqdm(trials(numbers, folder), total=len(numbers), unit="file"):
        found.append(trial)
        if trial.fault:
            tqdm.write(f"{folder}/{trial.number}-{trial.kind}: {trial.fault}")
    for kind in sorted({trial.kind for trial in found}):
        counts = collections.Counter(trial.outcome for trial in found if trial.kind == kind)
        print(f"{kind:16}", ", ".join(f"{counts[name]} {name}" for name in ("table", "refused", "fault")))
    n_faults = sum(bool(trial.fault) for trial in found)
    print(f"{len(found)} damaged files, {n_faults} faults" + (f", in {folder}" if n_faults else ""))
    return min(1, n_faults)


if __name__ == "__main__":
    sys.exit(main())
