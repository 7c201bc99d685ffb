"""Measurements of scenes: the tails of the detection functions, and what their maxima are made of."""

from dataclasses import replace

import numpy as np
import pytest

from pcenlib import NIGHTHAWK, averaged_flux, detection_functions, pcen, spectrogram
from pcenlib.experiments.novelty_measurements import ENDING, SETTLING, NoveltyMeasurements, measure_novelty

SR = NIGHTHAWK.sr


def night(seconds=2.0, seed=0):
    return 1e-3 * np.random.default_rng(seed).standard_normal(round(seconds * SR))


def with_tone(at, frequency=6000.0):
    x = night()
    tone = 0.05 * np.hanning(400) * np.sin(2 * np.pi * frequency * np.arange(400) / SR)  # 18 ms, faded in and out
    x[round(at * SR) :][:400] += tone
    return x


def with_click(at):
    x = night()
    x[round(at * SR)] += 0.5
    return x


def test_quantiles_are_those_of_the_functions():
    x = night()
    first, last = int(np.ceil(SETTLING / NIGHTHAWK.hop)), int(np.ceil(ENDING / NIGHTHAWK.hop))
    for name, values in detection_functions(x, NIGHTHAWK).named().items():
        kept = values[first:-last]
        found = measure_novelty(x, NIGHTHAWK)[name]
        assert found[:4] == pytest.approx(np.quantile(kept, [0.5, 0.99, 0.999, 1]))


@pytest.mark.parametrize("at", [0.1, 1.985])
def test_what_happens_at_either_end_does_not_count(at):
    outside, quiet = (measure_novelty(x, NIGHTHAWK)["max-pooled PCEN"] for x in (with_click(at), night()))
    assert outside.maximum == pytest.approx(quiet.maximum, rel=0.05)


def test_a_tone_is_found_in_time_and_frequency_and_is_narrow():
    found = measure_novelty(with_tone(1.2), NIGHTHAWK)["max-pooled PCEN"]
    assert found.time == pytest.approx(1.2, abs=0.018)
    assert found.frequency == pytest.approx(6000, abs=2 * SR / NIGHTHAWK.win_length)
    assert found.breadth < 0.3


def test_a_click_is_broad():
    measured = measure_novelty(with_click(1.2), NIGHTHAWK)
    assert all(found.time == pytest.approx(1.2, abs=NIGHTHAWK.win_length / SR) for found in measured.values())
    assert measured["max-pooled PCEN"].breadth == 1


def test_breadth_and_frequency_are_those_of_the_whole_spectrogram():
    x = with_tone(1.2)
    E = spectrogram(x, NIGHTHAWK)
    found = measure_novelty(x, NIGHTHAWK)["averaged flux"]
    frame = round((found.time - NIGHTHAWK.times(1)[0]) / NIGHTHAWK.hop)
    assert averaged_flux(E)[frame] == pytest.approx(found.maximum, rel=1e-5)
    ratio = np.expm1(pcen(E, s=NIGHTHAWK.s)[:, frame])
    assert found.breadth == np.mean(ratio > 2)
    assert found.frequency == NIGHTHAWK.frequencies[ratio.argmax()]


def test_gain_changes_nothing():
    x = with_tone(1.2)
    for quiet, loud in zip(
        measure_novelty(x, NIGHTHAWK).values(), measure_novelty(8 * x, NIGHTHAWK).values(), strict=True
    ):
        assert isinstance(quiet, NoveltyMeasurements)
        assert loud == pytest.approx(quiet, rel=1e-5)


def test_a_memory_longer_than_the_scene_is_allowed():
    assert measure_novelty(night(), replace(NIGHTHAWK, s=0.001))["max-pooled PCEN"].maximum > 0


@pytest.mark.parametrize("x", [night(0.5), np.zeros((2, 2 * SR))], ids=["too short", "two channels"])
def test_needs_a_scene(x):
    with pytest.raises(ValueError, match=r"x must have shape \(sample,\)"):
        measure_novelty(x, NIGHTHAWK)
