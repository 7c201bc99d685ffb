"""ESC-50, on a synthetic copy."""

import re

import pytest
import soundfile
from numpy.testing import assert_allclose

from pcenlib.datasets.esc50 import OUTDOOR, Esc50
from tests import copies
from tests.sounds import write


def test_esc50_outdoors(wholes):
    dataset = Esc50(wholes[0] / "esc50")
    assert len(OUTDOOR) == 20
    assert [dataset.category(name) for name in dataset.recordings] == ["rain", "pouring_water", "hand_saw"]


def test_esc50_padding(copy):
    home, files = copy("esc50")
    x, sr = soundfile.read(home / files[1])
    x[100_000:] = 0
    (home / files[1]).unlink()
    write(home / files[1], x, sr)
    assert_allclose(Esc50(home).recording(files[1]).source, x[:100_000], atol=1e-4)
    padded = Esc50(home, padded=True).recording(files[1])
    assert padded.source == home / files[1]
    assert padded.sr is None
    assert "padded=True" in repr(Esc50(home, padded=True))


def test_esc50_silence_is_an_error(copy):
    home, files = copy("esc50")
    copies.rewritten(home / files[1], lambda x, sr: (0 * x, sr))
    with pytest.raises(ValueError, match=re.escape(files[1])):
        Esc50(home).recording(files[1])
