"""Simulated nighthawks: the call and its path, from waveforms."""

import collections
import dataclasses

import numpy as np
import pytest
import scipy.signal
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib import NIGHTHAWK, spreading_loss
from pcenlib.core.recordings import info, samples
from pcenlib.datasets.interface import Clip
from pcenlib.datasets.nighthawk import FULL_SCALE, LEAD, SR, SimulatedNighthawk
from pcenlib.simulation.acoustics import atmospheric_absorption
from pcenlib.simulation.scenes import Night

NOISES = ("background", "self_noise", "wind", "rain", "insects", "clicks")
QUIET = Night(**dict.fromkeys(NOISES, -np.inf), scatter=0.0)


def heard(sound):
    """Waveform of a sound, and samples per second."""
    sr = info(sound.source, sr=sound.sr).sr
    return np.concatenate(list(samples(sound.source, sr, sr=sound.sr))), sr


def rms(x):
    return np.sqrt(np.mean(np.square(x)))


# What there is


def test_704_clips_of_5_birds_and_100_minutes():
    dataset = SimulatedNighthawk()
    clips = dataset.clips
    assert len(clips) == 704
    assert collections.Counter(clip.distance for clip in clips) == dict.fromkeys(
        (30, 60, 100, 150, 200, 250, 300, 350, 400, 450, 500), 64
    )
    assert collections.Counter(clip.group for clip in clips) == {
        f"bird {i}": 11 * (13 if i < 5 else 12) for i in range(1, 6)
    }
    assert clips[0] == Clip("call 00 at 30 m", 30.0, "bird 1", 0)
    assert clips[-1] == Clip("call 63 at 500 m", 500.0, "bird 4", 63)
    assert len(dataset.recordings) * dataset.scene_duration == 100 * 60
    assert (dataset.recordings[0], dataset.recordings[-1]) == ("scene 0000", "scene 0599")


def test_clips_last_700_ms_after_half_a_second_and_scenes_10_s():
    dataset = SimulatedNighthawk()
    sound = dataset.clip(dataset.clips[5])
    assert (sound.lead, sound.sr, len(sound.source)) == (0.5, 22050, round(1.2 * 22050))
    scene = dataset.recording("scene 0003")
    assert (scene.lead, scene.sr, len(scene.source)) == (0.0, 22050, 10 * 22050)


def test_a_larger_number_of_calls_than_two_digits_has_distinct_names():
    dataset = SimulatedNighthawk(n_calls=101, n_birds=2, distances=[30, 30.5], n_scenes=10001)
    assert len({clip.name for clip in dataset.clips}) == 202
    assert len(set(dataset.recordings)) == 10001


# The call and its path


@pytest.fixture(scope="module")
def quiet():
    return SimulatedNighthawk(night=QUIET, n_calls=6, n_birds=3)


def test_a_call_is_the_same_at_all_distances(quiet):
    for number in (0, 4):
        clips = [clip for clip in quiet.clips if clip.name.startswith(f"call {number:02d} ")]
        (first, onset), *others = [quiet.call(clip) for clip in clips]
        assert len(clips) == 11
        for call, start in others:
            assert_array_equal(call, first)
            assert start == onset


def attenuation(dataset, clip):
    """Decibels that each frequency within the band of the calls loses between one metre and the sensor."""
    call, _ = dataset.call(clip)
    x, _ = heard(dataset.clip(clip))
    source, sensor = (np.abs(np.fft.rfft(y, 2**15)) for y in (call, FULL_SCALE * x))
    frequency = np.fft.rfftfreq(2**15, 1 / SR)
    kept = (frequency > 2500) & (frequency < 5000) & (source > 0.01 * source.max())
    return frequency[kept], 20 * np.log10(source[kept] / sensor[kept])


@pytest.mark.parametrize(
    "weather",
    [{}, {"temperature": 5.0}, {"humidity": 30.0}, {"excess": 0.0}, {"excess": 8.0}],
    ids=str,
)
@pytest.mark.parametrize("distance", [30.0, 150.0, 500.0])
def test_level_against_distance_follows_the_formulas(weather, distance):
    dataset = SimulatedNighthawk(night=dataclasses.replace(QUIET, **weather), distances=(distance,), n_calls=1)
    frequency, lost = attenuation(dataset, dataset.clips[0])
    night = dataset.night
    absorption = atmospheric_absorption(frequency, temperature=night.temperature, humidity=night.humidity)
    expected = spreading_loss(distance) + (distance - 1) * (absorption + night.excess / 100)
    assert frequency.size > 1000
    assert_allclose(lost, expected, atol=0.05)


