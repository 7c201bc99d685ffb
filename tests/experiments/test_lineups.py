"""Who competes: names, bands, and memories in frames."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib import NIGHTHAWK, RIGHT_WHALE, averaged_flux, max_pooled_flux, max_pooled_pcen
from pcenlib.core.streaming import DETECTORS
from pcenlib.experiments.lineups import BIRDS, SIMULATED_WHALES, WHALES

EACH = {
    f"{animal}, {bands}": lineup
    for animal, lineups in {"birds": BIRDS, "whales": WHALES, "simulated": SIMULATED_WHALES}.items()
    for bands, lineup in lineups.items()
}
each_lineup = pytest.mark.parametrize("lineup", EACH.values(), ids=EACH)


def magnitudes(lineup, n_frames=120):
    return np.random.default_rng(0).rayleigh(size=(lineup.protocol.setting.n_bands, n_frames)) + 1e-3


def test_lengths_are_in_frames_of_the_setting():
    birds, whales = BIRDS["call"], WHALES["call"]
    assert [birds.frames(span) for span in birds.spans] == [14, 34, 69]
    assert [whales.frames(span) for span in whales.spans] == [1, 4, 8]
    assert [birds.frames(birds.past), whales.frames(whales.past)] == [345, 31]


def test_bands_are_those_of_the_call():
    for lineups, low, high in ((BIRDS, 2300, 6000), (WHALES, 50, 300), (SIMULATED_WHALES, 50, 300)):
        frequencies = lineups["call"].protocol.setting.frequencies
        assert low <= frequencies[0] < frequencies[-1] <= high
    assert BIRDS["all"].protocol.setting == NIGHTHAWK
    assert SIMULATED_WHALES["all"].protocol.setting == RIGHT_WHALE
    assert WHALES["all"].protocol.setting.frequencies[-1] <= 900


@each_lineup
def test_each_detector_gives_a_value_for_each_frame_and_can_be_sent(lineup):
    E = magnitudes(lineup)
    for name, detector in lineup.evaluated.detectors.items():
        values = detector(E)
        assert values.shape == (120,), name
        assert np.isfinite(values).all(), name
        assert_array_equal(pickle.loads(pickle.dumps(detector))(E), values)  # noqa: S301  # as a process gets it


@each_lineup
def test_only_those_that_follow_lines_know_the_future(lineup):
    E = magnitudes(lineup)
    changed = E.copy()
    changed[:, 100:] *= 5
    for name, detector in lineup.detectors.items():
        same = np.allclose(detector(changed)[:100], detector(E)[:100], rtol=1e-9)
        assert same == (name != "along rising lines"), name


@each_lineup
def test_the_papers_three_are_the_librarys(lineup):
    E = magnitudes(lineup)
    theirs = averaged_flux(E), max_pooled_flux(E), max_pooled_pcen(E, s=lineup.protocol.setting.s)
    for name, values in zip(DETECTORS, theirs, strict=True):
        assert_allclose(lineup.detectors[name](E), values)


def test_those_that_are_asked_for_are_the_only_ones():
    assert tuple(BIRDS["all"].detectors) == DETECTORS
    assert set(WHALES["call"].detectors) - set(BIRDS["call"].detectors) == {
        "PCEN, mean of 250 ms",
        "PCEN, mean of 500 ms",
        "along rising lines",
    }
