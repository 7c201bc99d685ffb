"""Equations 1 to 6: against literal loops, hand-computed values, their invariances, and librosa."""

import functools
import math

import librosa
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib import averaged_flux, background, max_pooled_flux, max_pooled_pcen, pcen, smoothing_coefficient
from pcenlib.core.novelty import log_contrast, over_background
from tests.strategies import GAIN, SMOOTHING, magnitudes, split_magnitudes

FLUXES = [averaged_flux, max_pooled_flux]
DETECTORS = [*FLUXES, functools.partial(max_pooled_pcen, s=0.3)]
OF_BANDS = [log_contrast, *(functools.partial(function, s=0.3) for function in (background, over_background, pcen))]
FUNCTIONS = [*DETECTORS, *OF_BANDS]
PARAMETERS = st.fixed_dictionaries(
    {"eps": st.floats(0, 10), "alpha": st.floats(0, 2), "delta": st.floats(0.01, 100), "r": st.floats(0.01, 2)}
)


def close(actual, desired, rtol=1e-9, atol=1e-10):
    assert_allclose(actual, desired, rtol=rtol, atol=atol)


def equation_3(E, M, *, eps, alpha, delta, r):
    return ((E / (eps + M) ** alpha + delta) ** r - delta**r) / r


# Invariances


@given(magnitudes(), GAIN, SMOOTHING)
def test_detectors_ignore_gain(E, gain, s):
    close(averaged_flux(gain * E), averaged_flux(E))
    close(max_pooled_flux(gain * E), max_pooled_flux(E))
    close(max_pooled_pcen(gain * E, s=s), max_pooled_pcen(E, s=s))


@given(magnitudes(), st.data())
def test_detectors_ignore_a_gain_of_each_band(E, data):
    gains = data.draw(arrays(np.float64, (E.shape[0], 1), elements=GAIN))
    for detector in DETECTORS:
        close(detector(gains * E), detector(E))


@given(magnitudes(), GAIN, st.floats(0.1, 10), st.floats(0, 2))
def test_pcen_without_eps_ignores_gain_at_any_delta_and_r(E, gain, delta, r):
    close(pcen(gain * E, s=0.3, delta=delta, r=r), pcen(E, s=0.3, delta=delta, r=r))


def test_eps_breaks_the_invariance():
    assert np.all(pcen(10 * np.ones((2, 3)), s=0.3, eps=1.0) > pcen(np.ones((2, 3)), s=0.3, eps=1.0))


# Flux


@given(magnitudes(min_bands=2, min_frames=2))
def test_fluxes_are_equations_1_and_2_written_out(E):
    n_bands, n_frames = E.shape
    averaged, largest = [0.0], [0.0]
    for t in range(1, n_frames):
        rises = [math.log(E[f, t]) - math.log(E[f, t - 1]) for f in range(n_bands)]
        averaged.append(sum(max(rise, 0) for rise in rises) / n_bands)
        largest.append(max(rises))
    close(averaged_flux(E), averaged)
    close(max_pooled_flux(E), largest)


def test_contrast_by_hand():
    E = [[1, np.e, np.e**3, np.e], [0, 0, 2, 0]]
    assert_allclose(log_contrast(E), [[0, 1, 2, -2], [0, 0, np.inf, -np.inf]])


@given(magnitudes(max_leading=1))
def test_fluxes_pool_the_contrast(E):
    contrast = log_contrast(E)
    assert_array_equal(averaged_flux(E), np.maximum(contrast, 0).mean(axis=-2))
    assert_array_equal(max_pooled_flux(E), contrast.max(axis=-2))


@given(magnitudes())
def test_contrasts_add_up_to_the_whole_rise(E):
    close(np.exp(log_contrast(E).sum(axis=-1)), E[..., -1] / E[..., 0])


def test_fluxes_by_hand():
    E = np.exp([[0, 1, 0], [0, 3, 1]])
    close(averaged_flux(E), [0, 2, 0])  # the fall is rectified
    close(max_pooled_flux(E), [0, 3, -1])  # the fall is not


@pytest.mark.parametrize("flux", FLUXES)
def test_flux_of_frame_0_is_0(flux):
    E = np.random.default_rng(0).random((4, 3, 5)) * 100
    assert_array_equal(flux(E)[..., 0], np.zeros(4))


