"""Recordings as streams of samples: equal to soundfile and soxr on the whole, however read, mixed, resampled or cut."""

import itertools
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib import NIGHTHAWK, max_pooled_pcen, spectrogram
from pcenlib.core import recordings
from pcenlib.core.recordings import Info, as_floats, info, samples, waveform
from tests.damage import recording, with_samples, without_length
from tests.sounds import resampled, white, write


def read(source, target=2000, dtype="float64", **options):
    """The whole stream, in floating point."""
    chunks = samples(source, target, dtype=dtype, **options)
    return np.concatenate([as_floats(chunk, dtype) for chunk in chunks])


# Files

FORMATS = [
    *(("WAV", subtype) for subtype in ("PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE", "ULAW")),
    *(("FLAC", subtype) for subtype in ("PCM_S8", "PCM_16", "PCM_24")),
    *(("AIFF", subtype) for subtype in ("PCM_S8", "PCM_16", "PCM_24", "FLOAT")),
    ("OGG", "VORBIS"),
    ("MP3", "MPEG_LAYER_III"),
]
LOSSY = {"ULAW", "VORBIS", "MPEG_LAYER_III"}


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize(("format", "subtype"), FORMATS)
def test_formats(format, subtype, channels, tmp_path):
    path = write(tmp_path / "recording", white(3 * 22050 + 17, channels), 22050, format=format, subtype=subtype)
    expected, sr = soundfile.read(path, always_2d=True)
    assert info(path) == Info(sr, channels, len(expected), subtype not in LOSSY)
    assert_array_equal(read(path, 22050), expected.mean(axis=1))


def test_sixteen_bits_are_given_as_they_are_stored(tmp_path):
    stored = np.arange(-(2**15), 2**15, dtype=np.int16)
    path = write(tmp_path / "16.wav", stored, 2000)
    chunks = list(samples(path, 2000))
    assert {chunk.dtype for chunk in chunks} == {np.dtype(np.int16)}
    assert_array_equal(np.concatenate(chunks), stored)
    for dtype in ("float64", "float32"):
        values = read(path, dtype=dtype)
        assert values.dtype == dtype
        assert_array_equal(values, stored / 2**15)


def test_the_duration_of_a_recording(tmp_path):
    assert info(write(tmp_path / "x.wav", white(4000, 3), 8000)).duration == 0.5


@pytest.mark.parametrize("kind", [str, Path])
def test_paths_may_be_strings(kind, tmp_path):
    path = write(tmp_path / "x.wav", white(1000), 2000, subtype="DOUBLE")
    assert_array_equal(read(kind(path)), white(1000))


# Waveforms


def test_a_waveform_says_what_it_holds():
    assert info(white(3, 100), sr=8000) == Info(8000, 3, 100, lossless=True)
    assert info([0.0, 1.0], sr=8000) == Info(8000, 1, 2, lossless=True)
    with pytest.raises(ValueError, match=r"^sr must be given for a waveform"):
        info(white(100))


def test_one_channel_may_have_an_axis_or_none():
    x = white(2000)
    for source in (x, x[np.newaxis], x.tolist()):
        assert_array_equal(read(source), x)
        assert_array_equal(read(source, channel=0), x)


@pytest.mark.parametrize("dtype", [np.int16, np.uint8, np.float32, np.float16, ">f8"])
def test_arrays_of_any_numbers(dtype):
    x = (100 * white(2, 2000) + 60).astype(dtype)
    kept = x.copy()
    assert_allclose(read(x), x.mean(axis=0, dtype=np.float64), rtol=1e-12)
    assert_array_equal(x, kept)


def test_arrays_of_any_layout():
    x = white(2000, 2)
    assert_array_equal(read(x.T, channel=1), x[:, 1])
    assert_array_equal(read(x[::-2, 0]), x[::-2, 0])
    x.flags.writeable = False
    assert_array_equal(read(x.T), x.mean(axis=1))


# Channels


def test_channels_are_averaged_or_picked(tmp_path):
    x = white(3, 2000)
    path = write(tmp_path / "three.wav", x.T, 2000, subtype="DOUBLE")
    for source in (x, path):
        assert_allclose(read(source), x.mean(axis=0), atol=1e-15)
        for channel in range(3):
            assert_array_equal(read(source, channel=channel), x[channel])


# Rates

RATES = [(48000, 22050), (44100, 22050), (24000, 22050), (16000, 22050), (32000, 2000), (8000, 2000), (10000, 2000)]


