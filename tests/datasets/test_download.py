"""Downloads from a server of our own: whole, interrupted, damaged, out of reach."""

import hashlib
import http.server
import io
import json
import re
import sys
import threading
import zipfile

import numpy as np
import pooch
import pytest

from pcenlib.datasets import download as module
from pcenlib.datasets.download import Remote, download

FILES = {"ESC-50-master/audio/a.wav": np.random.default_rng(0).bytes(300_000), "ESC-50-master/meta/b.csv": b"b"}


def archive():
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr(zipfile.ZipInfo("ESC-50-master/audio/"), b"")
        for name, data in FILES.items():
            file.writestr(zipfile.ZipInfo(name), data)
    return content.getvalue()


ARCHIVE = archive()
CHECKSUM = f"md5:{hashlib.md5(ARCHIVE).hexdigest()}"  # noqa: S324


class Server(http.server.ThreadingHTTPServer):
    """Serves the archive, and drops the connection after so many bytes, as often as asked to."""

    drops = 0
    ranges = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        wanted = self.headers.get("Range") if self.server.ranges else None
        self.server.asked.append((self.path, wanted))
        if self.path == "/api/records/1208080":
            url = f"{self.server.url}/x.zip"
            record = {"files": [{"key": "x.zip", "checksum": CHECKSUM, "links": {"self": url}}]}
            return self.answer(200, json.dumps(record).encode())
        if self.path != "/x.zip":
            return self.answer(404, b"{}")
        first = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1]) if wanted else 0
        if first >= len(ARCHIVE):
            return self.answer(416, b"")
        return self.answer(206 if wanted else 200, ARCHIVE[first:])

    def answer(self, status, content):
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.server.drops and status < 300:
            self.server.drops -= 1
            content = content[: len(ARCHIVE) // 3]
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def remote(server):
    return Remote(file="x.zip", url=f"{server.url}/x.zip", checksum=CHECKSUM, inside="ESC-50-master/")


def check_unpacked(folder):
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert found == {name.removeprefix("ESC-50-master/"): data for name, data in FILES.items()}


def test_an_archive_is_checked_unpacked_and_removed(remote, server, tmp_path, capsys):
    download(remote, tmp_path / "new" / "esc50")
    check_unpacked(tmp_path / "new" / "esc50")
    assert server.asked == [("/x.zip", None)]
    assert "100%" in capsys.readouterr().err


def test_no_progress_bar_unless_asked_for(remote, tmp_path, capsys):
    download(remote, tmp_path, progress=False)
    assert "%" not in capsys.readouterr().err


def test_a_broken_download_goes_on_where_it_was(remote, server, tmp_path):
    server.drops = 2
    kept = [0]
    for _ in range(2):
        with pytest.raises(
            OSError, match=r"connection to 127.0.0.1:\d+ failed; \d+ bytes are kept in .*x.zip.part"
        ) as raised:
            download(remote, tmp_path, progress=False)
        kept.append(int(re.search(r"(\d+) bytes are kept", str(raised.value))[1]))
        assert kept[-1] - kept[-2] > len(ARCHIVE) // 3 - module.BYTES_PER_READ
        assert (tmp_path / "x.zip.part").read_bytes() == ARCHIVE[: kept[-1]]
        assert not (tmp_path / "audio").exists()
    download(remote, tmp_path, progress=False)
    check_unpacked(tmp_path)
    assert server.asked == [("/x.zip", None), *(("/x.zip", f"bytes={first}-") for first in kept[1:])]


def test_a_server_that_always_starts_anew(remote, server, tmp_path):
    server.drops, server.ranges = 1, False
    with pytest.raises(OSError, match="Run the same command again"):
        download(remote, tmp_path, progress=False)
    download(remote, tmp_path, progress=False)
    check_unpacked(tmp_path)


def test_all_of_it_was_there(remote, tmp_path):
    (tmp_path / "x.zip.part").write_bytes(ARCHIVE)
    download(remote, tmp_path, progress=False)
    check_unpacked(tmp_path)


def test_an_archive_that_is_there_is_not_downloaded(remote, server, tmp_path):
    (tmp_path / "x.zip").write_bytes(ARCHIVE)
    download(remote, tmp_path, progress=False)
    check_unpacked(tmp_path)
    assert not server.asked


@pytest.mark.parametrize("part", [b"", b"something else that was begun"])
def test_a_wrong_checksum(remote, tmp_path, part):
    if part:
        (tmp_path / "x.zip.part").write_bytes(part)
        wrong = remote
    else:
        wrong = Remote(file="x.zip", url=remote.url, checksum="md5:" + 32 * "0")
    with pytest.raises(OSError, match="is not what it should be, and was not kept"):
        download(wrong, tmp_path, progress=False)
    assert not list(tmp_path.iterdir())
    download(remote, tmp_path, progress=False)
    check_unpacked(tmp_path)


def test_out_of_reach(tmp_path, server):
    url = server.url
    server.server_close()
    remote = Remote(file="x.zip", url=f"{url}/x.zip", checksum=CHECKSUM)
    server.socket = Server().socket  # for the fixture to close
    with pytest.raises(OSError, match=rf"connection to {url[7:]} failed\. Run .* or fetch {url}/x.zip by other means"):
        download(remote, tmp_path, progress=False)


def test_an_address_that_is_not_there(server, tmp_path):
    with pytest.raises(OSError, match=r"y\.zip is not there: 404"):
        download(Remote(file="y.zip", url=f"{server.url}/y.zip", checksum=CHECKSUM), tmp_path, progress=False)


def test_zenodo_states_address_and_checksum(monkeypatch, server, tmp_path):
    monkeypatch.setattr(pooch.downloaders.ZenodoRepository, "base_api_url", f"{server.url}/api/records")
    download(Remote(file="x.zip", record="1208080", inside="ESC-50-master/"), tmp_path, progress=False)
    check_unpacked(tmp_path)
    assert server.asked == [("/api/records/1208080", None), ("/x.zip", None)]


@pytest.mark.parametrize(("record", "file"), [("1", "x.zip"), ("1208080", "other.zip")])
def test_zenodo_does_not_have_it(monkeypatch, server, tmp_path, record, file):
    monkeypatch.setattr(pooch.downloaders.ZenodoRepository, "base_api_url", f"{server.url}/api/records")
    with pytest.raises(OSError, match=f"https://zenodo.org/records/{record} is not what it should be"):
        download(Remote(file=file, record=record), tmp_path, progress=False)


def test_a_file_outside_of_the_folder_stays_inside(tmp_path):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr("ESC-50-master/../../outside", b"?")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "x.zip").write_bytes(content.getvalue())
    module._unpack(tmp_path / "in" / "x.zip", "ESC-50-master/", tmp_path / "in")
    assert (tmp_path / "in" / "outside").exists()
    assert not (tmp_path / "outside").exists()


