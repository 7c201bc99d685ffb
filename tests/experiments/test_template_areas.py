"""Areas and curves from counts by block are those of the clips themselves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pcenlib.experiments.intervals import area_under_curve, cluster_draws
from pcenlib.experiments.template_areas import block_weights, mean_area, mean_recall

N_BLOCKS = 6
RNG = np.random.default_rng(3)
BLOCKS = np.sort(RNG.integers(N_BLOCKS, size=60))
IS_CALL = RNG.random(60) < 0.5
SCORES = np.round(RNG.normal(size=(3, 60)) + IS_CALL, 1)  # with ties
LEFT_OUT = [[0, 1], [], [5]]
DRAWS = cluster_draws(range(N_BLOCKS), np.random.default_rng(4), 7)
WEIGHTS = [block_weights(DRAWS, N_BLOCKS, out) for out in LEFT_OUT]


def resampled(draw, out):
    """Clips of a resample, block by block, each as often as it is drawn."""
    return np.concatenate([np.flatnonzero(block == BLOCKS) for block in draw if block not in out])


@pytest.mark.parametrize("among", [None, RNG.random(60) < 0.7])
def test_areas_are_those_of_the_clips_in_each_resample(among):
    found = mean_area(SCORES, IS_CALL, BLOCKS, WEIGHTS, among=among)
    chosen = IS_CALL if among is None else IS_CALL & among
    for value, draw in zip(found, DRAWS, strict=True):
        areas = []
        for mine, out in zip(SCORES, LEFT_OUT, strict=True):
            clips = resampled(draw, out)
            areas.append(area_under_curve(mine[clips][chosen[clips]], mine[clips][~IS_CALL[clips]]))
        assert_allclose(value, np.mean(areas))


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.25, 0.5, 0.9])
def test_recall_is_above_the_lowest_threshold_that_few_enough_noise_clips_exceed(rate):
    found = mean_recall(SCORES, IS_CALL, BLOCKS, WEIGHTS, rates=[rate])[:, 0]
    for value, draw in zip(found, DRAWS, strict=True):
        recalls = []
        for mine, out in zip(SCORES, LEFT_OUT, strict=True):
            clips = resampled(draw, out)
            calls, noise = mine[clips][IS_CALL[clips]], mine[clips][~IS_CALL[clips]]
            allowed = [level for level in np.unique(noise) if (noise > level).mean() <= rate]
            recalls.append((calls > min(allowed)).mean())
        assert_allclose(value, np.mean(recalls))


def test_a_score_that_knows_all_finds_all():
    perfect = np.tile(np.where(IS_CALL, 1.0, 0.0), (3, 1))
    assert_allclose(mean_area(perfect, IS_CALL, BLOCKS, WEIGHTS), 1)
    assert_allclose(mean_recall(perfect, IS_CALL, BLOCKS, WEIGHTS, rates=[0, 0.5]), 1)
    assert_allclose(mean_area(0 * perfect, IS_CALL, BLOCKS, WEIGHTS), 0.5)


def test_all_of_the_noise_may_not_be_allowed():
    with pytest.raises(ValueError, match="below 1"):
        mean_recall(SCORES, IS_CALL, BLOCKS, WEIGHTS, rates=[1.0])
