"""Detectors of one's own: in steps, along rising lines, and after late reverberation is taken away."""

import functools
import operator
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib import RIGHT_WHALE, max_pooled_pcen, pcen, spectrogram
from pcenlib.experiments.detectors import chain, follow_sweeps, suppress_late_reverberation
from pcenlib.simulation.callers import UpCall, up_call
from pcenlib.simulation.noises import noise
from tests.strategies import magnitudes

LINES = {
    "starts": [90.0, 110.0],
    "ends": [160.0, 220.0],
    "durations": [0.6, 1.0],
    "curvatures": [1.0, 2.0],
}


def test_a_chain_is_one_step_after_the_other():
    E = np.random.default_rng(0).uniform(1, 2, (6, 20))
    steps = [operator.itemgetter(slice(1, 4)), functools.partial(max_pooled_pcen, s=0.2)]
    assert_array_equal(chain(E, steps=steps), max_pooled_pcen(E[1:4], s=0.2))
    sent = pickle.loads(pickle.dumps(functools.partial(chain, steps=steps)))  # noqa: S301  # as another process gets it
    assert_array_equal(sent(E), chain(E, steps=steps))
    assert_array_equal(chain(E, steps=[]), E)


# Rising lines


def painted(start, end, duration, curvature, *, at=20, n_frames=60, value=1.0):
    """Zeros, with a line painted into them."""
    P = np.zeros((RIGHT_WHALE.n_bands, n_frames))
    progress = np.linspace(0, 1, 12)
    bins = np.rint((start + (end - start) * progress**curvature) / RIGHT_WHALE.bin_width).astype(int) - 1
    P[bins, at + np.rint(progress * duration / RIGHT_WHALE.hop).astype(int)] = value
    return P


@pytest.mark.parametrize("start", LINES["starts"])
@pytest.mark.parametrize("end", LINES["ends"])
@pytest.mark.parametrize("duration", LINES["durations"])
@pytest.mark.parametrize("curvature", LINES["curvatures"])
def test_a_line_is_found_where_it_begins(start, end, duration, curvature):
    values = follow_sweeps(painted(start, end, duration, curvature), setting=RIGHT_WHALE, **LINES)
    assert values.shape == (60,)
    assert values.argmax() == 20
    assert values.max() == pytest.approx(1)
    assert np.sort(values)[-2] < 0.9


def test_a_line_that_falls_or_is_another_one_is_not():
    for other in ((220, 90, 1.0, 1.0), (500, 700, 1.0, 1.0)):
        assert follow_sweeps(painted(*other), setting=RIGHT_WHALE, **LINES).max() < 0.4


@given(st.floats(-5, 5), st.floats(0.1, 10))
def test_following_is_a_mean(offset, gain):
    P = np.random.default_rng(0).standard_normal((RIGHT_WHALE.n_bands, 40))
    values = follow_sweeps(P, setting=RIGHT_WHALE, **LINES)
    assert_allclose(follow_sweeps(offset + gain * P, setting=RIGHT_WHALE, **LINES), offset + gain * values, atol=1e-9)
    assert values.max() < P.max()


def test_lines_end_with_the_sound():
    P = np.random.default_rng(0).uniform(1, 2, (RIGHT_WHALE.n_bands, 40))
    values = follow_sweeps(P, setting=RIGHT_WHALE, **LINES)
    shortest = round(min(LINES["durations"]) / RIGHT_WHALE.hop)
    assert (values[: 40 - shortest] > P.min()).all()
    assert_array_equal(values[40 - shortest :], P.min())
    assert_array_equal(follow_sweeps(P[:, :5], setting=RIGHT_WHALE, **LINES), P[:, :5].min())


def test_a_call_below_what_max_pooling_sees_is_followed():
    # The mean along the line stands out where no single place does.
    outstanding = {"pooled": [], "followed": []}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x = noise(20 * RIGHT_WHALE.sr, RIGHT_WHALE.sr, rng)
        call = 0.35 * up_call(UpCall(start=110, end=220, duration=1.0, curvature=1.0), RIGHT_WHALE.sr)
        x[10 * RIGHT_WHALE.sr :][: call.size] += call
        P = pcen(spectrogram(x, RIGHT_WHALE), s=0.06)[:, 60:]
        at = 10 / RIGHT_WHALE.hop - 60
        for name, values in (
            ("pooled", P.max(axis=0)),
            ("followed", follow_sweeps(P, setting=RIGHT_WHALE, **LINES)),
        ):
            inside = np.abs(np.arange(values.size) - at) < 16
            outstanding[name].append(values[inside].max() > values[~inside].max())
    assert np.mean(outstanding["followed"]) > 0.8 > 0.5 > np.mean(outstanding["pooled"])


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("P", {"P": np.zeros(10)}),
        ("P", {"P": np.zeros((5, 10))}),
        ("starts and ends", {"starts": [300.0]}),
        ("starts and ends", {"ends": [2000.0]}),
        ("durations", {"durations": [0.0]}),
        ("n_steps", {"n_steps": 0}),
    ],
)
def test_bad_lines_are_refused(name, changes):
    arguments = {"P": np.zeros((RIGHT_WHALE.n_bands, 40)), "setting": RIGHT_WHALE, **LINES, **changes}
    with pytest.raises(ValueError, match=f"^{name} must"):
        follow_sweeps(**arguments)


# Late reverberation

HOP = 0.064


@given(magnitudes(max_leading=1), st.floats(0.1, 5), st.integers(1, 4), st.floats(0.05, 1))
def test_at_most_all_and_at_least_a_tenth_remains(E, decay_time, delay, s):
    kept = suppress_late_reverberation(E, decay_time=decay_time, hop=HOP, delay=delay, s=s)
    assert kept.shape == E.shape
    assert (kept <= E * (1 + 1e-9)).all()
    assert (kept >= 0.1 * E * (1 - 1e-9)).all()
    assert_array_equal(kept[..., :delay], E[..., :delay])


def test_a_decay_of_the_expected_speed_is_taken_away_and_its_onset_is_kept():
    decay_time = 1.5
    time = HOP * np.arange(40)
    E = np.where(time < 10 * HOP, 1e-4, 10 ** (-3 * (time - 10 * HOP) / decay_time))[np.newaxis]
    kept = suppress_late_reverberation(E, decay_time=decay_time, hop=HOP, delay=2, s=1.0)
    assert_allclose(kept[0, 10:12], E[0, 10:12], rtol=1e-3)
    assert_allclose(kept[0, 12:], 0.1 * E[0, 12:], rtol=1e-6)
    # One that is slower is not.
    slower = np.where(time < 10 * HOP, 1e-4, 10 ** (-1 * (time - 10 * HOP) / decay_time))[np.newaxis]
    kept = suppress_late_reverberation(slower, decay_time=decay_time, hop=HOP, delay=2, s=1.0)
    assert (kept[0, 12:] > 0.5 * slower[0, 12:]).all()


def test_power_of_a_steady_sound_falls_by_what_is_expected_of_its_reverberation():
    E = np.full((2, 200), 3.0)
    kept = suppress_late_reverberation(E, decay_time=1.5, hop=HOP, delay=2)
    expected = 3 * np.sqrt(1 - 10 ** (-6 * 2 * HOP / 1.5))
    assert_allclose(kept[:, -1], expected, rtol=1e-6)


@pytest.mark.parametrize(("name", "value"), [("decay_time", 0), ("hop", 0), ("delay", 0), ("s", 0), ("s", 1.1)])
def test_bad_reverberation_is_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name} must"):
        suppress_late_reverberation(np.ones((2, 5)), **{"decay_time": 1.0, "hop": HOP, name: value})
