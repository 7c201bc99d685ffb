"""A threshold from quiet recordings: the smallest that keeps the rate, and honest about what they can tell."""

import dataclasses
import math

import numpy as np
import pytest

from pcenlib import RIGHT_WHALE
from pcenlib.core.evaluation import poisson_interval
from pcenlib.core.streaming import detection_functions
from pcenlib.field import calibration
from pcenlib.field.calibration import calibrate_threshold, rate_interval
from pcenlib.field.events import runs, settled
from pcenlib.field.search import Search
from pcenlib.field.survey import survey
from tests.damage import recording
from tests.nights import whale, write_night

WHALES = Search(setting=RIGHT_WHALE, threshold=3.0)


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
    search = dataclasses.replace(WHALES, threshold=calibration.threshold)
    events = survey([quiet], search, jobs=1, progress=False).events
    assert 0.8 * calibration.alarms <= len(events) <= calibration.alarms  # an end may reach the next event, and join
    assert calibration.low <= calibration.alarms / calibration.hours <= calibration.high
    assert f"threshold {calibration.threshold:.3f}: {calibration.alarms} alarms in" in str(calibration)


@pytest.mark.parametrize("stretch", [2.0, 77.7])
def test_stretches_change_neither_threshold_nor_alarms(stretch, quiet, monkeypatch):
    # Alarms last for at least the gap of three seconds, so those of a short stretch always go on into the next.
    options = {"false_alarms_per_hour": 100, "min_gap": 3.0, "jobs": 1, "progress": False}
    path = quiet / "0.wav"
    whole = calibrate_threshold([path], RIGHT_WHALE, **options)
    monkeypatch.setattr(calibration, "STRETCH", stretch)
    found = calibrate_threshold([path], RIGHT_WHALE, **options)
    assert found[:2] == whole[:2]
    assert found.hours == pytest.approx(whole.hours)
    values = settled([detection_functions(path, RIGHT_WHALE).max_pooled_pcen], s=0.33)
    gap = math.ceil(3 / RIGHT_WHALE.hop)
    assert found.alarms == len(list(runs(values, found.threshold, gap=gap, longest=10**6))) > 25


def test_a_shower_makes_the_interval_wide(quiet, tmp_path):
    times = range(600, 660, 4)  # a minute of 15 alarms in an hour and a half
    write_night(tmp_path / "shower.wav", whale, sr=2000, seconds=1800, times=times, snrs=[40] * 15, seed=9)
    options = {"false_alarms_per_hour": 10, "jobs": 1, "progress": False}
    found = calibrate_threshold([quiet, tmp_path], RIGHT_WHALE, **options)
    assert found.alarms == 15
    fewest, most = poisson_interval(15)
    assert found.low == 0 < fewest / found.hours
    assert found.high > 1.5 * most / found.hours


def test_an_empty_recording_is_named(quiet, tmp_path):
    write_night(tmp_path / "empty.wav", whale, sr=2000, seconds=0, times=[], snrs=[])
    with pytest.raises(OSError, match=r"must be readable(.|\n)*empty\.wav"):
        calibrate_threshold([quiet, tmp_path], RIGHT_WHALE, false_alarms_per_hour=5, jobs=1, progress=False)


def test_what_a_search_refuses_calibration_refuses(quiet, tmp_path):
    content = (quiet / "0.wav").read_bytes()
    (tmp_path / "cut.wav").write_bytes(content[: len(content) // 2])
    recording(tmp_path / "low.wav", "wav", sr=1000)
    options = {"setting": RIGHT_WHALE, "false_alarms_per_hour": 10, "jobs": 1, "progress": False}
    for name, reason in (("cut", "is truncated"), ("low", "holds 1000 samples per second, so nothing above 500 Hz")):
        with pytest.raises(OSError, match=rf"must be readable(.|\n)*{name}\.wav {reason}"):
            calibrate_threshold([quiet, tmp_path / f"{name}.wav"], **options)
    with pytest.raises(OSError, match=r"must be readable(.|\n)*has 1 channels, so none of number 3"):
        calibrate_threshold([quiet], channel=3, **options)


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


def test_a_rate_must_be_positive(quiet):
    with pytest.raises(ValueError, match=r"^false_alarms_per_hour must"):
        calibrate_threshold([quiet], RIGHT_WHALE, false_alarms_per_hour=0)


# The interval


def garwood(alarms, hours):
    return tuple(np.array(poisson_interval(np.sum(alarms))) / np.sum(hours))


def test_alarms_in_one_stretch_give_a_wider_interval_than_independent_ones():
    low, high = rate_interval([0, 0, 0, 12, 0, 0], [1 / 6] * 6)
    fewest, most = garwood(12, 1)
    assert low < fewest
    assert high > most


@pytest.mark.parametrize("alarms", [[3], [0], [0, 0, 0], [2, 2, 2, 2]])
def test_stretches_that_cannot_show_more_give_the_interval_of_independent_alarms(alarms):
    hours = np.full(len(alarms), 0.15)
    assert rate_interval(alarms, hours) == pytest.approx(garwood(alarms, hours))


def test_stretches_are_drawn_with_their_durations():
    # The same rate in each, so drawing them says nothing new; their numbers alone would differ widely.
    alarms = np.array([1, 40, 1, 40, 1, 40])
    assert rate_interval(alarms, alarms / 60) == pytest.approx(garwood(alarms, alarms / 60))
    assert rate_interval(alarms, np.full(6, 0.1))[1] > garwood(alarms, 0.6)[1]


def test_the_interval_is_the_same_again():
    alarms, hours = np.random.default_rng(0).integers(0, 9, 20), np.full(20, 1 / 6)
    assert rate_interval(alarms, hours) == rate_interval(alarms, hours)


@pytest.mark.parametrize(("alarms", "hours"), [([], []), ([1, 2], [1]), ([1], [0]), (3, 1)])
def test_stretches_without_a_rate_are_refused(alarms, hours):
    with pytest.raises(ValueError, match=r"^alarms and hours must be as many"):
        rate_interval(alarms, hours)


N_DATA_SETS = 1000


def coverage(shape, truth=5.0, n_stretches=36):
    """How often the interval for six hours, and Garwood's, hold the truth, in alarms per stretch."""
    held, hours = [], np.full(n_stretches, 1 / 6)
    for k in range(N_DATA_SETS):
        rng = np.random.default_rng([2019, k])
        rates = truth * rng.gamma(shape, 1 / shape, n_stretches) if shape else truth
        alarms = rng.poisson(rates, n_stretches)
        for low, high in (rate_interval(alarms, hours), garwood(alarms, hours)):
            held.append(low <= 6 * truth <= high)
    return np.reshape(held, (N_DATA_SETS, 2)).mean(axis=0)


def test_the_interval_covers_the_truth_nine_times_in_ten_or_more(monkeypatch):
    monkeypatch.setattr(calibration, "N_RESAMPLES", 200)
    independent, _ = coverage(shape=None)
    assert independent >= 0.94
    clustered, as_if_independent = coverage(shape=1.0)  # about 0.90, and 0.58
    assert 0.86 <= clustered <= 0.95
    assert as_if_independent < 0.65
