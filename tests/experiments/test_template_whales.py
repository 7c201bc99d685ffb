"""Templates of up-calls against noise and ships, on a small synthetic copy of the data sets."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib import RIGHT_WHALE, pcen, spectrogram
from pcenlib.datasets.catalogue import find
from pcenlib.experiments import right_whales, template_whales
from pcenlib.experiments.detectors import follow_sweeps
from pcenlib.experiments.template_whales import CLEAR, MAXIMUM, RISING, SETTING, SPECTRUM, TEMPLATES
from pcenlib.experiments.templates import REPRESENTATIONS, match
from pcenlib.simulation.callers import UpCall, up_call
from tests import copies
from tests.sounds import white, write

SR = RIGHT_WHALE.sr


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    """Up-calls in white noise, and louder noise whose spectrum is another; blocks of five, so few clips are needed."""
    home = tmp_path_factory.mktemp("whales")
    (home / "narw" / "train").mkdir(parents=True)
    call = up_call(UpCall(), SR)
    lines = []
    for number in range(1, 61):
        x = 0.01 * white(2 * SR, seed=number)
        if number % 2:
            first = 100 + 20 * number
            x[first : first + call.size] += 0.05 * call
        else:
            x = np.cumsum(x - x.mean())
        write(home / "narw" / "train" / f"train{number}.aiff", x, SR, format="AIFF")
        lines.append((f"train{number}.aiff", number % 2))
    copies.table(home / "narw" / "train.csv", ["clip_name", "label"], lines)
    for number in range(3):
        copies.sound(home / "deepship" / "Tug" / f"{number}.wav", 6, 32000, subtype="FLOAT")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(right_whales, "BLOCK", 5)
        for name, value in {"N_DRAWS": 3, "N_TEMPLATES": 4, "FEWER": (1, 2), "N_RESAMPLES": 20}.items():
            patch.setattr(template_whales, name, value)
        challenge = find("narw", home)
        clips = template_whales._clips(challenge)
        chosen = template_whales._chosen(clips)
        return challenge, clips, chosen, template_whales.whale_templates(challenge, find("deepship", home))


def values(trial, measure):
    table = trial[3]
    mine = table[table["measure"] == measure].fillna({"at": 0})
    return mine.set_index(["method", "of", "at"])["value"].sort_index()


def test_templates_are_of_calls_of_different_blocks_and_the_clear_ones_stand_out(trial):
    _, clips, chosen, _ = trial
    assert clips.is_call.sum() == 30
    assert np.bincount(clips.blocks).tolist() == [5] * 12
    for of_kind in chosen.values():
        assert clips.is_call[of_kind].all()
        assert all(len(set(blocks)) == 4 for blocks in clips.blocks[of_kind])
    assert_array_equal(clips.blocks[chosen[TEMPLATES]], clips.blocks[chosen[CLEAR]])
    assert (clips.snr[chosen[CLEAR]] >= clips.snr[chosen[TEMPLATES]]).all()


def test_pictures_are_of_the_clip_after_its_reflection_and_templates_hold_the_call(trial):
    challenge, clips, _, _ = trial
    x = np.asarray(challenge.clip(challenge.clips[0]).source)
    E = spectrogram(np.concatenate([x[::-1], x]), SETTING)
    assert_allclose(clips.pictures["PCEN"][0], pcen(E, s=SETTING.s)[:, 31:], rtol=1e-12)
    begin = clips.loudest[0].start * SETTING.hop
    assert abs(begin - (120 / SR)) < 0.25


def test_calls_are_told_from_noise(trial):
    area = values(trial, "area")
    for of in REPRESENTATIONS:
        assert area[TEMPLATES, of, 4] > 0.95
        assert values(trial, "ratio")[TEMPLATES, of, 4] == pytest.approx(
            area[TEMPLATES, of, 4] / area[TEMPLATES, "log magnitude", 4]
        )
    assert area[RISING, "PCEN", 0] > 0.95


def test_log_magnitudes_need_no_event_to_tell_one_water_from_another(trial):
    area = values(trial, "area")
    assert area[SPECTRUM, "log magnitude", 4] > 0.95
    unequal = values(trial, "unequal area")[TEMPLATES, "log magnitude"]
    assert unequal[12] <= unequal[3] <= area[TEMPLATES, "log magnitude", 4]


def test_a_tilt_is_a_gain_that_grows_with_the_octaves(trial):
    _, clips, chosen, _ = trial
    level = template_whales._tilted(clips, chosen[TEMPLATES], np.zeros(60))
    templates = template_whales._cut(clips, "log magnitude", chosen[TEMPLATES])
    expected = [match(templates, each).max(axis=(1, 2)) for each in clips.pictures["log magnitude"]]
    assert_allclose(level, np.transpose(expected))
    x = np.asarray(clips.pictures["log magnitude"][5])
    steep = x + np.log(2) * np.log2(SETTING.frequencies / 100)[:, np.newaxis]
    tilted = template_whales._tilted(clips, chosen[TEMPLATES], np.full(60, 20 * np.log10(2)))
    assert_allclose(tilted[:, 5], match(templates, steep).max(axis=(1, 2)))


def test_lines_that_are_followed_in_all_clips_at_once_stay_within_each(trial):
    _, clips, chosen, _ = trial
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(template_whales, "N_DRAWS", 3)
        scores = template_whales._scores(clips, chosen)
    for k in (0, 7, 59):
        alone = follow_sweeps(clips.pictures["PCEN"][k], setting=SETTING, **template_whales.LINES).max()
        assert_allclose(scores[RISING, "PCEN"][:, k], alone)
    assert_allclose(scores[MAXIMUM, "PCEN"][0], clips.pictures["PCEN"].max(axis=(1, 2)))
    assert (np.diff(scores[TEMPLATES, "PCEN"], axis=1) >= 0).all()


def test_every_row_has_its_interval_and_its_key(trial):
    table = trial[3]
    assert not table.duplicated(["method", "of", "measure", "at"]).any()
    with_interval = table.dropna(subset="low")
    assert set(table["measure"]) - set(with_interval["measure"]) == {"broadband", "broadband above"}
    assert (with_interval["low"] <= with_interval["high"]).all()
    recall = values(trial, "recall")[TEMPLATES, "PCEN"]
    assert (np.diff(recall) >= 0).all()
    alarms = values(trial, "alarms")
    assert len(alarms) == len(REPRESENTATIONS) + 7
    assert (alarms >= 0).all()
