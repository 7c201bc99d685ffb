"""What one looks at after a search: a picture of each event, and a page for each folder of recordings.

A page is one file: pictures and sounds are inside, nothing is fetched from anywhere.
"""

import base64
import html
import io
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import matplotlib as mpl
import matplotlib.dates
import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt

from pcenlib.core.novelty import max_pooled_pcen, pcen
from pcenlib.core.recordings import info, waveform
from pcenlib.core.spectrogram import read_spectrogram
from pcenlib.core.version import __version__
from pcenlib.field.events import Event
from pcenlib.field.search import Search
from pcenlib.field.survey import Survey
from pcenlib.field.tables import label
from pcenlib.jobs.files import write_whole
from pcenlib.jobs.run import run
from pcenlib.show import plots
from pcenlib.show.events import event_panels, timeline
from pcenlib.show.players import RATES, player

__all__ = ["elapsed", "events_by_hour", "figure_of_event", "report", "strongest_events", "write_figures", "write_pages"]


# In time scales T of the setting: what a picture shows before and after an event, and what the background needs before.
AROUND_PERIODS = 5
WARMUP_PERIODS = 10

# Events on a page, and seconds of sound before and after each.
STRONGEST = 10
SOUND_AROUND = 0.5

# Of time without a clock, in seconds.
UNITS = {"days": 86400, "hours": 3600, "minutes": 60, "seconds": 1}

# The first day of a sequence without dates: long before the first recorder.
NO_DATE = datetime(1000, 1, 1)

T = TypeVar("T")

STYLE = """
body { font: 1rem/1.5 system-ui, sans-serif; color: #222; background: #fff }
body { margin: 0 auto; padding: 1rem; max-width: 48rem }
h1, h2, h3 { line-height: 1.25; overflow-wrap: anywhere }
figure { margin: 1rem 0 }
figcaption { color: #444; font-size: .9rem }
img { max-width: 100%; height: auto }
audio { width: 100%; max-width: 30rem }
.scroll { overflow-x: auto }
table { border-collapse: collapse }
th, td { text-align: left; vertical-align: top; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #ddd }
td { overflow-wrap: anywhere }
"""


def strongest_events(events: Sequence[Event], n: int | None) -> list[int]:
    """Numbers of the n events with the largest scores, from 0 and in the order of the table; all if n is None."""
    ranked = sorted(range(len(events)), key=lambda number: -events[number].score)
    return sorted(ranked[:n])


def figure_of_event(event: Event, search: Search) -> npt.NDArray[np.object_]:
    """Spectrogram, PCEN and detection function of a recording around an event.

    Parameters
    ----------
    event : Event
        The event.
    search : Search
        What found it.

    Returns
    -------
    ndarray of Axes, shape (3,)

    Notes
    -----
    The detection function is that of the stretch shown, with a lead that is not, in which its background forgets where
    it started.
    """
    setting = search.setting
    around = AROUND_PERIODS * setting.period
    first = max(0, int((event.start - around) / setting.hop))
    lead = min(first, int(WARMUP_PERIODS * setting.period / setting.hop))
    last = int((event.end + around) / setting.hop)
    E = read_spectrogram(event.file, setting, channel=search.channel, first=first - lead, last=last)
    name = label(event.file).replace("$", r"\$")  # a dollar is a dollar, not mathematics
    when = f", {event.time}" if event.time else ""
    return event_panels(
        E[:, lead:],
        pcen(E, s=setting.s)[:, lead:],
        max_pooled_pcen(E, s=setting.s)[lead:],
        setting,
        offset=first * setting.hop,
        event=event,
        threshold=search.threshold,
        title=f"{name}{when}",
    )


def write_figures(found: Survey, search: Search, folder: Path, *, strongest: int | None = None) -> dict[str, str]:
    """A picture of each event, or of the strongest ones, as PNG files named by the number of the event in the table.

    The folder is made if it is not there. Pictures of an earlier search are removed. What is returned says, by its
    path, why a picture could not be written.
    """
    folder.mkdir(exist_ok=True)
    for old in folder.glob("event-*.png"):
        old.unlink()
    chosen = strongest_events(found.events, strongest)
    events = {folder / f"event-{number + 1:05d}.png": found.events[number] for number in chosen}
    return _written(events, lambda event: _png(figure_of_event, event, search))


def write_pages(found: Survey, search: Search, pages: Mapping[Path, Sequence[str]]) -> dict[str, str]:
    """A page on each of several groups of recordings; what is returned says why one could not be written."""
    return _written(pages, lambda files: report(found, search, files))


def _written(contents: Mapping[Path, T], make: Callable[[T], str | bytes]) -> dict[str, str]:
    """Write what is made of each content, and tell why the others could not be."""
    if not contents:
        return {}
    outcome = run(lambda path: write_whole(path, make(contents[path])), contents, jobs=1, progress=False)
    return dict(outcome.failures)


