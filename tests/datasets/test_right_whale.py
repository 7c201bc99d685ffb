"""The right-whale experiment: its data set, its two protocols, and the measurement of rising tones."""

import collections
import dataclasses
import math
import pickle

import numpy as np
import pytest
import scipy.signal
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib.datasets import right_whale
from pcenlib.datasets.right_whale import FULL_SCALE, LEAD, SHIPS, SR, SimulatedRightWhale
from pcenlib.simulation.callers import UpCall
from pcenlib.simulation.scenes import Sea
from pcenlib.simulation.ships import sea_noise, ships

SMALL = {"n_bins": 3, "n_calls": 2, "n_days": 2, "n_ships": 3, "duration": 60.0}
# Nothing but the call, straight from the whale.
QUIET = Sea(ambient=-300.0, ambient_days=0.0, ambient_clips=0.0, traffic=0.0, reverberation=None)


def rms(x):
    return np.sqrt(np.mean(np.square(x)))


def waveforms(dataset):
    clips = [dataset.clip(clip).source for clip in dataset.clips]
    return clips, [dataset.recording(name).source for name in dataset.recordings]


# The data set


def test_size_of_the_experiment():
    dataset = SimulatedRightWhale()
    clips = dataset.clips
    assert len(clips) == len({clip.name for clip in clips}) == 1200
    assert collections.Counter(clip.group for clip in clips) == {f"day {day}": 240 for day in range(1, 6)}
    assert sorted({clip.distance for clip in clips}) == [1000 * bin_ + 500 for bin_ in range(20)]
    assert len(dataset.recordings) == len(set(dataset.recordings)) == 90


def test_ships_are_189_minutes_and_none_is_shorter_than_ten_seconds():
    dataset = SimulatedRightWhale()
    sizes = [dataset.recording(name).source.size for name in dataset.recordings]
    assert sum(sizes) == 189 * 60 * SR
    assert min(sizes) >= 10 * SR
    assert max(sizes) > 2 * min(sizes)


@pytest.mark.parametrize(("n_ships", "duration"), [(1, 10.0), (7, 70.0), (7, 123.456)])
def test_ships_last_as_long_as_asked_for(n_ships, duration):
    dataset = SimulatedRightWhale(n_ships=n_ships, duration=duration)
    sizes = [dataset.recording(name).source.size for name in dataset.recordings]
    assert sum(sizes) == round(duration * SR)
    assert min(sizes) >= 10 * SR - 1


def test_clips_last_two_seconds_after_four_of_lead():
    dataset = SimulatedRightWhale(**SMALL)
    for clip in dataset.clips:
        sound = dataset.clip(clip)
        assert (sound.sr, sound.lead) == (SR, LEAD)
        assert sound.source.size == (LEAD + dataset.clip_duration) * SR
    assert dataset.clip_duration == 2.0
    assert all(dataset.recording(name).lead == 0 for name in dataset.recordings)


def test_a_seed_determines_all_sounds_wherever_they_are_made():
    dataset = SimulatedRightWhale(seed=1, **SMALL)
    elsewhere = pickle.loads(pickle.dumps(dataset))  # noqa: S301  # as another process gets it
    assert elsewhere == dataset
    assert repr(elsewhere) == repr(dataset)
    for mine, theirs in zip(waveforms(dataset), waveforms(elsewhere), strict=True):
        for x, y in zip(mine, theirs, strict=True):
            assert_array_equal(x, y)
    for mine, others in zip(waveforms(dataset), waveforms(SimulatedRightWhale(seed=2, **SMALL)), strict=True):
        for x, y in zip(mine, others, strict=True):
            n = min(x.size, y.size)
            assert abs(np.corrcoef(x[:n], y[:n])[0, 1]) < 0.3


