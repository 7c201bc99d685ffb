"""When a recording began: names and headers as recorders write them, and never a guessed zone."""

import struct
import time
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
import soundfile

from pcenlib import RIGHT_WHALE
from pcenlib.field.clocks import Clock, read_clock
from pcenlib.field.search import Search, detect_events


def chunk(name, content):
    return name + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)


def wav(path, *after, before=b""):
    """A short WAV file with chunks before and after its samples."""
    form = chunk(b"fmt ", struct.pack("<HHIIHH", 1, 1, 8000, 16000, 2, 16))
    content = b"WAVE" + form + before + chunk(b"data", bytes(800)) + b"".join(after)
    path.write_bytes(chunk(b"RIFF", content))
    return path


def comment(text):
    return chunk(b"LIST", b"INFO" + chunk(b"ICMT", text.encode("ascii")))


def guano(text):
    return chunk(b"guan", text.encode())


def wamd(*entries):
    return chunk(b"wamd", b"".join(struct.pack("<HI", number, len(text)) + text for number, text in entries))


def zone(hours, minutes=0):
    return timezone(timedelta(hours=hours, minutes=minutes))


# Names


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("20210116_191730.WAV", datetime(2021, 1, 16, 19, 17, 30)),
        ("20210116_191730T.WAV", datetime(2021, 1, 16, 19, 17, 30)),
        ("24F3190361DD1B9B_20210116_191730.WAV", datetime(2021, 1, 16, 19, 17, 30)),
        ("S4A03895_20190522_014500.wav", datetime(2019, 5, 22, 1, 45)),
        ("SM304472_0+1_20200101$123456.wav", datetime(2020, 1, 1, 12, 34, 56)),
        ("MINI_20200101_123456_250.wav", datetime(2020, 1, 1, 12, 34, 56, 250_000)),
        ("5BE2C0A0.WAV", datetime(2018, 11, 7, 10, 38, 24, tzinfo=UTC)),
        ("5be2c0a0.wav", datetime(2018, 11, 7, 10, 38, 24, tzinfo=UTC)),
    ],
)
def test_names_of_recorders_tell_the_time(name, start, tmp_path):
    clock = read_clock(wav(tmp_path / name))
    assert clock == Clock(start, "file name")
    assert clock.start.tzinfo == start.tzinfo
    assert clock.zone == ("UTC" if start.tzinfo else "local time, zone not stated")


@pytest.mark.parametrize(
    "name",
    ["night.wav", "20210116.wav", "20211316_191730.wav", "20210116_256060.wav", "120210116_191730.wav",
     "20210116_1917301.wav", "DEADBEEF.WAV", "00000000.WAV", "7FFFFFFF.WAV"],
)  # fmt: skip
def test_other_names_tell_nothing(name, tmp_path):
    assert read_clock(wav(tmp_path / name)) is None


# Headers


@pytest.mark.parametrize(
    ("text", "start"),
    [
        (
            "Recorded at 19:17:30 16/01/2021 (UTC-4) by AudioMoth 24F3190361DD1B9B at medium gain",
            datetime(2021, 1, 16, 19, 17, 30, tzinfo=zone(-4)),
        ),
        ("Recorded at 19:17:30 16/01/2021 (UTC) by AudioMoth 1", datetime(2021, 1, 16, 19, 17, 30, tzinfo=UTC)),
        ("Recorded at 01:02:03 16/01/2021 (UTC+5:30) by AudioMoth", datetime(2021, 1, 16, 1, 2, 3, 0, zone(5, 30))),
        ("Recorded at 01:02:03 16/01/2021 (UTC-3:30) by AudioMoth", datetime(2021, 1, 16, 1, 2, 3, 0, zone(-3, -30))),
        (
            "Recorded at 01:02:03.500 16/01/2021 (UTC) during deployment 1 by AudioMoth 1",
            datetime(2021, 1, 16, 1, 2, 3, 500_000, tzinfo=UTC),
        ),
        ("Recorded at 19:17:30 16/01/2018 by AudioMoth 1", datetime(2018, 1, 16, 19, 17, 30)),
    ],
)  # fmt: skip
def test_the_comment_of_an_audiomoth_tells_time_and_zone(text, start, tmp_path):
    clock = read_clock(wav(tmp_path / "a.wav", before=comment(text)))
    assert clock == Clock(start, "AudioMoth header")
    assert clock.start.utcoffset() == start.utcoffset()


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("2017-05-03T21:22:27-05:00", datetime(2017, 5, 3, 21, 22, 27, tzinfo=zone(-5))),
        ("2017-05-03T21:22:27.250Z", datetime(2017, 5, 3, 21, 22, 27, 250_000, tzinfo=UTC)),
        ("2017-05-03 21:22:27", datetime(2017, 5, 3, 21, 22, 27)),
    ],
)
def test_guano_and_wildlife_acoustics_tell_time_and_zone(text, start, tmp_path):
    metadata = f"GUANO|Version: 1.0\nNote: Timestamp: none\nTimestamp: {text}\nLength: 5.0\n"
    assert read_clock(wav(tmp_path / "a.wav", guano(metadata))) == Clock(start, "GUANO")
    entries = [(0, b"\1\0"), (1, b"SM4"), (5, text.encode() + b"\0")]
    clock = read_clock(wav(tmp_path / "b.wav", wamd(*entries)))
    assert clock == Clock(start, "wamd")
    assert clock.start.utcoffset() == start.utcoffset()


