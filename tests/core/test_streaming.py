"""Recordings of any length: equal to the array functions on the whole, however read, cut, mixed, resampled or split."""

import dataclasses
import gc
import itertools
import math
import subprocess
import sys
import threading
import tracemalloc

import librosa
import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib import (
    NIGHTHAWK,
    RIGHT_WHALE,
    DetectionFunctions,
    averaged_flux,
    detection_blocks,
    detection_functions,
    max_pooled_flux,
    max_pooled_pcen,
    spectrogram,
)
from pcenlib.core import recordings, streaming
from pcenlib.core.recordings import samples
from pcenlib.simulation.noises import noise
from tests.damage import without_length
from tests.sounds import resampled, white, write

NAMES = ["nighthawk", "right whale"]
SETTINGS = pytest.mark.parametrize("setting", [NIGHTHAWK, RIGHT_WHALE], ids=NAMES)
settings = st.sampled_from([NIGHTHAWK, RIGHT_WHALE])
SPARSE = dataclasses.replace(RIGHT_WHALE, hop_length=300)  # windows with gaps between them

# Largest errors of float32, as the documentation of the module states them.
FLOAT32_ERRORS = {NIGHTHAWK: (1e-5, 1e-3, 1e-5), RIGHT_WHALE: (1e-3, 1e-1, 1e-4)}


def whole(x, setting):
    """The detection functions of the whole spectrogram."""
    E = spectrogram(x, setting)
    return DetectionFunctions(averaged_flux(E), max_pooled_flux(E), max_pooled_pcen(E, s=setting.s))


def close(actual, desired, atol=5e-7):
    for name, values, expected in zip(DetectionFunctions._fields, actual, desired, strict=True):
        assert_allclose(values, expected, rtol=0, atol=atol, err_msg=name)


def joined(blocks):
    return DetectionFunctions(*map(np.concatenate, zip(*blocks, strict=True)))


@pytest.fixture(params=["numba", "numpy"])
def engine(request, monkeypatch):
    """The compiled kernels, or what is there without numba."""
    if request.param == "numba":
        assert streaming.load_kernels() is not None
    else:
        monkeypatch.setattr(streaming, "load_kernels", lambda: None)
    return request.param


BOTH_ENGINES = pytest.mark.usefixtures("engine")


# The same numbers at every block size


@SETTINGS
@pytest.mark.parametrize("block_frames", [1, 2, 7, 127, 512, 10**6])
def test_blocks_of_any_size_equal_the_whole(setting, block_frames, engine):
    x = white(1100 * setting.hop_length if block_frames > 2 else 40 * setting.hop_length)
    blocks = list(detection_blocks(x, setting, block_frames=block_frames))
    close(joined(blocks), whole(x, setting), atol=5e-7 if engine == "numba" else 1e-12)
    sizes = {len(values) for block in blocks[:-1] for values in block}
    assert sizes <= {block_frames}
    assert all(1 <= len(values) <= block_frames for values in blocks[-1])


@BOTH_ENGINES
@given(st.integers(1, 3000), st.integers(1, 30), st.sampled_from([NIGHTHAWK, RIGHT_WHALE, SPARSE]))
def test_any_length_in_blocks_of_any_size(n_samples, block_frames, setting):
    x = white(n_samples)
    close(joined(detection_blocks(x, setting, block_frames=block_frames)), whole(x, setting))


@BOTH_ENGINES
@SETTINGS
@pytest.mark.parametrize("per_read", [1, 100, 257])
def test_reads_shorter_than_a_window_do_not_show(setting, per_read, monkeypatch):
    x = white(2000)
    monkeypatch.setattr(recordings, "SAMPLES_PER_READ", per_read)
    monkeypatch.setattr(streaming, "FRAMES_PER_BLOCK", 3)
    close(joined(detection_blocks(x, setting, block_frames=1)), whole(x, setting))


@BOTH_ENGINES
@SETTINGS
@pytest.mark.parametrize("n_samples", [1, 100, 255])
def test_a_recording_shorter_than_a_window_is_one_frame(setting, n_samples, tmp_path):
    x = white(n_samples)
    functions = detection_functions(x, setting)
    close(functions, ([0], [0], [math.log(2)]), atol=1e-15)
    close(detection_functions(write(tmp_path / "short.wav", x, setting.sr), setting), functions, atol=1e-15)