def test_no_two_sensors_agree_about_the_level_and_nothing_else_changes():
    straight = SimulatedNighthawk(night=QUIET, n_calls=8, distances=(30, 60, 100, 150, 200, 250))
    scattered = dataclasses.replace(straight, night=dataclasses.replace(QUIET, scatter=4.0))
    gains = []
    for clip in straight.clips:
        x, y = (heard(dataset.clip(clip))[0] for dataset in (straight, scattered))
        gains.append(20 * np.log10(rms(y) / rms(x)))
        assert_allclose(y, 10 ** (gains[-1] / 20) * x, atol=1e-12)
    assert np.std(gains) == pytest.approx(4, rel=0.3)
    assert np.mean(gains) == pytest.approx(0, abs=1.8)
    noisy = dataclasses.replace(QUIET, self_noise=18.0)
    deaf = [
        SimulatedNighthawk(night=dataclasses.replace(noisy, scatter=scatter), source_level=-200.0, distances=(30,))
        for scatter in (0.0, 4.0)
    ]
    assert_allclose(*(heard(dataset.clip(dataset.clips[0]))[0] for dataset in deaf), atol=1e-12)


def test_a_call_begins_at_its_onset_and_ends_within_its_clip():
    dataset = SimulatedNighthawk(night=QUIET, distances=(30,))
    for clip in dataset.clips[::2]:
        call, onset = dataset.call(clip)
        assert 0.15 <= onset <= 0.3
        assert onset + call.size / SR < dataset.clip_duration - 0.05
        x, _ = heard(dataset.clip(clip))
        begin = round((LEAD + onset) * SR)
        energy = np.sum(x**2)
        assert np.sum(x[:begin] ** 2) < 1e-4 * energy
        assert np.sum(x[begin + call.size :] ** 2) < 1e-4 * energy
        assert np.argmax(scipy.signal.correlate(x, call, mode="valid")) == begin


def test_onsets_come_anywhere_within_a_frame():
    dataset = SimulatedNighthawk(distances=(30,))
    onsets = np.array([dataset.call(clip)[1] for clip in dataset.clips])
    phases, _ = np.histogram(onsets / NIGHTHAWK.hop % 1, 4, (0, 1))
    assert phases.min() > 5
    assert np.std(onsets) == pytest.approx(0.15 / np.sqrt(12), rel=0.2)


def test_source_level():
    dataset = SimulatedNighthawk(n_birds=80, n_calls=80, distances=(30,), source_level=85.0)
    # A tone with this peak pressure has this level.
    levels = [20 * np.log10(np.abs(dataset.call(clip)[0]).max() / np.sqrt(2) / 20e-6) for clip in dataset.clips]
    assert np.mean(levels) == pytest.approx(85, abs=1)
    assert np.std(levels) == pytest.approx(np.hypot(2.5, 1.7), rel=0.15)


def test_a_louder_source_is_louder_everywhere_and_nothing_else(quiet):
    louder = dataclasses.replace(quiet, source_level=quiet.source_level + 12)
    for clip in quiet.clips[::20]:
        assert_allclose(heard(louder.clip(clip))[0], 10 ** (12 / 20) * heard(quiet.clip(clip))[0], atol=1e-15)


def test_calls_of_a_group_are_those_of_one_bird():
    dataset = SimulatedNighthawk(n_birds=6, n_calls=30, distances=(30,))
    rates = collections.defaultdict(list)
    for clip in dataset.clips:
        envelope = dataset.call(clip)[0] ** 2
        spectrum = np.abs(np.fft.rfft(np.hanning(envelope.size) * (envelope - envelope.mean()), 2**16))
        frequency = np.fft.rfftfreq(2**16, 1 / SR)
        inside = (frequency > 150) & (frequency < 300)
        rates[clip.group].append(frequency[inside][spectrum[inside].argmax()])
    within = np.mean([np.std(of_group) for of_group in rates.values()])
    between = np.std([np.mean(of_group) for of_group in rates.values()])
    assert within < 0.6 * between


