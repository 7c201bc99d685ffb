"""Template matching: by hand, against numpy and scipy, and what scores do not depend on."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.signal import correlate

from pcenlib import NIGHTHAWK, RIGHT_WHALE, pcen
from pcenlib.experiments.templates import (
    REPRESENTATIONS,
    frames_between,
    loudest_stretch,
    match,
    over_median,
    representations,
)

RISE = np.array([[0.0, 0, 3], [3, 0, 0]])  # rows are bands, the upper one first


def pictures(seed=0, shape=(5, 40)):
    return np.random.default_rng(seed).lognormal(size=shape)


@pytest.mark.parametrize(
    ("stretch", "score"),
    [
        (RISE, 1),
        (2 * RISE + 5, 1),
        (-RISE, -1),
        (RISE[::-1], -0.5),
        ([[0, 3, 0], [0, 3, 0]], -0.5),  # a bang
        ([[0, 0, 0], [3, 3, 3]], 0),  # a spectrum without an event
        (RISE + np.array([[0], [6]]), 12 / np.sqrt(12 * 66)),  # the same call over that spectrum
        ([[4, 4, 4], [4, 4, 4]], 0),
    ],
)
def test_scores_by_hand(stretch, score):
    assert_allclose(match(RISE, stretch), [score], atol=1e-15)


def test_each_score_is_a_correlation_coefficient():
    image, template = np.log(pictures()), np.log(pictures(1, (5, 7)))
    expected = [np.corrcoef(template.ravel(), image[:, k : k + 7].ravel())[0, 1] for k in range(34)]
    assert_allclose(match(template, image), expected)


def test_the_numerator_is_that_of_scipy():
    image, template = pictures(), pictures(1, (5, 7))
    centered = template - template.mean()
    norms = [np.linalg.norm(image[:, k : k + 7] - image[:, k : k + 7].mean()) for k in range(34)]
    numerator = match(template, image) * np.linalg.norm(centered) * norms
    assert_allclose(numerator, correlate(image, centered, mode="valid")[0])


def test_a_template_scores_one_in_itself_whatever_the_gain_and_the_offset():
    image = pictures()
    assert_allclose(match(0.3 * image[:, 11:18] - 2, image)[11], 1)
    assert_allclose(match(image[:, 11:18], 7 * image + 3), match(image[:, 11:18], image))
    assert np.abs(match(image[:, 11:18], image)).max() <= 1 + 1e-12


def test_several_templates_are_matched_one_by_one():
    image, templates = pictures(), pictures(1, (2, 3, 5, 7))
    scores = match(templates, image)
    assert scores.shape == (2, 3, 34)
    assert_allclose(scores[1, 2], match(templates[1, 2], image))


def test_what_is_constant_but_for_rounding_has_no_shape():
    image = np.full((5, 40), np.log(0.1))
    image[2, 3] *= 1 + 1e-15
    assert_array_equal(match(pictures(1, (5, 7)), image), 0)
    assert_array_equal(match(image[:, :7], pictures()), 0)


@pytest.mark.parametrize("shapes", [((5, 7), (4, 40)), ((5, 41), (5, 40)), ((7,), (5, 40)), ((5, 7), (1, 5, 40))])
def test_pictures_must_fit(shapes):
    with pytest.raises(ValueError, match="must have the same bands"):
        match(*(np.ones(shape) for shape in shapes))


def test_the_gain_of_a_recording_changes_no_representations_scores():
    E = pictures()
    quiet, loud = (representations(gain * E, s=0.3, slower=0.1, lead=10) for gain in (1, 100))
    for name in REPRESENTATIONS:
        scores = [match(quiet[name][:, 5:12], picture[name]) for picture in (quiet, loud)]
        assert_allclose(*scores, atol=1e-12)


def test_the_spectrum_of_the_background_changes_log_magnitudes_alone():
    E = pictures()
    filtered = E * np.array([[1], [10], [0.1], [3], [100]])
    plain, colored = (representations(each, s=0.3, slower=0.1) for each in (E, filtered))
    changed = [name for name in REPRESENTATIONS if not np.allclose(plain[name], colored[name])]
    assert changed == ["log magnitude"]


def test_representations_are_what_their_names_say():
    E = pictures()
    found = representations(E, s=0.3, slower=0.1, lead=11)
    assert tuple(found) == REPRESENTATIONS
    assert_allclose(found["log magnitude"], np.log(E[:, 11:]))
    assert_allclose(found["PCEN"], pcen(E, s=0.3)[:, 11:])
    assert_allclose(found["slower PCEN"], pcen(E, s=0.1)[:, 11:])
    assert_allclose(np.expm1(found["PCEN"]), np.exp(found["log(E/M)"]))
    assert_allclose(np.median(found["log(E/median)"], axis=1), 0, atol=1e-12)
    assert_allclose(np.expm1(found["log(1 + E/median)"]), over_median(E[:, 11:]))


def test_a_running_median_is_that_of_the_frames_around():
    E = pictures()
    found = over_median(E, n_frames=9)
    assert_allclose(found[:, 20], E[:, 20] / np.median(E[:, 16:25], axis=1))
    assert_allclose(found[:, 0], E[:, 0] / np.median(np.concatenate([E[:, 3::-1], E[:, :5]], axis=1), axis=1))


def test_the_loudest_stretch_is_around_the_loud_frames():
    E = np.ones((3, 20))
    E[1, 8:11] = [2, 4, 2]
    assert loudest_stretch(E, 3) == slice(8, 11)
    with pytest.raises(ValueError, match="at least n_frames = 21"):
        loudest_stretch(E, 21)


@pytest.mark.parametrize("setting", [NIGHTHAWK, RIGHT_WHALE])
def test_frames_between_have_their_centers_there(setting):
    times = setting.times(100)
    begin, end = times[20] - 1e-6, times[30] + 1e-6
    assert frames_between(setting, begin, end) == slice(20, 31)
    assert frames_between(setting, times[5] + 1e-6, times[5] + 2e-6) == slice(6, 7)
    assert frames_between(setting, -1, times[0] + 1e-6) == slice(0, 1)