@given(st.floats(1e-10, 1e10), st.integers(1, 4), st.integers(1, 9), SMOOTHING)
def test_constant_sound_has_no_flux_and_a_pcen_of_log_2(level, n_bands, n_frames, s):
    E = np.full((n_bands, n_frames), level)
    assert_array_equal(averaged_flux(E), np.zeros(n_frames))
    assert_array_equal(max_pooled_flux(E), np.zeros(n_frames))
    close(max_pooled_pcen(E, s=s), np.full(n_frames, math.log(2)))


# Background


@given(magnitudes(silence=True), SMOOTHING)
def test_background_is_the_explicit_sum_of_equation_6(E, s):
    # The sum runs over an endless past. The first frame has lasted for ever, so that all terms before frame 0 add up
    # to (1 - s)^t E[0].
    for t in range(E.shape[-1]):
        recorded = sum((s * (1 - s) ** tau * E[:, t - tau - 1] for tau in range(t)), np.zeros(len(E)))
        close(background(E, s=s)[:, t], recorded + (1 - s) ** t * E[:, 0])


def test_background_by_hand():
    close(background([[8.0, 0.0, 4.0, 100.0]], s=0.25), [[8, 8, 6, 5.5]])


def test_a_first_frame_that_has_lasted_long_changes_nothing():
    E = np.random.default_rng(0).random((3, 10))
    lasting = np.concatenate([np.repeat(E[:, :1], 50, axis=1), E], axis=1)
    close(background(lasting, s=0.2)[:, 50:], background(E, s=0.2))


@given(magnitudes(min_frames=2), SMOOTHING, st.data())
def test_background_knows_only_the_frames_before(E, s, data):
    t = data.draw(st.integers(1, E.shape[-1] - 1))
    changed = E.copy()
    changed[:, t:] += 1000
    assert_array_equal(background(changed, s=s)[:, : t + 1], background(E, s=s)[:, : t + 1])


@given(magnitudes(), SMOOTHING)
def test_background_stays_between_extremes_of_the_past(E, s):
    M = background(E, s=s)
    quietest, loudest = np.minimum.accumulate(E, axis=-1), np.maximum.accumulate(E, axis=-1)
    assert np.all((quietest * (1 - 1e-12) <= M) & (loudest * (1 + 1e-12) >= M))


@given(magnitudes(silence=True))
def test_background_at_s_1_is_the_frame_before(E):
    assert_array_equal(background(E, s=1.0), np.concatenate([E[:, :1], E[:, :-1]], axis=1))


# Blocks of frames


@given(split_magnitudes(), SMOOTHING, PARAMETERS)
def test_blocks_with_start_equal_the_whole(split, s, parameters):
    E, blocks = split
    Ms, Ps, pooled, start = [], [], [], None
    for begin, end in blocks:
        block = E[..., begin:end]
        Ms.append(background(block, s=s, start=start))
        Ps.append(pcen(block, s=s, start=start, **parameters))
        pooled.append(max_pooled_pcen(block, s=s, start=start))
        start = s * block[..., -1] + (1 - s) * Ms[-1][..., -1]
    close(np.concatenate(Ms, axis=-1), background(E, s=s))
    close(np.concatenate(Ps, axis=-1), pcen(E, s=s, **parameters))
    close(np.concatenate(pooled, axis=-1), max_pooled_pcen(E, s=s))


@given(split_magnitudes())
def test_flux_of_blocks_that_overlap_by_a_frame_equals_the_whole(split):
    E, blocks = split
    for flux in FLUXES:
        parts = [flux(E[..., max(begin - 1, 0) : end])[..., min(begin, 1) :] for begin, end in blocks]
        assert_array_equal(np.concatenate(parts, axis=-1), flux(E))


# PCEN


@given(magnitudes(), SMOOTHING, PARAMETERS)
def test_pcen_is_equation_3_written_out(E, s, parameters):
    # The subtraction in equation 3 as written cancels: hence an error in proportion to what is subtracted.
    scale = 1e-14 * (1 + parameters["delta"] ** parameters["r"]) / parameters["r"]
    close(pcen(E, s=s, **parameters), equation_3(E, background(E, s=s), **parameters), atol=100 * scale)


def test_pcen_by_hand_at_r_one_half():
    # M is 1, then 0.5 * 1 + 0.5 * 1 = 1: the second frame's ratio is 8 / (1 + 1) = 4, with delta = 5.
    values = pcen([[1.0, 8.0]], s=0.5, eps=1.0, delta=5.0, r=0.5)
    close(values, [[2 * (math.sqrt(5.5) - math.sqrt(5)), 2 * (3 - math.sqrt(5))]])


