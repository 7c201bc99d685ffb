"""Detectors of one's own: in steps, along rising lines, and after late reverberation is taken away."""

import functools
import operator
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib import RIGHT_WHALE, averaged_flux, max_pooled_flux, max_pooled_pcen, pcen, spectrogram
from pcenlib.core.novelty import log_contrast
from pcenlib.experiments.detectors import (
    band_energy,
    chain,
    follow_sweeps,
    lagged_contrast,
    largest,
    mean_over_bands,
    mean_rise,
    minus_band_median,
    moving_mean,
    over_median,
    superflux_contrast,
    suppress_late_reverberation,
)
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


# Contrasts and poolings

POSITIVE = np.random.default_rng(1).uniform(0.5, 2, (5, 40))
e = np.e


def test_a_lag_looks_that_many_frames_back():
    assert_allclose(lagged_contrast([[1, 1, e, e, e, 1]], lag=2), [[0, 0, 1, 1, 0, -1]], atol=1e-12)
    assert_allclose(lagged_contrast(POSITIVE, lag=1), log_contrast(POSITIVE))
    assert_allclose(lagged_contrast(POSITIVE[:, :3], lag=5), np.log(POSITIVE[:, :3] / POSITIVE[:, :1]))


def test_poolings_of_flux_are_the_papers():
    contrast = lagged_contrast(POSITIVE, lag=1)
    assert_allclose(mean_rise(contrast), averaged_flux(POSITIVE))
    assert_allclose(largest(contrast), max_pooled_flux(POSITIVE))
    assert_allclose(mean_over_bands([[1, -3], [3, 1]]), [2, -1])


def test_superflux_does_not_hear_a_tone_move_to_the_next_band():
    E = np.ones((5, 6))
    E[1, :3] = E[2, 3:] = e**2
    assert largest(log_contrast(E)).max() == pytest.approx(2)
    assert largest(superflux_contrast(E, lag=1)).max() == pytest.approx(0)
    E[4, 5] = e  # a tone that sets in two bands away
    assert_allclose(mean_rise(superflux_contrast(E, lag=2)), [0, 0, 0, 0, 0, 1 / 5], atol=1e-12)


@pytest.mark.parametrize(("lag", "reach"), [(1, 1), (3, 2)])
def test_superflux_is_librosas(lag, reach):
    librosa = pytest.importorskip("librosa")
    theirs = librosa.onset.onset_strength(
        S=np.log(POSITIVE), lag=lag, max_size=2 * reach + 1, center=False, detrend=False
    )
    ours = mean_rise(superflux_contrast(POSITIVE, lag=lag, reach=reach))
    assert_allclose(ours[lag:], theirs[lag:], rtol=1e-5)


def test_a_running_median_by_hand():
    E = np.array([[1, 1, 8, 1, 1, 8, 8, 8, 8]])
    floors = [1, 1, 1, 1, 1, 1, 1, 8, 8]  # of the three frames before each; the first has lasted for ever
    assert_allclose(over_median(E, n_frames=3), np.log(E / floors))


@pytest.mark.parametrize("n_frames", [1, 2, 5, 8, 60])
def test_a_running_median_is_that_of_the_past(n_frames):
    past = np.concatenate([np.repeat(POSITIVE[:, :1], n_frames, axis=1), POSITIVE], axis=1)
    floors = [np.sort(past[:, t : t + n_frames], axis=1)[:, n_frames // 2] for t in range(POSITIVE.shape[1])]
    assert_allclose(over_median(POSITIVE, n_frames=n_frames), np.log(POSITIVE / np.transpose(floors)))


def test_one_band_has_the_mean_power_of_all():
    assert_allclose(band_energy([[3.0, 1.0], [4.0, 1.0]]), [[12.5**0.5, 1.0]])


def test_without_its_median_over_bands_a_bang_leaves_nothing_and_a_tone_all():
    contrast = np.zeros((5, 3))
    contrast[:, 1], contrast[3, 2] = 2.0, 2.0
    assert_array_equal(largest(minus_band_median(contrast)), [0, 0, 2])


def test_a_moving_mean_is_of_the_last_frames():
    assert_allclose(moving_mean([0, 0, 6, 0, 0, 0], n_frames=3), [0, 0, 2, 2, 2, 0], atol=1e-12)
    assert_allclose(moving_mean([4, 0, 2, 2], n_frames=2), [4, 2, 1, 2])


def test_with_s_of_one_pcen_is_flux():
    assert_allclose(max_pooled_pcen(POSITIVE, s=1), np.log1p(np.exp(max_pooled_flux(POSITIVE))))


CONTRASTS = [
    functools.partial(lagged_contrast, lag=3),
    functools.partial(superflux_contrast, lag=2),
    functools.partial(over_median, n_frames=4),
    functools.partial(moving_mean, n_frames=4),
]


@pytest.mark.parametrize("contrast", CONTRASTS, ids=lambda each: each.func.__name__)
def test_a_floor_does_not_know_the_future(contrast):
    changed = POSITIVE.copy()
    changed[:, 25:] *= 7
    assert_array_equal(contrast(changed)[:, :25], contrast(POSITIVE)[:, :25])
    assert not np.allclose(contrast(changed)[:, 25:], contrast(POSITIVE)[:, 25:])


@pytest.mark.parametrize("contrast", CONTRASTS[:3], ids=lambda each: each.func.__name__)
def test_a_gain_changes_no_contrast_and_silence_is_refused(contrast):
    assert_allclose(contrast(100 * POSITIVE), contrast(POSITIVE), atol=1e-12)
    with pytest.raises(ValueError, match="E must be positive"):
        contrast(np.zeros((3, 4)))


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
