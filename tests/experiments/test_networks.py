"""The experiment with networks, on small synthetic copies of its data sets."""

import importlib.util

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pcenlib.core.spectrogram import spectrogram
from pcenlib.datasets.catalogue import find
from pcenlib.experiments import networks, right_whales
from pcenlib.experiments.intervals import area_under_curve
from pcenlib.experiments.learning import Training
from pcenlib.experiments.networks import ALONE, IN_SHIPS, INPUTS, LEARNED, LOG, MEAN, PCEN, RATIOS, SETTING, areas, at
from tests.experiments.homes import whales_home
from tests.sounds import white

SOME = (LOG, PCEN, LEARNED)
TINY = Training(channels=(2,), strides=(4,), epochs=1, batch=4)


def tone(frequency, seconds):
    return np.sin(2 * np.pi * frequency * np.arange(round(seconds * SETTING.sr)) / SETTING.sr)


def test_a_mix_has_the_ratio_that_was_asked_for_in_the_bands_alone():
    x = np.stack([tone(150, 2) + 5 * tone(700, 2), 0.1 * tone(150, 2)])
    ship = 3 * tone(200, 10) + 50 * tone(900, 10)
    mix = networks.mixed(x, [ship], np.array([6, -6]), np.random.default_rng(0))
    noise = np.abs(np.fft.rfft(mix - x))[:, 400] / 2000  # amplitude at 200 Hz
    assert_allclose(20 * np.log10([1, 0.1] / noise), [6, -6], atol=0.01)


def test_the_same_generator_mixes_the_same_ships_at_another_ratio():
    x, fleet = white(3, 4000), [white(9000, seed=k) for k in (1, 2)]
    mixes = [networks.mixed(x, fleet, ratio, np.random.default_rng(5)) - x for ratio in (0, 20)]
    assert_allclose(mixes[0], 10 * mixes[1])


def test_magnitudes_are_of_a_clip_after_itself_reversed():
    x = white(2, 4000)
    later = spectrogram(x[:, 96:], SETTING)  # frames are 128 samples apart, and 4000 is 96 short of 32 of them
    E = networks.magnitudes(x)
    assert E.shape == (2, SETTING.n_bands, SETTING.n_frames(8000))
    assert_allclose(E[..., -later.shape[-1] :], later)


def test_areas_are_of_all_pairs_within_a_group():
    rng = np.random.default_rng(0)
    values, calls, groups = rng.standard_normal((2, 40)).round(1), rng.random(40) < 0.5, np.arange(40) % 2
    counts = rng.integers(0, 3, (4, 40))
    counts[0] = 1
    of_seeds, of_draws = areas(values, calls, groups, counts)
    expected = np.zeros((4, 2))
    for draw, n in enumerate(counts):
        in_groups = [(n[i & calls], i & calls, n[i & ~calls], i & ~calls) for i in (groups == 0, groups == 1)]
        pairs = [a.sum() * b.sum() for a, _, b, _ in in_groups]
        for seed, of_seed in enumerate(values):
            each = [area_under_curve(np.repeat(of_seed[p], a), np.repeat(of_seed[q], b)) for a, p, b, q in in_groups]
            expected[draw, seed] = np.average(each, weights=pairs)
    assert_allclose(of_seeds, expected[0])
    assert_allclose(of_draws, expected.mean(axis=1))


def test_groups_without_a_call_or_without_noise_have_no_pairs():
    calls, groups = np.array([True, True, True, False, False]), np.array([0, 1, 1, 1, 2])
    of_seeds, of_draws = areas(np.array([[9.0, 3, 1, 2, 8]]), calls, groups, np.ones((1, 5)))
    assert (of_seeds, of_draws) == (0.5, 0.5)