@given(magnitudes(silence=True), SMOOTHING, st.floats(0.1, 10), st.floats(0, 2), st.floats(0, 100))
def test_pcen_at_r_1_is_the_ratio_whatever_delta(E, s, eps, alpha, delta):
    close(pcen(E, s=s, eps=eps, alpha=alpha, delta=delta, r=1.0), E / (eps + background(E, s=s)) ** alpha)


@given(magnitudes(), SMOOTHING, st.floats(0.1, 2))
def test_pcen_at_delta_0_is_a_power_of_the_ratio(E, s, r):
    close(pcen(E, s=s, delta=0.0, r=r), (E / background(E, s=s)) ** r / r)


@given(magnitudes(), SMOOTHING, PARAMETERS, st.integers(3, 12))
def test_pcen_is_continuous_at_r_0(E, s, parameters, exponent):
    # With u = log(E / (eps + M)^alpha + delta) and v = log(delta), equation 3 is the integral of exp(r w) over w from
    # v to u; and |exp(r w) - 1| <= r |w| exp(r |w|).
    r = 10.0**-exponent
    general = {**parameters, "r": r}
    ratio = E / (parameters["eps"] + background(E, s=s)) ** parameters["alpha"]
    u, v = np.log(ratio + parameters["delta"]), math.log(parameters["delta"])
    limit = pcen(E, s=s, **{**parameters, "r": 0.0})
    close(limit, np.log1p(ratio / parameters["delta"]))
    widest = np.maximum(np.abs(u), abs(v))
    bound = r * widest * np.exp(r * widest) * limit
    assert np.all(np.abs(pcen(E, s=s, **general) - limit) <= bound + 1e-12 * limit)


@given(magnitudes(), SMOOTHING, st.integers(1, 5))
def test_error_of_the_limit_is_half_r_times_the_square_of_the_logarithm(E, s, exponent):
    r = 10.0**-exponent
    limit = pcen(E, s=s)
    error = pcen(E, s=s, r=r) - limit
    assert np.all(error >= r / 2 * limit**2 - 1e-13 * (1 + limit))
    assert np.all(error <= r / 2 * limit**2 * np.exp(r * limit) + 1e-13 * (1 + limit))


@given(magnitudes())
def test_pcen_at_s_1_is_the_softplus_of_the_rise_in_logarithm(E):
    rise = np.diff(np.log(E), axis=-1, prepend=np.log(E[:, :1]))
    close(pcen(E, s=1.0), np.logaddexp(0, rise))
    close(max_pooled_pcen(E, s=1.0), np.logaddexp(0, max_pooled_flux(E)))


@given(magnitudes(), SMOOTHING)
def test_over_the_background_is_a_ratio(E, s):
    close(over_background(E, s=s) * background(E, s=s), E)
    close(np.log1p(over_background(E, s=s)), pcen(E, s=s))


@given(magnitudes())
def test_over_the_background_at_s_1_is_the_contrast(E):
    close(np.log(over_background(E, s=1.0)), log_contrast(E))


def test_over_the_background_by_hand():
    assert_array_equal(over_background([[1, 1, 3, 3], [0, 0, 0, 1]], s=0.5), [[1, 1, 3, 1.5], [1, 1, 1, np.inf]])
    assert_array_equal(over_background([[1, 1]], s=0.5, start=[2]), [[0.5, 1 / 1.5]])


@given(magnitudes(silence=True, max_leading=1), SMOOTHING)
def test_max_pooled_pcen_is_the_maximum_of_pcen_over_bands(E, s):
    close(max_pooled_pcen(E, s=s), pcen(E, s=s).max(axis=-2))


def test_ship_noise_peaks_at_log_3_for_small_s():
    # One active frame in two, in the periodic regime: E / M = (2 - s) / (1 - s), which tends to 2.
    E = np.tile([1.0, 0.0], 20000)[np.newaxis]
    for s in (0.33, 1e-3):
        close(max_pooled_pcen(E, s=s)[-2], math.log(1 + (2 - s) / (1 - s)), rtol=1e-6)


# librosa


def librosa_background(E, s, before):
    """librosa's M: the paper's, one frame later, if the frame before the recording had background `before`."""
    return background(np.concatenate([E, E[:, -1:]], axis=-1), s=s, start=before)[:, 1:]


