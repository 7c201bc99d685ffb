"""The experiment with networks, on small synthetic copies of its data sets."""

import importlib.util

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pcenlib.datasets.catalogue import find
from pcenlib.experiments import networks, right_whales
from pcenlib.experiments.intervals import area_under_curve
from pcenlib.experiments.learning import Training
from pcenlib.experiments.networks import ALONE, IN_SHIPS, INPUTS, LEARNED, LOG, MEAN, RATIOS, SETTING, areas, at
from tests.experiments.homes import whales_home
from tests.sounds import white

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
    E = networks.magnitudes(white(2, 4000))
    assert E.shape == (2, SETTING.n_bands, SETTING.n_frames(8000))
    assert_allclose(E, E[..., ::-1], rtol=1e-9, atol=1e-9, equal_nan=False) if E.shape[-1] % 2 == 0 else None


def test_areas_are_those_of_each_fold_averaged():
    rng = np.random.default_rng(0)
    values, calls, folds = rng.standard_normal((2, 40)).round(1), rng.random(40) < 0.5, np.arange(40) % 2
    counts = rng.integers(0, 3, (4, 40))
    counts[0] = 1
    of_seeds, of_draws = areas(values, calls, folds, counts)
    expected = [
        [
            area_under_curve(np.repeat(scores[i & calls], n[i & calls]), np.repeat(scores[i & ~calls], n[i & ~calls]))
            for i in (folds == 0, folds == 1)
        ]
        for n in counts
        for scores in values
    ]
    by_draw = np.mean(expected, axis=1).reshape(4, 2)
    assert_allclose(of_seeds, by_draw[0])
    assert_allclose(of_draws, by_draw.mean(axis=1))


def test_a_fold_is_tested_with_clips_and_ships_that_it_was_not_trained_with():
    # Clip k is a tone in band k, and ship k one in band 16 + k.
    folds = np.arange(10) % networks.N_FOLDS
    x = np.stack([tone(SETTING.frequencies[k], 2) for k in range(10)])
    fleet = [tone(SETTING.frequencies[16 + k], 6) for k in range(10)]
    for fold, (trainings, tests) in enumerate(networks._parts(x, folds, fleet)):
        assert list(tests) == [ALONE, *map(at, RATIOS)]
        assert trainings[IN_SHIPS].shape[0] == networks.COPIES
        loudest = {
            "training": trainings[IN_SHIPS].max(axis=(0, 1, 3)),
            "testing": np.max([tests[at(ratio)] for ratio in RATIOS], axis=(0, 1, 3)),
        }
        heard = {part: set(np.flatnonzero(level > 0.5 * level.max())) for part, level in loudest.items()}
        own = {fold, fold + networks.N_FOLDS}
        assert not {16 + k for k in own} & heard["training"]
        assert not own & heard["training"]
        assert heard["testing"] <= own | {16 + k for k in own}
        assert trainings[ALONE].shape[:2] == (1, np.count_nonzero(folds != fold))


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    pytest.importorskip("jax", reason="needs the extra learn")
    home = whales_home(tmp_path_factory.mktemp("whales"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(right_whales, "BLOCK", 4)
        patch.setattr(networks, "N_FOLDS", 2)
        patch.setattr(networks, "COPIES", 1)
        patch.setattr(networks, "N_RESAMPLES", 20)
        return networks.networks(find("narw", home), find("deepship", home), training=TINY, seeds=(1, 2))


def test_the_table_has_every_input_condition_and_seed(table):
    found = table[table["quantity"] == "area"]
    conditions = {ALONE, *map(at, RATIOS), MEAN}
    assert len(found) == len(INPUTS) * 2 * len(conditions) * 3
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
    assert_allclose(over["value"], wide["all"].loc[over.index] / wide["all"].xs(LOG)[over.index.droplevel(0)].to_numpy())
    assert (over["value_low"] <= over["value_high"]).all()
    assert (over.loc[LOG, ["value", "value_low", "value_high"]] == 1).all(axis=None)


def test_without_jax_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    home = whales_home(tmp_path, n=1)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'pcenlib\[learn\]'"):
        networks.networks(find("narw", home), find("deepship", home))
