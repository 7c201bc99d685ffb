"""Data sets: what every one promises, what simulated ones promise beyond, pairs and reflections.

A further data set is added to `SIMULATED` or to `DATASETS`, and goes through the suite.
"""

import dataclasses
import functools
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pcenlib import NIGHTHAWK, RIGHT_WHALE, detection_functions
from pcenlib.core.recordings import info, samples
from pcenlib.datasets import nighthawk, right_whale
from pcenlib.datasets.catalogue import find
from pcenlib.datasets.interface import Clip, Paired, Reflected
from pcenlib.datasets.nighthawk import SimulatedNighthawk
from pcenlib.experiments.evaluate import evaluate
from pcenlib.experiments.protocols import NIGHTHAWK_PAPER, NIGHTHAWK_RELEASED, Protocol

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


# Pairs

WHALE = {"paper": Protocol(setting=RIGHT_WHALE)}
BIRDS = {"paper": NIGHTHAWK_PAPER, "released": NIGHTHAWK_RELEASED}


@pytest.mark.parametrize(
    ("positives", "negatives", "protocols"),
    [
        ("coni_knight", "birdvox_dcase20k", BIRDS),
        ("coni_knight", "esc50", BIRDS),
        ("nighthawk", "night_soundscapes", BIRDS),
        ("ccb18", "shipsear", WHALE),
        ("narw", "deepship", WHALE),
        ("narw", "narw", WHALE),
    ],
)
def test_experiments(wholes, positives, negatives, protocols):
    home, _ = wholes
    pair = Paired(find(positives, home), find(negatives, home))
    table = evaluate(pair, protocols, jobs=1)
    distances = {clip.distance for clip in pair.clips}
    assert set(table["distance"]) == distances
    assert set(table["group"]) == {clip.group for clip in pair.clips}
    assert len(table) == 3 * len(protocols) * len({(clip.distance, clip.group) for clip in pair.clips})
    assert (table["mtbfa"] > 0).all()


def test_workers_read_for_themselves(wholes):
    home, _ = wholes
    pair = Paired(find("ccb18", home), find("shipsear", home))
    one, two = (evaluate(pair, WHALE, jobs=jobs) for jobs in (1, 2))
    assert one.equals(two)


def test_pairs_take_clips_of_one_and_recordings_of_the_other(wholes):
    home, _ = wholes
    whales, ships = find("narw", home), find("deepship", home)
    pair = Paired(whales, ships)
    assert pair.clip_duration == 2.0
    assert pair.clips == whales.clips
    assert pair.recordings == ships.recordings
    assert pickle.loads(pickle.dumps(pair)) == pair  # noqa: S301
    assert_array_equal(pair.clip(pair.clips[0]).source, whales.clip(pair.clips[0]).source)
    assert pair.recording(ships.recordings[0]) == ships.recording(ships.recordings[0])


# Reflection


def test_a_clip_without_a_past_comes_after_itself_reversed(wholes):
    plain = find("coni_knight", wholes[0])
    dataset = Reflected(plain)
    assert dataset.clips == plain.clips
    assert dataset.clip_duration == plain.clip_duration
    for clip in dataset.clips[:2]:
        (x, sr, lead), alone = dataset.clip(clip), plain.clip(clip).source
        first = round(lead * sr)
        assert_array_equal(x[first:], alone)
        assert_array_equal(x[:first], alone[::-1])


def test_a_clip_with_a_past_keeps_it_and_recordings_are_left_alone():
    simulated = SimulatedNighthawk(seed=1, n_calls=1, n_birds=1, distances=(30,), n_scenes=1)
    dataset = Reflected(simulated)
    (clip,) = dataset.clips
    assert_array_equal(dataset.clip(clip).source, simulated.clip(clip).source)
    assert dataset.recordings == simulated.recordings
    assert_array_equal(dataset.recording("scene 0000").source, simulated.recording("scene 0000").source)


def test_files_cannot_be_reflected(wholes):
    class Files:
        def clip(self, _):
            return find("shipsear", wholes[0]).recording(find("shipsear", wholes[0]).recordings[0])

    with pytest.raises(ValueError, match="waveforms, not files"):
        Reflected(Files()).clip(None)
