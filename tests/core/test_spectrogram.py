"""From waveform to magnitudes: against librosa and numpy, at the borders, in silence, in blocks."""

import dataclasses

import librosa
import numpy as np
import pytest
import scipy.signal
import soxr
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib import (
    NIGHTHAWK,
    RIGHT_WHALE,
    Setting,
    averaged_flux,
    core,
    detection_functions,
    max_pooled_flux,
    max_pooled_pcen,
    spectrogram,
)
from pcenlib.core.setting import FLOOR
from pcenlib.core.spectrogram import read_spectrogram
from tests.sounds import write

SETTINGS = pytest.mark.parametrize("setting", [NIGHTHAWK, RIGHT_WHALE], ids=["nighthawk", "right whale"])
settings = st.sampled_from([NIGHTHAWK, RIGHT_WHALE])


def white(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape)


def librosa_stft(x, setting):
    # librosa centres a short window in a longer transform; ours begins with the window.
    margin = (setting.n_fft - setting.win_length) // 2
    return librosa.stft(
        np.pad(x, margin), n_fft=setting.n_fft, hop_length=setting.hop_length, win_length=setting.win_length,
        center=False,
    )  # fmt: skip


# Peers


@pytest.mark.parametrize("n_samples", [256, 257, 5000])
def test_mel_setting_agrees_with_librosa(n_samples):
    x = white(n_samples)
    filters = librosa.filters.mel(sr=22050, n_fft=1024, n_mels=128, fmin=2000, fmax=11025, htk=True, dtype=np.float64)
    assert_allclose(spectrogram(x, NIGHTHAWK), filters @ np.abs(librosa_stft(x, NIGHTHAWK)), rtol=1e-10)


@pytest.mark.parametrize("n_samples", [256, 5000])
def test_squared_magnitudes_agree_with_librosa(n_samples):
    x = white(n_samples)
    E = librosa.feature.melspectrogram(
        y=np.pad(x, 384), sr=22050, n_fft=1024, win_length=256, hop_length=32, center=False, power=2, n_mels=128,
        fmin=2000, fmax=11025, htk=True,
    )  # fmt: skip
    assert_allclose(spectrogram(x, dataclasses.replace(NIGHTHAWK, power=2)), E, rtol=1e-5)  # its filters are float32
    squares = spectrogram(x, dataclasses.replace(RIGHT_WHALE, power=2))
    assert_allclose(squares, np.abs(librosa_stft(x, RIGHT_WHALE))[1:129] ** 2, rtol=1e-10)


@pytest.mark.parametrize("n_samples", [256, 257, 5000])
def test_linear_setting_agrees_with_librosa(n_samples):
    x = white(n_samples)
    assert_allclose(spectrogram(x, RIGHT_WHALE), np.abs(librosa_stft(x, RIGHT_WHALE))[1:129], rtol=1e-10)


def test_linear_bands_are_bins_of_the_transform():
    x = white(1000)
    window = scipy.signal.get_window("hann", 256)
    for t, magnitudes in enumerate(spectrogram(x, RIGHT_WHALE).T):
        bins = np.abs(np.fft.rfft(window * x[128 * t : 128 * t + 256]))
        assert_allclose(magnitudes, bins[1:129], rtol=1e-10)


def test_band_centres_agree_with_librosa():
    tips = librosa.mel_frequencies(130, fmin=2000, fmax=11025, htk=True)[1:-1]
    assert_allclose(NIGHTHAWK.frequencies, tips)
    assert_allclose(RIGHT_WHALE.frequencies, librosa.fft_frequencies(sr=2000, n_fft=256)[1:])


# Some of the bands


@SETTINGS
@pytest.mark.parametrize(("first", "last"), [(0, 127), (15, 89), (0, 5), (120, 127), (7, 7), (127, 127)])
def test_some_of_the_bands_are_slices_of_the_filter_bank(setting, first, last):
    few = setting.with_bands(first, last)
    kept = slice(first, last + 1)
    assert few.n_bands == last - first + 1
    assert_allclose(few.frequencies, setting.frequencies[kept], rtol=1e-12)
    x = white(1000)
    assert_allclose(spectrogram(x, few), spectrogram(x, setting)[kept], rtol=1e-9)
    if setting.scale == "mel":
        filters = librosa.filters.mel(
            sr=22050, n_fft=1024, n_mels=128, fmin=2000, fmax=11025, htk=True, dtype=np.float64
        )
        assert_allclose(few.filters, filters[kept], atol=1e-12)


@SETTINGS
def test_all_bands_are_the_setting_itself(setting):
    assert setting.with_bands(0, 127) == setting
    changes = {"n_bands": 11, "fmin": setting.with_bands(20, 30).fmin, "fmax": setting.with_bands(20, 30).fmax}
    assert setting.with_bands(20, 30) == dataclasses.replace(setting, **changes)  # and nothing else changes