def test_no_two_sounds_are_alike_or_silent():
    clips, recordings = waveforms(SimulatedRightWhale(**SMALL))
    sounds = [x[: 6 * SR] for x in clips + recordings]
    assert np.max(np.corrcoef(sounds) - np.eye(len(sounds))) < 0.9
    assert all(np.isfinite(x).all() and np.abs(x).max() > 0 for x in clips + recordings)
    assert all(np.abs(x).max() < 1 for x in clips)


# Calls


def call_alone(dataset, clip):
    """A clip without noise, in micropascals."""
    return FULL_SCALE * dataset.clip(clip).source


@pytest.mark.parametrize("exponent", [1.0, 1.6, 2.0])
def test_received_level_against_distance(exponent):
    sea = dataclasses.replace(QUIET, exponent=exponent)
    dataset = SimulatedRightWhale(n_bins=20, n_calls=1, n_days=1, sea=sea)
    for clip in dataset.clips:
        call, distance, onset = dataset.call(clip)
        x = call_alone(dataset, clip)
        begin = LEAD + onset
        inside = slice(round((begin + 0.3 * call.duration) * SR), round((begin + 0.7 * call.duration) * SR))
        spreading = 10 * exponent * math.log10(distance)
        harmonic = 10 * math.log10(1 + 10 ** (call.harmonic / 10))
        absorbed = 0.1  # dB, of 20 km at 200 Hz
        assert 20 * math.log10(rms(x[inside])) == pytest.approx(call.level - spreading + harmonic, abs=0.15 + absorbed)


def test_distances_lie_within_their_bin_and_levels_have_the_spread_of_calls():
    dataset = SimulatedRightWhale()
    calls = [dataset.call(clip) for clip in dataset.clips]
    offsets = np.array([call[1] for call in calls]) - [clip.distance for clip in dataset.clips]
    assert np.abs(offsets).max() <= 500
    assert abs(np.mean(offsets)) < 40
    assert min(distance for _, distance, _ in calls) >= 100
    levels = [call.level for call, _, _ in calls]
    assert np.mean(levels) == pytest.approx(UpCall().level, abs=0.5)


def test_a_call_lies_within_its_clip():
    dataset = SimulatedRightWhale(n_bins=4, sea=QUIET)
    for clip in dataset.clips:
        call, _, onset = dataset.call(clip)
        assert onset > -0.01
        assert onset + call.duration <= dataset.clip_duration + 0.01
        x = call_alone(dataset, clip)
        heard = np.flatnonzero(np.abs(x) > 1e-3 * np.abs(x).max()) / SR - LEAD
        assert heard[0] == pytest.approx(onset, abs=0.01)
        assert heard[-1] == pytest.approx(onset + call.duration, abs=0.01)


def energy_after_the_call(sea):
    """Energies within the call and after it, together over some calls at 10 km."""
    dataset = SimulatedRightWhale(n_bins=11, n_calls=30, n_days=1, sea=sea)
    within = after = 0.0
    for clip in dataset.clips[-30:]:
        call, _, onset = dataset.call(clip)
        x = call_alone(dataset, clip)
        end = round((LEAD + onset + call.duration) * SR)
        within, after = within + np.sum(x[:end] ** 2), after + np.sum(x[end:] ** 2)
    return within, after


def test_reverberation_moves_energy_behind_the_call_and_adds_none():
    direct, nothing = energy_after_the_call(QUIET)
    assert nothing < 1e-6 * direct
    # Decays so fast that all of it arrives within the clip.
    within, after = energy_after_the_call(dataclasses.replace(QUIET, reverberation=2000.0, decay_time=0.4))
    assert within + after == pytest.approx(direct, rel=0.1)
    assert after > 1e-3 * within
    slower = energy_after_the_call(dataclasses.replace(QUIET, reverberation=2000.0, decay_time=1.5))
    assert slower[1] > 2 * after


