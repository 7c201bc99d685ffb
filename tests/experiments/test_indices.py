"""Acoustic indices: cases by hand, properties of any spectrogram, and scikit-maad as a peer."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose

from pcenlib import NIGHTHAWK, pcen, spectrogram
from pcenlib.core.novelty import background
from pcenlib.experiments.indices import (
    INDICES,
    acoustic_complexity,
    concentration,
    false_color,
    indices,
    indices_by_minute,
    mean_pcen,
    peak_pcen,
    settling_frames,
)
from tests.sounds import white, write

ANY_E = arrays(np.float64, (3, 40), elements=st.floats(1e-6, 1e6))
COARSE = NIGHTHAWK.with_bands(40, 42)


def speckle(bands=3, frames=2000, seed=0):
    return np.random.default_rng(seed).rayleigh(size=(bands, frames))


# By hand


def test_a_constant_sound_is_neither_complex_nor_concentrated_nor_new():
    assert_allclose(indices(np.full((2, 50), 0.3), s=0.09), 0, atol=1e-12)


def test_silence_has_no_index_but_zero():
    assert_allclose(indices(np.zeros((2, 50)), s=0.09), 0, atol=1e-12)


def test_one_pulse_by_hand():
    E = np.array([[1.0, 1.0, 3.0, 1.0, 1.0]])
    assert_allclose(acoustic_complexity(E), 4 / 7)
    p = np.array([1, 1, 9, 1, 1]) / 13
    assert_allclose(concentration(E), 1 + np.sum(p * np.log(p)) / np.log(5))
    # M is 1, 1, 1, 2, 1.5 at s = 1/2, and 1.25 next.
    P = pcen(E, s=0.5)
    assert_allclose(mean_pcen(P), (math.log(2) + math.log(0.75) + math.log(5 / 6)) / 5)
    assert_allclose(mean_pcen(P), math.log(1.25) / 5)
    assert_allclose(peak_pcen(P), math.log(2))


def test_one_frame_has_all_the_energy():
    E = np.zeros((1, 10))
    E[0, 4] = 2.0
    assert_allclose(concentration(E), 1)
    assert_allclose(acoustic_complexity(E), 2)


def test_entropy_needs_two_frames():
    with pytest.raises(ValueError, match="at least two frames"):
        concentration([[1.0]])


# Properties


@given(ANY_E, st.floats(1e-3, 1e3))
def test_gain_cancels(E, gain):
    assert_allclose(indices(gain * E, s=0.09), indices(E, s=0.09), rtol=1e-9, atol=1e-9)


@given(ANY_E, st.floats(0.01, 0.5))
def test_mean_pcen_is_bounded_by_the_change_of_the_background(E, s):
    M = background(E, s=s)
    after = s * E[:, -1] + (1 - s) * M[:, -1]
    bound = np.log(after / M[:, 0]) / (2 * s)
    assert np.all(E.shape[1] * mean_pcen(pcen(E, s=s)) <= bound + 1e-9)


@given(ANY_E)
def test_ranges(E):
    complexity, concentrated, _, peak = indices(E, s=0.09)
    assert np.all((complexity >= 0) & (complexity <= 2))
    assert np.all((concentrated >= 0) & (concentrated <= 1))
    assert np.all(peak >= -math.log(2))


def test_noise_lowers_mean_pcen_and_a_sound_of_it_lowers_it_more():
    E = speckle(frames=20_000)
    louder = E.copy()
    for first in range(500, 20_000, 500):
        louder[:, first : first + 100] *= 10
    _, _, quiet, _ = indices(E, s=0.09)
    _, _, pulsed, _ = indices(louder, s=0.09)
    assert np.all(quiet < 0)
    assert np.all(pulsed < quiet)


# Peers


def test_scikit_maad_agrees():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from maad import features
    E = speckle()
    _, per_band, _ = features.acoustic_complexity_index(E)
    assert_allclose(acoustic_complexity(E), per_band)
    _, entropy = features.frequency_entropy(E**2)
    assert_allclose(concentration(E), 1 - entropy, atol=1e-12)


# What came before


def test_frames_of_the_past_only_settle_the_background():
    E = speckle(frames=1000)
    past = settling_frames(0.09)
    found = indices(E, s=0.09, past=past)
    P = pcen(E, s=0.09)[:, past:]
    assert_allclose(found[0], acoustic_complexity(E[:, past:]))
    assert_allclose(found[2], mean_pcen(P), atol=1e-6)
    assert_allclose(found[3], peak_pcen(P), rtol=1e-4)


def test_without_a_past_the_mirror_image_comes_before():
    E = speckle(frames=1000)
    past = settling_frames(0.09)
    mirrored = np.concatenate([E[:, past:0:-1], E], axis=1)
    assert_allclose(indices(E, s=0.09), indices(mirrored, s=0.09, past=past))


@pytest.mark.parametrize("past", [-1, 49, 50])
def test_the_past_must_leave_two_frames(past):
    with pytest.raises(ValueError, match="two frames after the past"):
        indices(np.ones((2, 50)), s=0.09, past=past)


# Minutes


@pytest.fixture
def minutes(monkeypatch):
    """Two minutes and a bit, if a minute were two seconds."""
    monkeypatch.setattr("pcenlib.experiments.indices.MINUTE", 2.0)
    return 0.1 * white(round(4.5 * COARSE.sr), seed=1)


def test_minutes_are_those_of_the_whole_spectrogram(minutes):
    E = spectrogram(minutes, COARSE)
    per = math.ceil(2 / COARSE.hop)
    found = list(indices_by_minute(minutes, COARSE))
    assert len(found) == 2
    assert found[0].shape == (len(INDICES), COARSE.n_bands)
    assert_allclose(found[1], indices(E[:, : math.ceil(4 / COARSE.hop)], s=COARSE.s, past=per), rtol=1e-4)
    (late,) = indices_by_minute(minutes, COARSE, lead=2.0)
    assert_allclose(late, found[1], rtol=1e-9)


def test_a_file_gives_the_same_minutes(minutes, tmp_path):
    path = write(tmp_path / "night.wav", minutes, COARSE.sr, subtype="DOUBLE")
    assert_allclose(list(indices_by_minute(path, COARSE)), list(indices_by_minute(minutes, COARSE)))


def test_a_recording_of_whole_minutes_has_them_all(minutes):
    exact = minutes[: 4 * COARSE.sr]
    assert [len(list(indices_by_minute(exact[: exact.size - cut], COARSE))) for cut in (0, 1)] == [2, 1]
    assert len(list(indices_by_minute(exact, COARSE, lead=0.5))) == 1


def test_less_than_a_minute_has_no_minute():
    assert list(indices_by_minute(white(COARSE.sr), COARSE)) == []


# Colors


def test_colors_are_scaled_between_quantiles_of_what_is_above_the_median_of_a_band():
    values = np.array([[0.0, 10.0], [1.0, 11.0], [2.0, 12.0], [3.0, 13.0], [4.0, 14.0]])
    picture = false_color([values, -values, np.zeros((5, 2))], quantiles=(0.0, 1.0))
    assert picture.shape == (2, 5, 3)
    ramp = np.tile(np.linspace(0, 1, 5), (2, 1))
    assert_allclose(picture[..., 0], ramp)
    assert_allclose(picture[..., 1], 1 - ramp)
    assert_allclose(picture[..., 2], 0)


def test_what_is_beyond_the_quantiles_is_cut_off():
    values = np.arange(101.0)[:, np.newaxis]
    red = false_color([values] * 3, quantiles=(0.1, 0.9))[0, :, 0]
    assert_allclose(red[[0, 10, 50, 90, 100]], [0, 0, 0.5, 1, 1])


def test_colors_are_three():
    with pytest.raises(ValueError, match="must be three"):
        false_color([np.ones((2, 2))], quantiles=(0, 1))