@given(st.integers(0, 127), st.integers(0, 127), st.integers(0, 127), settings)
def test_bands_of_bands(a, b, c, setting):
    first, middle, last = sorted([a, b, c])
    twice = setting.with_bands(first, last).with_bands(middle - first, last - first)
    assert_allclose(twice.frequencies, setting.with_bands(middle, last).frequencies, rtol=1e-9)


@SETTINGS
@pytest.mark.parametrize(("first", "last"), [(-1, 5), (6, 5), (0, 128), (128, 128), (np.nan, 5)])
def test_bands_that_are_not_there_are_refused(setting, first, last):
    with pytest.raises(ValueError, match=r"^first and last must be bands from 0 to 127 in order, got"):
        setting.with_bands(first, last)


def test_a_single_band_gives_detection_functions():
    x = white(3000)
    for setting in (NIGHTHAWK.with_bands(40, 40), RIGHT_WHALE.with_bands(40, 40)):
        E = spectrogram(x, setting)
        assert_allclose(detection_functions(x, setting).max_pooled_flux, max_pooled_flux(E), atol=1e-5)


# Numbers of the paper


def test_windows_and_hops_of_the_paper():
    assert NIGHTHAWK.win_length / NIGHTHAWK.sr == pytest.approx(0.0116, abs=5e-5)
    assert NIGHTHAWK.hop == pytest.approx(0.00145, abs=5e-6)
    assert RIGHT_WHALE.win_length / RIGHT_WHALE.sr == 0.128
    assert RIGHT_WHALE.hop == 0.064
    assert (NIGHTHAWK.s, RIGHT_WHALE.s) == (0.09, 0.33)
    assert NIGHTHAWK.n_bands == RIGHT_WHALE.n_bands == 128


def test_frame_counts_of_the_paper():
    # 189 minutes are 177187 hops, but the last windows would end after the recording does.
    assert RIGHT_WHALE.n_frames(189 * 60 * 2000) == 177186
    # 10 s are 6890 hops, and hold 6883 whole windows.
    assert 9983 * NIGHTHAWK.n_frames(10 * 22050) == 9983 * 6883 == 68_712_989


def test_frequencies_of_the_paper():
    assert_array_equal(RIGHT_WHALE.frequencies[[0, -1]], [7.8125, 1000])
    assert NIGHTHAWK.frequencies[0] > 2000
    assert NIGHTHAWK.frequencies[-1] < 11025


# Time


@given(st.integers(1, 2000), settings)
def test_shape(n_samples, setting):
    E = spectrogram(white(n_samples), setting)
    assert E.shape == (128, setting.n_frames(n_samples))
    assert E.dtype == np.float64


@given(st.integers(256, 3000), settings)
def test_the_last_frame_is_the_last_that_fits(n_samples, setting):
    last = (setting.n_frames(n_samples) - 1) * setting.hop_length + setting.win_length
    assert last <= n_samples < last + setting.hop_length


@given(st.integers(256, 1500), settings)
def test_frames_contain_recorded_samples_only(n_samples, setting):
    E = spectrogram(np.ones(n_samples), setting)  # any padding would step down from 1
    assert_allclose(E, np.broadcast_to(E[:, :1], E.shape), rtol=1e-9, atol=1e-12)


@SETTINGS
@pytest.mark.parametrize("t", [0, 1, 5])
def test_a_frame_depends_on_its_own_samples_only(setting, t):
    x, begin = white(2000), t * setting.hop_length
    others = white(2000, seed=1)
    others[begin : begin + 256] = x[begin : begin + 256]
    same = np.isclose(spectrogram(others, setting), spectrogram(x, setting), rtol=1e-9).all(axis=0)
    assert_array_equal(np.flatnonzero(same), [t])


@given(st.integers(1, 255), settings)
def test_a_short_recording_is_completed_to_one_frame(n_samples, setting):
    x = white(n_samples)
    E = spectrogram(x, setting)
    assert E.shape == (128, 1)
    assert_array_equal(E, spectrogram(np.pad(x, (0, 256 - n_samples)), setting))


@SETTINGS
def test_times_are_centres_of_windows(setting):
    n_samples = 3000
    times = setting.times(setting.n_frames(n_samples))
    for t in (0, 3, 11):
        x = np.zeros(n_samples)
        x[round(times[t] * setting.sr)] = 1
        assert spectrogram(x, setting).sum(axis=0).argmax() == t


# Frequency


@given(st.floats(10, 990))
def test_a_tone_peaks_in_its_bin(frequency):
    E = spectrogram(np.sin(2 * np.pi * frequency * np.arange(1024) / 2000), RIGHT_WHALE)
    peaks = RIGHT_WHALE.frequencies[E.argmax(axis=0)]
    assert np.all(np.abs(peaks - frequency) <= 0.55 * RIGHT_WHALE.bin_width)


