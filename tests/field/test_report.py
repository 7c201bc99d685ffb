"""Pictures of events, and pages that need nothing but themselves."""

import re
from datetime import datetime
from html.parser import HTMLParser
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pcenlib import RIGHT_WHALE
from pcenlib.field.report import elapsed, events_by_hour, figure_of_event, report, strongest_events, write_figures
from pcenlib.field.search import Search
from pcenlib.field.survey import Survey, survey
from tests.nights import whale, write_night, write_whales

WHALES = Search(setting=RIGHT_WHALE, threshold=3.0)
VOID = {"meta", "img", "br", "source"}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Two recordings with a clock, one that cannot be read."""
    folder = tmp_path_factory.mktemp("A & B")
    write_whales(folder / "SM4_20200601_225930.wav", times=[10, 40])
    write_whales(folder / "SM4_20200602_010000.wav", times=[20], snr=46, seed=1)
    (folder / "bad.wav").write_text("no sound")
    return survey([folder], WHALES, jobs=1, progress=False, levels=True)


@pytest.fixture(scope="module")
def page(found):
    return report(found, WHALES, files(found))


def files(found):
    return [*found.recordings, *found.failures]


class Checker(HTMLParser):
    """Collects the elements of a page, and what is wrong with it."""

    def __init__(self):
        super().__init__()
        self.open, self.elements, self.wrong, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        self.text.append(data)


def checked(page):
    checker = Checker()
    checker.feed(page)
    assert checker.wrong == []
    assert checker.open == []
    return checker


# Pictures


def test_a_picture_shows_the_event_where_it_is(found):
    event = found.events[1]
    axes = figure_of_event(event, WHALES)
    assert len(axes) == 3
    (box,) = axes[0].patches
    offset = event.peak - axes[0].lines[0].get_xdata()[0]
    assert box.get_x() + offset == pytest.approx(event.start)
    assert box.get_width() == pytest.approx(event.end - event.start)
    assert box.get_y() * 1000 == pytest.approx(event.low)
    values = axes[2].lines[0].get_ydata()
    assert values.max() == pytest.approx(event.score, abs=1e-3)
    ticks = [float(tick.get_text()) for tick in axes[2].get_xticklabels()]
    assert_array_equal(np.round(axes[2].get_xticks() + offset, 6), ticks)
    assert "SM4_20200601_225930.wav, 2020-06-01T23:00:10" in axes[0].get_title()
    plt.close("all")


@pytest.mark.parametrize("strongest", [None, 1, 9])
def test_pictures_are_written_for_all_events_or_the_strongest(found, strongest, tmp_path):
    (tmp_path / "event-00099.png").write_text("of an earlier search")
    (tmp_path / "mine.png").write_text("not ours")
    write_figures(found, WHALES, tmp_path, strongest=strongest)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names.pop() == "mine.png"
    best = max(range(3), key=lambda number: found.events[number].score)
    expected = [best] if strongest == 1 else range(3)
    assert names == [f"event-{number + 1:05d}.png" for number in expected]
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in names)
    assert plt.get_fignums() == []


def test_the_strongest_are_in_the_order_of_the_table():
    events = [SimpleNamespace(score=score) for score in (3, 9, 1, 7)]
    assert strongest_events(events, 2) == [1, 3]
    assert strongest_events(events, None) == [0, 1, 2, 3]
    assert strongest_events([], 2) == []


# Hours and days


def test_events_are_counted_by_the_recorders_clock(found):
    counts, days = events_by_hour(found.events, found.recordings)
    assert days == ["2020-06-01", "2020-06-02"]
    expected = np.full((2, 24), np.nan)
    expected[0, 22], expected[0, 23], expected[1, 1] = 1, 1, 1
    assert_array_equal(counts, expected)


def test_without_a_clock_hours_are_counted_from_the_start():
    recordings = {
        "a": {"duration": 5400.0, "file_start": 100.0, "time": "", "clock": ""},
        "b": {"duration": 24 * 3600.0, "file_start": 5500.0, "time": "2020-06-01T00:00:00.000", "clock": "x"},
    }
    events = [SimpleNamespace(file="a", start=10.0), SimpleNamespace(file="b", start=23 * 3600.0)]
    counts, days = events_by_hour(events, recordings)
    assert days == ["day 1", "day 2"]
    assert counts[0, 0] == 1
    assert counts[1, 0] == 1
    assert np.nansum(counts) == 2
    assert np.isnan(counts[1, 2:]).all()


def test_without_a_clock_days_are_counted_for_years():
    day = {"duration": 24 * 3600.0, "time": "", "clock": ""}
    recordings = {f"{i}": {**day, "file_start": i * 24 * 3600.0} for i in range(800)}
    counts, days = events_by_hour([SimpleNamespace(file="799", start=7205.0)], recordings)
    assert days == [f"day {i + 1}" for i in range(800)]  # in order, and no month or year begins anew
    assert counts.shape == (800, 24)
    assert counts[799, 2] == counts.sum() == 1


# Pages


def test_a_page_is_whole_and_needs_nothing_else(page):
    checker = checked(page)
    assert page.startswith('<!DOCTYPE html>\n<html lang="en">')
    links = [value for _, attrs in checker.elements for key, value in attrs.items() if key in ("src", "href")]
    assert len(links) == 2 + 2 * 3  # two pictures of all, picture and sound of each event
    assert all(link.startswith(("data:image/png;base64,", "data:audio/mpeg;base64,")) for link in links)
    assert "http" not in re.sub(r"base64,[^\"]+", "", page)
    assert all(len(attrs["alt"]) > 40 for tag, attrs in checker.elements if tag == "img")
    assert ("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}) in checker.elements


def test_a_page_says_what_was_found(page):
    text = "\n".join(checked(page).text)
    assert "Detections in A & B" in text
    assert "3 of max-pooled PCEN" in text
    assert "local time, zone not stated, from file name" in text
    assert "Not read: bad.wav" in text
    assert "Format not recognised" in text
    contrasts = [float(found) for found in re.findall(r"([\d.]+) dB above the background", text)]
    assert contrasts == sorted(contrasts, reverse=True)
    assert len(contrasts) == 3


def test_a_page_is_about_its_folder_alone(found):
    names = list(found.recordings)
    text = "\n".join(checked(report(found, WHALES, names[:1])).text)
    assert "2, " in text
    assert "SM4_20200602" not in text
    assert "bad.wav" not in text


def test_pages_without_events_or_without_recordings(tmp_path):
    write_night(tmp_path / "quiet.wav", whale, sr=2000, seconds=30, times=[], snrs=[])
    nothing = survey([tmp_path], Search(setting=RIGHT_WHALE, threshold=9.0), jobs=1, progress=False, levels=True)
    page = report(nothing, WHALES, files(nothing))
    assert "Strongest" not in page
    assert "from the start of the first recording" in page
    checked(page)
    failed = Survey([], {}, {"x/bad.wav": "cannot read"})
    assert "Not read: bad.wav" in report(failed, WHALES, ["x/bad.wav"])
    checked(report(failed, WHALES, ["x/bad.wav"]))


def test_times_are_dates(found):
    assert [datetime.fromisoformat(one["time"]).day for one in found.recordings.values()] == [1, 2]


@pytest.mark.parametrize(
    ("seconds", "unit", "last"),
    [(0, "seconds", 0), (7, "seconds", 7), (150, "minutes", 2.5), (86400, "hours", 24), (400 * 86400, "days", 400)],
)
def test_without_a_clock_the_axis_has_a_unit_that_tells_its_ends_apart(seconds, unit, last):
    begin = np.datetime64("1000-01-01T00:00:00.000")
    times, label = elapsed(begin + np.array([0, 500 * seconds, 1000 * seconds]).astype("timedelta64[ms]"))
    assert times.tolist() == [0, last / 2, last]
    assert label.startswith(f"{unit} since the start")
