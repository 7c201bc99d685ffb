"""Levels in bands, lags, and alarms near onsets."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib.experiments.band_levels import LEAST, BandPower, Level, alarm_starts, errors, lag

SR = 8000


def test_power_of_a_tone_is_in_its_band_alone():
    time = np.arange(SR) / SR
    x = np.where(time < 0.5, 2.0, 1.0) * np.sin(2 * np.pi * 1000 * time)
    inside, outside = BandPower(x, SR, 900, 1100), BandPower(x, SR, 1500, 3000)
    assert inside(0.1, 0.4) == pytest.approx(2.0, rel=0.02)
    assert_allclose(inside([0.1, 0.6], [0.4, 0.9]), [2.0, 0.5], rtol=0.02)
    assert outside(0.1, 0.4) < 1e-3
    assert inside(-3, 9) == inside(0, 1)
    with pytest.raises(ValueError, match="begin must be before end"):
        inside(1.5, 2.0)


def test_the_noise_is_taken_off_and_what_does_not_stand_out_has_no_level():
    level = Level.of(11.0, 1.0)
    assert level == pytest.approx((10.0, 0.0, 10 * np.log10(11)))
    assert np.isnan(Level.of(10 ** (LEAST / 10) - 0.01, 1.0).level)
    assert np.isnan(Level.of(0.5, 1.0).level)


@pytest.mark.parametrize("delay", [-300, 0, 417])
def test_lag(delay):
    rng = np.random.default_rng(0)
    sound = rng.standard_normal(3000)
    x, reference = 0.3 * rng.standard_normal((2, SR))
    reference[1000:4000] += sound
    x[1000 + delay : 4000 + delay] += 0.5 * sound
    assert lag(x, reference, SR, band=(100, 3900), most=0.1) == delay / SR


def test_alarms_begin_where_a_run_does():
    assert_array_equal(alarm_starts([2, 2, 0, 1, 2, 2], 1), [0, 4])
    assert alarm_starts([0, 1], 1).size == 0


def test_errors_are_of_the_nearest_alarm():
    assert_allclose(errors([0.96, 1.03, 2.2], [1.0, 2.0, 3.0], tolerance=0.1), [0.03, np.nan, np.nan])
    assert np.isnan(errors([], [1.0], tolerance=0.1)).all()
