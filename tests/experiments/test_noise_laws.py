"""Tails of noise: against simulated noise, limits, and exact cases."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from pcenlib import NIGHTHAWK, RIGHT_WHALE, background, max_pooled_flux, max_pooled_pcen, spectrogram
from pcenlib.core.evaluation import exceedance
from pcenlib.experiments.noise_laws import flux_exceedance, frame_coherence, pcen_exceedance, pooled_exceedance

FLUX = np.linspace(-1, 4, 6)


@pytest.fixture(scope="module")
def noise_magnitudes():
    return spectrogram(np.random.default_rng(0).standard_normal(3600 * RIGHT_WHALE.sr), RIGHT_WHALE)


def test_coherence_is_that_of_the_frames():
    assert frame_coherence(RIGHT_WHALE) == pytest.approx(1 / 6, abs=1e-4)
    w = np.hanning(257)[:-1]
    assert frame_coherence(NIGHTHAWK) == pytest.approx(np.sum(w[32:] * w[:-32]) / np.sum(w**2))


def test_independent_rayleigh_magnitudes():
    assert_allclose(flux_exceedance(FLUX), 1 / (1 + np.exp(2 * FLUX)))
    assert flux_exceedance(0, coherence=0.7) == pytest.approx(0.5)
    assert_allclose(flux_exceedance([-300, 300.0]), [1, 0], atol=1e-12)


def test_single_gaussian_numbers_have_a_cauchy_ratio():
    z, rho = np.exp(FLUX), 0.4
    ratio = scipy.stats.cauchy(rho, np.sqrt(1 - rho**2))
    assert_allclose(flux_exceedance(FLUX, coherence=rho, degrees=1), ratio.sf(z) + ratio.cdf(-z), rtol=1e-9)


@given(st.floats(0, 0.95), st.sampled_from([1, 2]))
def test_a_rise_is_as_likely_as_a_fall(coherence, degrees):
    up, down = (flux_exceedance(sign * FLUX, coherence=coherence, degrees=degrees) for sign in (1, -1))
    assert_allclose(up + down, 1, atol=1e-9)


def test_flux_of_noise_obeys_the_law(noise_magnitudes):
    rho = frame_coherence(RIGHT_WHALE)
    for bands, degrees in ((noise_magnitudes[1:126], 2), (noise_magnitudes[127:], 1)):
        measured = exceedance(np.diff(np.log(bands)), FLUX)
        tolerance = 5 / np.sqrt(bands.size)
        assert_allclose(measured, flux_exceedance(FLUX, coherence=rho, degrees=degrees), atol=tolerance)


@pytest.mark.parametrize("s", [0.33, 0.0606, 0.0144])
@pytest.mark.parametrize("degrees", [1, 2])
def test_pcen_of_noise_obeys_the_law(noise_magnitudes, s, degrees):
    bands = noise_magnitudes[1:126] if degrees == 2 else noise_magnitudes[127:]
    values = np.log1p(bands / background(bands, s=s))[:, 500:]
    y = np.quantile(values, [0.1, 0.5, 0.9, 0.99])
    assert_allclose(
        pcen_exceedance(y, s=s, degrees=degrees), [0.9, 0.5, 0.1, 0.01], rtol=0.15 if degrees == 1 else 0.08
    )


def test_a_background_that_never_changes_is_the_mean():
    y = np.linspace(0.3, 1.5, 5)
    assert_allclose(pcen_exceedance(y, s=1e-3), np.exp(-np.pi * np.expm1(y) ** 2 / 4), rtol=0.06)


def test_pcen_at_the_largest_s_by_brute_force():
    rng = np.random.default_rng(0)
    E = rng.rayleigh(size=(400, 4000))
    ratio = (E / background(E, s=0.5))[:, 50:]
    y = np.log1p([0.5, 1.0, 2.0, 4.0, 8.0])
    assert_allclose(pcen_exceedance(y, s=0.5), exceedance(np.log1p(ratio), y), rtol=0.05, atol=1e-4)


def test_maxima_over_bands(noise_magnitudes):
    bands = noise_magnitudes[:126]
    for values, share in (
        (max_pooled_flux(bands), lambda y: flux_exceedance(y, coherence=frame_coherence(RIGHT_WHALE))),
        (max_pooled_pcen(bands, s=0.33), lambda y: pcen_exceedance(y, s=0.33)),
    ):
        y = np.quantile(values[100:], [0.5, 0.9, 0.99])
        # Neighbouring bands are not independent: their maximum is a little lower than that of independent ones.
        assert_allclose(pooled_exceedance(share(y), 126), [0.5, 0.1, 0.01], rtol=0.35)


@given(st.floats(0, 1), st.integers(1, 500))
def test_pooling_is_one_minus_none(share, n_bands):
    assert float(pooled_exceedance(share, n_bands)) == pytest.approx(1 - (1 - share) ** n_bands, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("degrees", lambda: flux_exceedance(1, degrees=3)),
        ("coherence", lambda: flux_exceedance(1, coherence=1.5)),
        ("s", lambda: pcen_exceedance(1, s=0)),
        ("s", lambda: pcen_exceedance(1, s=0.9)),
        ("degrees", lambda: pcen_exceedance(1, s=0.1, degrees=0)),
        ("n_bands", lambda: pooled_exceedance(0.1, 0)),
    ],
)
def test_bad_arguments_are_refused(name, call):
    with pytest.raises(ValueError, match=f"^{name} must"):
        call()