@given(st.floats(2300, 10500))
def test_a_tone_peaks_in_its_mel_band(frequency):
    E = spectrogram(np.sin(2 * np.pi * frequency * np.arange(1024) / 22050), NIGHTHAWK)
    band = np.abs(NIGHTHAWK.frequencies - frequency).argmin()
    assert np.all(np.abs(E.argmax(axis=0) - band) <= 1)


def test_a_tone_in_a_bin_has_a_quarter_of_the_window_as_magnitude():
    x = np.cos(2 * np.pi * 10 * np.arange(256) / 256)  # half its amplitude, times the mean 1/2 of the window
    assert spectrogram(x, RIGHT_WHALE)[9, 0] == pytest.approx(256 / 4)


@given(st.integers(0, 127), st.floats(1e-3, 1e3))
def test_the_place_of_the_maximum(band, level):
    values = np.zeros((128, 7))
    values[band, 3] = level
    assert RIGHT_WHALE.place_of_maximum(values) == (3 * 0.064 + 0.064, (band + 1) * 7.8125)


# Level


@given(st.floats(1e-3, 1e3), settings)
def test_magnitudes_are_proportional_to_the_waveform(gain, setting):
    x = white(600)
    assert_allclose(spectrogram(gain * x, setting), gain * spectrogram(x, setting), rtol=1e-9)


@SETTINGS
def test_digital_silence_gives_the_floor_and_finite_novelty(setting):
    assert np.all(spectrogram(np.zeros(2000), setting) == FLOOR)
    squared = dataclasses.replace(setting, power=2)
    assert np.all(spectrogram(np.zeros(2000), squared) == FLOOR**2)
    x = np.concatenate([np.zeros(1000), white(1000), np.zeros(1000)])
    E = spectrogram(x, setting)
    assert E.min() == FLOOR
    for detector in (averaged_flux(E), max_pooled_flux(E), max_pooled_pcen(E, s=setting.s)):
        assert np.isfinite(detector).all()


@SETTINGS
def test_the_floor_is_far_below_the_rounding_of_24_bits(setting):
    rounding = white(20000) * 2.0**-24  # half a step of 2^-23 either side
    assert np.median(spectrogram(rounding, setting)) > 100 * FLOOR


# Blocks and axes


@SETTINGS
@pytest.mark.parametrize("frames_per_block", [1, 7, 10**6])
def test_blocks_do_not_show(setting, frames_per_block, monkeypatch):
    x = white(2, 20 * 128 + 256)
    expected = spectrogram(x, setting)
    monkeypatch.setattr(core.spectrogram, "FRAMES_PER_BLOCK", frames_per_block)
    assert_allclose(spectrogram(x, setting), expected, rtol=1e-10)


@SETTINGS
def test_more_frames_than_a_block_are_all_there(setting):
    n_frames = 2 * core.spectrogram.FRAMES_PER_BLOCK + 3
    x = white((n_frames - 1) * setting.hop_length + 256)
    E = spectrogram(x, setting)
    assert E.shape == (128, n_frames)
    for t in (0, core.spectrogram.FRAMES_PER_BLOCK - 1, core.spectrogram.FRAMES_PER_BLOCK, n_frames - 1):
        alone = spectrogram(x[t * setting.hop_length :][:256], setting)
        assert_allclose(E[:, t : t + 1], alone, rtol=1e-10)


@SETTINGS
@pytest.mark.parametrize("n_samples", [100, 700])
def test_leading_axes_equal_a_loop(setting, n_samples):
    x = white(2, 3, n_samples)
    E = spectrogram(x, setting)
    assert E.shape[:-1] == (2, 3, 128)
    for index in np.ndindex(2, 3):
        assert_allclose(E[index], spectrogram(x[index], setting), rtol=1e-10)


def test_float32_and_integers():
    x = np.round(1000 * white(600)).astype(np.int16)
    expected = spectrogram(x.astype(np.float64), RIGHT_WHALE)
    assert_array_equal(spectrogram(x, RIGHT_WHALE), expected)
    assert_array_equal(spectrogram(x.astype(np.float32), RIGHT_WHALE), expected)
    assert_array_equal(spectrogram(x.tolist(), RIGHT_WHALE), expected)


# Recordings


