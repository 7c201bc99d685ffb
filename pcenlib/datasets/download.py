"""Downloads of public data sets: verified by checksum, and resumed after an interruption.

Checksums are those that the archive itself or soundata states. Sets without one are not downloaded; they say how to
get them by hand. Only this part of the library uses pooch and the network.
"""

import zipfile
import zlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

__all__ = ["Remote", "download"]

ZENODO = "https://zenodo.org/records"
# Seconds without an answer after which a server counts as out of reach.
TIMEOUT = 60
# What at most is lost of a download when the connection breaks.
BYTES_PER_READ = 2**14
# Recordings shrink to a half or a third; hours of digital silence, a thousandfold, are no data set.
MOST_COMPRESSED = 100


@dataclass(frozen=True, kw_only=True)
class Remote:
    """A ZIP file to download and unpack, of which the folder `inside` holds the data set.

    A Zenodo record, given by its number, states the URL and the checksum of its files. Otherwise both are given here,
    the checksum as in ``md5:...``.
    """

    file: str
    url: str = ""
    checksum: str = ""
    record: str = ""
    inside: str = ""


def download(remote: Remote, folder: Path, *, progress: bool = True) -> None:
    """Download an archive into a folder, verify its checksum, unpack it there, and remove it.

    If the connection breaks, what has arrived is kept, and the next call resumes from there. An archive that is already
    in the folder with the right checksum is not downloaded again. `progress` shows a bar on the standard error. OSError
    if the server cannot be reached or sends the wrong file.
    """
    try:
        import pooch
        import requests
    except ImportError as error:
        raise OSError("downloads need pooch: pip install 'pcenlib[data]'") from error
    folder.mkdir(parents=True, exist_ok=True)
    archive, part = folder / remote.file, folder / f"{remote.file}.part"
    url = f"{ZENODO}/{remote.record}" if remote.record else remote.url
    by_hand = f"or fetch {url} by other means and unpack it in {folder}, in the layout that the data set states"
    try:
        url, checksum = _zenodo(remote) if remote.record else (remote.url, remote.checksum)
        fetch = partial(_fetch, part=part, progress=progress)
        pooch.retrieve(url, checksum, fname=archive.name, path=folder, downloader=fetch)
    except requests.exceptions.HTTPError as error:
        raise OSError(f"{url} is not there: {error}") from error
    except requests.exceptions.RequestException as error:
        kept = f"; {part.stat().st_size} bytes are kept in {part}" if part.exists() else ""
        host = urlsplit(getattr(error.request, "url", None) or url).netloc
        raise OSError(
            f"the connection to {host} failed{kept}. Run the same command again to go on, {by_hand}. ({error})"
        ) from error
    except (KeyError, ValueError) as error:
        raise OSError(
            f"{url} is not what it should be, and was not kept: it was damaged on its way, or it has changed since its "
            f"checksum was stated. Run the same command again, {by_hand}. ({error})"
        ) from error
    _unpack(archive, remote.inside, folder)
    archive.unlink()


def _zenodo(remote: Remote) -> tuple[str, str]:
    """Where a file of a record of Zenodo is, and the checksum that the record states."""
    import pooch
    from pooch.downloaders import ZenodoRepository

    page = f"{ZENODO}/{remote.record}"
    record = ZenodoRepository(doi=f"10.5281/zenodo.{remote.record}", archive_url=page, timeout=TIMEOUT)
    stated = pooch.create(path=".", base_url=page)
    record.populate_registry(stated)
    return record.download_url(remote.file), stated.registry[remote.file]


def _fetch(url: str, output_file: str, _: Any, *, part: Path, progress: bool) -> None:
    """Download the rest of a file, and move it to where pooch checks it."""
    import requests
    from tqdm import tqdm

    kept = part.stat().st_size if part.exists() else 0
    headers = {"Range": f"bytes={kept}-"} if kept else {}
    with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as response:
        if kept and response.status_code == requests.codes.requested_range_not_satisfiable:
            part.replace(output_file)  # all of it was there
            return
        response.raise_for_status()
        if response.status_code != requests.codes.partial_content:
            kept = 0  # this server always starts anew
        length = response.headers.get("Content-Length")
        total = kept + int(length) if length else None
        with (
            part.open("ab" if kept else "wb") as file,
            tqdm(total=total, initial=kept, unit="B", unit_scale=True, desc=part.stem, disable=not progress) as bar,
        ):
            for chunk in response.iter_content(BYTES_PER_READ):
                file.write(chunk)
                bar.update(len(chunk))
    part.replace(output_file)


def _unpack(archive: Path, inside: str, folder: Path) -> None:
    """Unpack what is in a folder of a ZIP file; OSError if it is none, cannot be unpacked, or is a trap."""
    try:
        with zipfile.ZipFile(archive) as file:
            members = [one for one in file.infolist() if one.filename.startswith(inside) and not one.is_dir()]
            size = sum(member.file_size for member in members)
            if size > MOST_COMPRESSED * archive.stat().st_size:
                raise OSError(
                    f"{archive} was not unpacked: it would become {size} bytes, more than {MOST_COMPRESSED} times its "
                    "size, as no recordings do"
                )
            for member in members:
                member.filename = member.filename.removeprefix(inside)
                file.extract(member, folder)
    except (
        zipfile.BadZipFile,
        RuntimeError,
        zlib.error,
    ) as error:  # damaged, or encrypted, or of a method unknown here
        raise OSError(f"{archive} cannot be unpacked: {error}") from error
