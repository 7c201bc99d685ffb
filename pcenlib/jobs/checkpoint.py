"""A file that keeps the results of a long run, so a run that was killed goes on where it was.

Its first line says what is computed. Each further line is the name and the result of one item, as JSON. Lines are only
ever added, and are on the disk before the run goes on. A line that a kill cut off is dropped.
"""

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from pcenlib.core.version import __version__

__all__ = ["journal"]


@contextlib.contextmanager
def journal(
    path: str | os.PathLike[str] | None, header: dict[str, str]
) -> Iterator[tuple[dict[str, Any], Callable[[dict[str, Any]], dict[str, Any]]]]:
    """Open a checkpoint: the results that it already holds, by name, and a function that adds more.

    The function takes a dict of results by name, and returns them as they will be read, once they are safe on the disk.
    A file with another header is refused. Without a path, nothing is kept.
    """
    if path is None:
        yield {}, lambda results: results
        return
    first = json.dumps({"pcenlib": __version__, **header}).encode() + b"\n"
    with _locked(path), Path(path).open("a+b") as file:
        results, end = _read(file, first, path)
        file.truncate(end)

        def keep(results: dict[str, Any]) -> dict[str, Any]:
            try:
                lines = [json.dumps({"name": name, "result": result}) for name, result in results.items()]
            except TypeError as error:
                raise TypeError(f"function must return what JSON can hold, for the checkpoint: {error}") from error
            _write(file, "".join(f"{line}\n" for line in lines).encode())
            return {name: json.loads(line)["result"] for name, line in zip(results, lines, strict=True)}

        if end == 0:
            _write(file, first)
        yield results, keep


@contextlib.contextmanager
def _locked(path: str | os.PathLike[str]) -> Iterator[None]:
    """Keep other processes from a checkpoint; the lock is gone with this process, however it ends."""
    from filelock import FileLock, Timeout  # here, because workers do not need it

    lock = FileLock(f"{os.fspath(path)}.lock", timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise OSError(f"checkpoint {path} is in use by another process") from error
    try:
        yield
    finally:
        if os.name == "posix":  # elsewhere releasing removes the file
            Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()


def _read(file: BinaryIO, first: bytes, path: str | os.PathLike[str]) -> tuple[dict[str, Any], int]:
    """Results in a checkpoint, and where its last whole line ends: a kill may have cut off what follows."""
    file.seek(0)
    line = file.readline()
    if line != first:
        if first.startswith(line):
            return {}, 0
        raise ValueError(
            f"checkpoint {path} belongs to another job, or is no checkpoint: it starts with {line[:300]!r}, "
            f"this job's with {first!r}; name another file, or remove this one"
        )
    results, end = {}, len(line)
    for line in file:
        try:
            entry = json.loads(line) if line.endswith(b"\n") else {}
            results[entry["name"]] = entry["result"]
        except (ValueError, KeyError, TypeError):
            break
        end += len(line)
    return results, end


def _write(file: BinaryIO, data: bytes) -> None:
    file.write(data)
    file.flush()
    os.fsync(file.fileno())