def test_a_fold_is_tested_with_clips_and_ships_that_it_was_not_trained_with():
    # Clip k is a tone in band 3 k, and ship k one in band 17 + 3 k.
    folds, centers = np.arange(networks.N_FOLDS), 3 * np.arange(networks.N_FOLDS)
    x = np.stack([tone(SETTING.frequencies[center], 2) for center in centers])
    fleet = [tone(SETTING.frequencies[17 + center], 6) for center in centers]
    for fold, (trainings, tests) in enumerate(networks._parts(x, folds, fleet)):
        assert list(tests) == [ALONE, *map(at, RATIOS)]
        assert trainings[ALONE].shape[:2] == (1, networks.N_FOLDS - 1)
        assert trainings[IN_SHIPS].shape[:2] == (networks.COPIES, networks.N_FOLDS - 1)
        training, testing = (
            np.max([E[..., 40:].max(axis=(*range(E.ndim - 2), -1)) for E in parts.values()], axis=0)
            for parts in (trainings, tests)
        )
        for offset in (0, 17):
            heard = (np.delete(training[centers + offset], fold), testing[offset + 3 * fold])
            tones = min(np.min(level) for level in heard)
            assert max(training[offset + 3 * fold], np.delete(testing[centers + offset], fold).max()) < 0.1 * tones


def test_clips_at_any_level_differ_by_a_gain_alone():
    x, fleet, folds = white(10, 4000), [white(9000, seed=k) for k in range(5)], np.arange(10) % networks.N_FOLDS
    plain, changed = next(networks._parts(x, folds, fleet)), next(networks._parts(x, folds, fleet, 20.0))
    for before, after in zip(plain, changed, strict=True):
        for name, E in before.items():
            gains = after[name] / E
            assert_allclose(gains, np.broadcast_to(gains[..., :1, :1], gains.shape))
            assert np.ptp(gains[..., 0, 0]) > 0.1
            assert np.abs(20 * np.log10(gains)).max() <= 20
            for blind in (PCEN, "slower PCEN", "log(E/median)"):
                assert_allclose(INPUTS[blind](after[name]), INPUTS[blind](E), atol=1e-9)


def test_level_alone_tells_louder_clips_at_every_ratio(tmp_path, monkeypatch):
    monkeypatch.setattr(right_whales, "BLOCK", 4)
    monkeypatch.setattr(networks, "N_FOLDS", 2)
    monkeypatch.setattr(networks, "COPIES", 1)
    home = whales_home(tmp_path)
    table = networks.levels_alone(find("narw", home), find("deepship", home)).set_index("tested")
    assert list(table.index) == [ALONE, *map(at, RATIOS), MEAN]
    assert (table["area"] > 0.7).all()  # half of the calls are loud tones
    assert ((table["area_low"] <= table["area"]) & (table["area"] <= table["area_high"])).all()


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    pytest.importorskip("jax", reason="needs the extra learn")
    home = whales_home(tmp_path_factory.mktemp("whales"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(right_whales, "BLOCK", 4)
        patch.setattr(networks, "N_FOLDS", 2)
        patch.setattr(networks, "COPIES", 1)
        patch.setattr(networks, "N_RESAMPLES", 20)
        return networks.networks(find("narw", home), find("deepship", home), training=TINY, seeds=(1, 2), inputs=SOME)


def test_the_table_has_every_input_condition_and_seed(table):
    found = table[table["quantity"] == "area"]
    conditions = {ALONE, *map(at, RATIOS), MEAN}
    assert len(found) == len(SOME) * 2 * len(conditions) * 3
    assert set(found["tested"]) == conditions
    assert set(found["seed"]) == {"1", "2", "all"}
    assert not table.duplicated(list(networks.KEYS)).any()
    learned = table[table["tested"] == "training"]
    assert set(learned["input"]) == {LEARNED}
    assert len(learned) == 4 * 2 * 2


def test_seeds_are_averaged_and_inputs_are_compared_with_the_logarithm(table):
    wide = table[table["quantity"] == "area"].pivot(
        index=["input", "trained", "tested"], columns="seed", values="value"
    )
    assert_allclose(wide["all"], wide[["1", "2"]].mean(axis=1))
    one = wide["all"].xs(IN_SHIPS, level="trained")
    assert_allclose(one[LOG, MEAN], one[LOG][[at(ratio) for ratio in RATIOS]].mean())
    over = table[table["quantity"] == "over log"].set_index(["input", "trained", "tested"])
    assert_allclose(
        over["value"], wide["all"].loc[over.index] / wide["all"].xs(LOG)[over.index.droplevel(0)].to_numpy()
    )
    assert (over["value_low"] <= over["value_high"]).all()
    assert (over.loc[LOG, ["value", "value_low", "value_high"]] == 1).all(axis=None)


def test_without_jax_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    home = whales_home(tmp_path, n=1)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'pcenlib\[learn\]'"):
        networks.networks(find("narw", home), find("deepship", home))
