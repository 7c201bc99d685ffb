"""A file that keeps the results of a long run, so a run that was killed goes on where it was.

Its first line says what is computed. Each further line is the name and the result of one item, as JSON, with a
checksum. Lines are on the disk before the run goes on. A line that a kill cut off is dropped, and so is one that was
changed.
"""

import contextlib
import hashlib
import json
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from pcenlib.core.version import __version__
from pcenlib.jobs.files import locked, naming

__all__ = ["journal"]

CHECKSUM = b', "checksum": "'  # between the text that it is of, less the last brace, and the checksum itself


@contextlib.contextmanager
def journal(
    path: str | os.PathLike[str] | None, header: dict[str, str], *, replace: bool = False
) -> Iterator[tuple[dict[str, Any], Callable[[dict[str, Any]], dict[str, Any]]]]:
    """Open a checkpoint: the results that it already holds, by name, and a function that adds more.

    The function takes a dict of results by name, and returns them as they will be read, once they are safe on the disk.
    A file with another header is refused, or replaced if `replace` says so. Without a path, nothing is kept.
    """
    if path is None:
        yield {}, lambda results: results
        return
    first = json.dumps({"pcenlib": __version__, **header}).encode() + b"\n"
    with locked(path), _opened(path) as file:
        results = _read(file, first, path, replace)

        def keep(results: dict[str, Any]) -> dict[str, Any]:
            try:
                texts = [json.dumps({"name": name, "result": result}) for name, result in results.items()]
            except TypeError as error:
                raise TypeError(f"function must return what JSON can hold, for the checkpoint: {error}") from error
            _write(file, b"".join(_with_checksum(text.encode()) for text in texts))
            return {name: json.loads(text)["result"] for name, text in zip(results, texts, strict=True)}

        yield results, keep


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    file = Path(path).open("a+b")  # noqa: SIM115  # closed below, where its error is given a name
    try:
        yield file
    finally:
        with naming(path):  # on a full disk, what could not be written is tried again
            file.close()


def _read(file: BinaryIO, first: bytes, path: str | os.PathLike[str], replace: bool) -> dict[str, Any]:
    """Results in a checkpoint, which is then rid of what a kill cut off, and of what is damaged."""
    file.seek(0)
    line = file.readline(len(first))
    if line != first:
        if not (replace or first.startswith(line)):
            raise ValueError(
                f"checkpoint {path} belongs to another job, or is no checkpoint; name another file, or remove this one"
            )
        file.truncate(0)
        _write(file, first)
        return {}
    lines = file.readlines()
    if lines and not lines[-1].endswith(b"\n"):
        file.truncate(file.tell() - len(lines.pop()))
    whole = [line for line in lines if _is_whole(line)]
    if len(whole) < len(lines):
        warnings.warn(
            f"checkpoint {path} is damaged: {len(lines) - len(whole)} of its {len(lines)} results were changed since "
            "they were written, and are computed again",
            stacklevel=2,
        )
        file.truncate(len(first))
        _write(file, b"".join(whole))
    entries = map(json.loads, whole)
    return {entry["name"]: entry["result"] for entry in entries}


def _with_checksum(text: bytes) -> bytes:
    """The line of an entry: a JSON object that was `text`, with the checksum of that text as its last field."""
    return text[:-1] + CHECKSUM + hashlib.blake2b(text, digest_size=8).hexdigest().encode() + b'"}\n'


def _is_whole(line: bytes) -> bool:
    """Whether a line is as `_with_checksum` made it."""
    return _with_checksum(line.rpartition(CHECKSUM)[0] + b"}") == line


def _write(file: BinaryIO, data: bytes) -> None:
    with naming(file.name):
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
