"""Files that are there as a whole or not at all, and that one process at a time writes."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["locked", "naming", "write_whole"]


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    r"""Write a file, as a whole or not at all; one that is there is replaced.

    The content goes to a file with `.writing` at the end of its name, which is renamed once it is on the disk. Text is
    in UTF-8. What UTF-8 cannot hold, as from the name of a file that is none, becomes an escape such as ``\udcff``.
    """
    path = Path(path)
    unfinished = path.with_name(f"{path.name}.writing")
    try:
        with naming(unfinished), unfinished.open("wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace"))
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let errors of the operating system say which file they are about: those of a full disk do not."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = os.fspath(path)
        raise


@contextlib.contextmanager
def locked(path: str | os.PathLike[str]) -> Iterator[None]:
    """Keep other processes from a file; the lock is gone with this process, however it ends."""
    from filelock import FileLock, Timeout  # here, because workers do not need it

    lock = FileLock(f"{os.fspath(path)}.lock", timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise OSError(f"{os.fspath(path)} is in use by another process") from error
    try:
        yield
    finally:
        if os.name == "posix":  # elsewhere releasing removes the file
            Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()
