"""Events in recordings: found where they are, whatever the format, rate, channels and blocks."""

import dataclasses
import math
import os
import tracemalloc

import crowsetta
import numpy as np
import pandas as pd
import pytest
import soundfile
from numpy.testing import assert_allclose

import pcenlib
from pcenlib import NIGHTHAWK, RIGHT_WHALE, detect
from pcenlib.core.streaming import detection_functions
from pcenlib.field import calibration
from pcenlib.field.calibration import calibrate_threshold
from pcenlib.field.events import contrast, runs, settled
from pcenlib.field.levels import band_level
from pcenlib.field.search import Detector, detect_events
from pcenlib.field.survey import find_recordings, survey
from pcenlib.field.tables import FORMATS
from pcenlib.simulation import callers, noises
from tests.nights import errors, whale, write_night, write_whales

WHALES = Detector(setting=RIGHT_WHALE, threshold=3.0)


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
    # While the detector itself is back at rest long before: hence the rule.
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
    with pytest.raises(ValueError, match=r"both\.wav has 2 channels, hence none of number 2"):
        detect(tmp_path / "both.wav", RIGHT_WHALE, threshold=3.0, channel=2)


# Options


def test_a_longer_gap_joins_and_a_minimal_duration_drops(tmp_path):
    path = tmp_path / "x.wav"
    write_whales(path, times=[10, 13, 30])
    click = lambda sr, rng: noises.noise_burst(sr, rng, fmin=100, fmax=200, duration=0.1)  # noqa: E731
    write_night(tmp_path / "click.wav", click, sr=2000, seconds=60, times=[45], snrs=[45], seed=1)
    x = soundfile.read(path)[0] + soundfile.read(tmp_path / "click.wav")[0]
    soundfile.write(path, x, 2000)
    search = {"setting": RIGHT_WHALE, "threshold": 3.0}
    starts = [round(event.start) for event in detect_events(path, Detector(**search))]
    assert starts == [10, 13, 30, 45]
    joined = detect_events(path, Detector(**search, min_gap=3))
    assert [round(event.start) for event in joined] == [10, 30, 45]
    assert 13.8 < joined[0].end < 14.4
    long = detect_events(path, Detector(**search, min_duration=0.6))
    assert [round(event.start) for event in long] == [10, 13, 30]
    assert detect_events(path, Detector(**search, min_duration=5)) == []


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
    (event,) = detect_events(tmp_path / "x.wav", Detector(setting=RIGHT_WHALE, threshold=3.5))
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
        assert detect_events(path, Detector(setting=NIGHTHAWK, threshold=1.65)) == []


def test_recordings_that_cannot_hold_the_bands_are_refused(tmp_path):
    soundfile.write(tmp_path / "x.wav", 0.01 * np.random.default_rng(0).standard_normal(16000), 16000)
    with pytest.raises(ValueError, match=r"x\.wav holds 16000 samples per second, hence nothing above 8000 Hz"):
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


def test_memory_does_not_grow_with_the_folder(tmp_path):
    def peak(n_files):
        folder = tmp_path / f"{n_files}"
        folder.mkdir()
        for number in range(n_files):
            os.link(one, folder / f"{number:02d}.wav")
        tracemalloc.start()
        found = survey([folder], WHALES, jobs=1, progress=False)
        _, size = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(found.rows) == n_files
        return size

    one = tmp_path / "one.wav"
    write_whales(one, times=[30], seconds=600)
    peak(1)
    assert peak(24) < peak(2) + 2**20


# Tables


@pytest.mark.filterwarnings("ignore:The inplace keyword")
@pytest.mark.parametrize(("format", "name"), [("raven", "raven"), ("audacity", "aud-bbox")])
def test_the_table_of_the_night_comes_back_through_another_reader(format, name, table, tmp_path):
    rows = table.to_dict("records")
    path = tmp_path / "night.txt"
    path.write_text(FORMATS[format](rows, {"channel": "mean"}))
    boxes = crowsetta.Transcriber(name).from_file(path).to_bbox()
    read = [(box.onset, box.offset, box.low_freq, box.high_freq) for box in boxes]
    assert_allclose(read, table[["start", "end", "low", "high"]], atol=1e-3)


