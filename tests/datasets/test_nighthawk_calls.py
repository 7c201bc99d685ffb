"""Recorded nighthawks, on a synthetic copy."""

import pytest
import soundfile
from numpy.testing import assert_array_equal

from pcenlib.datasets.nighthawk_calls import NighthawkCalls


def test_nighthawk_calls_have_what_comes_before(wholes):
    dataset = NighthawkCalls(wholes[0] / "nighthawk")
    clip = dataset.clips[1]
    assert clip[:3] == ("audio/coni_01.wav", 0.0, "audio/coni_01.wav")
    found = dataset.clip(clip)
    x, _ = soundfile.read(dataset.folder / clip.name)
    assert_array_equal(found.source, x[: round(1.35 * 24000)])
    assert found.lead == pytest.approx(0.65)
