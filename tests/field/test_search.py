"""Events in a recording: found where they are, whatever the format, rate, channels, blocks, and threads."""

import tracemalloc

import crowsetta
import numpy as np
import pandas as pd
import pytest
import soundfile
from numpy.testing import assert_allclose

from pcenlib import NIGHTHAWK, RIGHT_WHALE, detect
from pcenlib.core import streaming
from pcenlib.core.streaming import detection_functions
from pcenlib.field.calibration import calibrate_threshold
from pcenlib.field.events import Event, contrast
from pcenlib.field.search import Search, detect_events
from pcenlib.field.tables import FORMATS
from pcenlib.simulation import callers, noises
from tests.damage import FORMATS as FORMATS_BY_NAME
from tests.damage import recording
from tests.nights import errors, whale, write_night, write_whales

WHALES = Search(setting=RIGHT_WHALE, threshold=3.0)


@pytest.fixture(scope="module")
def night(tmp_path_factory):
    """Five minutes in stereo at 48 kHz, with 40 nighthawks at three SNRs: path, times, SNRs and durations.

    An SNR is that of the peak of a call to the root mean square of the white noise, all frequencies taken together.
    """
    path = tmp_path_factory.mktemp("night") / "S4A_20190522_010000.wav"
    rng = np.random.default_rng(7)
    times = np.linspace(2, 296, 40) + rng.uniform(-1, 1, 40)
    snrs = np.resize([40, 28, 16], 40)
    durations = write_night(
        path, callers.nighthawk_call, sr=48000, seconds=300, times=times, snrs=snrs, channels=2, seed=8
    )
    return path, times, snrs, np.array(durations)


@pytest.fixture(scope="module")
def threshold(tmp_path_factory):
    """The smallest that such noise alone, for five minutes, exceeds no more than once."""
    path = tmp_path_factory.mktemp("silence") / "noise.wav"
    write_night(path, callers.nighthawk_call, sr=NIGHTHAWK.sr, seconds=300, times=[], snrs=[], seed=9)
    calibration = calibrate_threshold([path], NIGHTHAWK, false_alarms_per_hour=12, jobs=1, progress=False)
    return calibration.threshold


@pytest.fixture(scope="module")
def table(night, threshold):
    return detect(night[0], NIGHTHAWK, threshold=threshold)


@pytest.fixture(scope="module")
def values(night):
    return detection_functions(night[0], NIGHTHAWK).max_pooled_pcen


@pytest.fixture(scope="module")
def whales(tmp_path_factory):
    path = tmp_path_factory.mktemp("whales") / "whales.wav"
    write_whales(path)
    return path


# What is found


def test_loud_calls_are_all_found_within_50_ms(night, table):
    _, times, snrs, _ = night
    assert (errors(table["start"], times[snrs == 40]) < 0.05).all()
    assert (errors(table["start"], times[snrs == 28]) < 0.05).all()
    assert (errors(table["start"], times[snrs == 16]) < 0.05).mean() < 0.9  # these are not loud
    assert (errors(times, table["start"]) > 0.3).sum() <= 4  # where one false alarm is to be expected


def test_the_end_is_that_of_the_call(night, table, values, threshold):
    _, times, snrs, durations = night
    ends = (times + durations)[snrs == 40]
    assert (errors(table["end"], ends) < 0.02).all()
    # While the detector itself is back at rest long before, so there is a rule.
    first = np.flatnonzero(snrs == 40)[0]
    frames = NIGHTHAWK.times(values.size)
    late = values[(frames > times[first] + 0.05) & (frames < times[first] + durations[first])]
    assert late.max() < threshold


def test_bands_and_contrast_are_those_of_the_call(night, table):
    _, times, snrs, _ = night
    loud = table[errors(times[snrs == 40], table["start"]) < 0.05]
    assert loud["low"].between(2500, 4000).all()
    assert loud["high"].between(3600, 5500).all()
    assert loud["peak"].sub(loud["start"]).between(0, 0.02).all()
    assert_allclose(loud["contrast"], [contrast(score) for score in loud["score"]])
    medium = table[errors(times[snrs == 28], table["start"]) < 0.05]
    assert loud["contrast"].median() > medium["contrast"].median() + 3


def test_scores_are_values_of_the_detection_function(table, values):
    frames = np.rint((table["peak"] * NIGHTHAWK.sr - NIGHTHAWK.win_length / 2) / NIGHTHAWK.hop_length).astype(int)
    assert_allclose(table["score"], values[frames], atol=1e-6)