def events_by_hour(
    events: Sequence[Event], recordings: dict[str, dict[str, Any]]
) -> tuple[npt.NDArray[np.float64], list[str]]:
    """Number of events in each hour of each day.

    Parameters
    ----------
    events : sequence of Event
        Events.
    recordings : dict of str to dict
        The recordings, as in `Survey`.

    Returns
    -------
    counts : ndarray, shape (day, 24)
        NaN where nothing was recorded.
    days : list of str
        Dates, as the recorder's clock tells them. If one of the recordings tells no time, hours and days are counted
        from the start of the first, as if all followed one another.
    """
    starts = _starts(recordings)
    recorded: dict[datetime, int] = {}
    for name, recording in recordings.items():
        hour = _hour(starts[name])
        while hour < starts[name] + timedelta(seconds=recording["duration"]):
            recorded[hour] = 0
            hour += timedelta(hours=1)
    for event in events:
        hour = _hour(starts[event.file] + timedelta(seconds=event.start))
        recorded[hour] = recorded.get(hour, 0) + 1
    days = sorted({hour.date() for hour in recorded})
    rows = {day: row for row, day in enumerate(days)}
    counts = np.full((len(days), 24), np.nan)
    for hour, count in recorded.items():
        counts[rows[hour.date()], hour.hour] = count
    if _has_clocks(recordings):
        return counts, [day.isoformat() for day in days]
    return counts, [f"day {1 + (day - NO_DATE.date()).days}" for day in days]


def report(found: Survey, search: Search, files: Sequence[str]) -> str:
    """A page in HTML on some recordings: when events came, how loud the background was, and the strongest events.

    All sounds on a page are played with the same gain, so a faint one is faint.
    """
    events = [event for event in found.events if event.file in files]
    recordings = {name: recording for name, recording in found.recordings.items() if name in files}
    failures = {name: reason for name, reason in found.failures.items() if name in files}
    folder = label(Path(files[0]).parent.absolute()) or "recordings"
    part = Survey(events, recordings, failures)
    body = [f"<h1>Detections in {html.escape(folder)}</h1>", _summary(part, search)]
    if recordings:
        body += [_hours_figure(part), _levels_figure(part, search)]
    if events:
        body += ["<h2>Strongest events</h2>", *_strongest(events, search)]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Detections in {html.escape(folder)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def _summary(found: Survey, search: Search) -> str:
    setting = search.setting
    clocks = sorted({recording["clock"] or "no time in file or name" for recording in found.recordings.values()})
    facts = {
        "Recordings": f"{len(found.recordings)}, together {found.hours:.2f} hours",
        "Events": f"{len(found.events)}, {len(found.events) / found.hours:.1f} an hour" if found.hours else "0",
        "Threshold": f"{search.threshold:g} of max-pooled PCEN",
        "Bands": f"{setting.n_bands} from {setting.fmin:.0f} to {setting.fmax:.0f} Hz",
        "Time scale": f"{1000 * setting.period:.0f} ms (s = {setting.s:g})",
        "Gap": f"events closer than {1000 * search.gap:.0f} ms are one",
        "Shortest": f"{1000 * search.min_duration:.0f} ms" if search.min_duration else "any",
        "Channel": "mean of all" if search.channel is None else f"{1 + search.channel}",
        "Clock": "; ".join(clocks),
        "Found by": f"pcenlib {__version__}",
        **{f"Not read: {label(name)}": reason for name, reason in found.failures.items()},
    }
    lines = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th><td>{html.escape(value)}</td></tr>\n'
        for name, value in facts.items()
    )
    return f'<div class="scroll"><table>\n{lines}</table></div>'


def _hours_figure(found: Survey) -> str:
    counts, days = events_by_hour(found.events, found.recordings)
    busiest = np.unravel_index(np.nanargmax(counts), counts.shape)
    alt = (
        f"Number of events in each hour of {len(days)} days. Most, {counts[busiest]:.0f}, on {days[busiest[0]]} "
        f"between {busiest[1]} and {busiest[1] + 1} o'clock."
    )
    caption = (
        "Events by hour and day, as the recorder's clock tells them; hatched where nothing was recorded. Days "
        "without any recording are left out."
    )
    if not _has_clocks(found.recordings):
        caption = "Events by hour from the start of the first recording, as if all followed one another."
    return _figure("When", _png(timeline, counts, days), alt, caption)


