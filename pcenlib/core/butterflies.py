r"""Fourier transforms of sixteen frames at once, written as plain loops for numba to compile.

A transform of length L = R S splits in two. With :math:`n = S a + b` and :math:`k = j + R l`,

.. math::

   \sum_n u[n]\, e^{-2 \pi i k n / L} = \sum_b e^{-2 \pi i b l / S}\
   \Bigl( e^{-2 \pi i b j / L} \sum_a u[S a + b]\, e^{-2 \pi i a j / R} \Bigr).

In parentheses is one `stage` of radix R: for each b, a transform of R numbers, whose results are turned. What remains
are R transforms of S numbers, one for each j, and they go through the next stage. A transform of R numbers is a
`butterfly`, a few sums, differences and products without any loop. So 128 = 8 x 16 takes two stages:

.. code-block:: text

                     numbers u[n]                    stage of radix 8                stage of radix 16

    row   0   u[0]   |0 1 2 ... 15|  --.             b = 0 takes rows 0, 17, 34 ...
    row   1   u[1]   |0 1 2 ... 15|    |  block 0    b = 1 takes rows 1, 18, 35 ...  takes rows 0 to 15,
     ...               frames          |                                             leaves bins 0, 8, 16 ... 120
    row  15   u[15]  |0 1 2 ... 15|  --'
    row  16   empty
    row  17   u[16]  |0 1 2 ... 15|  --.  block 1                                    takes rows 17 to 32,
     ...                               |                                             leaves bins 1, 9, 17 ... 121

Each row holds one number of sixteen frames, side by side: what is done to a number is done to all of them by one or two
instructions. All real parts come first, then all imaginary parts. The empty rows keep the rows of a butterfly from
competing for the same few places in the processor's cache. Results stay where they are, out of order, and `place` tells
where a bin is.

Distances between rows are numbers in the text, and indices are unsigned, which ``u16`` stands for. Only then can the
compiler tell that no row overlaps another, and use vector instructions.
"""

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

__all__ = [
    "CONSTANTS",
    "FRAMES",
    "Complex",
    "butterfly",
    "indented",
    "n_rows",
    "place",
    "radices",
    "row",
    "stage",
    "turns",
]

FRAMES = 16  # that are transformed at once: loops over fewer are unrolled, and not turned into vector instructions
LARGEST_RADIX = 16  # a larger butterfly has many more numbers than a processor has registers

Complex = tuple[str, str]  # expressions for a real and an imaginary part

# Cosines and sines of sixteenths of a turn, by the names that butterflies use.
CONSTANTS = {"h": math.sqrt(0.5)}
CONSTANTS |= {f"{name}{k}": of(math.pi * k / 8) for k in (1, 3) for name, of in (("c", math.cos), ("s", math.sin))}


def radices(length: int) -> list[int]:
    """Factors of a power of two, two or more, each a power of two up to 16.

    Examples
    --------
    >>> radices(128), radices(2048), radices(4)
    ([8, 16], [8, 16, 16], [1, 4])
    """
    found: list[int] = []
    while length > LARGEST_RADIX:
        found.insert(0, LARGEST_RADIX)
        length //= LARGEST_RADIX
    return [length, *found] if found else [1, length]


def row(index: npt.ArrayLike, length: int) -> npt.NDArray[np.int64]:
    """Row of a number: an empty one follows each block of the first stage."""
    index = np.asarray(index)
    return index + index // (length // radices(length)[0])


def n_rows(length: int) -> int:
    """Number of rows, the empty ones among them."""
    return int(row(length, length))


def place(k: npt.ArrayLike, length: int) -> npt.NDArray[np.int64]:
    """Which number bin k has become after all stages: the digits of k, in reverse."""
    k, index = np.asarray(k), np.zeros(np.shape(k), dtype=np.int64)
    for radix in radices(length):
        index = index * radix + k % radix
        k = k // radix
    return index


def turns(radix: int, length: int) -> npt.NDArray[np.complex128]:
    """What result j of butterfly b in a stage is multiplied by, (b, j)."""
    b, j = np.ogrid[: length // radix, :radix]
    return np.exp(-2j * np.pi * b * j / length)


def butterfly(z: Sequence[Complex], let: Callable[[str], str]) -> list[Complex]:
    """The discrete Fourier transform of a few named numbers, as lines that compute it.

    The transforms of the numbers at even and at odd positions are those of half the length; the odd ones, turned, are
    added to the even ones for the first half of the result, and subtracted for the second.

    Parameters
    ----------
    z : sequence of pairs of str
        Names of real and imaginary parts; as many as a power of two, at most 16.
    let : callable
        Writes a line that gives an expression a name, and returns the name.

    Returns
    -------
    list of pairs of str
        Names of the results.
    """
    if len(z) == 1:
        return list(z)
    sums, differences = [], []
    for k, ((x, y), odd) in enumerate(zip(butterfly(z[::2], let), butterfly(z[1::2], let), strict=True)):
        u, v = _turned(odd, k * 16 // len(z), let)
        sums.append((let(f"{x} + {u}"), let(f"{y} + {v}")))
        differences.append((let(f"{x} - {u}"), let(f"{y} - {v}")))
    return sums + differences


def _turned(z: Complex, sixteenths: int, let: Callable[[str], str]) -> Complex:
    """A number, turned clockwise by less than half a turn."""
    x, y = z
    if sixteenths == 0:
        return z
    if sixteenths >= 4:
        return _turned((y, let(f"-{x}")), sixteenths - 4, let)
    if sixteenths == 2:
        return let(f"({x} + {y}) * h"), let(f"({y} - {x}) * h")
    c, s = f"c{sixteenths}", f"s{sixteenths}"
    return let(f"{x} * {c} + {y} * {s}"), let(f"{y} * {c} - {x} * {s}")


def stage(
    name: str,
    *,
    radix: int,
    loops: Iterable[str],
    along: str,
    read: Callable[[int], Complex],
    write: Callable[[int, Complex], Iterable[str]],
) -> list[str]:
    """Lines that apply a butterfly to one group of rows after another.

    Parameters
    ----------
    name : str
        What the names of its numbers begin with.
    radix : int
        Length of the butterfly.
    loops : iterable of str
        Lines around the loop over frames: loops over groups of rows, and what they look up, indented.
    along : str
        Letters of indices that go along with the frames: ``i`` starts from ``i0``, which the loops set.
    read : callable
        From the number of an input to expressions for its parts.
    write : callable
        From the number of a result, and names of its parts, to the lines that store it.

    Returns
    -------
    list of str
    """
    lines = [f"{index} = {index}0 + t" for index in along]

    def let(expression: str) -> str:
        lines.append(f"{name}{len(lines)} = {expression}")
        return f"{name}{len(lines) - 1}"

    inputs = [(let(x), let(y)) for x, y in map(read, range(radix))]
    for k, result in enumerate(butterfly(inputs, let)):
        lines += write(k, result)
    around = list(loops)
    depth = len(around[-1]) - len(around[-1].lstrip())
    return [*around, *indented(depth, [f"for t in range(u{FRAMES}):", *indented(4, lines)])]


def indented(depth: int, lines: Iterable[str]) -> list[str]:
    """The lines, farther to the right."""
    return [" " * depth + line for line in lines]
