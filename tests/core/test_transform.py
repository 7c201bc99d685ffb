"""The transform without zeros: every bin of every length, against numpy's transform with them."""

import dataclasses
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pcenlib import NIGHTHAWK, RIGHT_WHALE
from pcenlib.core.butterflies import FRAMES
from pcenlib.core.transform import bands, transform
from tests.programs import run_lines

# Windows and transforms: no zeros, two to many times the window, no multiple of it, an odd window, every power of two.
LENGTHS = [(256, 256), (256, 512), (256, 1024), (2, 64), (200, 256), (255, 512), (1, 4), (1000, 1024)]
LENGTHS += [(2**p, 2**p) for p in range(1, 12) if p != 8]
ROW_LENGTH = 20


def magnitudes(x, setting, begin=0):
    """Bins of the first 16 frames of x, (bin, frame), by the lines that are compiled elsewhere."""
    found = transform(setting, "float64", ROW_LENGTH)
    bins = np.full((setting.n_fft // 2 + 1) * ROW_LENGTH, np.nan)
    memory = {"columns": np.zeros(found.n_samples), "z": np.zeros(found.n_numbers)}
    constants = {"quarter": 0.25, "h": math.sqrt(0.5)}
    constants |= {f"{n}{k}": f(k * math.pi / 8) for k in (1, 3) for n, f in (("c", math.cos), ("s", math.sin))}
    tables = found.tables._replace(
        **{name: getattr(found.tables, name).astype(int) for name in ("packed_at", "turned_at", "pairs")}
    )
    run_lines(
        found.lines, x=x, tables=tables, begin=begin, bins=bins, root=math.sqrt, single=float, **memory, **constants
    )
    rows = bins.reshape(-1, ROW_LENGTH)
    assert np.isnan(rows[:, :begin]).all()
    assert np.isnan(rows[:, begin + FRAMES :]).all()
    return rows[found.places, begin : begin + FRAMES]


@pytest.mark.parametrize(("win_length", "n_fft"), LENGTHS)
@pytest.mark.parametrize("hop_length", [1, 7, 128, 300])
def test_bins_are_those_of_the_window_completed_with_zeros(win_length, n_fft, hop_length):
    setting = dataclasses.replace(
        RIGHT_WHALE, win_length=win_length, n_fft=n_fft, hop_length=hop_length, n_bands=n_fft // 2 + 1, fmin=0
    )
    x = np.random.default_rng(0).standard_normal((FRAMES - 1) * hop_length + win_length)
    frames = np.lib.stride_tricks.sliding_window_view(x, win_length)[::hop_length]
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(win_length) / win_length)
    expected = np.abs(np.fft.rfft(window * frames, n_fft)).T
    assert_allclose(magnitudes(x, setting, begin=hop_length % 5), expected, atol=1e-12 * n_fft)


def test_samples_are_there_once_for_all_frames_if_they_can_be():
    def sizes(hop_length):
        return transform(dataclasses.replace(NIGHTHAWK, hop_length=hop_length), "float64", 128).n_samples

    assert sizes(32) == 32 * (16 + 7)
    assert sizes(256) == 256 * 16
    assert sizes(100) == 256 * 16  # each frame has its own


def test_a_window_of_two_hops_is_one_sequence_and_four_windows_are_four():
    assert transform(RIGHT_WHALE, "float64", 128).tables.turned_by.shape == (0, 512)
    assert transform(NIGHTHAWK, "float64", 128).tables.turned_by.shape == (3, 512)


@pytest.mark.parametrize("n_bands", [128, 20])
def test_bands_are_weighted_sums_of_bins(n_bands):
    setting = dataclasses.replace(NIGHTHAWK, n_bands=n_bands)
    places = np.random.default_rng(0).permutation(513)
    found = bands(setting, tuple(places.tolist()), 10)
    filters = np.zeros((n_bands, 513))
    band = np.repeat(np.arange(n_bands), 4 * found.groups)
    np.add.at(filters, (band, found.rows // 10), found.weights)
    assert_allclose(filters[:, places], setting.filters, rtol=1e-6)
    assert found.weights.dtype == (np.float32 if n_bands == 128 else np.float64)


def test_bands_of_the_linear_scale_are_bins():
    found = bands(RIGHT_WHALE, tuple(range(129)), 10)
    assert found.weights.size == found.groups.size == 0
    assert found.rows.tolist() == [10 * k for k in range(1, 129)]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_precision(dtype):
    tables = transform(NIGHTHAWK, dtype, 128).tables
    kinds = {name: table.dtype for name, table in tables._asdict().items()}
    assert {kinds.pop(name) for name in ("packed_at", "turned_at", "pairs")} == {np.dtype(np.uint64)}
    assert set(kinds.values()) == {np.dtype(dtype)}
