"""The figure of template matching draws each picture, and each score where its stretch begins."""

import numpy as np
from numpy.testing import assert_allclose

from pcenlib import RIGHT_WHALE
from pcenlib.show.matches import match_panels


def test_pictures_are_in_rows_and_scores_under_them():
    rng = np.random.default_rng(0)
    names, clips = ("log magnitude", "PCEN"), ("clear", "faint")
    templates = {name: rng.random((128, 4)) for name in names}
    pictures = {clip: {name: rng.random((128, 20)) for name in names} for clip in clips}
    scores = {clip: {name: rng.random(17) for name in names} for clip in clips}
    limits = {"log magnitude": (0, 1), "PCEN": (0, 2)}
    axes = match_panels(templates, pictures, scores, RIGHT_WHALE, limits=limits)
    assert axes.shape == (4, 3)
    assert [ax.get_title() for ax in axes[0]] == ["log magnitude:\ntemplate", "clear", "faint"]
    (mesh,) = axes[2, 2].collections
    assert_allclose(mesh.get_array(), pictures["faint"]["PCEN"])
    assert mesh.get_clim() == (0, 2)
    line, dot = axes[3, 2].lines
    values = scores["faint"]["PCEN"]
    assert_allclose(line.get_xdata(), RIGHT_WHALE.times(17))
    assert_allclose(line.get_ydata(), values)
    assert_allclose(dot.get_xdata(), RIGHT_WHALE.times(17)[values.argmax()])
    assert line.get_color() != axes[1, 2].lines[0].get_color()
