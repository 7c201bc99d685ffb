"""The places of maxima, and the novelty of recordings: those of the detection functions, whoever computes them."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pandas.testing import assert_frame_equal

from pcenlib import NIGHTHAWK
from pcenlib.datasets.interface import Clip, Sound
from pcenlib.datasets.nighthawk import SimulatedNighthawk
from pcenlib.experiments.evaluate import clip_values, measure_recordings, peak_places
from pcenlib.experiments.novelty_measurements import measure_novelty
from pcenlib.experiments.protocols import NIGHTHAWK_PAPER

SIMULATED = SimulatedNighthawk(seed=3, n_calls=3, distances=(30, 200), n_scenes=2)


@dataclass(frozen=True)
class Beep:
    """One clip, or one file: a beep of 5 kHz, 0.3 s into it, above white noise."""

    clip_duration = 0.7
    file: str = ""
    frequency = 5000.0
    onset = 0.3
    lead = 0.5

    @property
    def clips(self):
        return [Clip("beep", 1.0, "machine")]

    def waveform(self, sr):
        time = np.arange(round((self.lead + self.clip_duration) * sr)) / sr - self.lead
        beep = np.sin(2 * np.pi * self.frequency * time) * (time > self.onset)
        return 0.3 * beep + 1e-3 * np.random.default_rng(0).standard_normal(time.size)

    def clip(self, clip):
        assert clip in self.clips
        if self.file:
            return Sound(self.file, lead=self.lead)
        return Sound(self.waveform(NIGHTHAWK.sr), NIGHTHAWK.sr, self.lead)


def test_a_beep_is_found_where_it_is():
    places = peak_places(Beep(), NIGHTHAWK, jobs=1).set_index("detector")
    window = NIGHTHAWK.win_length / NIGHTHAWK.sr
    assert (np.abs(places["time"] - Beep.onset) < window).all()
    # A rise is first seen in the skirts of the window; the ratio to the past is largest in the band itself.
    spacing = np.diff(NIGHTHAWK.frequencies).max()
    assert places["frequency"]["max_pooled_pcen"] == pytest.approx(Beep.frequency, abs=spacing)
    assert np.isnan(places["frequency"]["averaged_flux"])
    assert set(places["distance"]) == {1.0}
    assert set(places["group"]) == {"machine"}


def test_a_clip_may_be_a_file_of_another_rate(tmp_path):
    import soundfile

    path = tmp_path / "beep.wav"
    soundfile.write(path, Beep().waveform(44100), 44100)
    found, expected = (peak_places(beep, NIGHTHAWK, jobs=1).set_index("detector") for beep in (Beep(str(path)), Beep()))
    assert_allclose(found["time"], expected["time"], atol=NIGHTHAWK.win_length / NIGHTHAWK.sr)


def test_times_are_those_of_the_detection_functions():
    values = clip_values(SIMULATED, {"paper": NIGHTHAWK_PAPER}, jobs=1)
    places = peak_places(SIMULATED, NIGHTHAWK, jobs=1)
    keys = ["clip", "distance", "group", "detector"]
    assert_frame_equal(places[keys], values[keys])
    assert_allclose(places["time"], values["time"], atol=1e-9)


def test_one_and_two_workers_find_the_same():
    assert_frame_equal(*(peak_places(SIMULATED, NIGHTHAWK, jobs=jobs) for jobs in (1, 2)))


def test_frequencies_are_centres_of_bands():
    frequencies = peak_places(SIMULATED, NIGHTHAWK, jobs=1)["frequency"].dropna()
    assert len(frequencies) == 2 * len(SIMULATED.clips)
    assert np.isin(frequencies, NIGHTHAWK.frequencies).all()


def test_recordings_are_measured_one_by_one():
    table = measure_recordings(SIMULATED, NIGHTHAWK, jobs=1)
    assert list(table["recording"]) == [name for name in SIMULATED.recordings for _ in range(3)]
    expected = measure_novelty(SIMULATED.recording("scene 0001").source, NIGHTHAWK)
    for row in table[table["recording"] == "scene 0001"].to_dict("records"):
        assert row == {"recording": "scene 0001", "detector": row["detector"], **expected[row["detector"]]._asdict()}
    assert_frame_equal(table, measure_recordings(SIMULATED, NIGHTHAWK, jobs=2))
