"""Charts of results: they draw the tables they are given, censored times included."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib.core import streaming
from pcenlib.show import charts, plots

DETECTORS = list(streaming.DETECTORS)


def texts(ax):
    return ax.get_xlabel(), ax.get_ylabel(), ax.get_title()


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
    ax = charts.mtbfa_curves(over_groups_table(times), chance=1.5, xlabel="distance (km)", title="Title")
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
    assert charts.mtbfa_curves(table, chance=1.5, ax=ax) is ax
    assert [text.get_text().strip() for text in ax.texts] == ["chance"]
    assert_array_equal(ax.lines[-1].get_ydata(), [1.5, 1.5])
    assert not lines_with(ax, "^")
    assert ax.get_legend() is None


def test_censored_times_are_open_triangles_on_the_line_of_the_duration_side_by_side():
    times = {
        "averaged flux": {30: np.inf, 100: 600.0, 300: 4},  # a single false alarm is none that is censored
        "max-pooled PCEN": {30: np.inf, 100: np.inf, 300: 20},
    }
    ax = charts.mtbfa_curves(over_groups_table(times), chance=1)
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
    charts.mtbfa_curves(over_groups_table({"averaged flux": {30: 0.5, 100: 0.2}}), chance=1, ax=axes[0])
    charts.mtbfa_curves(over_groups_table({"averaged flux": {30: np.inf, 100: 300}}), chance=1, ax=axes[1])
    figure.savefig(tmp_path / "figure.png")
    low, high = axes[0].get_ylim()
    assert low < 0.1
    assert 600 < high < 1000
    inside = [text.get_text() for text in axes[0].get_yticklabels() if low < text.get_position()[1] < high]
    assert inside == ["0.1 s", "1 s", "10 s", "1 min", "10 min"]


def test_stacked_bars_put_the_parts_end_to_end():
    ax = charts.stacked_bars({"a": {"x": 1, "y": 2}, "b": {"x": 3, "y": 4}}, xlabel="time (s)")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["x", "y"]
    assert [(bar.get_x(), bar.get_width()) for bar in ax.patches] == [(0, 1), (0, 3), (1, 2), (3, 4)]


# Dots


def test_dots_draw_values_and_intervals_in_rows_from_the_top():
    near, far = ([1.0, 4.0], [0.5, 3.0], [2.0, 8.0]), ([3.0, 5.0], [3.0, 4.0], [3.0, 6.0])
    ax = charts.dots(["one", "two"], {"near": near, "far": far}, xlabel="times", title="Title", xscale="log")
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
    ax = charts.dots(["one", "two"], {"near": ([1, 9], [2, 2], [4, 4])}, xlabel="x")
    (bars,) = ax.collections
    assert_allclose([segment[:, 0] for segment in bars.get_segments()], [[2, 4], [2, 4]])
    assert_array_equal(ax.lines[0].get_xdata(), [1, 9])


def test_dots_of_one_series_need_no_legend():
    _, given = plt.subplots()
    ax = charts.dots(["one"], {"near": ([1], [1], [1])}, xlabel="x", ax=given)
    assert ax is given
    assert ax.get_legend() is None


def test_panels_share_the_axes_and_have_one_legend():
    tables = {f"panel {k}": over_groups_table({"a": {30: 20, 100: k}, "b": {30: 5, 100: 2}}) for k in range(1, 5)}
    axes = charts.mtbfa_panels(tables, chance=1, xlabel="distance (km)", legend=1, sharey="row")
    assert axes.shape == (2, 2)
    assert [ax.get_title() for ax in axes.flat] == list(tables)
    assert [ax.get_legend() is not None for ax in axes.flat] == [False, True, False, False]
    assert [ax.get_xlabel() for ax in axes.flat] == ["", "", "distance (km)", "distance (km)"]
    assert [ax.get_ylabel() for ax in axes.flat] == ["MTBFA@50", "", "MTBFA@50", ""]
    assert axes[0, 0].get_ylim() == axes[0, 1].get_ylim() != axes[1, 0].get_ylim()


def test_panels_may_have_their_legend_below():
    table = over_groups_table({"a": {30: 20, 100: 3}, "b": {30: 5, 100: 2}})
    axes = charts.mtbfa_panels({"left": table, "right": table}, chance=1, legend=None, size=(6, 3))
    figure = axes[0, 0].figure
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b"]
    assert not any(ax.get_legend() for ax in axes.flat)
    assert figure.get_size_inches().tolist() == [6, 3]


# Other axes


def test_mtbfa_curves_against_another_column():
    table = over_groups_table({"averaged flux": {30: 20, 100: np.inf}}).rename(columns={"distance": "level"})
    ax = charts.mtbfa_curves(table.assign(distance=60), chance=1, x="level", xlabel="level (dB)")
    assert_array_equal(ax.lines[0].get_xdata(), [30, 100])
    assert ax.get_xlabel() == "level (dB)"


def test_factors_have_a_panel_for_each_distance_and_a_row_for_each_protocol():
    keys = [("tiling", 60.0), ("bands", 60.0), ("tiling", 200.0), ("bands", 200.0)]
    rows = [(*key, detector) for key in keys for detector in DETECTORS]
    names = ["protocol", "distance", "detector"]
    table = pd.DataFrame({"median": 2.0, "min": 0.0, "max": np.inf}, index=pd.MultiIndex.from_tuples(rows, names=names))
    table.iloc[-1, 0] = 4  # PCEN, with other bands, far away
    near, far = charts.factor_dots(table)
    assert [ax.get_title() for ax in (near, far)] == ["60 m", "200 m"]
    assert [label.get_text() for label in near.get_yticklabels()] == ["tiling", "bands"]
    assert [line.get_label() for line in far.lines[:3]] == DETECTORS
    assert_array_equal(far.lines[2].get_xdata(), [2, 4])
    ends = far.collections[2].get_segments()
    np.testing.assert_allclose([[x for x, _ in end] for end in ends], [[0.01, 100]] * 2)
    (legend,) = near.figure.legends
    assert len(legend.get_texts()) == 3


# Forest plots


def forest_row(**changes):
    row = {"label": "one", "text": "2 (1 to 4)", "value": 2.0, "low": 1.0, "high": 4.0, "region": (0.5, np.inf)}
    return {**row, "filled": True, **changes}


def test_a_forest_has_a_dot_an_interval_and_a_shaded_region_for_each_row():
    groups = {"recorded": [forest_row()], "simulated": [forest_row(label="two", value=3.0, filled=False)]}
    ax = charts.forest(groups, xlabel="times", limits=(0.1, 10))
    assert (ax.get_xlabel(), ax.get_xscale(), ax.get_xlim()) == ("times", "log", (0.1, 10))
    assert [text.get_text() for text in ax.texts] == ["recorded", "one", "2 (1 to 4)", "simulated", "two", "2 (1 to 4)"]
    places = [text.get_position()[1] for text in ax.texts]
    assert places == sorted(places)
    bottom, top = ax.get_ylim()
    assert bottom > places[-1] > places[0] > top
    assert [line.get_xdata()[0] for line in ax.lines] == [2, 3]
    assert [line.get_markerfacecolor() == line.get_color() for line in ax.lines] == [True, False]
    ends = [segment[:, 0] for bars in ax.collections for segment in bars.get_segments()]
    assert_allclose(ends, [[1, 1], [1, 4]] * 2)  # the line at 1, and the interval
    assert_allclose([(bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.patches], [(0.5, 10)] * 2)


def test_what_leaves_the_axis_of_a_forest_ends_in_an_arrowhead():
    rows = [forest_row(high=np.inf), forest_row(low=0.0, region=(0.0, 1.5)), forest_row(value=20.0, low=15, high=40)]
    ax = charts.forest({"": rows}, xlabel="times", limits=(0.1, 10))
    assert [(line.get_marker(), line.get_xdata()[0]) for line in ax.lines] == [
        (">", 10),
        ("o", 2),
        ("<", 0.1),
        ("o", 2),
        (">", 10),
    ]
    assert_allclose([segment[:, 0] for segment in ax.collections[3].get_segments()], [[0.1, 4]])
    assert_allclose([ax.patches[1].get_x(), ax.patches[1].get_width()], [0.1, 1.4])


def test_a_taller_forest_has_more_rows():
    heights = [charts.forest({"": [forest_row()] * n}, xlabel="").figure.get_size_inches()[1] for n in (2, 20)]
    assert heights[1] > 4 * heights[0]
    _, given = plt.subplots()
    assert charts.forest({"": [forest_row()]}, xlabel="", ax=given) is given