def test_reverberation_leaves_calls_and_noise_as_they_were():
    dry, wet = (SimulatedRightWhale(**SMALL, sea=Sea(reverberation=reverberation)) for reverberation in (None, 1000.0))
    for clip in dry.clips:
        assert dry.call(clip) == wet.call(clip)
        onset = round((LEAD + dry.call(clip)[2]) * SR)
        x, y = dry.clip(clip).source, wet.clip(clip).source
        assert_array_equal(x[:onset], y[:onset])
        assert not np.allclose(x[onset:], y[onset:])


# Noise around the calls


def before_the_call(dataset, clip):
    return FULL_SCALE * dataset.clip(clip).source[: round(LEAD * SR)]


def test_ambient_noise_has_its_level_at_100_hertz():
    sea = Sea(ambient=75.0, ambient_days=0.0, ambient_clips=0.0, traffic=0.0)
    dataset = SimulatedRightWhale(n_bins=1, sea=sea)
    waits = [before_the_call(dataset, clip) for clip in dataset.clips]
    frequency, density = scipy.signal.welch(np.array(waits), SR, nperseg=SR)
    near = np.abs(frequency - 100) <= 10
    assert 10 * np.log10(density[:, near].mean()) == pytest.approx(75, abs=0.3)
    assert_allclose([rms(x) for x in waits], rms(sea_noise(4 * SR, SR, np.random.default_rng(0), level=75)), rtol=0.1)


def test_levels_vary_from_day_to_day_and_from_clip_to_clip():
    days = SimulatedRightWhale(n_bins=1, n_days=60, n_calls=2, sea=Sea(ambient_days=3.0, ambient_clips=0, traffic=0))
    levels = np.array([20 * np.log10(rms(before_the_call(days, clip))) for clip in days.clips]).reshape(60, 2)
    assert_allclose(levels[:, 0], levels[:, 1], atol=1)
    assert np.std(levels[:, 0]) == pytest.approx(3, rel=0.3)
    clips = SimulatedRightWhale(n_bins=1, n_days=1, n_calls=99, sea=Sea(ambient_clips=3.0, ambient_days=0, traffic=0))
    assert np.std([20 * np.log10(rms(before_the_call(clips, clip))) for clip in clips.clips]) == pytest.approx(
        3, rel=0.3
    )


def test_ships_pass_in_their_share_of_the_clips_and_more_on_some_days():
    quiet, busy = (
        SimulatedRightWhale(n_bins=4, n_days=10, n_calls=10, sea=Sea(traffic=traffic, ship=20.0))
        for traffic in (0.0, 0.4)
    )
    louder = [rms(before_the_call(busy, clip)) > 1.5 * rms(before_the_call(quiet, clip)) for clip in quiet.clips]
    assert np.mean(louder) == pytest.approx(0.4, abs=0.15)
    shares = collections.defaultdict(list)
    for clip, is_louder in zip(quiet.clips, louder, strict=True):
        shares[clip.group].append(is_louder)
    by_day = [np.mean(found) for found in shares.values()]
    assert max(by_day) > 0.5
    assert min(by_day) < 0.3


# Ships


def test_what_is_switched_off_in_the_ships_leaves_the_calls_alone():
    dataset = SimulatedRightWhale(**SMALL)
    for name in ("modulation", "swelling", "transients"):
        other = dataclasses.replace(dataset, **{name: 0})
        for clip in dataset.clips:
            assert_array_equal(dataset.clip(clip).source, other.clip(clip).source)
        assert repr(other) != repr(dataset)


def test_without_transients_the_rest_of_a_ship_is_the_same():
    dataset = SimulatedRightWhale(n_ships=6, duration=360.0)
    without = dataclasses.replace(dataset, transients=False)
    touched = 0
    for ship, name in zip(ships(6, np.random.default_rng([0, SHIPS])), dataset.recordings, strict=True):
        x, y = dataset.recording(name).source, without.recording(name).source
        assert x.size == y.size
        differs = np.abs(x - np.median(x / y) * y) > 1e-9 * rms(x)  # both have the same level as a whole
        assert differs.mean() < 0.02 + 2 * 0.16 * ship.transients  # each lasts 160 ms
        touched += differs.any()
    assert touched >= 3


