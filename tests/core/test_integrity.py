"""Whether recordings are all there: what each format states, and what only its frames or pages tell."""

import pytest

from pcenlib.core.integrity import check_whole, missing_bytes
from pcenlib.core.recordings import info, waveform
from tests.damage import FORMATS, recording, without_length
from tests.sounds import white, write


@pytest.mark.parametrize("format", ["WAV", "RF64", "W64", "AIFF", "CAF", "AU"])
def test_what_was_cut_off_is_missed(format, tmp_path):
    path = write(tmp_path / "x", white(4000, 2), 2000, format=format, subtype="PCM_16")
    content = path.read_bytes()
    assert missing_bytes(path) == 0
    for n_bytes in (1, 1000, 15_999):
        path.write_bytes(content[:-n_bytes])
        assert missing_bytes(path) == n_bytes
        if format != "CAF":  # of which libsndfile opens none that misses more than a page
            assert info(path).n_samples == (16_000 - n_bytes) // 4
    path.write_bytes(content[:20])
    assert missing_bytes(path) > 0 or format in ("W64", "CAF")  # of which these are not yet a chunk


@pytest.mark.parametrize("size", [0, 0x7FFFF000, 0xFFFFFFFF])
def test_nothing_is_missed_where_the_length_was_not_known(size, tmp_path):
    path = write(tmp_path / "x.wav", white(4000), 2000)
    content = path.read_bytes()
    at = content.index(b"data") + 4
    path.write_bytes(content[:at] + size.to_bytes(4, "little") + content[at + 4 :])
    assert missing_bytes(path) == 0


@pytest.mark.parametrize("content", [b"", b"RIFF", b"RIFF\0\0\0\0WAVE", b"fLaC" + bytes(100), b"ID3", b"OggS", b".snd"])
def test_nothing_is_missed_in_what_is_no_recording(content, tmp_path):
    (tmp_path / "x").write_bytes(content)
    assert missing_bytes(tmp_path / "x") == 0


@pytest.mark.parametrize("bitrate_mode", ["CONSTANT", "VARIABLE"])
@pytest.mark.parametrize("sr", [8000, 22050, 44100])
@pytest.mark.parametrize("channels", [1, 2])
def test_mp3_files_state_their_bytes(channels, sr, bitrate_mode, tmp_path):
    options = {"format": "MP3", "bitrate_mode": bitrate_mode}
    path = write(tmp_path / "x.mp3", 0.01 * white(3 * sr, channels), sr, **options)
    content = path.read_bytes()
    tag = b"ID3\4\0\0" + bytes([0, 0, 7, 104]) + bytes(1000)  # as players put it before and after the sound
    for before, after in ((b"", b""), (tag, b""), (tag, b"TAG" + bytes(125))):
        path.write_bytes(before + content + after)
        assert missing_bytes(path) == 0
        check_whole(path)
        assert info(path).duration == 3
    path.write_bytes(tag + content[:-100])
    assert missing_bytes(path) == 100


@pytest.mark.parametrize("name", FORMATS)
def test_whole_recordings_pass(name, tmp_path):
    check_whole(recording(tmp_path / "x", name, seconds=2))


def test_streams_of_one_ogg_file_may_be_interleaved_and_pages_lost(tmp_path):
    pages = {}
    for name in ("ogg", "opus"):
        content = recording(tmp_path / name, name, seconds=40).read_bytes()
        pages[name] = [b"OggS" + page for page in content.split(b"OggS")[1:]]
        assert len(pages[name]) > 4
    one, other = pages.values()
    path = tmp_path / "both.ogg"
    path.write_bytes(b"".join([one[0], other[0], *one[1:3], *other[1:], *one[3:]]))
    check_whole(path)
    path.write_bytes(b"".join([one[0], other[0], *one[1:3], *other[1:]]))
    with pytest.raises(OSError, match=r"both\.ogg is truncated: its last page"):
        check_whole(path)
    path.write_bytes(b"".join([*one[:2], one[2][:100], bytes(70_000), *one[3:]]))
    check_whole(path)


def test_mp3_files_that_state_nothing_may_be_joined(tmp_path, capfd):
    contents = [without_length(recording(tmp_path / f"{i}", "mp3", seed=i)).read_bytes() for i in range(3)]
    path = tmp_path / "all.mp3"
    path.write_bytes(b"".join(contents))
    check_whole(path)
    lengths = [info(tmp_path / f"{i}").n_samples for i in range(3)]
    assert info(path).n_samples == len(waveform(path, 8000)) == sum(lengths)
    capfd.readouterr()