def equation_3_of_pcenlib(E, M, **parameters):
    """Equation 3 for a background of our own: each frame is a recording of one frame that starts at M."""
    return pcen(E.T[..., np.newaxis], s=1.0, start=M.T, **parameters)[..., 0].T


@given(magnitudes(), SMOOTHING, st.floats(1e-3, 10), st.floats(0, 1.5), st.floats(0.1, 10), st.floats(0.01, 1))
def test_librosa_is_r_times_equation_3_with_the_background_one_frame_later(E, s, eps, gain, bias, power):
    # librosa leaves out 1/r, and its M[t] = s E[t] + (1 - s) M[t - 1] is our M[t + 1]. With zi = (1 - s) E[0] it
    # starts from the first frame, as we do.
    theirs = librosa.pcen(E, b=s, gain=gain, bias=bias, power=power, eps=eps, zi=(1 - s) * E[:, :1])
    M = librosa_background(E, s, E[:, 0])
    close(theirs, power * equation_3_of_pcenlib(E, M, eps=eps, alpha=gain, delta=bias, r=power))


@given(magnitudes(), SMOOTHING, st.floats(1e-3, 10))
def test_librosa_starts_from_a_background_of_1(E, s, eps):
    theirs = librosa.pcen(E, b=s, gain=0.98, bias=2, power=0.5, eps=eps)
    M = librosa_background(E, s, np.ones(len(E)))
    close(theirs, 0.5 * equation_3_of_pcenlib(E, M, eps=eps, alpha=0.98, delta=2, r=0.5))


@given(magnitudes(), SMOOTHING, st.floats(1e-3, 10), st.floats(0, 10))
def test_librosa_ignores_its_bias_at_power_0(E, s, eps, bias):
    theirs = librosa.pcen(E, b=s, gain=1, bias=bias, power=0, eps=eps)
    close(theirs, equation_3_of_pcenlib(E, librosa_background(E, s, np.ones(len(E))), eps=eps))


@given(magnitudes(), SMOOTHING)
def test_librosa_is_a_bounded_monotone_map_of_the_paper(E, s):
    # M_librosa[t] = s E[t] + (1 - s) M[t]; bias 0 and power 1 make librosa return E / (eps + M).
    theirs = librosa.pcen(E, b=s, gain=1, bias=0, power=1, eps=1e-14, zi=(1 - s) * E[:, :1])
    ours = E / background(E, s=s)
    close(theirs, 1 / (s + (1 - s) / ours), rtol=1e-7)
    assert np.all(theirs <= 1 / s * (1 + 1e-7))
    in_order = theirs.ravel()[np.argsort(ours, axis=None)]
    assert np.all(np.diff(in_order) >= -1e-7 * in_order[1:])


def test_librosa_ranks_frames_as_the_paper_does():
    E = np.random.default_rng(0).rayleigh(size=(20, 300))
    theirs = librosa.pcen(E, b=0.09, gain=1, bias=0, power=1, eps=1e-14, zi=0.91 * E[:, :1]).max(axis=0)
    assert_array_equal(np.argsort(theirs[1:]), np.argsort(max_pooled_pcen(E, s=0.09)[1:]))


# Silence


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_silence_is_not_novel(dtype):
    E = np.zeros((3, 5), dtype)
    assert_array_equal(averaged_flux(E), np.zeros(5))
    assert_array_equal(max_pooled_flux(E), np.zeros(5))
    assert_array_equal(background(E, s=0.3), E)
    close(max_pooled_pcen(E, s=0.3), np.full(5, math.log(2)), rtol=1e-6)


def test_sound_after_silence_is_infinitely_novel():
    E = np.array([[0.0, 0.0, 2.0, 2.0], [1.0, 1.0, 1.0, 1.0]])
    assert_array_equal(averaged_flux(E), [0, 0, np.inf, 0])
    assert_array_equal(max_pooled_flux(E), [0, 0, np.inf, 0])
    close(max_pooled_pcen(E, s=0.5), [math.log(2), math.log(2), np.inf, math.log(3)])
    assert pcen(E, s=0.5, r=0.5)[0, 2] == np.inf


def test_silence_after_sound_falls():
    E = np.array([[1.0, 0.0, 0.0]])
    assert_array_equal(averaged_flux(E), [0, 0, 0])
    assert_array_equal(max_pooled_flux(E), [0, -np.inf, 0])
    close(max_pooled_pcen(E, s=0.5), [math.log(2), 0, 0])
    close(max_pooled_pcen(E, s=1.0), [math.log(2), 0, math.log(2)])


