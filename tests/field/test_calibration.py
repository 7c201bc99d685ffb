"""A threshold from quiet recordings: the smallest that keeps the rate, and honest about what they can tell."""

import dataclasses
import math

import numpy as np
import pytest

from pcenlib import RIGHT_WHALE
from pcenlib.core.streaming import detection_functions
from pcenlib.field import calibration
from pcenlib.field.calibration import calibrate_threshold
from pcenlib.field.events import runs, settled
from pcenlib.field.search import Search
from pcenlib.field.survey import survey
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
