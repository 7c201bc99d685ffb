"""Files that are there as a whole or not at all."""

import os
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file, as a whole or not at all; one that is there is replaced.

    The content goes to a file with `.writing` at the end of its name, which is renamed once it is on the disk.
    """
    path = Path(path)
    unfinished = path.with_name(f"{path.name}.writing")
    with unfinished.open("wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode("utf-8"))
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
