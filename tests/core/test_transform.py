"""The transform without zeros: every bin of every length, against numpy's transform with them."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pcenlib import NIGHTHAWK, RIGHT_WHALE
from pcenlib.core.transform import plan

# Windows and transforms: no zeros, once to four times the window, no multiple of it, an odd window.
LENGTHS = [(256, 256), (256, 512), (250, 750), (256, 1024), (10, 60), (2, 8), (200, 256), (255, 510), (255, 1020)]


def bins_by_plan(x, setting):
    """Each bin of each frame of x, (bin, frame), as the docstring of the module says it."""
    q, rows, shifts, factors, places, turns, *_ = plan(setting, "float64")
    n = (shifts * setting.hop_length + rows).astype(int)
    frames = np.lib.stride_tricks.sliding_window_view(x, setting.win_length)[:: setting.hop_length].T
    sequences = (factors[..., np.newaxis] * frames[n]).sum(axis=1)
    spectra = np.fft.fft(sequences.reshape(q, -1, frames.shape[1]), axis=1).reshape(sequences.shape)
    Z, Y = spectra[places[:, 0]], spectra[places[:, 1]].conj()
    multiples = (Z + Y) / 2 - 0.5j * turns[:, np.newaxis] * (Z - Y)
    return np.where(places[:, 1:] < 0, Z, multiples), sequences


@pytest.mark.parametrize(("win_length", "n_fft"), LENGTHS)
@pytest.mark.parametrize("hop_length", [1, 7, 128, 300])
def test_bins_are_those_of_the_window_completed_with_zeros(win_length, n_fft, hop_length):
    setting = dataclasses.replace(
        RIGHT_WHALE, win_length=win_length, n_fft=n_fft, hop_length=hop_length, n_bands=n_fft // 2 + 1, fmin=0
    )
    x = np.random.default_rng(0).standard_normal(1000)
    frames = np.lib.stride_tricks.sliding_window_view(x, win_length)[::hop_length]
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(win_length) / win_length)
    expected = np.fft.rfft(window * frames, n_fft).T
    bins, sequences = bins_by_plan(x, setting)
    assert_allclose(np.abs(bins), np.abs(expected), atol=1e-11)
    assert len(sequences) == n_fft // 2
    if n_fft % win_length == 0 and win_length % 2 == 0:  # no number is zero, but for the first sample of the window
        assert (sequences != 0).all(axis=1).sum() >= n_fft // 2 - 1


@pytest.mark.parametrize("n_bands", [128, 20])
def test_bands_are_weighted_sums_of_bins(n_bands):
    setting = dataclasses.replace(NIGHTHAWK, n_bands=n_bands)
    found = plan(setting, "float64")
    filters = np.zeros((n_bands, len(found.turns) + 3))
    ends = np.cumsum(4 * found.quads)
    for band, (first, end, n) in enumerate(zip(found.first, ends, 4 * found.quads, strict=True)):
        filters[band, first : first + n] = found.weights[end - n : end]
    used = setting.filters[:, setting.filters.any(axis=0)]
    assert_allclose(filters[:, : used.shape[1]], used, rtol=1e-6)
    assert not filters[:, used.shape[1] :].any()
    assert found.weights.dtype == (np.float32 if n_bands == 128 else np.float64)


def test_only_the_bins_of_the_bands_are_looked_up():
    assert len(plan(NIGHTHAWK, "float64").turns) == 419
    assert len(plan(RIGHT_WHALE, "float64").turns) == 128
    assert plan(NIGHTHAWK, "float64").q == 4
    assert plan(RIGHT_WHALE, "float64").q == 1


@pytest.mark.parametrize(("dtype", "precision"), [("float64", np.complex128), ("float32", np.complex64)])
def test_precision(dtype, precision):
    found = plan(NIGHTHAWK, dtype)
    assert found.factors.dtype == found.turns.dtype == precision