def test_the_best_source_wins_and_a_name_that_differs_is_quoted(tmp_path):
    text = "Recorded at 19:17:30 16/01/2021 (UTC-4) by AudioMoth 1"
    metadata = guano("Timestamp: 2021-01-16T19:17:31-04:00")
    path = wav(
        tmp_path / "20210116_191730.WAV", metadata, wamd((5, b"2021-01-16 19:17:32-04:00")), before=comment(text)
    )
    clock = read_clock(path)
    assert clock.source == "GUANO"
    assert clock.conflict == "the file name says 2021-01-16 19:17:30"
    for name in (
        "20210116_191730.WAV",
        "20210116_231730.WAV",
        "6003740A.WAV",
        "night.wav",
    ):  # local time, UTC, UTC, none
        clock = read_clock(wav(tmp_path / name, before=comment(text)))
        assert clock == Clock(datetime(2021, 1, 16, 19, 17, 30, tzinfo=zone(-4)), "AudioMoth header"), name
    clock = read_clock(wav(tmp_path / "20210116_201730.WAV", before=comment(text)))
    assert clock.conflict == "the file name says 2021-01-16 20:17:30"
    local = text.replace(" (UTC-4)", "")
    assert read_clock(wav(tmp_path / "20210116_191730.WAV", before=comment(local))).conflict == ""
    assert read_clock(wav(tmp_path / "6003740A.WAV", before=comment(local))).conflict.endswith("+00:00")


@pytest.mark.parametrize(
    "after",
    [
        guano("Timestamp: yesterday"),
        guano("Length: 5"),
        wamd((5, b"never")),
        wamd((1, b"SM4")),
        chunk(b"wamd", b"\5\0\xff\xff\xff\xff"),
        comment("Recorded at 99:99:99 99/99/2021 (UTC) by AudioMoth 1"),
        comment("Recorded at 19:17:30 16/01/2021 (UTC) by another recorder"),
        chunk(b"LIST", b""),
        b"guan\xff\xff\xff\x7fTimestamp: 2021-01-01",
        b"gua",
    ],
)
def test_what_is_no_time_tells_nothing(after, tmp_path):
    assert read_clock(wav(tmp_path / "a.wav", after)) is None
    assert read_clock(wav(tmp_path / "20210116_191730.wav", after)).source == "file name"


def test_files_of_more_than_four_gigabytes_are_looked_into(tmp_path):
    ds64 = chunk(b"ds64", struct.pack("<QQQI", 0, 800, 400, 0))
    data = b"data" + b"\xff" * 4 + bytes(800)
    path = tmp_path / "a.wav"
    path.write_bytes(b"RF64" + b"\xff" * 4 + b"WAVE" + ds64 + data + guano("Timestamp: 2021-01-16T19:17:30Z"))
    assert read_clock(path).start == datetime(2021, 1, 16, 19, 17, 30, tzinfo=UTC)


def test_sound_of_unknown_length_is_not_searched_for_metadata(tmp_path):
    before = b"WAVE" + guano("Timestamp: 2021-01-16T19:17:30Z") + b"data" + bytes(4)
    path = tmp_path / "a.wav"
    with path.open("wb") as file:
        file.write(b"RIFF" + bytes(4) + before)
        file.truncate(100_000_000)
    begin = time.perf_counter()
    assert read_clock(path).start == datetime(2021, 1, 16, 19, 17, 30, tzinfo=UTC)
    assert time.perf_counter() - begin < 1  # it took ten seconds to go through the silence


