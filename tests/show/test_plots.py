"""Figures: they draw the data they are given, with labels, each detector in its color."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib import NIGHTHAWK, RIGHT_WHALE
from pcenlib.core import streaming
from pcenlib.show import plots

DETECTORS = list(streaming.DETECTORS)


def picture(n_frames=5, seed=0):
    return np.random.default_rng(seed).random((128, n_frames))


def only_mesh(ax):
    (mesh,) = ax.collections
    return mesh


def texts(ax):
    return ax.get_xlabel(), ax.get_ylabel(), ax.get_title()


# Curves


def test_curves_draw_their_data():
    x, ys = [1, 2, 4], {"one": [3, 1, 2], "two": np.array([5.0, 6.0, np.nan])}
    ax = plots.curves(x, ys, xlabel="x (s)", ylabel="y (dB)", title="Title", xscale="log", ylim=(0, 7))
    assert texts(ax) == ("x (s)", "y (dB)", "Title")
    assert (ax.get_xscale(), ax.get_ylim()) == ("log", (0, 7))
    for line, (label, y) in zip(ax.lines, ys.items(), strict=True):
        assert line.get_label() == label
        assert_array_equal(line.get_xdata(), x)
        assert_array_equal(line.get_ydata(), y)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "two"]


def test_a_single_curve_needs_no_legend():
    assert plots.curves([1, 2], {"one": [1, 2]}, xlabel="x", ylabel="y").get_legend() is None


def test_curves_draw_where_told_or_in_a_figure_of_their_own():
    _, ax = plt.subplots()
    assert plots.curves([1, 2], {"one": [1, 2]}, xlabel="x", ylabel="y", ax=ax) is ax
    assert plots.curves([1, 2], {"one": [1, 2]}, xlabel="x", ylabel="y").figure is not ax.figure


def test_markers():
    (line,) = plots.curves([1, 2], {"one": [1, 2]}, xlabel="x", ylabel="y", marker="o").lines
    assert line.get_marker() == "o"


def test_a_line_style_overrides_that_of_the_label():
    ys = {"averaged flux": [1, 2], "other": [2, 3]}
    lines = plots.curves([1, 2], ys, xlabel="x", ylabel="y", marker=".", linestyle="none").lines
    assert {line.get_linestyle() for line in lines} == {"None"}
    assert lines[0].get_color() == plots.STYLES["averaged flux"]["color"]


def test_intervals_are_shaded_around_their_curves():
    ys, intervals = {"one": [2, 3], "two": [5, 6]}, {"two": ([4, 5], [6, 7])}
    ax = plots.curves([1, 2], ys, xlabel="x", ylabel="y", intervals=intervals)
    (shade,) = ax.collections
    assert set(map(tuple, shade.get_paths()[0].vertices)) == {(1, 4), (2, 5), (2, 7), (1, 6)}
    assert to_rgba(shade.get_facecolor()[0], alpha=1) == to_rgba(ax.lines[1].get_color())


# Colours


@pytest.mark.parametrize("order", [DETECTORS, DETECTORS[::-1], ["other", *DETECTORS[1:], DETECTORS[0]]])
def test_detectors_keep_their_colours_in_any_order_and_figure(order):
    values = {label: [1, 2] for label in order}
    drawn = plots.curves([1, 2], values, xlabel="x", ylabel="y").lines
    panels = [ax.lines[0] for ax in plots.frames([1, 2], values)]
    for label, line, panel in zip(order, drawn, panels, strict=True):
        if label in DETECTORS:
            assert line.get_color() == panel.get_color() == plots.STYLES[label]["color"]
            assert line.get_linestyle() == plots.STYLES[label]["linestyle"]


def test_detectors_differ_in_colour_and_line():
    assert set(DETECTORS) <= set(plots.STYLES)
    assert len({to_rgba(style["color"]) for style in plots.STYLES.values()}) == len(plots.STYLES)
    assert len({plots.STYLES[label]["linestyle"] for label in DETECTORS}) == len(DETECTORS)


def test_style_of_the_book():
    plots.use_style()
    assert mpl.rcParams["axes.prop_cycle"].by_key()["color"] == plots.CYCLE
    assert mpl.rcParams["figure.constrained_layout.use"]


# Reference lines


@pytest.mark.parametrize("axis", ["x", "y"])
def test_reference_lines_lie_at_their_values(axis):
    ax = plots.curves([0, 4], {"one": [0, 4]}, xlabel="x", ylabel="y")
    levels = {"chance": 1.5, "bound": 3.0}
    assert plots.reference_lines(ax, levels, axis=axis) is ax
    drawn = [getattr(line, f"get_{axis}data")() for line in ax.lines[1:]]
    assert_array_equal(drawn, [[1.5, 1.5], [3, 3]])
    assert [text.get_text() for text in ax.texts] == list(levels)
    for text, level in zip(ax.texts, levels.values(), strict=True):
        assert text.xy["xy".index(axis)] == level


# Pictures


@pytest.mark.parametrize("setting", [NIGHTHAWK, RIGHT_WHALE], ids=["nighthawk", "right whale"])
def test_an_image_shows_its_values_at_their_times_and_frequencies(setting):
    values = picture()
    ax = plots.image(values, setting, label="E (dB)", vmin=0.1, vmax=0.9, title="Title")
    mesh = only_mesh(ax)
    assert_array_equal(mesh.get_array(), values)
    assert mesh.get_clim() == (0.1, 0.9)
    assert texts(ax) == ("time (s)", "frequency (kHz)", "Title")
    corners = mesh.get_coordinates()
    assert corners.shape == (129, 6, 2)
    centres = (corners[:, :-1, 0] + corners[:, 1:, 0]) / 2
    assert_allclose(centres[0], setting.times(5))
    assert np.all(corners[:-1, 0, 1] < setting.frequencies / 1000)
    assert np.all(corners[1:, 0, 1] > setting.frequencies / 1000)


def test_the_colour_bar_explains_the_colours_if_wanted():
    with_bar = plots.image(picture(), NIGHTHAWK, label="E (dB)", vmin=0, vmax=1)
    assert [ax.get_ylabel() for ax in with_bar.figure.axes] == ["frequency (kHz)", "E (dB)"]
    without = plots.image(picture(), NIGHTHAWK, label="E (dB)", vmin=0, vmax=1, colorbar=False)
    assert without.figure.axes == [without]


def test_an_image_draws_where_told():
    _, ax = plt.subplots()
    assert plots.image(picture(), NIGHTHAWK, label="", vmin=0, vmax=1, ax=ax) is ax


def test_the_mark_lies_on_the_maximum_of_its_image():
    values = picture()
    values[40, 3] = 2
    ax = plots.image(values, NIGHTHAWK, label="", vmin=0, vmax=1)
    assert plots.mark(ax, *NIGHTHAWK.place_of_maximum(values)) is ax
    (dot,) = ax.lines
    (time,), (frequency,) = dot.get_data()
    corners = only_mesh(ax).get_coordinates()
    assert corners[40, 3, 0] < time < corners[40, 4, 0]
    assert corners[40, 3, 1] < frequency < corners[41, 3, 1]


def test_a_heatmap_shows_its_values_and_contours():
    values = np.arange(12.0).reshape(3, 4)
    ax = plots.heatmap([0, 1, 2, 3], [10, 20, 30], values, xlabel="x", ylabel="y", label="z (dB)", levels=[5.5])
    mesh, contours = ax.collections
    assert_array_equal(mesh.get_array(), values)
    assert_array_equal(contours.levels, [5.5])
    assert [text.get_text() for text in ax.texts] == ["5.5"]
    assert [each.get_ylabel() for each in ax.figure.axes] == ["y", "z (dB)"]
    assert ax.get_xlabel() == "x"


def test_a_heatmap_draws_where_told_and_without_contours():
    _, ax = plt.subplots()
    assert plots.heatmap([0, 1], [0, 1], np.eye(2), xlabel="x", ylabel="y", label="z", ax=ax) is ax
    assert not ax.texts


def test_a_gallery_has_a_picture_for_each_row_and_column():
    columns = {"log magnitude": [picture(seed=0), picture(seed=1), picture(seed=2)]}
    columns["PCEN"] = [picture(seed=3), picture(seed=4), picture(seed=5)]
    limits = {"log magnitude": (0, 0.5), "PCEN": (0.5, 1)}
    peaks = {title: [(0.001 * row, 1000.0 * row) for row in range(3)] for title in columns}
    axes = plots.gallery(columns, ["30 m", "100 m", "300 m"], NIGHTHAWK, limits=limits, peaks=peaks)
    assert axes.shape == (3, 2)
    for column, (title, pictures) in enumerate(columns.items()):
        assert axes[0, column].get_title() == title
        for row, values in enumerate(pictures):
            mesh = only_mesh(axes[row, column])
            assert_array_equal(mesh.get_array(), values)
            assert mesh.get_clim() == limits[title]
            assert_allclose(axes[row, column].lines[0].get_xydata(), [[0.001 * row, row]])
    assert [ax.get_ylabel() for ax in axes[:, 0]] == ["30 m", "100 m", "300 m"]
    assert axes[0, 0].figure.get_supxlabel() == "time (s)"
    assert axes[0, 0].figure.get_supylabel() == "frequency (kHz)"


def test_a_gallery_without_peaks_has_no_dots():
    axes = plots.gallery({"E": [picture()]}, ["near"], NIGHTHAWK, limits={"E": (0, 1)})
    assert axes.shape == (1, 1)
    assert not axes[0, 0].lines


# Frames


def test_frames_draw_a_panel_for_each_detection_function():
    times = RIGHT_WHALE.times(4)
    functions = {label: np.arange(4) * factor for factor, label in enumerate(DETECTORS, start=1)}
    axes = plots.frames(times, functions, title="Title", ylabel="novelty")
    assert axes.shape == (3,)
    for ax, (label, values) in zip(axes, functions.items(), strict=True):
        (line,) = ax.lines
        assert_array_equal(line.get_xdata(), times)
        assert_array_equal(line.get_ydata(), values)
        assert ax.get_title(loc="left") == label
    assert [ax.get_xlabel() for ax in axes] == ["", "", "time (s)"]
    assert axes[0].figure.get_supylabel() == "novelty"
    assert axes[0].figure.get_suptitle() == "Title"


def test_figures_render_in_the_style_of_the_book(tmp_path):
    plots.use_style()
    plots.gallery({"E": [picture(), picture()]}, ["near", "far"], RIGHT_WHALE, limits={"E": (0, 1)})
    plots.reference_lines(plots.curves([1, 2], {"one": [1, 2]}, xlabel="x", ylabel="y"), {"chance": 1.5})
    plots.frames([1, 2], {label: [1, 2] for label in DETECTORS})
    for number in plt.get_fignums():
        path = tmp_path / f"{number}.png"
        plt.figure(number).savefig(path)  # a warning of the layout would be an error
        assert path.stat().st_size > 1000
