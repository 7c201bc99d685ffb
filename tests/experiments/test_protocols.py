"""The two protocols of the right-whale experiment."""

import dataclasses
import math

import librosa
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib import RIGHT_WHALE, max_pooled_pcen, smoothing_coefficient, spectrogram
from pcenlib.core.evaluation import count_exceedances
from pcenlib.core.streaming import AVERAGED_FLUX, MAX_POOLED_FLUX, MAX_POOLED_PCEN
from pcenlib.datasets.right_whale import SR, SimulatedRightWhale
from pcenlib.experiments import evaluate
from pcenlib.experiments.protocols import RIGHT_WHALE_PAPER, RIGHT_WHALE_RELEASED

SMALL = {"n_bins": 3, "n_calls": 2, "n_days": 2, "n_ships": 3, "duration": 60.0}


def test_the_paper_is_taken_at_its_word():
    assert RIGHT_WHALE_PAPER.setting == RIGHT_WHALE
    assert RIGHT_WHALE.s == 0.33
    changed = {
        field.name
        for field in dataclasses.fields(RIGHT_WHALE_PAPER)
        if field.default is not dataclasses.MISSING and getattr(RIGHT_WHALE_PAPER, field.name) != field.default
    }
    assert changed == {"skip_recording"}
    assert RIGHT_WHALE_PAPER.skip_recording * RIGHT_WHALE.hop == pytest.approx(2, abs=RIGHT_WHALE.hop / 2)


def test_released_bands_are_bins_5_to_128():
    frequencies = RIGHT_WHALE_RELEASED.setting.frequencies
    assert_allclose(frequencies, np.arange(5, 129) * SR / 256)
    assert RIGHT_WHALE_RELEASED.setting.first_bin == 5


def test_released_s_is_that_of_librosa_for_a_time_constant_of_a_second():
    s = RIGHT_WHALE_RELEASED.setting.s
    assert s == pytest.approx(0.0606, abs=2e-3)
    # What its filter keeps of an impulse after eight frames.
    impulse = np.full((1, 8), 1e-30)
    impulse[0, 0] = 1e3
    options = {"sr": SR, "hop_length": RIGHT_WHALE.hop_length, "gain": 1.0, "bias": 0.0, "power": 1.0, "eps": 1e-6}
    _, state = librosa.pcen(impulse, time_constant=1.0, zi=np.zeros((1, 1)), return_zf=True, **options)
    decay = (state[0, 0] / (1e3 * s)) ** (1 / 8)
    assert decay == pytest.approx(1 - s, rel=1e-9)
    assert s == smoothing_coefficient(2 * math.pi, hop=RIGHT_WHALE.hop)


def test_dropped_bands_change_pcen_in_recordings_and_nothing_else():
    dataset = SimulatedRightWhale(n_bins=12, n_calls=2, n_days=1, n_ships=2, duration=60.0)
    released = dataclasses.replace(RIGHT_WHALE_RELEASED, dropped_in_recordings=60)  # so many that it shows
    protocols = {"all": dataclasses.replace(released, dropped_in_recordings=0), "dropped": released}
    table = evaluate.evaluate(dataset, protocols, jobs=1).set_index(["protocol", "detector", "distance"])
    whole, dropped = table.loc["all"], table.loc["dropped"]
    assert_array_equal(whole["threshold"], dropped["threshold"])
    for flux in (AVERAGED_FLUX, MAX_POOLED_FLUX):
        assert_array_equal(whole.loc[flux, "false_alarms"], dropped.loc[flux, "false_alarms"])
    fewer = dropped.loc[MAX_POOLED_PCEN, "false_alarms"]
    assert (fewer <= whole.loc[MAX_POOLED_PCEN, "false_alarms"]).all()
    assert fewer.sum() < 0.8 * whole.loc[MAX_POOLED_PCEN, "false_alarms"].sum()
    setting, alarms = released.setting, 0
    for name in dataset.recordings:
        E = spectrogram(dataset.recording(name).source, setting)[60:]
        ratio = np.expm1(max_pooled_pcen(E, s=setting.s))[released.skip_recording :]
        values = np.log1p(1 / (setting.s + (1 - setting.s) / ratio))
        thresholds = dropped.loc[MAX_POOLED_PCEN, "threshold"]
        alarms += np.array(count_exceedances([{"pcen": values}], {"pcen": thresholds}).alarms["pcen"])
    assert_array_equal(fewer, alarms)