@pytest.mark.parametrize("sr", [8000, 22050, 44100, 48000])
@pytest.mark.parametrize("first", [0, 1, 77, 1000])
def test_frames_are_those_of_the_whole_recording_at_any_rate(sr, first, tmp_path):
    x = 0.5 * white(3 * sr)
    path = write(tmp_path / "x.wav", x, sr, subtype="DOUBLE")
    E = read_spectrogram(path, NIGHTHAWK)
    assert_allclose(read_spectrogram(x, NIGHTHAWK, sr=sr), E, rtol=1e-9)
    assert_allclose(read_spectrogram(path, NIGHTHAWK, first=first), E[:, first:], rtol=1e-3)
    few = read_spectrogram(path, NIGHTHAWK, first=first, last=first + 50)
    assert few.shape == (128, 50)
    heard = NIGHTHAWK.frequencies < 0.9 * min(sr / 2, 11025)  # where the resampler does not cut
    assert_allclose(few[heard], E[heard, first : first + 50], rtol=1e-6)
    whole = spectrogram(x if sr == 22050 else soxr.resample(x, sr, 22050, quality="VHQ"), NIGHTHAWK)
    assert_allclose(few[heard], whole[heard, first : first + 50], rtol=1e-3)


def test_channels_of_a_recording_are_averaged_or_picked(tmp_path):
    x = 0.5 * white(4000, 2)
    path = write(tmp_path / "x.flac", x, 2000, subtype="PCM_24")
    for channel, expected in ((None, x.mean(axis=1)), (1, x[:, 1])):
        assert_allclose(
            read_spectrogram(path, RIGHT_WHALE, channel=channel), spectrogram(expected, RIGHT_WHALE), atol=1e-4
        )


def test_frames_end_where_the_recording_does(tmp_path):
    path = write(tmp_path / "x.wav", 0.5 * white(2000), 2000, subtype="DOUBLE")
    E = read_spectrogram(path, RIGHT_WHALE)
    assert_array_equal(E, spectrogram(0.5 * white(2000), RIGHT_WHALE))
    assert_array_equal(read_spectrogram(path, RIGHT_WHALE, first=10, last=100), E[:, 10:])
    assert_array_equal(read_spectrogram(path, RIGHT_WHALE, first=3, last=5), E[:, 3:5])


# Bad input


@pytest.mark.parametrize(
    "x",
    [1.0, [], np.ones((2, 0)), np.ones((0, 300)), [1.0, np.nan], [1.0, np.inf], [1j], ["a"]],
    ids=["scalar", "empty", "no samples", "no channels", "nan", "infinite", "complex", "strings"],
)
def test_bad_waveforms_are_refused(x):
    with pytest.raises(ValueError, match=r"^x must"):
        spectrogram(x, RIGHT_WHALE)


@pytest.mark.parametrize("name", ["sr", "win_length", "hop_length", "n_fft", "n_bands"])
@pytest.mark.parametrize("value", [0, -1, 256.0, "256", True, None])
def test_counts_must_be_positive_integers(name, value):
    with pytest.raises(ValueError, match=f"^{name} must be a positive integer"):
        dataclasses.replace(RIGHT_WHALE, **{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_fft", 255),
        ("s", 0),
        ("s", 1.5),
        ("s", np.nan),
        ("fmin", -1),
        ("fmin", np.nan),
        ("fmin", 11025),
        ("fmax", 11026),
        ("fmax", np.inf),
        *(("power", value) for value in (0, 3, 1.5, 1.0, True, "2", None)),
        ("scale", "bark"),
        ("scale", None),
    ],
)
def test_bad_settings_are_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name} must"):
        dataclasses.replace(NIGHTHAWK, **{name: value})


@pytest.mark.parametrize(("name", "value"), [("fmin", 8.0), ("fmin", 0.0), ("fmax", 999.0), ("n_bands", 127)])
def test_linear_bands_must_be_bins(name, value):
    with pytest.raises(ValueError, match=r"^fmin, fmax and n_bands must name bins .* 7\.8125 Hz apart"):
        dataclasses.replace(RIGHT_WHALE, **{name: value})


def test_mel_bands_without_a_bin_are_refused():
    with pytest.raises(ValueError, match=r"^n_bands = 128 mel bands are too narrow for n_fft = 256"):
        dataclasses.replace(NIGHTHAWK, n_fft=256)
    with pytest.warns(UserWarning, match="Empty filters"):
        filters = librosa.filters.mel(sr=22050, n_fft=256, n_mels=128, fmin=2000, fmax=11025, htk=True)
    assert np.count_nonzero(filters.max(axis=1) == 0) == 5


def test_settings_are_frozen_and_hashable():
    with pytest.raises(dataclasses.FrozenInstanceError):
        RIGHT_WHALE.s = 0.5
    assert dataclasses.replace(RIGHT_WHALE) == RIGHT_WHALE
    assert len({RIGHT_WHALE, dataclasses.replace(RIGHT_WHALE), NIGHTHAWK}) == 2


def test_settings_take_keywords_only():
    with pytest.raises(TypeError):
        Setting(2000, 256, 128, 256, 128, 7.8125, 1000, "linear", 0.33)
