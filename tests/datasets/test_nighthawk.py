"""Data sets: what every one promises, what simulated ones promise beyond, and the physics of each.

A further data set is added to `SIMULATED` or to `DATASETS`, and goes through the suite.
"""

import collections
import dataclasses
import functools
import pickle

import numpy as np
import pytest
import scipy.signal
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib import NIGHTHAWK, detection_functions, spreading_loss
from pcenlib.core.recordings import info, samples
from pcenlib.datasets import nighthawk, right_whale
from pcenlib.datasets.interface import Clip
from pcenlib.datasets.nighthawk import FULL_SCALE, LEAD, SR, SimulatedNighthawk
from pcenlib.simulation.acoustics import atmospheric_absorption, foliage_loss
from pcenlib.simulation.scenes import Night, pascals

NOISES = ("background", "self_noise", "wind", "rain", "insects", "clicks")
QUIET = Night(**dict.fromkeys(NOISES, -np.inf))

# From a seed to a small data set, made as the large one is.
SIMULATED = {
    "nighthawk": functools.partial(SimulatedNighthawk, n_calls=6, n_birds=3, distances=(30, 100, 300), n_scenes=2),
}
DATASETS = {name: make(seed=0) for name, make in SIMULATED.items()}

each_dataset = pytest.mark.parametrize("dataset", DATASETS.values(), ids=DATASETS.keys())
each_simulation = pytest.mark.parametrize("make", SIMULATED.values(), ids=SIMULATED.keys())


def heard(sound):
    """Waveform of a sound, and samples per second."""
    sr = info(sound.source, sr=sound.sr).sr
    return np.concatenate(list(samples(sound.source, sr, sr=sound.sr))), sr


def rms(x):
    return np.sqrt(np.mean(np.square(x)))


# Every data set


@each_dataset
def test_names_are_distinct_and_keep_their_order(dataset):
    clips, recordings = list(dataset.clips), list(dataset.recordings)
    assert len({clip.name for clip in clips}) == len(clips) > 0
    assert len(set(recordings)) == len(recordings) > 0
    assert (clips, recordings) == (list(dataset.clips), list(dataset.recordings))


@each_dataset
def test_every_clip_has_a_distance_and_a_group(dataset):
    for clip in dataset.clips:
        assert isinstance(clip, Clip)
        assert 0 < clip.distance < np.inf
        assert clip.group


@each_dataset
def test_every_group_is_heard_at_every_distance(dataset):
    pairs = {(clip.distance, clip.group) for clip in dataset.clips}
    distances, groups = ({pair[i] for pair in pairs} for i in (0, 1))
    assert len(pairs) == len(distances) * len(groups)


@each_dataset
def test_every_clip_is_as_long_as_all_and_has_its_lead(dataset):
    for clip in dataset.clips:
        sound = dataset.clip(clip)
        x, sr = heard(sound)
        assert sound.lead >= 0
        assert x.size / sr == pytest.approx(sound.lead + dataset.clip_duration, abs=1 / sr)


@each_dataset
def test_sounds_are_neither_silent_nor_clipped(dataset):
    sounds = [dataset.clip(clip) for clip in dataset.clips] + [dataset.recording(name) for name in dataset.recordings]
    for sound in sounds:
        x, _ = heard(sound)
        assert np.isfinite(x).all()
        assert 0 < np.abs(x).max() < 1


@each_dataset
def test_recordings_have_nothing_before_them(dataset):
    assert all(dataset.recording(name).lead == 0 for name in dataset.recordings)


@each_dataset
def test_a_sound_is_the_same_whenever_and_wherever_it_is_asked_for(dataset):
    clips, names = dataset.clips, dataset.recordings
    first = [heard(dataset.clip(clip))[0] for clip in clips[:3]] + [heard(dataset.recording(names[0]))[0]]
    elsewhere = pickle.loads(pickle.dumps(dataset))  # noqa: S301  # as another process gets it
    assert elsewhere == dataset
    assert repr(elsewhere) == repr(dataset)
    again = [heard(elsewhere.recording(names[0]))[0]] + [heard(elsewhere.clip(clip))[0] for clip in clips[2::-1]]
    for x, y in zip(first, again[::-1], strict=True):
        assert_array_equal(x, y)


@each_dataset
def test_sounds_are_what_detection_functions_take(dataset):
    clip = dataset.clips[0]
    sound = dataset.clip(clip)
    functions = detection_functions(sound.source, NIGHTHAWK, sr=sound.sr)
    assert len(functions.max_pooled_pcen) > (sound.lead + dataset.clip_duration) / NIGHTHAWK.hop - 10


# Every simulation


