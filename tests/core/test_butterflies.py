"""Butterflies and stages, run line by line as plain Python, against numpy's transform."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pcenlib.core.butterflies import CONSTANTS, FRAMES, butterfly, n_rows, place, radices, row, stage, turns
from tests.programs import run_lines

LENGTHS = [2**p for p in range(12)]


def noise(*shape):
    rng = np.random.default_rng(0)
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


@pytest.mark.parametrize("radix", [1, 2, 4, 8, 16])
def test_a_butterfly_is_a_discrete_fourier_transform(radix):
    u, lines = noise(radix), []

    def let(expression):
        lines.append(f"n{len(lines)} = {expression}")
        return f"n{len(lines) - 1}"

    results = butterfly([(f"x[{a}]", f"y[{a}]") for a in range(radix)], let)
    lines.append(f"found = [{', '.join(f'complex({x}, {y})' for x, y in results)}]")
    found = run_lines(lines, x=u.real, y=u.imag, **CONSTANTS)["found"]
    assert_allclose(found, np.fft.fft(u), rtol=0, atol=1e-13)


def test_a_butterfly_takes_few_operations():
    # Of a transform of 16 complex numbers: 144 sums and differences, and 24 products, are the classic count for radix
    # two with the trivial ones left out. A sum of two products counts once here.
    lines = []

    def let(expression):
        lines.append(expression)
        return f"n{len(lines)}"

    butterfly([(f"x{a}", f"y{a}") for a in range(16)], let)
    assert len(lines) <= 168


@pytest.mark.parametrize("length", LENGTHS)
def test_radices_are_the_factors(length):
    assert np.prod(radices(length)) == length
    assert 2 <= len(radices(length)) <= 3
    assert max(radices(length)) <= 16


@pytest.mark.parametrize("length", LENGTHS)
def test_rows_are_apart_and_every_bin_has_a_place(length):
    rows = row(np.arange(length), length)
    assert len(set(rows.tolist())) == length
    assert rows[-1] < n_rows(length) <= length + 16
    assert sorted(place(np.arange(length), length)) == list(range(length))


def test_places_by_hand():
    assert place([0, 1, 8, 9, 127], 128).tolist() == [0, 16, 1, 17, 127]
    assert row([0, 15, 16, 127], 128).tolist() == [0, 15, 17, 134]


@pytest.mark.parametrize(("radix", "others"), [(2, 1), (4, 4), (8, 2), (16, 3)])
def test_a_stage_leaves_shorter_transforms(radix, others):
    """One stage and then numpy's transforms of what it leaves are the whole transform."""
    length = radix * others
    u = noise(length, FRAMES)
    lines = stage(
        "n",
        radix=radix,
        loops=[f"for b in range(u{others}):", f"    i0, w = b * u{FRAMES}, b * u{radix}"],
        along="i",
        read=lambda a: (f"x[i + u{a * others * FRAMES}]", f"y[i + u{a * others * FRAMES}]"),
        write=lambda j, z: [f"out[i + u{j * others * FRAMES}] = ({z[0]} + 1j * {z[1]}) * turns[w + u{j}]"],
    )
    out = np.zeros(u.size, complex)
    run_lines(lines, x=u.real.ravel(), y=u.imag.ravel(), out=out, turns=turns(radix, length).ravel(), **CONSTANTS)
    left = np.fft.fft(out.reshape(radix, others, FRAMES), axis=1)  # (j, l, frame) is bin j + radix l
    assert_allclose(left.swapaxes(0, 1).reshape(u.shape), np.fft.fft(u, axis=0), rtol=0, atol=1e-12)