@given(magnitudes(silence=True, max_leading=1), SMOOTHING, PARAMETERS, st.booleans())
def test_nothing_is_nan(E, s, parameters, single):
    E = E.astype(np.float32) if single else E
    results = [averaged_flux(E), max_pooled_flux(E), background(E, s=s), max_pooled_pcen(E, s=s)]
    results += [pcen(E, s=s, **parameters), pcen(E, s=s, **{**parameters, "eps": 0.0}), pcen(E, s=s)]
    assert not any(np.isnan(result).any() for result in results)


# Shapes and types


@given(magnitudes(silence=True, max_leading=2))
def test_shapes(E):
    for detector in DETECTORS:
        assert detector(E).shape == (*E.shape[:-2], E.shape[-1])
    for function in OF_BANDS:
        assert function(E).shape == E.shape


@given(magnitudes(silence=True, max_leading=2))
def test_leading_axes_equal_a_loop(E):
    for function in FUNCTIONS:
        together = function(E)
        for index in np.ndindex(E.shape[:-2]):
            assert_allclose(together[index], function(E[index]), rtol=1e-14)


@given(magnitudes(silence=True))
def test_a_single_frame_is_not_novel(E):
    E = E[:, :1]
    assert_array_equal(averaged_flux(E), [0])
    assert_array_equal(max_pooled_flux(E), [0])
    assert_array_equal(background(E, s=0.3), E)
    close(max_pooled_pcen(E, s=0.3), [math.log(2)])


@given(magnitudes(silence=True))
def test_a_single_band_is_its_own_average_and_maximum(E):
    E = E[:1]
    assert_array_equal(averaged_flux(E), np.maximum(max_pooled_flux(E), 0))
    close(max_pooled_pcen(E, s=0.3), pcen(E, s=0.3)[0])


@given(magnitudes(silence=True), PARAMETERS)
def test_float32_stays_and_is_close_to_float64(E, parameters):
    E32 = E.astype(np.float32)
    for function in [*FUNCTIONS, functools.partial(pcen, s=0.3, **parameters)]:
        single, double = function(E32), function(E32.astype(np.float64))
        assert single.dtype == np.float32
        assert double.dtype == np.float64
        assert_allclose(single, double, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_silence_over_an_eps_whose_power_underflows_is_zero(dtype):
    tiny = float(np.finfo(dtype).smallest_subnormal)
    assert_array_equal(pcen(np.zeros((2, 3), dtype), s=0.3, eps=tiny, alpha=2.0), np.zeros((2, 3), dtype))


@pytest.mark.parametrize("dtype", [np.int16, np.uint8, bool, np.float16])
def test_other_numbers_become_float64(dtype):
    E = np.array([[1, 0, 1, 1], [0, 1, 1, 0]])
    for function in FUNCTIONS:
        result = function(E.astype(dtype))
        assert result.dtype == np.float64
        assert_array_equal(result, function(E.astype(np.float64)))
        assert_array_equal(function(E.tolist()), result)


def test_input_is_left_alone():
    E = np.array([[0.0, 0.0, 1.0], [1.0, 2.0, 0.0]])
    before = E.copy()
    for function in FUNCTIONS:
        function(E)[...] = -1
    assert_array_equal(E, before)


# Time scale


@given(st.floats(1e-3, 1e3), st.floats(1e-4, 1))
def test_smoothing_coefficient_solves_its_quadratic(period, hop):
    s = smoothing_coefficient(period, hop=hop)
    tau = period / (2 * math.pi * hop)
    assert 0 < s < 1
    assert (tau * s) ** 2 + s == pytest.approx(1)


@pytest.mark.parametrize(("period", "hop", "s"), [(0.1, 32 / 22050, 0.0871), (1.0, 0.064, 0.3293)])
def test_smoothing_coefficient_of_the_paper(period, hop, s):
    assert round(smoothing_coefficient(period, hop=hop), 4) == s


@given(st.floats(1e-3, 1e3), st.floats(1.001, 10), st.floats(1e-3, 1))
def test_a_longer_period_is_smoother(period, factor, hop):
    assert smoothing_coefficient(factor * period, hop=hop) < smoothing_coefficient(period, hop=hop)


def test_a_period_far_below_the_hop_keeps_the_last_frame_only():
    assert smoothing_coefficient(1e-12, hop=1.0) == pytest.approx(1)


def librosa_coefficient(time_constant, hop):
    """The b of librosa, from E / M of a single frame after silence: 1 / b."""
    ratio = librosa.pcen(
        np.ones((1, 1)), sr=1, hop_length=hop, time_constant=time_constant,
        gain=1, bias=0, power=1, eps=1e-14, zi=np.zeros((1, 1)),
    )  # fmt: skip
    return 1 / ratio.item()


@given(st.floats(0.01, 100), st.floats(0.01, 1))
def test_librosa_takes_the_period_over_2_pi(period, hop):
    assert smoothing_coefficient(period, hop=hop) == pytest.approx(librosa_coefficient(period / (2 * math.pi), hop))


@pytest.mark.parametrize(("period", "hop", "b"), [(0.1, 32 / 22050, 0.0144), (1.0, 0.064, 0.0620)])
def test_librosa_at_the_period_itself_is_six_times_slower(period, hop, b):
    assert round(librosa_coefficient(period, hop), 4) == b


@given(st.floats(3, 1000))
def test_a_modulation_of_the_period_is_cut_off(frames):
    # The transfer function of equation 4 is s / (1 - (1 - s) e^(-i omega)), up to its delay. At omega = 2 pi / T, the
    # small-angle form of its squared magnitude, s^2 / (s^2 + (1 - s) omega^2), is one half.
    s = smoothing_coefficient(frames, hop=1.0)
    omega = 2 * math.pi / frames
    assert s**2 / (s**2 + (1 - s) * omega**2) == pytest.approx(0.5)


# Bad input

BAD_MAGNITUDES = {
    "negative": [[1.0, -1.0]],
    "nan": [[1.0, np.nan]],
    "infinite": [[1.0, np.inf]],
    "scalar": 1.0,
    "one axis": [1.0, 2.0],
    "no frame": np.ones((2, 0)),
    "no band": np.ones((0, 2)),
    "complex": [[1j, 1.0]],
    "strings": [["1", "2"]],
    "objects": [[None, 1.0]],
}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: getattr(f, "func", f).__name__)
@pytest.mark.parametrize("E", BAD_MAGNITUDES.values(), ids=BAD_MAGNITUDES.keys())
def test_bad_magnitudes_are_refused(function, E):
    with pytest.raises(ValueError, match=r"^E must"):
        function(E)


