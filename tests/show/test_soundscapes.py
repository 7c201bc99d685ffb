"""Pictures of nights: the colors and events they are given, where they are given."""

import numpy as np
from numpy.testing import assert_allclose

from pcenlib.show.soundscapes import index_panels, night_picture

HOURS = np.arange(4) / 2
BANDS = [2000.0, 3000.0, 5000.0]


def test_a_picture_has_its_colors_and_events():
    colors = np.random.default_rng(0).random((3, 4, 3))
    events = {"call, near": [0.3, 1.2], "call, far": [1.7]}
    ax, below = night_picture(
        colors, HOURS, BANDS, events=events, spans=[(0, 1, "calm"), (1, 2, "rain")], title="Night"
    )
    (mesh,) = ax.collections
    assert_allclose(mesh.get_array(), colors)
    corners = mesh.get_coordinates()
    assert_allclose(corners[0, :, 0], [0, 0.5, 1, 1.5, 2])
    assert_allclose(corners[:, 0, 1], [1.5, 2.5, 4, 6])
    assert [text.get_text() for text in ax.texts] == ["calm", "rain"]
    assert [label.get_text() for label in below.get_yticklabels()] == list(events)
    for line, times in zip(below.lines, events.values(), strict=True):
        assert_allclose(line.get_xdata(), times)
    assert below.get_xlabel() == "hours since the start"
    assert ax.get_title() == "Night"


def test_without_events_there_is_nothing_beneath():
    (ax,) = night_picture(np.zeros((3, 4, 3)), HOURS, BANDS, xlabel="time of day (h)")
    assert ax.get_xlabel() == "time of day (h)"


def test_a_panel_for_each_index_between_its_limits():
    values = np.arange(12.0).reshape(4, 3)
    axes = index_panels({"one": values, "two": -values}, HOURS, BANDS, limits={"one": (0, 11), "two": (-11, 0)})
    assert [ax.get_title(loc="left") for ax in axes] == ["one", "two"]
    for ax, sign, limits in zip(axes, (1, -1), ((0, 11), (-11, 0)), strict=True):
        (mesh,) = ax.collections
        assert_allclose(mesh.get_array(), sign * values.T)
        assert mesh.get_clim() == limits
    assert axes[-1].get_xlabel() == "hours since the start"
