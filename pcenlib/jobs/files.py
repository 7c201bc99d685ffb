"""Files that are there as a whole or not at all."""

import os
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file so that it is there as a whole or not at all.

    Parameters
    ----------
    path : path
        The file. One that is there is replaced.
    content : str or bytes
        All of it.

    Notes
    -----
    It is written under another name, `.writing` at its end, and renamed when it is on the disk.
    """
    path = Path(path)
    unfinished = path.with_name(f"{path.name}.writing")
    with unfinished.open("wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode("utf-8"))
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