@pytest.mark.parametrize(("sr", "target"), RATES)
@pytest.mark.parametrize("per_read", [997, 2**17])
def test_resampling_as_it_streams_is_resampling_of_the_whole(sr, target, per_read, tmp_path, monkeypatch):
    monkeypatch.setattr(recordings, "SAMPLES_PER_READ", per_read)
    x = white(2 * sr + 1)
    expected = resampled(x, sr, target)
    assert_allclose(read(x, target, sr=sr), expected, atol=1e-12)
    assert_allclose(read(write(tmp_path / "x.wav", x, sr, subtype="DOUBLE"), target), expected, atol=1e-12)


@pytest.mark.parametrize("n_samples", [1, 10, 100, 1000])
def test_short_recordings_are_resampled(n_samples):
    x = white(n_samples)
    assert_allclose(read(x, sr=32000), resampled(x, 32000, 2000), atol=1e-12)


@pytest.mark.parametrize("sr", [22000, 24000, 44100, 48000])
@pytest.mark.parametrize(("hum", "noise"), [(0.5, 1e-4), (0.0, 1.0)])
def test_the_end_of_a_resampled_recording_does_not_ring(hum, noise, sr):
    x = hum * np.sin(2 * np.pi * 300 * np.arange(3 * sr) / sr + 1) + noise * white(3 * sr)
    values = max_pooled_pcen(spectrogram(read(x, NIGHTHAWK.sr, sr=sr), NIGHTHAWK), s=NIGHTHAWK.s)
    assert values[-40:].max() < values[500:-40].max()


# Starting in the middle


@pytest.mark.parametrize(("sr", "target"), [*RATES, (2000, 2000)])
def test_from_any_sample_on_it_is_the_same(sr, target, tmp_path):
    x = white(6 * sr + 11)
    path = write(tmp_path / "x.flac", x, sr, subtype="PCM_16")
    whole = read(path, target)
    stored, _ = soundfile.read(path)
    for first in (1, 500, 3000, len(whole) // 2, len(whole) - 1):
        assert_allclose(read(path, target, first=first), whole[first:], atol=1e-12)
        assert_allclose(read(stored, target, sr=sr, first=first), whole[first:], atol=1e-12)


def test_seeking_makes_no_resampler_but_the_one_that_is_used(monkeypatch):
    made = []

    class Watched(soxr.ResampleStream):
        def __init__(self, *args, **options):
            made.append(args)
            super().__init__(*args, **options)

    x = white(100_000)
    next(samples(x, 2000, sr=32000, first=3000))
    monkeypatch.setattr(soxr, "ResampleStream", Watched)
    for first in (100, 3000, 4000):
        next(samples(x, 2000, sr=32000, first=first))
    assert len(made) == 3


def test_a_recording_is_read_no_further_than_asked_for(tmp_path, monkeypatch):
    sizes = []

    def watched(file, n_samples, **options):
        sizes.append(n_samples)
        return unwatched(file, n_samples, **options)

    unwatched = soundfile.SoundFile.read
    monkeypatch.setattr(soundfile.SoundFile, "read", watched)
    chunks = samples(write(tmp_path / "x.wav", white(10**6), 2000), 2000)
    assert sizes == []
    for n in (1, 2):
        next(chunks)
        assert sizes == n * [recordings.SAMPLES_PER_READ]


# Stretches


@pytest.mark.parametrize("format", ["WAV", "FLAC", "OGG", "MP3", "AIFF"])
def test_a_stretch_is_that_of_the_whole_file(format, tmp_path):
    path = write(tmp_path / "x", white(3 * 22050, 2), 22050, format=format)
    whole, _ = soundfile.read(path)
    first, last = 28_665, 37_485
    assert_allclose(waveform(path, 22050, first=first, last=last), whole.mean(axis=1)[first:last], atol=1e-6)
    assert_allclose(waveform(path, 22050, channel=1, first=first, last=last), whole[first:last, 1], atol=1e-6)


@pytest.mark.parametrize(("sr", "target"), [*RATES, (2000, 2000)])
def test_a_waveform_is_the_whole_stream_or_a_stretch_of_it(sr, target, tmp_path):
    x = white(3 * sr)
    path = write(tmp_path / "x.wav", x, sr, subtype="DOUBLE")
    whole = read(path, target)
    for options in ({"source": path}, {"source": x, "sr": sr}):
        assert_array_equal(waveform(**options, target=target), whole)
        for first, last in ((0, 10), (1, 2), (500, 3000), (3000, None), (len(whole) - 1, None)):
            stretch = waveform(**options, target=target, first=first, last=last)
            assert_allclose(stretch, whole[first:last], atol=1e-12)
            assert stretch.dtype == np.float64


def test_a_stretch_ends_where_the_recording_does(tmp_path):
    path = write(tmp_path / "x.wav", white(8000), 8000)
    assert_array_equal(waveform(path, 8000, first=7200, last=16000), waveform(path, 8000)[7200:])
    assert waveform(path, 8000, first=24000, last=32000).shape == (0,)
    assert waveform(path, 8000).shape == (8000,)


# What goes wrong


def test_unreadable_files_are_named(tmp_path):
    (tmp_path / "folder.wav").mkdir()
    for name, content in {"empty.wav": b"", "text.wav": b"no sound\n" * 100}.items():
        (tmp_path / name).write_bytes(content)
    for look in (info, read):
        with pytest.raises(FileNotFoundError, match=r"missing\.wav"):
            look(tmp_path / "missing.wav")
        with pytest.raises(OSError, match=r"folder\.wav"):
            look(tmp_path / "folder.wav")
        for name in ("empty.wav", "text.wav"):
            with pytest.raises(OSError, match=rf"^cannot read .*{name}: Format not recognised") as caught:
                look(tmp_path / name)
            assert isinstance(caught.value.__cause__, soundfile.LibsndfileError)


@pytest.mark.parametrize("format", ["WAV", "AIFF", "FLAC", "OGG", "MP3"])
def test_truncated_files_give_what_is_there_or_an_error(format, tmp_path, capfd):
    path = write(tmp_path / "cut", white(4 * 22050), 22050, format=format)
    content = path.read_bytes()
    for share in (0.01, 0.3, 0.5, 0.999):
        path.write_bytes(content[: int(share * len(content))])
        try:
            x = read(path, 22050)
        except (OSError, ValueError) as error:
            assert "cut" in str(error)  # noqa: PT017
        else:
            assert np.isfinite(x).all()
            assert len(x) <= 4 * 22050 + 2 * 1152  # of MP3's padding
    capfd.readouterr()  # the MP3 decoder's own complaints


def test_files_without_samples_are_named(tmp_path):
    path = write(tmp_path / "night.wav", np.empty(0), 22050)
    with pytest.raises(ValueError, match=r"night\.wav must hold at least one sample"):
        read(path)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e16])