@each_simulation
def test_a_seed_determines_all_sounds(make):
    one, same, other = make(seed=1), make(seed=1), make(seed=2)
    assert one.clips == other.clips
    for sound in (lambda d: d.clip(d.clips[0]), lambda d: d.clip(d.clips[-1]), lambda d: d.recording(d.recordings[0])):
        assert_array_equal(heard(sound(one))[0], heard(sound(same))[0])
        assert abs(np.corrcoef(heard(sound(one))[0], heard(sound(other))[0])[0, 1]) < 0.3


@each_simulation
def test_no_two_sounds_are_the_same(make):
    dataset = make(seed=0)
    sounds = [heard(dataset.clip(clip))[0][:1000] for clip in dataset.clips]
    sounds += [heard(dataset.recording(name))[0][:1000] for name in dataset.recordings]
    correlations = np.corrcoef(sounds) - np.eye(len(sounds))
    assert correlations.max() < 0.999


@each_simulation
def test_a_smaller_set_is_a_part_of_a_larger_one(make):
    small, large = make(seed=0), make(seed=0, n_calls=9, n_scenes=40)
    assert set(small.clips) < set(large.clips)
    assert large.recordings[: len(small.recordings)] == small.recordings
    for clip in small.clips[::5]:
        assert_array_equal(heard(small.clip(clip))[0], heard(large.clip(clip))[0])
    assert_array_equal(heard(small.recording(small.recordings[1]))[0], heard(large.recording(small.recordings[1]))[0])


@each_simulation
def test_the_text_of_a_simulation_says_all(make):
    dataset = make(seed=7)
    assert eval(repr(dataset), {**vars(nighthawk), **vars(right_whale)}) == dataset  # noqa: S307
    assert repr(dataset) != repr(make(seed=8))


@each_simulation
def test_simulations_are_frozen(make):
    with pytest.raises(dataclasses.FrozenInstanceError):
        make(seed=0).seed = 1


# Simulated nighthawks: what there is


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
    assert clips[0] == Clip("call 00 at 30 m", 30.0, "bird 1")
    assert clips[-1] == Clip("call 63 at 500 m", 500.0, "bird 4")
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


# Simulated nighthawks: the call and its way


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
    [{}, {"temperature": 5.0}, {"humidity": 30.0}, {"foliage": 0.0}, {"foliage": 0.5}, {"foliage": 1.0}],
    ids=str,
)
@pytest.mark.parametrize("distance", [30.0, 150.0, 500.0])
def test_level_against_distance_follows_the_formulas(weather, distance):
    dataset = SimulatedNighthawk(night=dataclasses.replace(QUIET, **weather), distances=(distance,), n_calls=1)
    frequency, lost = attenuation(dataset, dataset.clips[0])
    night = dataset.night
    absorption = atmospheric_absorption(frequency, temperature=night.temperature, humidity=night.humidity)
    expected = spreading_loss(distance) + (distance - 1) * absorption
    expected = expected + foliage_loss(frequency, path=night.foliage * distance)
    assert frequency.size > 1000
    assert_allclose(lost, expected, atol=0.05)


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
    assert np.std(levels) == pytest.approx(np.hypot(3, 2), rel=0.15)


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


# Simulated nighthawks: reverberation


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
    noisy = dataclasses.replace(quiet, night=Night())
    clip = quiet.clips[30]
    options = {"reverberation": 100.0}
    assert_allclose(scattered(noisy, clip, **options), scattered(quiet, clip, **options), atol=1e-12)


# Nights


def noise_of(night, seconds=1.0, seed=0):
    return night.noise(round(seconds * SR), SR, np.random.default_rng(seed))


def only(name, level=40.0, **options):
    return dataclasses.replace(QUIET, **{name: level, "rainy": 1.0, "singing": 1.0, **options})


@pytest.mark.parametrize(("level", "pressure"), [(94.0, 1.0), (74.0, 0.1), (0.0, 20e-6)])
def test_levels_are_decibels_above_20_micropascals(level, pressure):
    assert pascals(level) == pytest.approx(pressure, rel=0.01)


def test_a_waveform_of_1_is_full_scale():
    dataset = SimulatedNighthawk(night=only("background", 74.0, spread=0.0))
    assert rms(dataset.recording("scene 0000").source) == pytest.approx(0.1 / 10, rel=0.01)


@pytest.mark.parametrize("name", ["background", "self_noise", "wind", "rain"])
@pytest.mark.parametrize("level", [20.0, 50.0])
def test_levels_of_steady_noises(name, level):
    assert 20 * np.log10(rms(noise_of(only(name, level, spread=0.0))) / 20e-6) == pytest.approx(level)


@pytest.mark.parametrize("name", ["insects", "clicks"])
def test_levels_of_intermittent_noises(name):
    quiet, loud = (noise_of(only(name, level, spread=0.0, click_rate=20.0), 3) for level in (40.0, 60.0))
    assert_allclose(loud, 10 * quiet, atol=1e-12)
    assert 0.5 < np.abs(quiet).max() / pascals(40) < 40  # of a click, several times its standard deviation


