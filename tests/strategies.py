"""Inputs that several tests draw."""

import itertools

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

SMOOTHING = st.floats(0.01, 1.0)
GAIN = st.floats(1e-6, 1e6)


def magnitudes(*, silence: bool = False, max_leading: int = 0, min_frames: int = 1, min_bands: int = 1):
    """Spectrograms (..., band, frame) over 160 dB; with exact zeros here and there if silence."""
    values = st.floats(1e-4, 1e4)
    if silence:
        values = st.just(0.0) | values
    leading = st.lists(st.integers(1, 3), max_size=max_leading)
    shapes = st.tuples(leading, st.integers(min_bands, 5), st.integers(min_frames, 20))
    return shapes.flatmap(lambda shape: arrays(np.float64, (*shape[0], *shape[1:]), elements=values))


@st.composite
def split_magnitudes(draw):
    """A spectrogram, and the borders of blocks of frames that together make it up."""
    E = draw(magnitudes(silence=True, max_leading=1))
    inner = draw(st.sets(st.integers(1, E.shape[-1]), max_size=4))
    borders = sorted({0, E.shape[-1]} | inner)
    return E, list(itertools.pairwise(borders))
