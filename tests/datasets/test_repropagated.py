"""Re-propagated calls, on synthetic copies."""

import pickle
import shutil
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib.datasets import real
from pcenlib.datasets.catalogue import find
from pcenlib.datasets.nighthawk import FULL_SCALE, LEAD, SR
from pcenlib.datasets.repropagated import BAND, band_level, clear_calls, repropagate
from pcenlib.simulation.acoustics import spreading_loss
from pcenlib.simulation.scenes import pascals
from tests import copies


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    for name in ("birdvox_dcase20k", "night_soundscapes"):
        (home / name).mkdir()
        copies.MAKERS[name](home / name)
    copies.buzzing_calls(home / "nighthawk")
    return home


@pytest.fixture(scope="module")
def repropagated(home):
    scenes = [find("night_soundscapes", home), find("birdvox_dcase20k", home)]
    return repropagate(find("nighthawk", home), scenes, seed=5, scene_level=20.0, distances=(30, 100))


def test_only_clear_calls_are_kept_and_cut_out_of_their_background(home):
    calls = clear_calls(find("nighthawk", home))
    assert [call.name for call in calls] == ["audio/coni_00.wav", "audio/coni_01.wav"]
    for call in calls:
        assert call.measured.pulse_rate == pytest.approx(220, abs=5)
        assert 0.1 < call.waveform.size / SR < 0.3
        spectrum = np.abs(np.fft.rfft(call.waveform)) ** 2
        frequency = np.fft.rfftfreq(call.waveform.size, 1 / SR)
        inside = (frequency > BAND[0] - 200) & (frequency < BAND[1] + 200)
        assert spectrum[inside].sum() > 0.999 * spectrum.sum()


def test_a_longer_fade_lets_more_of_the_background_rise_more_slowly(home):
    short, long = (clear_calls(find("nighthawk", home), fade=fade)[0].waveform for fade in (0.005, 0.060))
    assert long.size - short.size == pytest.approx(2 * 0.055 * SR, abs=2)
    first = round(0.005 * SR)
    assert np.abs(long[:first]).max() < 0.1 * np.abs(short[:first]).max()
    with pytest.raises(ValueError, match="fade must be"):
        clear_calls(find("nighthawk", home), fade=0)


def test_band_level_counts_what_is_in_the_band():
    time = np.arange(SR) / SR
    assert band_level(np.sqrt(2) * np.sin(2 * np.pi * 3000 * time), SR) == pytest.approx(0, abs=0.01)
    assert band_level(np.sin(2 * np.pi * 7000 * time), SR) < -60


def test_scenes_have_the_assumed_level_and_none_is_both(repropagated):
    assert not set(repropagated.recordings) & set(repropagated.backgrounds)
    assert len(repropagated.recordings) == len(repropagated.backgrounds) == 2
    names = [*repropagated.recordings, *repropagated.backgrounds]
    levels = [band_level(FULL_SCALE * repropagated.recording(name).source / pascals(0), SR) for name in names]
    assert_allclose(levels, 20, atol=1)


def test_the_last_50_ms_of_a_scene_are_left_out(repropagated):
    assert repropagated.recording(repropagated.recordings[0]).source.size == pytest.approx(9.95 * SR, abs=1)


def test_every_hour_is_heard_behind_calls_and_without(home, tmp_path):
    folder = tmp_path / "night_soundscapes"
    for hour in (0, 1, 18):
        for minute in (0, 15, 30, 45):
            copies.sound(folder / f"S4A_20190522_{hour:02d}{minute:02d}00.wav", 10, 22000)
    scenes = [find("night_soundscapes", tmp_path)]
    dataset = repropagate(find("nighthawk", home), scenes, seed=5, scene_level=20.0)
    for names in (dataset.recordings, dataset.backgrounds):
        assert sorted(name[-10:-8] for name in names) == ["00", "00", "01", "01", "18", "18"]


def test_the_level_of_a_call_falls_with_distance(repropagated):
    near, far = (
        next(clip for clip in repropagated.clips if clip.distance == distance) for distance in repropagated.distances
    )
    straight = replace(repropagated, night=replace(repropagated.night, scatter=0.0))
    levels = [10 * np.log10(np.mean(straight.call(clip) ** 2)) for clip in (near, far)]
    fall = levels[0] - levels[1]
    assert fall > spreading_loss(100, reference=30)
    assert fall < spreading_loss(100, reference=30) + 10


def test_the_same_call_is_louder_at_one_sensor_than_at_another(repropagated):
    clips = [clip for clip in repropagated.clips if clip.distance == 30 and clip.key[0] == 0]
    levels = [10 * np.log10(np.mean(repropagated.call(clip) ** 2)) for clip in clips]
    assert 2 < np.std(levels, ddof=1) < 9


def test_a_clip_is_the_call_in_one_of_the_scenes_kept_for_that(repropagated):
    clip = repropagated.clips[0]
    x, sr, lead = repropagated.clip(clip)
    assert (sr, lead) == (SR, LEAD)
    assert x.size == round((LEAD + repropagated.clip_duration) * SR)
    assert_array_equal(x, repropagated.clip(clip).source)
    early, late = x[: round(0.6 * SR)], x[round(0.6 * SR) :]
    assert band_level(late, SR) > band_level(early, SR) + 20
    other = replace(repropagated, seed=6).clip(clip).source
    assert not np.array_equal(x, other)


def test_the_data_set_can_be_sent_to_a_worker(repropagated):
    again = pickle.loads(pickle.dumps(repropagated))  # noqa: S301
    clip = repropagated.clips[-1]
    assert_array_equal(again.clip(clip).source, repropagated.clip(clip).source)


def test_headers_are_read_once_and_not_by_workers(repropagated, monkeypatch):
    sent = pickle.dumps(repropagated)

    def refuse(*_):
        raise AssertionError("a header was read again")

    monkeypatch.setattr(real, "fault", refuse)
    again = pickle.loads(sent)  # noqa: S301
    assert again.recordings == repropagated.recordings
    assert_array_equal(again.clip(again.clips[0]).source, repropagated.clip(repropagated.clips[0]).source)


def test_the_text_of_a_data_set_tells_its_sounds_apart_and_is_short(repropagated):
    first, *rest = repropagated.calls
    waveform = first.waveform.copy()
    waveform[waveform.size // 2] += 1e-9
    other = replace(repropagated, calls=[first._replace(waveform=waveform), *rest])
    assert repr(other) != repr(repropagated)
    assert other != repropagated
    assert repr(replace(repropagated, scenes=repropagated.scenes[:1], gains=repropagated.gains[:1])) != repr(
        repropagated
    )
    again = pickle.loads(pickle.dumps(repropagated))  # noqa: S301
    assert repr(again) == repr(repropagated)
    assert again == repropagated
    assert len(repr(repropagated)) < 1200


def test_the_text_tells_scenes_of_the_same_names_and_sizes_apart(home, tmp_path):
    shutil.copytree(home / "night_soundscapes", tmp_path / "night_soundscapes")
    texts = []
    for _ in range(2):
        scenes = find("night_soundscapes", tmp_path)
        texts.append(repropagate(find("nighthawk", home), [scenes], seed=5, scene_level=20.0).sounds)
        path = scenes.folder / scenes.recordings[0]
        content = path.read_bytes()
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert texts[0] != texts[1]


def test_a_data_set_needs_calls_and_scenes(repropagated):
    with pytest.raises(ValueError, match="calls must hold"):
        replace(repropagated, calls=[])
    with pytest.raises(ValueError, match="gain for each set"):
        replace(repropagated, gains=[1.0])