@pytest.mark.parametrize("spread", [0.0, 3.0])
@pytest.mark.parametrize("name", ["background", "rain"])
def test_levels_vary_from_scene_to_scene(name, spread):
    night = only(name, spread=spread)
    levels = [20 * np.log10(rms(noise_of(night, 0.01, seed)) / 20e-6) for seed in range(300)]
    assert np.mean(levels) == pytest.approx(40, abs=0.6)
    assert np.std(levels) == pytest.approx(spread, rel=0.12, abs=1e-9)


@pytest.mark.parametrize("name", NOISES)
def test_a_night_with_one_noise_more_is_otherwise_the_same_night(name):
    night = Night(rainy=1.0, singing=1.0, click_rate=5.0)
    without = dataclasses.replace(night, **{name: -np.inf})
    alone = dataclasses.replace(QUIET, rainy=1.0, singing=1.0, click_rate=5.0, **{name: getattr(night, name)})
    assert rms(noise_of(alone)) > 0
    assert_allclose(noise_of(night) - noise_of(without), noise_of(alone), atol=1e-15)


@pytest.mark.parametrize(("name", "share"), [("rain", "rainy"), ("insects", "singing")])
def test_rain_and_insects_are_there_in_their_share_of_the_scenes(name, share):
    for expected in (0.0, 0.3, 1.0):
        night = dataclasses.replace(only(name), **{share: expected, "chirps": 50.0})
        there = [noise_of(night, 0.05, seed).any() for seed in range(300)]
        assert np.mean(there) == pytest.approx(expected, abs=0.08)
    # It does not matter to the other noises whether it rains.
    wet, dry = (dataclasses.replace(QUIET, background=30.0, **{share: value}) for value in (1.0, 0.0))
    assert_array_equal(noise_of(wet), noise_of(dry))


def test_rates_are_those_of_the_night():
    slow, fast = (only("clicks", click_rate=rate) for rate in (2.0, 40.0))
    energies = [np.mean([rms(noise_of(night, 1, seed)) ** 2 for seed in range(30)]) for night in (slow, fast)]
    assert energies[1] / energies[0] == pytest.approx(20, rel=0.6)
    for name, rate in (("insects", "chirps"), ("rain", "drops"), ("wind", "gusts")):
        assert not np.array_equal(noise_of(only(name, **{rate: 1.5})), noise_of(only(name, **{rate: 8.0})))


def test_an_insect_of_each_scene_has_its_own_tone():
    tones = []
    for seed in range(40):
        x = noise_of(only("insects", chirps=10.0), 0.5, seed)
        tones.append(np.argmax(np.abs(np.fft.rfft(x))) / 0.5)
    assert 4150 < min(tones) < 4400 < 5300 < max(tones) < 5650


def test_colours_of_the_background():
    def octave(night, low):
        power = np.abs(np.fft.rfft(noise_of(night, 20))) ** 2
        frequency = np.fft.rfftfreq(20 * SR, 1 / SR)
        return 10 * np.log10(power[(frequency >= low) & (frequency < 2 * low)].sum())

    assert octave(only("background"), 400) == pytest.approx(octave(only("background"), 3200), abs=0.4)  # pink
    assert octave(only("self_noise"), 3200) - octave(only("self_noise"), 400) == pytest.approx(9, abs=0.4)  # white


def test_the_sound_before_a_clip_is_of_the_same_night():
    night = dataclasses.replace(QUIET, background=25.0, self_noise=18.0)
    dataset = SimulatedNighthawk(n_calls=30, distances=(500,), source_level=-100.0, night=night)
    before, within = [], []
    for clip in dataset.clips:
        x = np.diff(heard(dataset.clip(clip))[0])  # what is slow varies much in so short a time
        before.append(rms(x[: round(LEAD * SR)]))
        within.append(rms(x[round(LEAD * SR) :]))
    assert_allclose(np.divide(before, within), 1, atol=0.1)


def test_each_sensor_hears_noise_of_its_own():
    dataset = SimulatedNighthawk(n_calls=2, n_birds=1, distances=(30, 60, 100), source_level=-100.0)
    sounds = [np.diff(heard(dataset.clip(clip))[0]) for clip in dataset.clips]
    assert np.abs(np.corrcoef(sounds) - np.eye(6)).max() < 0.1


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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", -100),
        ("humidity", 0),
        *((name, value) for name in ("foliage", "rainy", "singing") for value in (-0.1, 1.1, np.nan)),
        *((name, value) for name in ("decay_time", "gusts", "chirps") for value in (0, -1)),
        *((name, value) for name in ("drops", "click_rate", "spread") for value in (-1, np.nan)),
        ("reverberation", 0),
        *((name, value) for name in NOISES for value in (np.nan, np.inf)),
    ],
)
def test_bad_nights_are_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name} must"):
        Night(**{name: value})