def test_absolute_time_comes_from_the_name_without_a_zone(table):
    assert (pd.to_datetime(table["time"]) - pd.Timestamp("2019-05-22 01:00:00")).dt.total_seconds().sub(
        table["start"]
    ).abs().max() < 0.001
    assert set(table["clock"]) == {"local time, zone not stated, from file name"}


@pytest.mark.parametrize("block_frames", [1, 7, 100, 5000])
def test_blocks_of_any_size_give_the_same_events(block_frames, whales):
    events = detect_events(whales, WHALES)
    assert len(events) == 3
    assert detect_events(whales, WHALES, block_frames=block_frames) == events


@pytest.mark.parametrize("jobs", [2, 3])
def test_threads_give_the_same_events(jobs, night, threshold, monkeypatch):
    search = Search(setting=NIGHTHAWK, threshold=threshold)
    events = detect_events(night[0], search)
    assert len(events) > 10
    monkeypatch.setattr(streaming, "FRAMES_PER_PART", 2000)
    assert detect_events(night[0], search, jobs=jobs) == events


@pytest.mark.parametrize(
    ("format", "sr"), [("WAV", 8000), ("WAV", 44100), ("FLAC", 8000), ("OGG", 8000), ("MP3", 8000)]
)
def test_format_and_rate_do_not_matter(format, sr, tmp_path):
    times = [10, 25, 40.5]
    durations = write_whales(tmp_path / "x.wav", times=times, sr=sr, channels=2, snr=45)
    x, _ = soundfile.read(tmp_path / "x.wav")
    path = tmp_path / f"y.{format.lower()}"
    with soundfile.SoundFile(path, "w", sr, 2, format=format) as file:
        for begin in range(0, len(x), sr):
            file.write(x[begin : begin + sr])
    events = detect_events(path, WHALES)
    assert_allclose([event.start for event in events], times, atol=0.15)
    assert_allclose([event.end for event in events], np.add(times, durations), atol=0.3)


def test_channels_are_heard_apart_and_together(tmp_path):
    write_whales(tmp_path / "left.wav", times=[10])
    write_whales(tmp_path / "right.wav", times=[30], seed=1)
    both = np.stack([soundfile.read(tmp_path / f"{name}.wav")[0] for name in ("left", "right")], axis=1)
    soundfile.write(tmp_path / "both.wav", both, 2000)
    for channel, expected in [(0, [10]), (1, [30]), (None, [10, 30])]:
        table = detect(tmp_path / "both.wav", RIGHT_WHALE, threshold=3.0, channel=channel)
        assert_allclose(table["start"], expected, atol=0.2)
    with pytest.raises(ValueError, match=r"both\.wav has 2 channels, so none of number 2"):
        detect(tmp_path / "both.wav", RIGHT_WHALE, threshold=3.0, channel=2)


@pytest.mark.filterwarnings("ignore:The inplace keyword")
@pytest.mark.parametrize(("format", "name"), [("raven", "raven"), ("audacity", "aud-bbox")])
def test_the_table_of_the_night_comes_back_through_another_reader(format, name, table, tmp_path):
    events = [Event(*row) for row in table.itertuples(index=False)]
    path = tmp_path / "night.txt"
    path.write_text(FORMATS[format](events, {"channel": "mean"}))
    boxes = crowsetta.Transcriber(name).from_file(path).to_bbox()
    read = [(box.onset, box.offset, box.low_freq, box.high_freq) for box in boxes]
    assert_allclose(read, table[["start", "end", "low", "high"]], atol=1e-3)


# Options


def test_a_longer_gap_joins_and_a_minimal_duration_drops(tmp_path):
    path = tmp_path / "x.wav"
    write_whales(path, times=[10, 13, 30])
    click = lambda sr, rng: noises.noise_burst(sr, rng, fmin=100, fmax=200, duration=0.1)  # noqa: E731
    write_night(tmp_path / "click.wav", click, sr=2000, seconds=60, times=[45], snrs=[45], seed=1)
    x = soundfile.read(path)[0] + soundfile.read(tmp_path / "click.wav")[0]
    soundfile.write(path, x, 2000)
    search = {"setting": RIGHT_WHALE, "threshold": 3.0}
    starts = [round(event.start) for event in detect_events(path, Search(**search))]
    assert starts == [10, 13, 30, 45]
    joined = detect_events(path, Search(**search, min_gap=3))
    assert [round(event.start) for event in joined] == [10, 30, 45]
    assert 13.8 < joined[0].end < 14.4
    long = detect_events(path, Search(**search, min_duration=0.6))
    assert [round(event.start) for event in long] == [10, 13, 30]
    assert detect_events(path, Search(**search, min_duration=5)) == []