def modulation(x):
    """Spectrum of the power over time, relative to its mean, from 1 to 110 Hz, after the passage is taken out."""
    power = x**2
    power = power / scipy.signal.fftconvolve(power, np.ones(2 * SR) / (2 * SR), mode="same")[: power.size]
    middle = power[SR:-SR]
    spectrum = np.abs(np.fft.rfft(middle - middle.mean())) / middle.size
    rate = np.fft.rfftfreq(middle.size, 1 / SR)
    return spectrum[(rate > 1) & (rate < 110)]


def test_without_modulation_the_spectrum_is_the_same_and_the_rhythm_is_gone(monkeypatch):
    fleet = [dataclasses.replace(ship, depth=0.5) for ship in ships(6, np.random.default_rng(0))]
    monkeypatch.setattr(right_whale, "ships", lambda *_: fleet)  # most ships throb so little that it would not show
    dataset = SimulatedRightWhale(n_ships=6, duration=360.0, transients=False)
    without = dataclasses.replace(dataset, modulation=0.0)
    peaks = []
    for name in dataset.recordings:
        x, y = dataset.recording(name).source, without.recording(name).source
        assert x.size == y.size
        ratio = scipy.signal.welch(x, SR)[1] / scipy.signal.welch(y, SR)[1]
        assert abs(10 * np.log10(np.median(ratio))) < 0.5
        # Tones beat with each other at the blade rate too: this compares what is left above them.
        hum, left = (scipy.signal.sosfilt(scipy.signal.butter(8, 850, "high", fs=SR, output="sos"), z) for z in (x, y))
        peaks.append([modulation(z).max() / np.median(modulation(z)) for z in (hum, left)])
    modulated, steady = np.median(peaks, axis=0)
    assert modulated > 3 * steady


def test_modulation_is_a_factor_on_the_depth_of_each_ship(monkeypatch):
    depths = []
    monkeypatch.setattr(right_whale, "ship_noise", lambda n, *_, ship: depths.append(ship.depth) or np.zeros(n))
    for factor in (1.0, 2.0, 1e6):
        SimulatedRightWhale(n_ships=1, duration=60.0, modulation=factor).recording("ship 00")
    assert depths[1] == pytest.approx(2 * depths[0])
    assert depths[2] == 1
    with pytest.raises(ValueError, match=r"^modulation must"):
        SimulatedRightWhale(modulation=-1)


def test_without_swell_the_rest_of_a_ship_is_the_same():
    dataset = SimulatedRightWhale(n_ships=6, duration=360.0)
    without = dataclasses.replace(dataset, swelling=False)
    fleet = ships(6, np.random.default_rng([0, SHIPS]))
    for ship, name in zip(fleet, dataset.recordings, strict=True):
        gain = 20 * np.log10(dataset.recording(name).source / without.recording(name).source)
        assert np.std(gain) == pytest.approx(ship.swell, rel=0.2)
        assert np.abs(np.diff(gain)).max() < 0.05  # from one sample to the next


def test_ships_are_far_above_the_ambient_noise():
    dataset = SimulatedRightWhale(**SMALL)
    for name in dataset.recordings:
        assert 20 * np.log10(FULL_SCALE * rms(dataset.recording(name).source)) == pytest.approx(150, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "value"),
    [("seed", -1), ("seed", 0.5), ("n_bins", 0), ("n_calls", True), ("n_days", 0), ("n_ships", 0), ("duration", 899.0)],
)
def test_bad_simulations_are_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name} must"):
        SimulatedRightWhale(**{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("exponent", -1),
        ("reverberation", 0),
        ("decay_time", 0),
        ("ambient", np.nan),
        ("ambient_days", -1),
        ("ambient_clips", -1),
        ("traffic", 1.1),
        ("ship", np.inf),
    ],
)
def test_bad_seas_are_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name} must"):
        Sea(**{name: value})