def test_three_lines_of_python(whales):
    table = pcenlib.detect(whales, pcenlib.RIGHT_WHALE, threshold=3.0)
    assert isinstance(table, pd.DataFrame)
    assert list(table.columns) == [
        "file", "file_start", "start", "end", "peak", "low", "high", "score", "contrast", "time", "clock",
    ]  # fmt: skip
    assert len(table) == 3


def test_a_table_without_events_has_its_columns(whales):
    table = detect(whales, RIGHT_WHALE, threshold=9.0)
    assert table.empty
    assert "start" in table.columns


def test_a_folder_is_one_table_and_bad_files_are_named(tmp_path):
    write_whales(tmp_path / "b.wav", times=[10])
    (tmp_path / "deep").mkdir()
    write_whales(tmp_path / "deep" / "a.flac", times=[30], seconds=40)
    (tmp_path / "bad.wav").write_text("no sound")
    with pytest.warns(UserWarning, match=r"1 recordings could not be read: .*bad\.wav: cannot read"):
        table = detect(tmp_path, RIGHT_WHALE, threshold=3.0, jobs=2)
    assert table["file"].tolist() == [str(tmp_path / "b.wav"), str(tmp_path / "deep" / "a.flac")]
    assert_allclose(table["start"], [10, 30], atol=0.2)
    assert_allclose(table["file_start"], [0, 60])
    with pytest.raises(ValueError, match=r"bad\.wav: Format not recognised"):
        detect(tmp_path / "bad.wav", RIGHT_WHALE, threshold=3.0)