@BOTH_ENGINES
@given(settings, st.floats(0.01, 1), st.floats(-120, 40))
def test_any_smoothing_at_any_level(setting, s, level):
    setting = dataclasses.replace(setting, s=s)
    x = 10 ** (level / 20) * white(700)
    close(detection_functions(x, setting), whole(x, setting))


@BOTH_ENGINES
def test_other_numbers_of_bands():
    for n_bands in (1, 2, 7, 9, 33, 100):
        linear = dataclasses.replace(RIGHT_WHALE, n_bands=n_bands + 1, fmin=0, fmax=RIGHT_WHALE.bin_width * n_bands)
        mel = dataclasses.replace(NIGHTHAWK, n_bands=n_bands, fmin=0)
        for setting in (linear, mel):
            close(detection_functions(white(2000), setting), whole(white(2000), setting))


@BOTH_ENGINES
@pytest.mark.parametrize(("win_length", "n_fft"), [(256, 512), (250, 750), (200, 256), (255, 510), (255, 765), (2, 8)])
def test_other_transforms(win_length, n_fft):
    for hop_length in (1, 100, 300):
        lengths = {"win_length": win_length, "n_fft": n_fft, "hop_length": hop_length, "n_bands": n_fft // 2}
        width = RIGHT_WHALE.sr / n_fft
        setting = dataclasses.replace(RIGHT_WHALE, **lengths, fmin=width, fmax=width * (n_fft // 2))
        x = white(2000)
        close(detection_functions(x, setting), whole(x, setting))


# Accuracy


def exact_functions(x, setting):
    """Equations 1, 2 and 6 in extended precision, by a matrix of cosines and sines and a loop over frames."""
    n = np.arange(setting.win_length, dtype=np.longdouble)
    pi = np.longdouble("3.14159265358979323846264338327950288")
    window = (1 - np.cos(2 * pi * n / setting.win_length)) / 2
    bins = np.arange(setting.n_fft // 2 + 1)
    angles = 2 * pi * ((bins[:, None] * np.arange(setting.win_length)) % setting.n_fft) / setting.n_fft
    frames = np.lib.stride_tricks.sliding_window_view(x.astype(np.longdouble), setting.win_length)
    frames = frames[:: setting.hop_length] * window
    magnitudes = np.hypot(frames @ np.cos(angles).T, frames @ np.sin(angles).T)
    if setting.scale == "linear":
        E = magnitudes[:, 1:]
    else:
        edges = 700 * (np.longdouble(10) ** (np.linspace(*np.log10(1 + np.array([2000, 11025]) / 700), 130)) - 1)
        f = bins * np.longdouble(setting.sr) / setting.n_fft
        left, tip, right = (edges[i : i + 128, None] for i in range(3))
        triangles = np.maximum(np.minimum((f - left) / (tip - left), (right - f) / (right - tip)), 0)
        E = magnitudes @ (2 * triangles / (right - left)).T
    rises = np.diff(np.log(E), axis=0, prepend=np.log(E[:1]))
    M, pcen = E[0], []
    for frame in E:
        pcen.append(np.log1p(np.max(frame / M)))
        M = setting.s * frame + (1 - np.longdouble(setting.s)) * M
    return np.maximum(rises, 0).mean(axis=1), rises.max(axis=1), np.array(pcen)


@SETTINGS
def test_errors_are_below_a_millionth(setting, engine):
    x = np.round(2**15 * white(400 * setting.hop_length)) / 2**15
    close(detection_functions(x, setting), exact_functions(x, setting), atol=5e-7 if engine == "numba" else 1e-12)


def recorded_like(kind, setting):
    """Two thousand frames as recorders give them, in whole numbers of 16 bits."""
    rng = np.random.default_rng(0)
    n = 2000 * setting.hop_length
    t = np.arange(n) / setting.sr
    night = 3e-4 * noise(n, setting.sr, rng, slope=-6)
    if kind == "calls":  # 60 dB above the night, gliding through half of all bands, with a gentle or a sudden start
        phase = 2 * np.pi * setting.sr * (0.15 * t + 0.05 * np.sin(2 * np.pi * t / t[-1]))
        night += 0.3 * np.sin(phase) * (np.sin(40 * np.pi * t / t[-1]) > 0.3)
    elif kind == "clicks":
        night[rng.integers(n, size=30)] = 0.99
    elif kind == "silence":  # a recorder that drops out
        night[n // 3 : n // 2] = 0
    elif kind == "square wave":
        night = np.where((t * setting.sr / 50) % 1 < 0.5, -1.0, 1 - 2**-15)
    return np.round(2**15 * night).clip(-(2**15), 2**15 - 1).astype(np.int16)


@SETTINGS
@pytest.mark.parametrize("kind", ["night", "calls", "clicks", "silence", "square wave"])
def test_errors_are_below_a_millionth_in_whatever_is_recorded(setting, kind, tmp_path, monkeypatch):
    x = recorded_like(kind, setting)
    path = write(tmp_path / "x.wav", x, setting.sr)
    compiled = detection_functions(path, setting)
    for block_frames in (1, 77, 2000):
        same(joined(detection_blocks(path, setting, block_frames=block_frames)), compiled)
    same(detection_functions(x / 2**15, setting), compiled)
    monkeypatch.setattr(streaming, "load_kernels", lambda: None)
    close(compiled, detection_functions(path, setting), atol=1e-6)


@BOTH_ENGINES
@SETTINGS
@pytest.mark.parametrize("slope", [0, -6])
def test_float32_is_as_accurate_as_documented(setting, slope):
    x = 0.1 * noise(20000 * setting.hop_length, setting.sr, np.random.default_rng(0), slope=slope)
    functions = detection_functions(x, setting, dtype="float32")
    expected = detection_functions(x, setting)
    for values, exact, bound in zip(functions, expected, FLOAT32_ERRORS[setting], strict=True):
        assert values.dtype == np.float32
        assert np.abs(values - exact).max() <= bound


# Squared magnitudes


def squared(setting):
    return dataclasses.replace(setting, power=2)


@SETTINGS
@pytest.mark.parametrize("block_frames", [7, 10**6])
def test_squared_magnitudes_equal_the_whole(setting, block_frames, engine):
    x = white(300 * setting.hop_length)
    functions = joined(detection_blocks(x, squared(setting), block_frames=block_frames))
    close(functions, whole(x, squared(setting)), atol=1e-6 if engine == "numba" else 1e-12)


@BOTH_ENGINES
def test_flux_of_single_bins_doubles_with_squares():
    functions, squares = (detection_functions(white(5000), setting) for setting in (RIGHT_WHALE, squared(RIGHT_WHALE)))
    assert_allclose(squares.averaged_flux, 2 * functions.averaged_flux, atol=1e-6)
    assert_allclose(squares.max_pooled_flux, 2 * functions.max_pooled_flux, atol=1e-6)


@BOTH_ENGINES
@SETTINGS
def test_squares_of_the_quietest_sounds_of_16_bits_do_not_underflow(setting):
    x = np.random.default_rng(0).integers(-1, 2, 5000) / 2**15
    x[:2000] = 0
    exact = whole(x, squared(setting))
    close(detection_functions(x, squared(setting), dtype="float32"), exact, atol=1e-2)
    close(detection_functions(x, squared(setting)), exact, atol=1e-6)


# The background before the first frame


@BOTH_ENGINES
@given(settings, st.sampled_from([1, 2]), st.floats(1e-9, 1e9), st.integers(1, 300))
def test_a_background_to_start_from(setting, power, start, block_frames):
    x = white(40 * setting.hop_length)
    setting = dataclasses.replace(setting, power=power)
    E = spectrogram(x, setting)
    pcen = max_pooled_pcen(E, s=setting.s, start=np.full(128, start))
    expected = DetectionFunctions(averaged_flux(E), max_pooled_flux(E), pcen)
    close(joined(detection_blocks(x, setting, start=start, block_frames=block_frames)), expected, atol=1e-6)


@BOTH_ENGINES
@SETTINGS
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_background_to_start_from_may_be_of_any_size(setting, dtype):
    for power in (1, 2):
        setting = dataclasses.replace(setting, power=power)
        quiet, floor, loud = (
            detection_functions(1e3 * white(1000), setting, dtype=dtype, start=start).max_pooled_pcen
            for start in (1e-300, setting.floor, 1e300)
        )
        assert_array_equal(quiet, floor)
        assert quiet[0] > 20 * power
        assert_allclose(loud, 0, atol=1e-30)


# Levels


@BOTH_ENGINES
@SETTINGS
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_digital_silence_is_no_novelty(setting, dtype):
    averaged, largest, pcen = detection_functions(np.zeros(50 * setting.hop_length + 256), setting, dtype=dtype)
    assert_array_equal(averaged, np.zeros(51))
    assert_array_equal(largest, np.zeros(51))
    assert_allclose(pcen, np.full(51, math.log(2)), rtol=1e-6)


@BOTH_ENGINES
@SETTINGS
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_sound_after_silence_is_finite_and_right(setting, dtype):
    # In every band a rise by some 1e11: the product over bands, which the kernel takes one logarithm of, overflows.
    x = np.concatenate([np.zeros(2000), white(2000), np.zeros(2000)])
    functions = detection_functions(x, setting, dtype=dtype)
    assert functions.averaged_flux.max() > 10
    close(functions, whole(x, setting), atol=5e-7 if dtype == "float64" else 1e-2)


@BOTH_ENGINES
@SETTINGS
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("power", [1, 2])
def test_loud_samples_are_finite_and_right(setting, dtype, power):
    setting = dataclasses.replace(setting, power=power)
    x = np.concatenate([np.zeros(2000), 1e15 * white(2000)])
    close(detection_functions(x, setting, dtype=dtype), whole(x, setting), atol=1e-6 if dtype == "float64" else 1e-2)


# Files


@pytest.mark.parametrize("format", ["WAV", "FLAC", "OGG", "AIFF", "MP3"])
def test_files_of_several_channels(format, tmp_path):
    path = write(tmp_path / "recording", white(3 * 22050 + 17, 2), 22050, format=format)
    x, _ = soundfile.read(path)
    close(detection_functions(path, NIGHTHAWK), whole(x.mean(axis=1), NIGHTHAWK))
    close(detection_functions(path, NIGHTHAWK, channel=1), whole(x[:, 1], NIGHTHAWK))


@BOTH_ENGINES
@SETTINGS
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_whole_numbers_are_read_as_the_same_values(setting, dtype, tmp_path):
    x = np.arange(-(2**15), 2**15, dtype=np.int16)
    x = np.random.default_rng(0).permutation(np.stack([x, x[::-1]], axis=1))
    for channel in (None, 1):
        sixteen = detection_functions(write(tmp_path / "16.wav", x, setting.sr), setting, channel=channel, dtype=dtype)
        floats = detection_functions((x / 2**15).T, setting, channel=channel, dtype=dtype)
        for values, expected in zip(sixteen, floats, strict=True):
            assert_array_equal(values, expected)


# Rates

RATES = [(48000, NIGHTHAWK), (44100, NIGHTHAWK), (24000, NIGHTHAWK), (16000, NIGHTHAWK), (32000, RIGHT_WHALE)]


@BOTH_ENGINES
@pytest.mark.parametrize(("sr", "setting"), RATES)
def test_resampling_as_it_streams_is_resampling_of_the_whole(sr, setting, tmp_path):
    x = white(2 * sr + 1)
    expected = whole(resampled(x, sr, setting.sr), setting)
    for block_frames in (3, 512, 10**6):
        close(joined(detection_blocks(x, setting, sr=sr, block_frames=block_frames)), expected)
    path = write(tmp_path / "x.wav", x, sr, subtype="DOUBLE")
    close(detection_functions(path, setting), expected)


@pytest.mark.parametrize("n_samples", [1, 10, 100, 1000])
def test_short_recordings_are_resampled(n_samples):
    x = white(n_samples)
    at_2_kHz = resampled(x, 32000, 2000)
    expected = whole(at_2_kHz if at_2_kHz.size else [0.0], RIGHT_WHALE)
    close(detection_functions(x, RIGHT_WHALE, sr=32000), expected)


# Threads


@pytest.fixture
def short_parts(monkeypatch):
    """Parts of few frames, and a count of those that are computed."""
    firsts = []

    def watched(*args, first=0, **options):
        firsts.append(first)
        return samples(*args, first=first, **options)

    monkeypatch.setattr(streaming, "FRAMES_PER_PART", 1)
    monkeypatch.setattr(streaming, "samples", watched)
    return firsts


def n_parts(firsts):
    """Number of different parts; the first sample of all is asked for a second time when options are checked."""
    return len(set(firsts))


def same(actual, desired):
    for values, expected in zip(actual, desired, strict=True):
        assert_array_equal(values, expected)


@BOTH_ENGINES
@SETTINGS
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("jobs", [2, 3])
def test_threads_give_the_same_bits(setting, dtype, jobs, short_parts, tmp_path):
    path = write(tmp_path / "x.flac", white(30_000 * setting.hop_length), setting.sr, subtype="PCM_16")
    x, _ = soundfile.read(path)
    expected = detection_functions(path, setting, dtype=dtype)
    for source in (path, x):
        short_parts.clear()
        same(joined(detection_blocks(source, setting, dtype=dtype, block_frames=512, jobs=jobs)), expected)
        assert n_parts(short_parts) > 4
    same(detection_functions(path, setting, dtype=dtype, jobs=jobs), expected)


@pytest.mark.parametrize(("sr", "setting"), [*RATES, (8000, RIGHT_WHALE), (10000, RIGHT_WHALE)])
def test_threads_give_the_same_values_of_resampled_recordings(sr, setting, short_parts, tmp_path):
    n_seconds = math.ceil(12_000 * setting.hop)
    path = write(tmp_path / "x.flac", white(n_seconds * sr), sr, subtype="PCM_16")
    expected = detection_functions(path, setting)
    short_parts.clear()
    close(joined(detection_blocks(path, setting, block_frames=128, jobs=2)), expected, atol=1e-6)
    assert n_parts(short_parts) > 1


def test_blocks_from_threads_are_those_of_one(short_parts):
    x = white(9000 * 128)
    one, two = (list(detection_blocks(x, RIGHT_WHALE, block_frames=256, jobs=jobs)) for jobs in (1, 2))
    assert [len(block.averaged_flux) for block in one] == [len(block.averaged_flux) for block in two]
    assert n_parts(short_parts) > 1


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("start", [1e-6, 1e6, 1e300])
def test_threads_forget_the_start(power, start, short_parts):
    setting, x = dataclasses.replace(RIGHT_WHALE, power=power), white(20_000 * 128)
    one, two = (joined(detection_blocks(x, setting, start=start, block_frames=128, jobs=jobs)) for jobs in (1, 2))
    same(two, one)
    assert n_parts(short_parts) > 1


def test_what_precedes_a_part_is_forgotten_even_if_it_was_loud(short_parts):
    for level in (0.99, 1e15):
        x = np.concatenate([np.full(1_000_000, level), np.zeros(1_500_000)]) * np.resize([1, -1], 2_500_000)
        one, two = (joined(detection_blocks(x, RIGHT_WHALE, block_frames=64, jobs=jobs)) for jobs in (1, 2))
        close(two, one, atol=1e-12)
    assert n_parts(short_parts) > 10


@given(
    jobs=st.integers(2, 9),
    n_samples=st.integers(100_000, 400_000),
    sr=st.sampled_from([2000, 2400, 5000]),
    block_frames=st.sampled_from([50, 128, 333]),
)
def test_any_number_of_parts(jobs, n_samples, sr, block_frames):
    x = white(n_samples)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streaming, "FRAMES_PER_PART", 1)
        functions = joined(detection_blocks(x, RIGHT_WHALE, sr=sr, block_frames=block_frames, jobs=jobs))
    close(functions, detection_functions(x, RIGHT_WHALE, sr=sr), atol=1e-6)


def test_threads_share_a_flac_file_that_states_no_length(short_parts, tmp_path):
    path = without_length(write(tmp_path / "x.flac", white(5000 * 128), RIGHT_WHALE.sr))
    functions = joined(detection_blocks(path, RIGHT_WHALE, block_frames=128, jobs=2))
    assert n_parts(short_parts) == 4
    same(functions, detection_functions(path, RIGHT_WHALE))
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(OSError, match=r"x\.flac is truncated or damaged"):
        detection_functions(path, RIGHT_WHALE, jobs=2)


def test_short_and_lossy_recordings_take_one_thread(short_parts, tmp_path):
    def parts(source, setting):
        short_parts.clear()
        for _ in detection_blocks(source, setting, block_frames=128, jobs=2):
            pass
        return n_parts(short_parts)

    x = white(5000 * 128)
    assert parts(x[: 200 * 128], RIGHT_WHALE) == 1
    assert parts(x, RIGHT_WHALE) > 1
    assert parts(x, dataclasses.replace(RIGHT_WHALE, s=1.0)) > parts(x, RIGHT_WHALE)
    assert parts(x, dataclasses.replace(RIGHT_WHALE, s=1e-4)) == 1  # its background never forgets
    for format in ("OGG", "MP3"):
        path = write(tmp_path / f"x.{format}", white(30 * 22050), 22050, format=format)
        assert parts(path, NIGHTHAWK) == 1


def test_threads_end_when_nobody_wants_more(short_parts):
    x = white(30_000 * 128)
    before = threading.active_count()
    blocks = detection_blocks(x, RIGHT_WHALE, block_frames=128, jobs=2)
    next(blocks)
    assert threading.active_count() > before
    blocks.close()
    assert threading.active_count() == before
    assert n_parts(short_parts) <= 4  # of some fifty


def test_threads_end_when_a_part_fails(short_parts):
    x = white(30_000 * 128)
    x[len(x) // 3] = np.nan
    before = threading.active_count()
    with pytest.raises(ValueError, match=r"^source must hold finite numbers"):
        for _ in detection_blocks(x, RIGHT_WHALE, block_frames=128, jobs=2):
            pass
    assert threading.active_count() == before
    assert n_parts(short_parts) < 30  # of some fifty


def test_few_parts_are_under_way_at_any_time(short_parts):
    for i, _ in enumerate(detection_blocks(white(30_000 * 128), RIGHT_WHALE, block_frames=512, jobs=2)):
        assert n_parts(short_parts) <= 4 + i // 4  # parts of four blocks


# Memory


@pytest.mark.parametrize("jobs", [1, 2])
def test_memory_does_not_grow_with_the_recording(jobs, tmp_path, monkeypatch):
    monkeypatch.setattr(streaming, "FRAMES_PER_PART", 1)

    def peak(seconds):
        path = tmp_path / f"{seconds}.wav"
        with soundfile.SoundFile(path, "w", 22050, 1) as file:
            for _ in range(seconds):
                file.write(white(22050))
        tracemalloc.start()
        for _ in detection_blocks(path, NIGHTHAWK, jobs=jobs):
            pass
        _, size = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return size

    peak(1)
    few, many = {1: (5, 60), 2: (60, 120)}[jobs]
    assert peak(many) < peak(few) + 2**20


@BOTH_ENGINES
@SETTINGS
def test_another_time_scale_keeps_nothing_more_in_memory(setting):
    def kept(values):
        tracemalloc.start()
        for s in values:
            detection_functions(np.ones(1000), dataclasses.replace(setting, s=s))
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return size

    kept([0.5])
    assert kept(np.linspace(0.1, 0.9, 50)) < 2**16


# What goes wrong


@pytest.mark.parametrize("jobs", [1, 2])
def test_unreadable_files_are_named(jobs, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"missing\.wav"):
        detection_functions(tmp_path / "missing.wav", NIGHTHAWK, jobs=jobs)
    (tmp_path / "text.wav").write_bytes(b"no sound\n" * 100)
    with pytest.raises(OSError, match=r"^cannot read .*text\.wav: Format not recognised"):
        detection_functions(tmp_path / "text.wav", NIGHTHAWK, jobs=jobs)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("sr", value) for value in (0, -1, 22050.0, True)),
        *(("channel", value) for value in (-1, 1.0, True, 1, 7)),
        *(("dtype", value) for value in ("float16", "int16", np.float64, None)),
        *(("block_frames", value) for value in (0, -1, 1.5, True)),
        *(("start", value) for value in (0, -1.0, np.nan, np.inf, "1")),
        *(("jobs", value) for value in (0, -1, 1.5, None)),
    ],
)
def test_bad_options_are_refused(name, value):
    for function in (detection_functions, detection_blocks):
        if name != "block_frames" or function is detection_blocks:
            with pytest.raises(ValueError, match=f"^{name} must"):
                list(function(white(1000), RIGHT_WHALE, **{name: value}))


def test_nothing_is_opened_before_the_first_block_but_options_are_checked(tmp_path):
    for jobs in (1, 2):
        detection_blocks(tmp_path / "missing.wav", RIGHT_WHALE, jobs=jobs)
        with pytest.raises(ValueError, match=r"^block_frames must"):
            detection_blocks(tmp_path / "missing.wav", RIGHT_WHALE, block_frames=0, jobs=jobs)
        with pytest.raises(ValueError, match=r"^dtype must"):
            detection_blocks(tmp_path / "missing.wav", RIGHT_WHALE, dtype="int16", jobs=jobs)


# With and without numba


@pytest.mark.parametrize(
    "obstacle",
    ["sys.modules['numba'] = None", "import os; os.environ['NUMBA_DISABLE_JIT'] = '1'"],
    ids=["not installed", "switched off"],
)
def test_without_numba_arrays_do(obstacle):
    code = f"""
import sys
{obstacle}
import numpy as np
from pcenlib import RIGHT_WHALE, detection_functions
from pcenlib.core import streaming
assert streaming.load_kernels() is None
print(detection_functions(np.ones(1000), RIGHT_WHALE).max_pooled_pcen.size)
"""
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert int(output) == RIGHT_WHALE.n_frames(1000)


def test_the_kernels_are_used_where_there_is_numba(engine):
    assert (streaming.load_kernels() is None) == (engine == "numpy")


def test_kernels_are_kept_for_later_processes_of_the_same_version(tmp_path, monkeypatch):
    kernels = streaming.load_kernels()
    monkeypatch.setattr(kernels.numba.config, "CACHE_DIR", str(tmp_path))

    def hits(version):
        """Compile as a new process of a version would, and count what numba found in its cache."""
        monkeypatch.setattr(kernels, "__version__", version)
        kernels._compiled.cache_clear()
        functions.append(detection_functions(white(2000), RIGHT_WHALE))
        (compiled,) = [kernels._compiled(*arguments)]
        return sum(compiled.stats.cache_hits.values())

    functions = []
    setting = RIGHT_WHALE
    lines = "\n".join(kernels.transform(setting.memoryless, "float64", kernels.BATCH).lines)
    arguments = (lines, setting.hop_length, setting.power, "float64")
    assert [hits("1"), hits("1"), hits("2"), hits("2")] == [0, 1, 0, 1]
    for later in functions[1:]:
        same(later, functions[0])


@pytest.mark.parametrize("enabled", [True, False])
def test_the_garbage_collector_is_left_as_it_was(monkeypatch, enabled):
    kernels = streaming.load_kernels()
    states = []
    monkeypatch.setattr(gc, "isenabled", lambda: enabled)
    monkeypatch.setattr(gc, "disable", lambda: states.append("off"))
    monkeypatch.setattr(gc, "enable", lambda: states.append("on"))
    with kernels.keeping_garbage():
        states.append("compiling")
    assert states == ["off", "compiling", *(["on"] if enabled else [])]


# A peer


def test_librosa_agrees():
    x = white(22050)
    E = librosa.feature.melspectrogram(
        y=np.pad(x, 384), sr=22050, n_fft=1024, win_length=256, hop_length=32, center=False, power=1, n_mels=128,
        fmin=2000, fmax=11025, htk=True,
    )  # fmt: skip
    contrast = np.diff(np.log(E), axis=1)
    functions = detection_functions(x, NIGHTHAWK)
    assert_allclose(functions.averaged_flux[1:], np.maximum(contrast, 0).mean(axis=0), atol=1e-5)
    assert_allclose(functions.max_pooled_flux[1:], contrast.max(axis=0), atol=1e-5)
    # Its background reaches up to the present frame, so that its frame t is divided by our background of t + 1.
    M = librosa.pcen(E, b=0.09, gain=1, bias=0, power=1, eps=1e-12)
    pcen = np.log1p((E[:, 1:] / (E / M)[:, :-1]).max(axis=0))
    assert_allclose(functions.max_pooled_pcen[300:], pcen[299:], atol=1e-5)  # when both have forgotten how they started


def test_blocks_can_be_counted_without_outputs():
    blocks = detection_blocks(white(10_000), RIGHT_WHALE, block_frames=16)
    assert sum(len(block.averaged_flux) for block in itertools.islice(blocks, 2)) == 32