def _levels_figure(found: Survey, search: Search) -> str:
    starts = _starts(found.recordings)
    times, levels = [], []
    for name, recording in found.recordings.items():
        for second, level in recording["levels"]:
            times.append(starts[name] + timedelta(seconds=second))
            levels.append(level)
        # A gap between recordings stays a gap.
        times.append(starts[name] + timedelta(seconds=recording["duration"]))
        levels.append(float("nan"))
    setting = search.setting
    known = [level for level in levels if not np.isnan(level)] or [float("nan")]
    alt = f"Noise level over time, between {min(known):.0f} and {max(known):.0f} dB relative to full scale."
    caption = (
        f"Noise level from {setting.fmin:.0f} to {setting.fmax:.0f} Hz, relative to full scale: median of eight "
        "quarters of a second at the start of each minute."
    )

    def draw() -> Any:
        when, xlabel = np.array(times, dtype="datetime64[ms]"), ""
        if not _has_clocks(found.recordings):
            when, xlabel = elapsed(when)
        ax = plots.curves(when, {"": levels}, xlabel=xlabel, ylabel="noise level (dB)", marker=".")
        ax.set_ylim(min(known) - 3, max(known) + 3)  # so a steady noise looks steady
        if not xlabel:
            # Hours, and the date where a day begins.
            locator = ax.xaxis.get_major_locator()
            ax.xaxis.set_major_formatter(mpl.dates.ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
        return ax

    return _figure("How loud", _png(draw), alt, caption)


def elapsed(times: npt.NDArray[np.datetime64]) -> tuple[npt.NDArray[np.float64], str]:
    """Times since the first, in the largest unit of which they span two, and what the axis is called."""
    seconds = (times - times.min()) / np.timedelta64(1, "s")
    fitting = (name for name, unit in UNITS.items() if seconds.max() >= 2 * unit)
    name = next(fitting, "seconds")
    return seconds / UNITS[name], f"{name} since the start of the first recording"


def _strongest(events: Sequence[Event], search: Search) -> list[str]:
    chosen = sorted((events[i] for i in strongest_events(events, STRONGEST)), key=lambda event: -event.score)
    sounds = [_sound(event, search) for event in chosen]
    loudest = max(float(np.abs(x).max()) for x, _ in sounds)
    gain = -20 * np.log10(max(loudest, 1e-6)) - 1
    sections = []
    for event, (x, sr) in zip(chosen, sounds, strict=True):
        place = f"{event.start:.2f} s in {label(event.file)}"
        facts = (
            f"{event.end - event.start:.2f} s long, {event.low:.0f} to {event.high:.0f} Hz, "
            f"{event.contrast:.1f} dB above the background" + (f", {event.time}" if event.time else "")
        )
        picture = _png(figure_of_event, event, search)
        alt = f"Spectrogram, PCEN and detection function around {place}; the event is marked."
        sound = player(x, sr, f"The event at {place}", gain=gain)._repr_html_()
        sections.append(_figure(place, picture, alt, facts, heading="h3") + sound)
    caption = f"<p>All sounds are played {gain:+.0f} dB louder than recorded, so the loudest is as loud as can be.</p>"
    return [caption, *sections]


def _sound(event: Event, search: Search) -> tuple[npt.NDArray[np.float64], int]:
    """What an event sounds like, at a rate that MP3 knows."""
    limit = max(RATES[0], min(24000, info(event.file).sr))
    sr = max(rate for rate in RATES if rate <= limit)
    first, last = (round(max(0.0, time) * sr) for time in (event.start - SOUND_AROUND, event.end + SOUND_AROUND))
    return waveform(event.file, sr, channel=search.channel, first=first, last=last), sr


def _png(draw: Any, *arguments: Any) -> bytes:
    """A figure as PNG, in the style of the book."""
    before = plt.get_fignums()
    try:
        with mpl.rc_context(), io.BytesIO() as buffer:
            plots.use_style()
            np.ravel(draw(*arguments))[0].figure.savefig(buffer, format="png", dpi=100)
            return buffer.getvalue()
    finally:
        for number in set(plt.get_fignums()) - set(before):
            plt.close(number)


def _figure(title: str, png: bytes, alt: str, caption: str, *, heading: str = "h2") -> str:
    source = base64.b64encode(png).decode()
    return (
        f"<{heading}>{html.escape(title)}</{heading}>\n"
        f'<figure><img src="data:image/png;base64,{source}" alt="{html.escape(alt)}">'
        f"<figcaption>{html.escape(caption)}</figcaption></figure>"
    )


def _has_clocks(recordings: dict[str, dict[str, Any]]) -> bool:
    return all(recording["time"] for recording in recordings.values())


def _starts(recordings: dict[str, dict[str, Any]]) -> dict[str, datetime]:
    """When each recording began on the recorder's clock, or in the sequence of all if one tells no time."""
    if _has_clocks(recordings):
        return {name: datetime.fromisoformat(one["time"]).replace(tzinfo=None) for name, one in recordings.items()}
    first = min(one["file_start"] for one in recordings.values())
    return {name: NO_DATE + timedelta(seconds=one["file_start"] - first) for name, one in recordings.items()}


def _hour(time: datetime) -> datetime:
    """The full hour before a time."""
    return time.replace(minute=0, second=0, microsecond=0)
