"""How a run is described: its parameters, and what its stored result was made of."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcenlib.book.runs import SCALES, check_run
from pcenlib.experiments.protocols import NIGHTHAWK_PAPER, NIGHTHAWK_RELEASED
from pcenlib.experiments.stored import describe

# Parameters of a run


@pytest.mark.parametrize("scale", SCALES)
def test_valid_parameters(scale):
    check_run(scale=scale, seed=0, jobs=1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"scale": "papr"}, "scale must be one of default, paper, got 'papr'"),
        ({"scale": None}, "scale must be one of default, paper, got None"),
        ({"scale": ["paper"]}, "scale must be"),
        ({"seed": -1}, "seed must be an integer of at least 0, got -1"),
        ({"seed": "7"}, "seed must be an integer of at least 0, got '7'"),
        ({"seed": 1.5}, "seed must be"),
        ({"jobs": 0}, "jobs must be an integer of at least 1, got 0"),
        ({"jobs": True}, "jobs must be"),
    ],
)
def test_wrong_parameters_are_named(wrong, message):
    with pytest.raises(ValueError, match="must be") as caught:
        check_run(**{"scale": "default", "seed": 0, "jobs": 1, **wrong})
    assert message in str(caught.value)


def test_scales_are_those_of_the_paper_and_of_a_hundred_minutes():
    assert SCALES == {"default": 600, "paper": 9983}


# Descriptions


def test_descriptions_tell_protocols_apart():
    assert describe(NIGHTHAWK_PAPER) != describe(NIGHTHAWK_RELEASED)
    assert describe(NIGHTHAWK_PAPER) == describe(NIGHTHAWK_PAPER)


def test_a_last_digit_does_not_change_a_description():
    setting = NIGHTHAWK_RELEASED.setting
    again = replace(setting, fmax=float(np.nextafter(setting.fmax, 1e4)), s=float(np.nextafter(setting.s, 1)))
    assert repr(again) != repr(setting)
    assert describe(again) == describe(setting)
    assert describe(replace(setting, s=1.00001 * setting.s)) != describe(setting)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_descriptions_keep_seven_digits(number):
    assert float(describe(number)) == pytest.approx(number, rel=1e-6)
