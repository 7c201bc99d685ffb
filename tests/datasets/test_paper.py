"""The paper's data sets by one name, clips after their reflection, and re-propagated calls: on synthetic copies."""

import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import papermill
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from papermill.exceptions import PapermillExecutionError

from pcenlib.book import claims
from pcenlib.datasets.catalogue import find
from pcenlib.datasets.interface import Paired, Reflected
from pcenlib.datasets.nighthawk import FULL_SCALE, LEAD, SR, SimulatedNighthawk
from pcenlib.datasets.paper import paper_data_set
from pcenlib.datasets.repropagated import BAND, band_level, clear_calls, repropagate
from pcenlib.datasets.right_whale import SimulatedRightWhale
from pcenlib.experiments import nighthawks
from pcenlib.experiments.evaluate import evaluate
from pcenlib.experiments.protocols import NIGHTHAWK_PAPER, NIGHTHAWK_RELEASED, RIGHT_WHALE_PAPER, RIGHT_WHALE_RELEASED
from pcenlib.simulation.acoustics import spreading_loss
from pcenlib.simulation.scenes import pascals
from tests import copies
from tests.sounds import white, write


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    for name in ("coni_knight", "birdvox_dcase20k", "ccb18", "shipsear", "night_soundscapes"):
        (home / name).mkdir()
        copies.MAKERS[name](home / name)
    buzzing_calls(home / "nighthawk")
    return home


def buzzing_calls(folder, sr=24000):
    """Two files with a buzz at 1 s that is clear, and one with a steady noise alone."""
    time = np.arange(round(0.2 * sr)) / sr
    buzz = (1 + np.cos(2 * np.pi * 220 * time)) * np.sin(2 * np.pi * 3600 * time) * np.hanning(time.size)
    for number in range(3):
        x = 0.01 * white(round(2.15 * sr), seed=number)
        if number < 2:
            x[sr : sr + time.size] += 0.3 * buzz
        (folder / "audio").mkdir(parents=True, exist_ok=True)
        write(folder / "audio" / f"coni_{number:02d}.wav", x, sr)
    copies.table(folder / "clips.csv", ["file"], [(f"coni_{number:02d}.wav",) for number in range(3)])


# The paper's sets


@pytest.mark.parametrize(
    ("experiment", "protocols"),
    [
        ("nighthawk", {"paper": NIGHTHAWK_PAPER, "released": NIGHTHAWK_RELEASED}),
        ("right-whale", {"paper": RIGHT_WHALE_PAPER, "released": RIGHT_WHALE_RELEASED}),
    ],
)
def test_real_sets_run_under_both_protocols(home, experiment, protocols):
    dataset = paper_data_set(experiment, data="real", home=home)
    table = evaluate(dataset, protocols, jobs=1)
    assert set(table["protocol"]) == {"paper", "released"}
    assert sorted(table["distance"].unique()) == ([30, 500] if experiment == "nighthawk" else [500, 12500])
    assert np.isfinite(table["threshold"]).all()
    assert (table["duration"] > 0).all()


def test_simulated_sets_take_their_options():
    assert paper_data_set("nighthawk", seed=3) == SimulatedNighthawk(seed=3)
    assert paper_data_set("right-whale", data="simulated", seed=4) == SimulatedRightWhale(seed=4)