def test_no_two_calls_are_alike(quiet):
    calls = [quiet.call(clip)[0][:3000] for clip in quiet.clips[:6]]
    assert (np.corrcoef(calls) - np.eye(6)).max() < 0.95


def test_a_waveform_of_1_is_full_scale():
    dataset = SimulatedNighthawk(night=dataclasses.replace(QUIET, background=74.0, spread=0.0))
    assert rms(dataset.recording("scene 0000").source) == pytest.approx(0.1 / 10, rel=0.01)


def test_each_sensor_hears_noise_of_its_own():
    dataset = SimulatedNighthawk(n_calls=2, n_birds=1, distances=(30, 60, 100), source_level=-100.0)
    sounds = [np.diff(heard(dataset.clip(clip))[0]) for clip in dataset.clips]
    assert np.abs(np.corrcoef(sounds) - np.eye(6)).max() < 0.1


def test_the_sound_before_a_clip_is_of_the_same_night():
    night = dataclasses.replace(QUIET, background=25.0, self_noise=18.0)
    dataset = SimulatedNighthawk(n_calls=30, distances=(500,), source_level=-100.0, night=night)
    before, within = [], []
    for clip in dataset.clips:
        x = np.diff(heard(dataset.clip(clip))[0])  # what is slow varies much in so short a time
        before.append(rms(x[: round(LEAD * SR)]))
        within.append(rms(x[round(LEAD * SR) :]))
    assert_allclose(np.divide(before, within), 1, atol=0.1)


# Reverberation


def scattered(dataset, clip, **options):
    """What reverberation adds to a clip."""
    reverberant = dataclasses.replace(dataset, night=dataclasses.replace(dataset.night, **options))
    return heard(reverberant.clip(clip))[0] - heard(dataset.clip(clip))[0]


def test_reverberation_equals_direct_sound_at_its_distance_and_grows_with_the_square(quiet):
    for distance, expected in ((30, 20 * np.log10(0.3)), (100, 0.0), (300, 20 * np.log10(3))):
        clips = [clip for clip in quiet.clips if clip.distance == distance]
        ratios = [
            np.sum(scattered(quiet, clip, reverberation=100.0, decay_time=0.05) ** 2)
            / np.sum(heard(quiet.clip(clip))[0] ** 2)
            for clip in clips
        ]
        assert 10 * np.log10(np.mean(ratios)) == pytest.approx(expected, abs=1.5)


def test_each_sensor_has_scatterers_of_its_own(quiet):
    sounds = [
        scattered(quiet, clip, reverberation=100.0, decay_time=0.1)
        for clip in quiet.clips
        if clip.name.startswith("call 02 ") and clip.distance <= 100
    ]
    assert np.abs(np.corrcoef(sounds) - np.eye(len(sounds))).max() < 0.5


def test_reverberation_decays_after_the_call():
    dataset = SimulatedNighthawk(night=QUIET, distances=(100,), n_calls=12)
    power = np.zeros(round(0.1 * SR))
    for clip in dataset.clips:
        call, onset = dataset.call(clip)
        end = round((LEAD + onset) * SR) + call.size
        power += scattered(dataset, clip, reverberation=100.0, decay_time=0.2)[end : end + power.size] ** 2
    level = 10 * np.log10(power)
    time = np.arange(level.size) / SR
    assert np.polyfit(time, level, 1)[0] == pytest.approx(-60 / 0.2, rel=0.1)


def test_reverberation_leaves_the_noise_as_it_was(quiet):
    noisy = dataclasses.replace(quiet, night=Night(scatter=0.0))
    clip = quiet.clips[30]
    options = {"reverberation": 100.0}
    assert_allclose(scattered(noisy, clip, **options), scattered(quiet, clip, **options), atol=1e-12)


# Bad input


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, value) for name in ("n_calls", "n_birds", "n_scenes") for value in (0, -1, 1.5, True, None, "3")),
        *(("seed", value) for value in (-1, 1.5, True, None, "3")),
        *(("distances", value) for value in ([0.5], [30, np.nan], [np.inf], ["30"])),
        *(("source_level", value) for value in (np.nan, np.inf, None)),
    ],
)
def test_bad_simulations_are_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name} must"):
        SimulatedNighthawk(**{name: value})
