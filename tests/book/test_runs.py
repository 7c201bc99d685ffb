"""The parameters of a chapter's run."""

import pytest

from pcenlib.book.runs import check_run


def test_valid_parameters():
    check_run(seed=0, jobs=1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"seed": -1}, "seed must be an integer of at least 0, got -1"),
        ({"seed": "7"}, "seed must be an integer of at least 0, got '7'"),
        ({"seed": 1.5}, "seed must be"),
        ({"jobs": 0}, "jobs must be an integer of at least 1, got 0"),
        ({"jobs": True}, "jobs must be"),
    ],
)
def test_wrong_parameters_are_named(wrong, message):
    with pytest.raises(ValueError, match="must be") as caught:
        check_run(**{"seed": 0, "jobs": 1, **wrong})
    assert message in str(caught.value)