def test_what_is_missing_is_named_with_how_to_get_it(tmp_path, monkeypatch):
    (tmp_path / "birdvox_dcase20k").mkdir()
    with pytest.raises(FileNotFoundError, match=r"needs coni_knight in the data home .*CONI-Knight: ask the authors"):
        paper_data_set("nighthawk", data="real", home=tmp_path)
    monkeypatch.delenv("PCENLIB_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"ccb18 and shipsear in a data home, which PCENLIB_DATA must name"):
        paper_data_set("right-whale", data="real")
    with pytest.raises(ValueError, match="experiment must be one of nighthawk, right-whale, got 'owl'"):
        paper_data_set("owl")
    with pytest.raises(ValueError, match="data must be simulated or real"):
        paper_data_set("nighthawk", data="recorded")


NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


def run_chapter(chapter, target, **parameters):
    options = {"kernel_name": "python3", "cwd": target.parent, "progress_bar": False}
    papermill.execute_notebook(NOTEBOOKS / chapter, target, parameters={"jobs": 1, **parameters}, **options)
    cells = json.loads(target.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    printed = "".join("".join(output.get("text", "")) for output in outputs)
    return printed, [kind for output in outputs for kind in output.get("data", {})]


def test_chapter_3_3_runs_on_real_sets_and_records_no_verdict_of_the_figure(tmp_path):
    for name in ("coni_knight", "birdvox_dcase20k"):
        (tmp_path / name).mkdir()
        copies.MAKERS[name](tmp_path / name)
    printed, kinds = run_chapter("03-3-results.ipynb", tmp_path / "executed.ipynb", data="real", home=str(tmp_path))
    assert "6 clips with a call, 2 scenes without" in printed
    assert kinds.count("image/png") == 4  # figure 2, without its minima, at the paper's size, the ratios
    assert kinds.count(claims.MIMETYPE) == 1  # arithmetic alone


def test_chapter_4_2_runs_on_real_sets_and_records_no_verdict(tmp_path):
    for name in ("ccb18", "shipsear"):
        (tmp_path / name).mkdir()
        copies.MAKERS[name](tmp_path / name)
    lines = [
        (date, channel, begin + 10 * km, begin + 10 * km + 1, km + 0.4)
        for date, begin in ((219, 1000), (417, 23.8 * 3600))
        for km in range(14)
        for channel in (1, 4)
    ]
    file, _ = copies.TABLES["ccb18"]
    copies.table(tmp_path / "ccb18" / file, ["Date", "Channel", "Begin.Time..s.", "End.Time..s.", "DistanceKm"], lines)
    printed, kinds = run_chapter("04-2-results.ipynb", tmp_path / "executed.ipynb", data="real", home=str(tmp_path))
    assert "real: 56 clips with a call, 2 recordings of ships" in printed
    assert kinds.count("image/png") == 3  # figure 3, the ratios, and the fits
    assert claims.MIMETYPE not in kinds


@pytest.mark.parametrize("chapter", ["03-3-results.ipynb", "04-2-results.ipynb"])
def test_chapters_say_which_data_they_can_have(chapter, tmp_path):
    with pytest.raises(PapermillExecutionError, match="data must be simulated or real, got 'recorded'"):
        run_chapter(chapter, tmp_path / "executed.ipynb", data="recorded")


# Reflection


def test_a_clip_without_a_past_comes_after_itself_reversed(home):
    plain = find("coni_knight", home)
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


def test_files_cannot_be_reflected(home):
    class Files:
        def clip(self, _):
            return find("shipsear", home).recording(find("shipsear", home).recordings[0])

    with pytest.raises(ValueError, match="waveforms, not files"):
        Reflected(Files()).clip(None)


# Re-propagated calls


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


def test_the_level_of_a_call_falls_with_distance(repropagated):
    near, far = (
        next(clip for clip in repropagated.clips if clip.distance == distance) for distance in repropagated.distances
    )
    levels = [10 * np.log10(np.mean(repropagated.call(clip) ** 2)) for clip in (near, far)]
    fall = levels[0] - levels[1]
    assert fall > spreading_loss(100, reference=30)
    assert fall < spreading_loss(100, reference=30) + 10


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


def test_a_data_set_needs_calls_and_scenes(repropagated):
    with pytest.raises(ValueError, match="calls must hold"):
        replace(repropagated, calls=[])
    with pytest.raises(ValueError, match="gain for each set"):
        replace(repropagated, gains=[1.0])


def test_figure_2_has_recorded_and_simulated_curves(home, monkeypatch):
    monkeypatch.setattr(nighthawks, "OFFSETS", (0.0,))
    few = SimulatedNighthawk(seed=1, n_calls=2, n_birds=1, distances=(30,), n_scenes=1)
    monkeypatch.setattr(nighthawks, "SIMULATED", few)
    sets = find("nighthawk", home), find("night_soundscapes", home)
    whole = repropagate
    monkeypatch.setattr(
        nighthawks, "repropagate", lambda *args, **options: whole(*args, **options, distances=(30, 500))
    )
    table = nighthawks.repropagated_nighthawks(*sets, jobs=1)
    assert len(table) == 2 * 3 * (2 + 1)
    assert set(table["sound"]) == {"recorded", "simulated"}
    assert (table.query("sound == 'recorded'")["n_groups"] == 2).all()
    calls = nighthawks.repropagated_calls(*sets)
    assert list(calls["call"]) == ["audio/coni_00.wav", "audio/coni_01.wav"]
    assert (calls["30 m"] > calls["500 m"]).all()
    assert (calls["contrast"] >= 3).all()


def test_pairs_are_of_the_sets_of_the_paper(home):
    dataset = paper_data_set("nighthawk", data="real", home=home)
    assert isinstance(dataset, Paired)
    assert len(dataset.recordings) == 2
    assert len(dataset.clips) == 6