def test_a_band_hears_only_what_is_in_it(tmp_path):
    low = lambda sr, rng: noises.noise_burst(sr, rng, fmin=50, fmax=100, duration=1.0)  # noqa: E731
    write_whales(tmp_path / "a.wav", times=[10])
    write_night(tmp_path / "b.wav", low, sr=2000, seconds=60, times=[30], snrs=[40], seed=1)
    soundfile.write(tmp_path / "x.wav", sum(soundfile.read(tmp_path / name)[0] for name in ("a.wav", "b.wav")), 2000)
    for band, expected in [((110, 900), [10]), ((8, 90), [30]), ((8, 900), [10, 30])]:
        table = detect(tmp_path / "x.wav", RIGHT_WHALE.within(*band), threshold=3.0)
        assert_allclose(table["start"], expected, atol=0.2)
        assert (table["low"] >= band[0] - 8).all()
        assert (table["high"] <= band[1] + 8).all()


def test_a_sound_that_never_ends_ends_after_fifty_time_scales(tmp_path):
    rng = np.random.default_rng(0)
    x = 0.003 * rng.standard_normal(2000 * 200)
    x[2000 * 20 :] *= 100
    soundfile.write(tmp_path / "x.wav", x, 2000)
    (event,) = detect_events(tmp_path / "x.wav", Search(setting=RIGHT_WHALE, threshold=3.5))
    assert_allclose(event.end - event.start, WHALES.max_duration, atol=0.1)


def test_calls_at_the_ends_of_a_recording(tmp_path):
    write_whales(tmp_path / "x.wav", times=[1.5, 59.2])
    first, last = detect_events(tmp_path / "x.wav", WHALES)
    assert_allclose([first.start, first.end, last.start], [1.5, 2.5, 59.2], atol=0.2)
    assert 59.7 < last.end <= 60


def test_the_first_guess_of_the_background_raises_no_alarm(tmp_path):
    for seed in (2, 3, 6, 7):
        path = tmp_path / f"{seed}.wav"
        soundfile.write(path, 0.01 * np.random.default_rng(seed).standard_normal(22050), 22050)
        assert detection_functions(path, NIGHTHAWK).max_pooled_pcen[:33].max() > 1.65  # it would
        assert detect_events(path, Search(setting=NIGHTHAWK, threshold=1.65)) == []


def test_recordings_that_cannot_hold_the_bands_are_refused(tmp_path):
    soundfile.write(tmp_path / "x.wav", 0.01 * np.random.default_rng(0).standard_normal(16000), 16000)
    with pytest.raises(ValueError, match=r"x\.wav holds 16000 samples per second, so nothing above 8000 Hz"):
        detect(tmp_path / "x.wav", NIGHTHAWK, threshold=2.3)
    assert detect(tmp_path / "x.wav", NIGHTHAWK.within(2000, 7500), threshold=2.5).empty
    soundfile.write(tmp_path / "y.wav", 0.01 * np.random.default_rng(0).standard_normal(22000), 22000)
    assert detect(tmp_path / "y.wav", NIGHTHAWK, threshold=2.5).empty  # only the foot of a band is above


def test_memory_does_not_grow_with_the_recording(tmp_path):
    def peak(minutes):
        path = tmp_path / f"{minutes}.wav"
        write_night(path, whale, sr=2000, seconds=60 * minutes, times=[30], snrs=[30])
        tracemalloc.start()
        detect_events(path, WHALES)
        _, size = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return size

    peak(1)
    assert peak(60) < peak(10) + 2**20


# Damaged recordings


@pytest.mark.parametrize("share", [0.5, 0.97])
@pytest.mark.parametrize("name", FORMATS_BY_NAME)
def test_a_recording_that_was_cut_off_is_refused(name, share, tmp_path, capfd):
    path = recording(tmp_path / f"night.{name}", name)
    assert detect_events(path, WHALES) == []
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    # Of CAF, libsndfile itself refuses what misses more than its last page.
    with pytest.raises(OSError, match=r"night\..* truncated" if name != "caf" else r"night\.caf"):
        detect_events(path, WHALES)
    capfd.readouterr()  # what the MP3 decoder says


@pytest.mark.parametrize("name", ["ogg", "opus", "mp3"])
def test_of_joined_recordings_none_is_passed_over_without_a_word(name, tmp_path, capfd):
    contents = [recording(tmp_path / "x", name, seconds=20 + i, seed=i).read_bytes() for i in range(3)]
    (tmp_path / f"all.{name}").write_bytes(b"".join(contents))
    with pytest.raises(OSError, match=r"all\..* is several (OGG|MP3) files joined, of which only the first"):
        detect_events(tmp_path / f"all.{name}", WHALES)
    capfd.readouterr()