@pytest.mark.parametrize("channel", [None, 1])
def test_samples_that_are_no_numbers_are_refused(bad, channel, tmp_path):
    x = white(2, 50_000)
    x[1, 40_000] = bad
    path = write(tmp_path / "night.wav", x.T, 2000, subtype="DOUBLE")
    with pytest.raises(ValueError, match=r"night\.wav must hold finite numbers"):
        read(path, channel=channel)
    with pytest.raises(ValueError, match=r"^source must hold finite numbers"):
        read(x, channel=channel)
    assert_array_equal(read(path, channel=0), x[0])
    x[0, 40_000] = -bad
    if np.isfinite(bad):
        return  # the mean is zero
    with pytest.raises(ValueError, match=r"^source must hold finite numbers"):
        read(x)


def test_a_mean_that_overflows_is_refused_without_a_warning(tmp_path):
    path = write(tmp_path / "night.wav", np.full((1000, 2), 1.7e308), 2000, subtype="DOUBLE")
    with pytest.raises(ValueError, match=r"night\.wav must hold finite numbers"):
        read(path)


@pytest.mark.parametrize(
    "source",
    [1.0, [], np.ones((2, 0)), np.ones((0, 300)), np.ones((2, 2, 300)), [1j, 2], ["a"], None],
    ids=["scalar", "empty", "no samples", "no channels", "three axes", "complex", "strings", "none"],
)
def test_bad_waveforms_are_refused(source):
    with pytest.raises(ValueError, match=r"source"):
        read(source)
    with pytest.raises(ValueError, match=r"source"):
        info(source, sr=2000)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("sr", value) for value in (0, -1, 22050.0, True)),
        *(("channel", value) for value in (-1, 1.0, True)),
        *(("dtype", value) for value in ("float16", "int16", np.float64, None)),
    ],
)
def test_bad_options_are_refused_before_anything_is_opened(name, value):
    with pytest.raises(ValueError, match=f"^{name} must"):
        samples(white(1000), 2000, **{name: value})


