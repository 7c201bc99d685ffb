"""A simulated night: calls where its list says, and nothing else that changes with them."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pcenlib.datasets import simulated_night
from pcenlib.datasets.nighthawk import LEAD, SR
from pcenlib.datasets.simulated_night import Event, SimulatedNight
from pcenlib.simulation.scenes import Night

NOISES = ("background", "self_noise", "wind", "rain", "insects", "clicks")
QUIET = Night(**dict.fromkeys(NOISES, -np.inf), scatter=0.0)


@pytest.fixture
def short(monkeypatch):
    """Stretches of one minute."""
    monkeypatch.setattr(simulated_night, "STRETCH", 1)


def test_events_are_in_order_within_their_hours_and_distances():
    night = SimulatedNight(seed=3, hours=(Night(),) * 3, rates=(40.0, 0.0, 20.0), nearest=50, farthest=80)
    assert night.events == sorted(night.events)
    hours = [event.minute // 60 for event in night.events]
    assert set(hours) == {0, 2}
    assert abs(hours.count(0) - 40) < 20
    assert all(50 <= event.distance <= 80 for event in night.events)
    assert all(event.time % 60 < 59.5 for event in night.events)
    assert {event.bird for event in night.events} == set(range(5))


def test_other_seeds_and_hours():
    night = SimulatedNight(seed=3)
    assert night.events == SimulatedNight(seed=3).events != SimulatedNight(seed=4).events
    longer = replace(night, hours=night.hours * 2, rates=(30.0, 5.0))
    assert longer.events[: len(night.events)] == night.events


def test_stretches_cover_the_night():
    night = SimulatedNight(hours=(Night(),) * 2, rates=(1, 1))
    assert night.recordings[0] == "minute 0000"
    assert night.recordings[-1] == "minute 0115"
    assert len(night.recordings) == 24


def test_the_minute_of_an_event():
    assert [Event(time, 30.0, 0).minute for time in (0.0, 59.4, 60.0, 3601.0)] == [0, 0, 1, 60]


@pytest.mark.usefixtures("short")
def test_calls_are_where_the_list_says():
    night = SimulatedNight(seed=1, hours=(QUIET,), rates=(20.0,))
    minute = night.events[0].minute
    mine = [event for event in night.events if event.minute == minute]
    sound = night.recording(f"minute {minute:04d}")
    assert (sound.sr, sound.lead, len(sound.source)) == (SR, LEAD, round((60 + LEAD) * SR))
    loud = np.abs(sound.source) > 0.02 * np.abs(sound.source).max()
    first = np.flatnonzero(loud)[0] / SR - LEAD
    assert_allclose(first, mine[0].time - 60 * minute, atol=0.02)
    empty = min(set(range(60)) - {event.minute for event in night.events})
    assert not np.any(night.recording(f"minute {empty:04d}").source)


@pytest.mark.usefixtures("short")
def test_far_calls_are_weaker():
    near = SimulatedNight(seed=1, hours=(QUIET,), rates=(20.0,), nearest=30, farthest=30)
    far = replace(near, nearest=100, farthest=100)
    name = f"minute {near.events[0].minute:04d}"
    peaks = [np.abs(night.recording(name).source).max() for night in (near, far)]
    assert peaks[1] < 0.3 * peaks[0]


@pytest.mark.usefixtures("short")
def test_noise_does_not_depend_on_calls():
    hiss = replace(QUIET, self_noise=20.0)
    called, without = (SimulatedNight(seed=1, hours=(hiss,), rates=(rate,)) for rate in (20.0, 0.0))
    minutes = {event.minute for event in called.events}
    for minute, same in ((min(set(range(60)) - minutes), True), (min(minutes), False)):
        name = f"minute {minute:04d}"
        assert np.array_equal(called.recording(name).source, without.recording(name).source) == same


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rates": (1.0, 2.0)}, "rates must be as many as hours"),
        ({"rates": (-1.0,)}, "rates must be"),
        ({"nearest": 0.5}, "nearest must be"),
        ({"farthest": 20.0}, "farthest must be"),
        ({"n_birds": 0}, "n_birds must be"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        SimulatedNight(**options)
