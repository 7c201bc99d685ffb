"""Figures: they draw the data they are given, with labels, each detector in its colour."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib import NIGHTHAWK, RIGHT_WHALE
from pcenlib.core import streaming
from pcenlib.show import plots

DETECTORS = list(streaming.DETECTORS)


@pytest.fixture(autouse=True)
def clean_figures():
    with mpl.rc_context():
        yield
        plt.close("all")


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


# Mean time between false alarms


def over_groups_table(times, duration=600.0):
    """As `evaluation.over_groups` returns it; the quartiles are half and twice the median."""
    rows = [
        {"distance": distance, "detector": detector, "duration": duration, "mtbfa": time}
        for detector, of_detector in times.items()
        for distance, time in of_detector.items()
    ]
    table = pd.DataFrame(rows).assign(n_groups=3, n_censored=0)
    return table.assign(mtbfa_low=table["mtbfa"].clip(upper=duration) / 2, mtbfa_high=table["mtbfa"] * 2)


def lines_with(ax, marker):
    return [line for line in ax.lines if line.get_marker() == marker]


def test_mtbfa_curves_draw_each_detector_in_its_style_and_order():
    times = {"other": {30: 90, 100: 8}, "max-pooled PCEN": {100: 3, 30: 100}, "averaged flux": {30: 20, 100: 2}}
    ax = plots.mtbfa_curves(over_groups_table(times), chance=1.5, xlabel="distance (km)", title="Title")
    assert texts(ax) == ("distance (km)", "MTBFA@50", "Title")
    assert ax.get_yscale() == "log"
    expected = {"averaged flux": [20, 2], "max-pooled PCEN": [100, 3], "other": [90, 8]}
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(expected)
    for line, dots, shade, (label, values) in zip(
        ax.lines[:3], lines_with(ax, "."), ax.collections, expected.items(), strict=True
    ):
        assert line.get_label() == label
        for drawn in (line, dots):
            assert_array_equal(drawn.get_xydata(), np.transpose([[30, 100], values]))
            assert drawn.get_color() == plots.STYLES.get(label, line.properties())["color"]
        assert_array_equal(np.unique(shade.get_paths()[0].vertices[:, 1]), np.unique(np.outer([0.5, 2], values)))


def test_mtbfa_curves_without_censoring_name_the_chance_level_alone():
    _, ax = plt.subplots()
    table = over_groups_table({"averaged flux": {30: 20, 100: 2}})
    assert plots.mtbfa_curves(table, chance=1.5, ax=ax) is ax
    assert [text.get_text().strip() for text in ax.texts] == ["chance"]
    assert_array_equal(ax.lines[-1].get_ydata(), [1.5, 1.5])
    assert not lines_with(ax, "^")
    assert ax.get_legend() is None


def test_censored_times_are_open_triangles_on_the_line_of_the_duration_side_by_side():
    times = {
        "averaged flux": {30: np.inf, 100: 600.0, 300: 4},  # a single false alarm is none that is censored
        "max-pooled PCEN": {30: np.inf, 100: np.inf, 300: 20},
    }
    ax = plots.mtbfa_curves(over_groups_table(times), chance=1)
    assert [text.get_text().strip() for text in ax.texts] == ["chance", "no false alarm in 10 min"]
    assert_array_equal(ax.lines[-1].get_ydata(), [600, 600])
    flux, pcen = (plots.STYLES[label]["color"] for label in ("averaged flux", "max-pooled PCEN"))
    triangles = lines_with(ax, "^")
    assert [(*line.get_xydata()[0], line.get_color()) for line in triangles] == [
        (30, 600, flux),
        (30, 600, pcen),
        (100, 600, pcen),
    ]
    assert {line.get_markerfacecolor() for line in triangles} == {"white"}
    places = [line.get_transform().transform(line.get_xydata()[0]) for line in triangles]
    assert places[0][0] < places[1][0]
    assert_allclose(places[2], ax.transData.transform((100, 600)))
    flux_dots, pcen_dots = lines_with(ax, ".")
    assert_array_equal(flux_dots.get_ydata(), [np.nan, 600, 4])
    assert_array_equal(pcen_dots.get_ydata(), [np.nan, np.nan, 20])
    for curve, shade in zip(ax.lines[:2], ax.collections, strict=True):
        assert np.isfinite(curve.get_ydata()).all()
        assert shade.get_paths()[0].vertices[:, 1].max() == 600


def test_the_axis_of_times_is_labelled_in_units_that_people_use(tmp_path):
    plots.use_style()
    figure, axes = plt.subplots(1, 2, sharey=True)
    plots.mtbfa_curves(over_groups_table({"averaged flux": {30: 0.5, 100: 0.2}}), chance=1, ax=axes[0])
    plots.mtbfa_curves(over_groups_table({"averaged flux": {30: np.inf, 100: 300}}), chance=1, ax=axes[1])
    figure.savefig(tmp_path / "figure.png")
    low, high = axes[0].get_ylim()
    assert low < 0.1
    assert 600 < high < 1000
    inside = [text.get_text() for text in axes[0].get_yticklabels() if low < text.get_position()[1] < high]
    assert inside == ["0.1 s", "1 s", "10 s", "1 min", "10 min"]


def test_stacked_bars_put_the_parts_end_to_end():
    ax = plots.stacked_bars({"a": {"x": 1, "y": 2}, "b": {"x": 3, "y": 4}}, xlabel="time (s)")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["x", "y"]
    assert [(bar.get_x(), bar.get_width()) for bar in ax.patches] == [(0, 1), (0, 3), (1, 2), (3, 4)]


# Dots


def test_dots_draw_values_and_intervals_in_rows_from_the_top():
    near, far = ([1.0, 4.0], [0.5, 3.0], [2.0, 8.0]), ([3.0, 5.0], [3.0, 4.0], [3.0, 6.0])
    ax = plots.dots(["one", "two"], {"near": near, "far": far}, xlabel="times", title="Title", xscale="log")
    assert (ax.get_xlabel(), ax.get_title(), ax.get_xscale()) == ("times", "Title", "log")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["one", "two"]
    top, bottom = ax.get_ylim()[::-1]
    assert top < bottom
    for line, bars, (middle, low, high) in zip(ax.lines, ax.collections, (near, far), strict=True):
        assert_array_equal(line.get_xdata(), middle)
        assert_allclose([segment[:, 0] for segment in bars.get_segments()], np.transpose([low, high]))
    first, second = ax.lines
    assert (first.get_ydata() < second.get_ydata()).all()
    assert first.get_marker() != second.get_marker()
    assert first.get_color() != second.get_color()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["near", "far"]


def test_an_interval_may_leave_out_its_point():
    ax = plots.dots(["one", "two"], {"near": ([1, 9], [2, 2], [4, 4])}, xlabel="x")
    (bars,) = ax.collections
    assert_allclose([segment[:, 0] for segment in bars.get_segments()], [[2, 4], [2, 4]])
    assert_array_equal(ax.lines[0].get_xdata(), [1, 9])


def test_dots_of_one_series_need_no_legend():
    _, given = plt.subplots()
    ax = plots.dots(["one"], {"near": ([1], [1], [1])}, xlabel="x", ax=given)
    assert ax is given
    assert ax.get_legend() is None


def test_panels_share_the_axes_and_have_one_legend():
    tables = {f"panel {k}": over_groups_table({"a": {30: 20, 100: k}, "b": {30: 5, 100: 2}}) for k in range(1, 5)}
    axes = plots.mtbfa_panels(tables, chance=1, xlabel="distance (km)", legend=1, sharey="row")
    assert axes.shape == (2, 2)
    assert [ax.get_title() for ax in axes.flat] == list(tables)
    assert [ax.get_legend() is not None for ax in axes.flat] == [False, True, False, False]
    assert [ax.get_xlabel() for ax in axes.flat] == ["", "", "distance (km)", "distance (km)"]
    assert [ax.get_ylabel() for ax in axes.flat] == ["MTBFA@50", "", "MTBFA@50", ""]
    assert axes[0, 0].get_ylim() == axes[0, 1].get_ylim() != axes[1, 0].get_ylim()


def test_panels_may_have_their_legend_below():
    table = over_groups_table({"a": {30: 20, 100: 3}, "b": {30: 5, 100: 2}})
    axes = plots.mtbfa_panels({"left": table, "right": table}, chance=1, legend=None, size=(6, 3))
    figure = axes[0, 0].figure
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b"]
    assert not any(ax.get_legend() for ax in axes.flat)
    assert figure.get_size_inches().tolist() == [6, 3]


# Other axes


def test_mtbfa_curves_against_another_column():
    table = over_groups_table({"averaged flux": {30: 20, 100: np.inf}}).rename(columns={"distance": "level"})
    ax = plots.mtbfa_curves(table.assign(distance=60), chance=1, x="level", xlabel="level (dB)")
    assert_array_equal(ax.lines[0].get_xdata(), [30, 100])
    assert ax.get_xlabel() == "level (dB)"


def test_factors_have_a_panel_for_each_distance_and_a_row_for_each_protocol():
    keys = [("tiling", 60.0), ("bands", 60.0), ("tiling", 200.0), ("bands", 200.0)]
    rows = [(*key, detector) for key in keys for detector in DETECTORS]
    names = ["protocol", "distance", "detector"]
    table = pd.DataFrame({"median": 2.0, "min": 0.0, "max": np.inf}, index=pd.MultiIndex.from_tuples(rows, names=names))
    table.iloc[-1, 0] = 4  # PCEN, with other bands, far away
    near, far = plots.factor_dots(table)
    assert [ax.get_title() for ax in (near, far)] == ["60 m", "200 m"]
    assert [label.get_text() for label in near.get_yticklabels()] == ["tiling", "bands"]
    assert [line.get_label() for line in far.lines[:3]] == DETECTORS
    assert_array_equal(far.lines[2].get_xdata(), [2, 4])
    ends = far.collections[2].get_segments()
    np.testing.assert_allclose([[x for x, _ in end] for end in ends], [[0.01, 100]] * 2)
    (legend,) = near.figure.legends
    assert len(legend.get_texts()) == 3