def test_options_that_do_not_fit_the_recording_are_refused(tmp_path):
    path = write(tmp_path / "night.wav", white(1000, 2), 2000)
    for look in (info, read):
        with pytest.raises(ValueError, match=r"^sr must be left out for a file"):
            look(path, sr=2000)
    for channel in (2, 7):
        with pytest.raises(ValueError, match=rf"^channel must be below .*night\.wav, 2, got {channel}"):
            read(path, channel=channel)
        with pytest.raises(ValueError, match=rf"^channel must be below .*source, 1, got {channel}"):
            read(white(100), channel=channel)


def test_a_file_is_closed_when_its_stream_is(tmp_path):
    path = write(tmp_path / "x.wav", white(10**6), 2000)
    opened = {Path(link) for link in Path("/proc/self/fd").iterdir()}
    chunks = samples(path, 2000)
    assert len(list(itertools.islice(chunks, 2))) == 2
    chunks.close()
    assert {Path(link) for link in Path("/proc/self/fd").iterdir()} <= opened


# Lengths that are not known, or wrong


@pytest.mark.parametrize("quiet_first", [True, False])
@pytest.mark.parametrize("name", ["flac", "mp3"])
def test_samples_are_counted_where_the_length_is_not_stated(name, quiet_first, tmp_path, capfd):
    # Of an MP3, libsndfile guesses it from the first frame, and reads no more than it guessed: a third, for example.
    level = np.repeat([1e-4, 0.3] if quiet_first else [0.3, 1e-4], 15 * 44100)
    options = {"bitrate_mode": "VARIABLE"} if name == "mp3" else {}
    x = level * white(30 * 44100)
    path = without_length(write(tmp_path / f"x.{name}", x, 44100, format=name.upper(), **options))
    found = info(path)
    assert found.duration == pytest.approx(30, abs=0.1)
    assert len(read(path, 44100)) == len(waveform(path, 44100)) == found.n_samples
    if name == "flac":
        assert_allclose(waveform(path, 44100, first=29 * 44100), x[29 * 44100 :], atol=1e-4)
    capfd.readouterr()


def test_a_file_that_is_replaced_is_counted_anew(tmp_path):
    for seconds in (2, 3):
        assert info(without_length(recording(tmp_path / "x.flac", "flac", seconds=seconds))).duration == seconds


def test_an_mp3_with_a_picture_and_without_a_length_is_read(tmp_path):
    path = without_length(recording(tmp_path / "x.mp3", "mp3", seconds=3))
    whole = read(path, 8000)
    path.write_bytes(b"ID3\4\0\0" + bytes([0, 0, 7, 104]) + bytes(1000) + path.read_bytes())
    assert_array_equal(read(path, 8000), whole)


def test_a_flac_file_that_states_more_than_it_holds_is_refused(tmp_path):
    path = with_samples(recording(tmp_path / "x.flac", "flac", seconds=2), 16_100)
    with pytest.raises(OSError, match=r"x\.flac is truncated or damaged: it states 16100 samples, but only 16000"):
        read(path, 8000)
    assert_array_equal(waveform(path, 8000, last=16_000), waveform(recording(path, "flac", seconds=2), 8000))


# Memory


@pytest.mark.parametrize(("channels", "sr", "target"), [(1024, 8000, 8000), (7, 8000, 2000), (1, 100, 44100)])
def test_memory_depends_neither_on_channels_nor_on_rates(channels, sr, target, tmp_path):
    n_samples = 2**21 // channels if channels > 1 else 2**15
    path = write(tmp_path / "x.wav", np.zeros((n_samples, channels)), sr, subtype="PCM_24")
    for look in (lambda: list(map(len, samples(path, target))), lambda: next(samples(path, target, first=100))):
        tracemalloc.start()
        look()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 40 * recordings.SAMPLES_PER_READ


@pytest.mark.parametrize("sr", [1, 99, 1_000_001, 2_000_000_000])
def test_rates_that_no_recorder_has_are_refused(sr, tmp_path):
    path = write(tmp_path / "x.wav", np.zeros(100), 8000)
    content = path.read_bytes()
    path.write_bytes(content[:24] + sr.to_bytes(4, "little") + content[28:])
    for look in (info, read):
        with pytest.raises(ValueError, match=rf"x\.wav states {sr} samples per second, expected 100 to 1000000"):
            look(path)


@pytest.mark.parametrize("sr", [100, 1_000_000])
def test_rates_of_recorders_are_read(sr, tmp_path):
    assert len(read(write(tmp_path / "x.wav", white(3 * sr), sr), 2000)) == 6000
