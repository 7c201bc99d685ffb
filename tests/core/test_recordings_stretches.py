"""Stretches of a recording are those of the whole, in every format and at every rate."""

import numpy as np
import pytest
import soundfile
import soxr
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib import NIGHTHAWK, RIGHT_WHALE, spectrogram
from pcenlib.core.recordings import info, waveform
from pcenlib.core.spectrogram import read_spectrogram
from pcenlib.simulation.noises import noise


def write(path, x, sr, **options):
    soundfile.write(path, x, sr, **options)
    return path


def white(n, channels=1, seed=0):
    return np.stack([0.1 * noise(n, 8000, np.random.default_rng(seed + i)) for i in range(channels)], axis=1)


@pytest.mark.parametrize("format", ["WAV", "FLAC", "OGG", "MP3", "AIFF"])
def test_seconds_are_those_of_the_whole_file(format, tmp_path):
    path = write(tmp_path / "x", white(3 * 22050, 2), 22050, format=format)
    whole, _ = soundfile.read(path)
    begin, end = round(1.3 * 22050), round(1.7 * 22050)
    assert_allclose(waveform(path, 22050, first=begin, last=end), whole.mean(axis=1)[begin:end], atol=1e-6)
    assert_allclose(waveform(path, 22050, channel=1, first=begin, last=end), whole[begin:end, 1], atol=1e-6)


@pytest.mark.parametrize("sr", [8000, 16000, 22050, 32000, 44100, 48000, 96000])
@pytest.mark.parametrize("first", [0, 1, 77, 1000])
def test_frames_are_those_of_the_whole_file_at_any_rate(sr, first, tmp_path):
    x = white(3 * sr)[:, 0]
    path = write(tmp_path / "x.wav", x, sr, subtype="DOUBLE")
    whole = x if sr == NIGHTHAWK.sr else soxr.resample(x, sr, NIGHTHAWK.sr, quality="VHQ")
    E = read_spectrogram(path, NIGHTHAWK, first=first, last=first + 50)
    assert E.shape[1] == 50
    expected = spectrogram(whole, NIGHTHAWK)[:, first : first + 50]
    limit = min(sr / 2, 11025) * 0.9  # where the resampler does not cut
    heard = NIGHTHAWK.frequencies < limit
    assert_allclose(E[heard], expected[heard], rtol=1e-3)


def test_a_stretch_ends_where_the_recording_does(tmp_path):
    path = write(tmp_path / "x.wav", white(8000)[:, 0], 8000)
    assert len(waveform(path, 8000, first=7200, last=16000)) == 800
    assert len(waveform(path, 8000, first=24000, last=32000)) == 0
    assert len(waveform(path, 8000)) == 8000
    assert read_spectrogram(path, RIGHT_WHALE, first=10, last=100).shape[1] == 1 + (2000 - 10 * 128 - 256) // 128


def test_the_duration_of_a_recording(tmp_path):
    assert info(write(tmp_path / "x.wav", white(4000, 3), 8000)).duration == 0.5


def test_unreadable_files_are_named(tmp_path):
    (tmp_path / "text.wav").write_text("no sound")
    with pytest.raises(OSError, match=r"^cannot read .*text\.wav: Format not recognised"):
        info(tmp_path / "text.wav")
    with pytest.raises(FileNotFoundError, match=r"missing\.wav"):
        info(tmp_path / "missing.wav")


def test_a_recording_at_the_rate_of_the_setting_is_read_as_it_is(tmp_path):
    x = white(4000)[:, 0]
    path = write(tmp_path / "x.wav", x, 2000, subtype="DOUBLE")
    assert_array_equal(waveform(path, 2000, first=384, last=768), x[384:768])
    assert_array_equal(
        read_spectrogram(path, RIGHT_WHALE, first=3, last=5), spectrogram(x[3 * 128 : 4 * 128 + 256], RIGHT_WHALE)
    )