@pytest.mark.parametrize("function", [background, over_background, pcen, max_pooled_pcen])
@pytest.mark.parametrize("s", [0, -1, 1.001, np.nan, np.inf, "0.5", None, 1j])
def test_bad_s_is_refused(function, s):
    with pytest.raises(ValueError, match=r"^s must .*\]0, 1\]"):
        function([[1.0, 2.0]], s=s)


@pytest.mark.parametrize("name", ["eps", "alpha", "delta", "r"])
@pytest.mark.parametrize("value", [-1, -1e-300, np.nan, np.inf, "1"])
def test_bad_parameters_are_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name} must"):
        pcen([[1.0, 2.0]], s=0.5, **{name: value})


def test_delta_0_at_r_0_is_refused():
    with pytest.raises(ValueError, match=r"^delta must"):
        pcen([[1.0, 2.0]], s=0.5, delta=0, r=0)


@pytest.mark.parametrize("function", [background, over_background, pcen, max_pooled_pcen])
@pytest.mark.parametrize("start", [[1, -1], [1, np.nan], [1, np.inf], [1, 1j], ["1", "2"], [1, 1, 1], 1.0, [[1, 1]]])
def test_bad_start_is_refused(function, start):
    with pytest.raises(ValueError, match=r"^start must"):
        function([[1.0, 2.0], [1.0, 2.0]], s=0.5, start=start)


@pytest.mark.parametrize("name", ["period", "hop"])
@pytest.mark.parametrize("value", [0, -1, np.nan, np.inf, "1"])
def test_bad_times_are_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name} must"):
        smoothing_coefficient(**{"period": 1.0, "hop": 1.0, name: value})


def test_a_novelty_beyond_the_largest_number_is_infinite_without_a_warning():
    E = [[0.0, 1.0]]
    assert pcen(E, s=1.0, eps=1e-286, r=2.0)[0].tolist() == [0, np.inf]
    assert pcen(E, s=1.0, eps=1e-286, delta=0.0, r=2.0)[0].tolist() == [0, np.inf]