def test_recordings_are_found_in_order_and_once(tmp_path):
    for name in ("b.WAV", "a.flac", "notes.txt", "._b.WAV", "c/d.mp3", ".hidden/e.wav", "c/a.ogg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    names = ["a.flac", "b.WAV", "c/a.ogg", "c/d.mp3"]
    assert find_recordings([tmp_path]) == [tmp_path / name for name in names]
    assert find_recordings([tmp_path / "c" / "d.mp3", tmp_path])[0] == tmp_path / "c" / "d.mp3"
    assert len(find_recordings([tmp_path, tmp_path / "c", tmp_path / "b.WAV"])) == 4
    assert find_recordings([tmp_path / "notes.txt"]) == [tmp_path / "notes.txt"]  # as one wishes


def test_no_recordings_are_an_error(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"folder .*empty holds no recording: no file that ends in \.aif"):
        find_recordings([tmp_path / "empty"])
    with pytest.raises(FileNotFoundError, match=r"there is no file or folder .*missing\.wav"):
        find_recordings([tmp_path / "missing.wav"])
    with pytest.raises(ValueError, match="at least one"):
        find_recordings([])


def test_a_survey_sums_itself_up(tmp_path):
    write_whales(tmp_path / "a.wav", times=[10], seconds=36)
    (tmp_path / "b.wav").write_text("no sound")
    found = survey([tmp_path], WHALES, jobs=1, progress=False)
    assert str(found).startswith("1 files, 0.01 hours, 1 events, 1 failures\n")
    assert "b.wav: cannot read" in str(found)


# Calibration


@pytest.fixture(scope="module")
def quiet(tmp_path_factory):
    folder = tmp_path_factory.mktemp("quiet")
    for seed in range(3):
        write_night(folder / f"{seed}.wav", whale, sr=2000, seconds=1200, times=[], snrs=[], seed=seed)
    return folder


@pytest.mark.parametrize("rate", [1, 5, 60])
def test_a_calibrated_threshold_is_the_smallest_that_keeps_the_rate(rate, quiet):
    calibration = calibrate_threshold([quiet], RIGHT_WHALE, false_alarms_per_hour=rate, jobs=1, progress=False)
    assert calibration.hours == pytest.approx(1)
    gap = math.ceil(WHALES.gap / RIGHT_WHALE.hop)
    functions = [detection_functions(path, RIGHT_WHALE).max_pooled_pcen for path in sorted(quiet.iterdir())]

    def alarms(threshold):
        quiet_runs = [runs(settled([values], s=0.33), threshold, gap=gap, longest=10**6) for values in functions]
        return sum(len(list(found)) for found in quiet_runs)

    assert alarms(calibration.threshold) == calibration.alarms <= rate
    assert alarms(calibration.threshold - 0.005) > rate
    events = survey([quiet], dataclasses.replace(WHALES, threshold=calibration.threshold), jobs=1, progress=False).rows
    assert 0.8 * calibration.alarms <= len(events) <= calibration.alarms  # an end may reach the next event, and join
    assert calibration.low <= calibration.alarms / calibration.hours <= calibration.high
    assert f"threshold {calibration.threshold:.3f}: {calibration.alarms} alarms in" in str(calibration)


def test_a_longer_gap_and_fewer_bands_need_a_lower_threshold(quiet):
    options = {"false_alarms_per_hour": 20, "jobs": 1, "progress": False}
    usual = calibrate_threshold([quiet], RIGHT_WHALE, **options).threshold
    assert calibrate_threshold([quiet], RIGHT_WHALE.within(100, 200), **options).threshold < usual
    assert calibrate_threshold([quiet], RIGHT_WHALE, min_gap=300, **options).threshold <= usual


def test_short_quiet_recordings_say_what_they_can_calibrate(quiet):
    with pytest.raises(
        ValueError, match=r"last 0\.333 hours: they can tell 3 false alarms per hour or more, but not 1;"
    ):
        calibrate_threshold([quiet / "0.wav"], RIGHT_WHALE, false_alarms_per_hour=1, jobs=1, progress=False)


def test_quiet_recordings_must_be_readable_and_quiet(quiet, tmp_path, monkeypatch):
    (tmp_path / "bad.wav").write_text("no sound")
    options = {"false_alarms_per_hour": 5, "jobs": 1, "progress": False}
    with pytest.raises(OSError, match=r"every recording to calibrate with must be readable(.|\n)*bad\.wav"):
        calibrate_threshold([quiet, tmp_path], RIGHT_WHALE, **options)
    monkeypatch.setattr(calibration, "THRESHOLDS", np.array([2.0, 2.1]))
    with pytest.raises(ValueError, match=r"^the quiet recordings are not quiet: even 2\.1"):
        calibrate_threshold([quiet], RIGHT_WHALE, **options)


# Noise


def test_levels_are_those_of_known_sounds():
    sr, time = 8000, np.arange(8000) / 8000
    sine = 0.5 * np.sin(2 * np.pi * 1000 * time)
    assert_allclose(band_level(sine, sr, 500, 2000), 10 * math.log10(0.125), atol=1e-9)
    assert band_level(sine, sr, 2000, 4000) < -150
    noise = 0.1 * np.random.default_rng(0).standard_normal(8000)
    assert_allclose(band_level(noise, sr, 0, 4000), -20, atol=0.2)
    assert_allclose(band_level(noise, sr, 0, 2000), -23, atol=0.3)
    assert band_level(np.zeros(100), sr, 0, 4000) == -200


def test_levels_over_time_follow_the_noise(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(2000 * 250) * np.repeat([0.001, 0.01], 2000 * 125)
    soundfile.write(tmp_path / "x.wav", x, 2000, subtype="FLOAT")
    found = survey([tmp_path / "x.wav"], WHALES, jobs=1, progress=False, levels=True)
    times, levels = zip(*found.recordings[str(tmp_path / "x.wav")]["levels"], strict=True)
    assert times == (0, 60, 120, 180, 240)
    assert_allclose(levels, [-60, -60, -60, -40, -40], atol=0.6)


# Bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 0}, "threshold must"),
        ({"threshold": math.nan}, "threshold must"),
        ({"threshold": "high"}, "threshold must"),
        ({"min_gap": -1}, "min_gap must"),
        ({"min_duration": -1}, "min_duration must"),
        ({"channel": -1}, "channel must"),
        ({"channel": True}, "channel must"),
        ({"jobs": 0}, "jobs must"),
    ],
)
def test_bad_options_are_refused(options, message, whales):
    with pytest.raises(ValueError, match=f"^{message}"):
        detect(whales, RIGHT_WHALE, **{"threshold": 3.0, **options})
    if "jobs" not in options and "threshold" not in options and "min_duration" not in options:
        with pytest.raises(ValueError, match=f"^{message}"):
            calibrate_threshold([whales], RIGHT_WHALE, false_alarms_per_hour=100, **options)


def test_a_rate_must_be_positive(whales):
    with pytest.raises(ValueError, match=r"^false_alarms_per_hour must"):
        calibrate_threshold([whales], RIGHT_WHALE, false_alarms_per_hour=0)