def zipped(data, **options):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a.wav", data, **options)
    return bytearray(content.getvalue())


def encrypted(content):
    """An archive that says of its only file that it is encrypted."""
    for place in (6, content.index(b"PK\x01\x02") + 8):
        content[place] |= 1
    return content


def damaged(content):
    content[60:80] = bytes(20)
    return content


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"<html>Not found</html>", "cannot be unpacked: File is not a zip file"),
        (encrypted(zipped(b"x" * 100)), "cannot be unpacked: .*encrypted"),
        (damaged(zipped(np.random.default_rng(0).bytes(1000))), "cannot be unpacked: "),
        (zipped(bytes(2**24)), "was not unpacked: it would become 16777216 bytes, more than 100 times its size"),
    ],
    ids=["no archive", "encrypted", "damaged", "bomb"],
)
def test_an_archive_that_cannot_or_should_not_be_unpacked_is_named(content, reason, tmp_path):
    (tmp_path / "x.zip").write_bytes(content)
    with pytest.raises(OSError, match=rf"x\.zip {reason}"):
        module._unpack(tmp_path / "x.zip", "", tmp_path)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 2**20


def test_what_to_install(monkeypatch, remote, tmp_path):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(OSError, match=r"pip install 'pcenlib\[data\]'"):
        download(remote, tmp_path)