def test_other_formats_have_their_names(tmp_path):
    for name in ("A_20210116_191730.flac", "A_20210116_191730.ogg"):
        soundfile.write(tmp_path / name, np.zeros(800), 8000)
        assert read_clock(tmp_path / name).start == datetime(2021, 1, 16, 19, 17, 30)
    (tmp_path / "empty.wav").write_bytes(b"")
    assert read_clock(tmp_path / "empty.wav") is None
    with pytest.raises(FileNotFoundError, match=r"missing\.wav"):
        read_clock(tmp_path / "missing.wav")


# Times within a recording


def test_times_go_on_across_midnight_with_their_zone():
    clock = Clock(datetime(2021, 12, 31, 23, 59, 59, tzinfo=zone(-4)), "GUANO")
    assert clock.zone == "UTC-04:00"
    assert clock.at(1.2346) == "2022-01-01T00:00:00.235-04:00"
    assert Clock(datetime(2021, 12, 31, 23, 59, 59), "file name").at(0) == "2021-12-31T23:59:59.000"


# Damaged and odd files


def test_what_comes_second_does_not_erase_the_time(tmp_path):
    told = comment("Recorded at 19:17:30 16/01/2021 (UTC) by AudioMoth 1")
    other = chunk(b"LIST", b"INFO" + chunk(b"ISFT", b"an audio editor"))
    start = datetime(2021, 1, 16, 19, 17, 30, tzinfo=UTC)
    for before, after in ((told, other), (other, told)):
        assert read_clock(wav(tmp_path / "a.wav", after, before=before)) == Clock(start, "AudioMoth header")
    first, second = guano("Timestamp: 2021-01-16T19:17:30Z"), guano("Length: 5")
    assert read_clock(wav(tmp_path / "a.wav", first, second)) == Clock(start, "GUANO")
    first, second = wamd((5, b"2021-01-16T19:17:30Z")), wamd((1, b"SM4"))
    assert read_clock(wav(tmp_path / "a.wav", first, second)) == Clock(start, "wamd")


@pytest.mark.parametrize("text", ["Recorded at ", "Recorded at 19:17:30 16/01/2021 (UTC) by "])
def test_a_megabyte_of_comments_takes_no_time(text, tmp_path):
    path = wav(tmp_path / "20210116_191730.wav", comment(text * (10**6 // len(text))))
    begin = time.process_time()
    assert read_clock(path).source == "file name"
    assert time.process_time() - begin < 0.5  # a pattern that looked for the recorder behind each took twenty seconds


@pytest.mark.parametrize("offset", ["+24", "-99", "+23:60", "+9:99"])
def test_a_zone_that_is_none_does_not_make_a_recording_unreadable(offset, tmp_path):
    text = f"Recorded at 19:17:30 16/01/2021 (UTC{offset}) by AudioMoth 1"
    assert read_clock(wav(tmp_path / "a.wav", comment(text))) is None
    assert read_clock(wav(tmp_path / "20210116_191730.wav", comment(text))).source == "file name"


@pytest.mark.parametrize("size", [2**62, 2**63 - 1, 2**63, 2**64 - 1])
def test_sound_of_a_size_that_no_disk_holds_is_of_unknown_length(size, tmp_path):
    ds64 = chunk(b"ds64", struct.pack("<QQQI", size, size, 400, 0))
    path = tmp_path / "20210116_191730.wav"
    form = chunk(b"fmt ", struct.pack("<HHIIHH", 1, 1, 8000, 16000, 2, 16))
    path.write_bytes(b"RF64" + b"\xff" * 4 + b"WAVE" + ds64 + form + b"data" + b"\xff" * 4 + bytes(64_000))
    if size != 2**64 - 1:  # which libsndfile does not read
        assert detect_events(path, Search(setting=RIGHT_WHALE, threshold=3.0)) == []
    assert read_clock(path).source == "file name"


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59.999Z", "0001-01-01T00:00:00+05:00"])
def test_times_at_the_ends_of_the_calendar_are_none(text, tmp_path):
    assert read_clock(wav(tmp_path / "a.wav", guano(f"Timestamp: {text}"))) is None
    assert read_clock(wav(tmp_path / "99991231_235959_999.wav")) is None
    audiomoth = "Recorded at 23:59:59.999 31/12/9999 (UTC) by AudioMoth 1"
    assert read_clock(wav(tmp_path / "a.wav", comment(audiomoth))) is None
