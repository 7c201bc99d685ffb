"""The right whale challenge, on a synthetic copy."""

import shutil

import numpy as np
import pytest

from pcenlib.datasets import right_whale_challenge
from pcenlib.datasets.right_whale_challenge import SNR_BINS, RightWhaleChallenge, received_snr
from tests.sounds import white


def test_right_whales_are_in_blocks_and_bins(wholes):
    dataset = RightWhaleChallenge(wholes[0] / "narw")
    assert [clip.group for clip in dataset.clips] == ["block 1", "block 1", "block 5"]
    assert dataset.recordings == ["train/train1.aiff", "train/train5999.aiff", "train/train29999.aiff"]
    assert {clip.distance for clip in dataset.clips} <= set(SNR_BINS)


def test_repeats_are_left_out(copy):
    home, files = copy("narw")
    (home / files[5]).unlink()
    shutil.copy(home / files[1], home / files[5])
    dataset = RightWhaleChallenge(home)
    assert dataset.report.repeats == {files[5]: files[1]}
    assert dataset.report.summary == "6 of 30000 clips present, 1 repeated"
    assert [clip.name for clip in dataset.clips] == [files[1], files[3]]
    assert not dataset.skipped


def test_repeats_that_contradict_each_other_are_all_left_out(copy):
    home, files = copy("narw")
    (home / files[5]).unlink()
    shutil.copy(home / files[0], home / files[5])
    dataset = RightWhaleChallenge(home)
    assert dataset.report.repeats == {files[0]: files[0], files[5]: files[0]}
    assert [clip.name for clip in dataset.clips] == [files[1], files[3]]
    assert dataset.recordings == [files[2], files[4]]


@pytest.mark.parametrize("snr", [3.0, 10.0, 20.0])
def test_received_snr_of_a_tone_in_noise(snr):
    """A tone of 0.6 s against the noise in the band of up-calls; noise is underestimated by design."""
    rng = np.random.default_rng(0)
    estimates = []
    for _ in range(50):
        x = 0.01 * rng.standard_normal(4000)
        in_band = 0.01**2 * (300 - 50) / 1000
        time = np.arange(1200) / 2000
        x[1500:2700] += np.sqrt(2 * in_band * 10 ** (snr / 10)) * np.sin(2 * np.pi * 150 * time + rng.uniform(0, 6))
        estimates.append(received_snr(x, 2000))
    assert snr + 0.5 < np.mean(estimates) < snr + 2.5
    assert np.std(estimates) < 1.0


def test_received_snr_does_not_depend_on_gain_nor_on_other_bands():
    x = 0.1 * white(4000)
    x[1000:2000] *= 4
    assert received_snr(100 * x, 2000) == pytest.approx(received_snr(x, 2000))
    hum = np.sin(2 * np.pi * 703.125 * np.arange(4000) / 2000)
    hum[:2000] = 0
    assert received_snr(x + hum, 2000) == pytest.approx(received_snr(x, 2000), abs=1.0)


def test_received_snr_of_noise_alone_is_the_least_there_is():
    estimates = [received_snr(white(4000, seed=seed), 2000) for seed in range(100)]
    assert np.mean(estimates) == pytest.approx(-0.9, abs=0.4)
    assert received_snr(np.zeros(4000), 2000) < -100


def test_received_snr_refuses_what_it_cannot_judge():
    with pytest.raises(ValueError, match="sr must be 2000, got 4000"):
        received_snr(np.ones(4000), 4000)
    with pytest.raises(ValueError, match="at least 4 frames, got 3"):
        received_snr(np.ones(256 + 2 * 128), 2000)


def test_bins_beyond_the_outermost(monkeypatch, wholes):
    for snr, expected in ((-5, 1.5), (2.9, 1.5), (3.1, 4.5), (50, 16.5)):
        monkeypatch.setattr(right_whale_challenge, "received_snr", lambda *_, snr=snr: snr)
        clips = RightWhaleChallenge(wholes[0] / "narw").clips
        assert {clip.distance for clip in clips} == {expected}
