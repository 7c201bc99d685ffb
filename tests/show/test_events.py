"""Pictures of events: marked where they are, counted when they were."""

import io
import time
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib import NIGHTHAWK
from pcenlib.show.events import event_panels, timeline


def picture(n_frames=5, seed=0):
    return np.random.default_rng(seed).random((128, n_frames))


def test_an_event_is_marked_in_all_panels():
    E, event = picture(200) + 0.1, SimpleNamespace(start=10.05, end=10.15, peak=10.06, low=3000, high=4000)
    axes = event_panels(
        E, picture(200, 1), picture(200)[0], NIGHTHAWK, offset=10.0, event=event, threshold=0.7, title="a.wav"
    )
    for ax in axes[:2]:
        (box,) = ax.patches
        assert_allclose([box.get_x(), box.get_y(), box.get_width(), box.get_height()], [0.05, 3, 0.1, 1])
        assert_allclose([ax.lines[0].get_xdata()[0], ax.lines[0].get_ydata()[0]], [0.06, 3.5])
    (span,) = axes[2].patches
    assert_allclose([span.get_x(), span.get_width()], [0.05, 0.1])
    assert axes[0].get_title() == "a.wav"
    assert_array_equal(axes[2].lines[0].get_ydata(), picture(200)[0])
    assert_allclose(axes[2].lines[1].get_ydata(), 0.7)
    labels = [float(label.get_text()) for label in axes[2].get_xticklabels()]
    assert_allclose(axes[2].get_xticks() + 10, labels)  # seconds of the recording


def test_a_timeline_shows_counts_and_what_was_not_recorded():
    counts = np.full((2, 24), np.nan)
    counts[0, 22:], counts[1, :3] = [0, 7], [1, 0, 2]
    ax = timeline(counts, ["2020-06-01", "2020-06-02"], title="Night")
    assert_array_equal(np.ma.getdata(ax.collections[0].get_array())[~np.isnan(counts)], counts[~np.isnan(counts)])
    assert sorted(text.get_text() for text in ax.texts) == ["1", "2", "7"]
    assert ax.patch.get_hatch()  # seen where the mesh has no color
    assert_array_equal(np.ma.getmaskarray(ax.collections[0].get_array()), np.isnan(counts))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["2020-06-01", "2020-06-02"]
    assert ax.get_ylim() == (2, 0)  # the first day above
    assert timeline(np.zeros((1, 24)), ["day 1"], ax=plt.figure().add_subplot()).texts[:] == []


def test_years_take_no_more_room_than_a_month_and_hardly_more_time():
    begin = time.process_time()
    rng = np.random.default_rng(0)
    for n_days in (25, 365, 2100):
        counts = np.where(rng.random((n_days, 24)) < 0.5, np.nan, rng.poisson(1.0, (n_days, 24)))
        ax = timeline(counts, [f"day {i}" for i in range(n_days)])
        ax.figure.savefig(io.BytesIO(), dpi=100)
        assert ax.figure.get_figheight() < 10
        labels = [label.get_text() for label in ax.get_yticklabels()]
        assert len(labels) <= 25
        assert labels[0] == "day 0"
        assert len(ax.texts) == ((counts > 0).sum() if n_days == 25 else 0)
    assert time.process_time() - begin < 8  # it took minutes
