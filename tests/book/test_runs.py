"""The parameters of a chapter's run."""

import pytest

from pcenlib.book.runs import SCALES, check_run


@pytest.mark.parametrize("scale", SCALES)
def test_valid_parameters(scale):
    check_run(scale=scale, seed=0, jobs=1)
    check_run(seed=0, jobs=1)


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
