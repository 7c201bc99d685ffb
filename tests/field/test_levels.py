"""How loud the background is: known sounds, and noise that changes."""

import math

import numpy as np
import soundfile
from numpy.testing import assert_allclose

from pcenlib import RIGHT_WHALE
from pcenlib.field.levels import band_level
from pcenlib.field.search import Search
from pcenlib.field.survey import survey

WHALES = Search(setting=RIGHT_WHALE, threshold=3.0)


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
