"""The network and its training, against numpy's PCEN, finite differences and simulated calls."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib.core.novelty import pcen
from pcenlib.experiments.intervals import area_under_curve
from pcenlib.experiments.learning import PCEN_START, Training, differentiable_pcen, scores, train
from pcenlib.experiments.networks import INPUTS, LEARNED, LOG, SETTING, magnitudes
from pcenlib.simulation.callers import up_call, up_calls

N_FRAMES = 30
SMALL = Training(channels=(4, 8), strides=(2, 2), epochs=12, batch=20)


def simulated(n, *, seed):
    """Magnitudes of clips of two seconds; every other one has an up-call, at half a second to a second."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 2 * SETTING.sr))
    for clip, each in zip(x[::2], up_calls(n, rng), strict=False):
        call = up_call(each, SETTING.sr)[: SETTING.sr]
        begin = rng.integers(clip.size - call.size)
        clip[begin : begin + call.size] += 1.5 * call
    return magnitudes(x), np.arange(n) % 2 == 0


@pytest.mark.parametrize(
    ("channels", "strides", "n_weights", "multiplications"),
    [
        ((2,), (1,), 9 * 2 + 2 + 2 + 1, 9 * 2 * 4 * 5 + 2),
        ((2, 3), (1, 2), 9 * 2 + 2 + 9 * 2 * 3 + 3 + 3 + 1, 9 * 2 * 4 * 5 + 9 * 2 * 3 * 2 * 3 + 3),
    ],
)
def test_the_cost_of_a_network_by_hand(channels, strides, n_weights, multiplications):
    training = Training(channels=channels, strides=strides)
    assert training.n_weights == n_weights
    assert training.multiplications(4, 5) == multiplications


def test_pcen_that_can_be_learned_is_pcen():
    pytest.importorskip("jax", reason="needs the extra learn")
    E = np.random.default_rng(0).lognormal(size=(3, 5, 61)).astype(np.float32)
    for parameters in ({"s": 0.33, "alpha": 1, "delta": 1, "r": 0.1}, {"s": 0.04, "alpha": 0.7, "delta": 3, "r": 0.5}):
        assert_allclose(differentiable_pcen(E, **parameters), pcen(E, **parameters), rtol=1e-5, atol=1e-5)


def test_its_gradient_is_that_of_finite_differences():
    jax = pytest.importorskip("jax", reason="needs the extra learn")
    rng = np.random.default_rng(1)
    E, weights = rng.lognormal(size=(4, 30)), rng.standard_normal((4, 30))
    at = {"s": 0.2, "alpha": 0.8, "delta": 2.0, "r": 0.3}
    gradient = jax.jit(jax.grad(lambda parameters: (weights * differentiable_pcen(E, **parameters)).sum()))(at)
    for name, value in at.items():
        above, below = (np.sum(weights * pcen(E, **{**at, name: value + step})) for step in (1e-5, -1e-5))
        assert gradient[name] == pytest.approx((above - below) / 2e-5, rel=1e-4)


@pytest.fixture(scope="module")
def trained():
    """Networks on the logarithm and on learned PCEN, trained with calls in noise."""
    pytest.importorskip("jax", reason="needs the extra learn")
    E, calls = simulated(200, seed=0)
    return {
        name: train(
            INPUTS[name](E)[np.newaxis], calls, training=SMALL, seed=1, n_frames=N_FRAMES, learned=name == LEARNED
        )
        for name in (LOG, LEARNED)
    }


@pytest.mark.parametrize("name", [LOG, LEARNED])
def test_a_network_learns_to_tell_calls_from_noise(trained, name):
    E, calls = simulated(200, seed=1)
    found = scores(trained[name], INPUTS[name](E))
    assert area_under_curve(found[calls], found[~calls]) > 0.9


def test_learned_parameters_move_and_stay_in_range(trained):
    learned = trained[LEARNED].pcen
    assert trained[LOG].pcen == {}
    assert learned.keys() == PCEN_START.keys()
    assert all(abs(learned[name] - start) > 1e-3 for name, start in PCEN_START.items())
    assert 0 < learned["s"] < 1
    assert min(learned.values()) > 0


def test_a_network_has_as_many_weights_as_it_says(trained):
    kernels = [array for layer in trained[LOG].weights["layers"] for array in layer]
    assert sum(np.size(array) for array in [*kernels, *trained[LOG].weights["last"]]) == SMALL.n_weights


def test_a_clip_is_scored_by_itself(trained):
    E, _ = simulated(6, seed=2)
    assert_allclose(scores(trained[LEARNED], E)[3:4], scores(trained[LEARNED], E[3:4]), rtol=1e-4, atol=1e-4)


def test_the_seed_decides_all_and_another_decides_otherwise():
    pytest.importorskip("jax", reason="needs the extra learn")
    E, calls = simulated(40, seed=3)
    quick = Training(channels=(2,), strides=(2,), epochs=2, batch=10)
    found = [
        scores(train(np.log(E)[np.newaxis], calls, training=quick, seed=seed, n_frames=N_FRAMES, learned=False), E)
        for seed in (1, 1, 2)
    ]
    assert_array_equal(found[0], found[1])
    assert np.abs(found[0] - found[2]).max() > 1e-3
