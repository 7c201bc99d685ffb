"""Experiments: protocols, and their tables against a computation by hand, against librosa, and on several workers."""

import dataclasses
import functools
import itertools
import math
from concurrent.futures import ThreadPoolExecutor

import librosa
import numpy as np
import pandas as pd
import pytest
import scipy.signal
from numpy.testing import assert_allclose, assert_array_equal
from pandas.testing import assert_frame_equal

from pcenlib import (
    NIGHTHAWK,
    RIGHT_WHALE,
    Setting,
    averaged_flux,
    background,
    detection_functions,
    max_pooled_flux,
    max_pooled_pcen,
    spectrogram,
)
from pcenlib.core.evaluation import count_exceedances
from pcenlib.core.streaming import DETECTORS
from pcenlib.datasets.interface import Clip, Sound
from pcenlib.datasets.nighthawk import SimulatedNighthawk
from pcenlib.experiments.evaluate import (
    clip_values,
    count_alarms,
    evaluate,
    evaluate_each,
    measure_recordings,
    peak_places,
    recording_functions,
)
from pcenlib.experiments.novelty_measurements import measure_novelty
from pcenlib.experiments.protocols import (
    NIGHTHAWK_PAPER,
    NIGHTHAWK_RELEASED,
    RIGHT_WHALE_PAPER,
    TOGETHER,
    Protocol,
    switches,
)
from pcenlib.experiments.tables import medians_in_words

COLUMNS = ["distance", "group", "detector", "threshold", "false_alarms", "duration", "mtbfa"]

# A protocol that differs from the default in each field, at the sample rate of whales.
PLAIN = Protocol(setting=RIGHT_WHALE)
OTHER = Protocol(
    setting=dataclasses.replace(RIGHT_WHALE.with_bands(5, 60), power=2, s=0.062),
    background="including",
    start=1e-6,
    borders="tiled",
    skip_clip=2,
    skip_recording=7,
    rectified=True,
    minimum_subtracted=True,
    lower_median=True,
    count="frames",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tones:
    """Tones that begin in noise at two distances, and recordings with clicks in them; some cannot be read."""

    sr: int = 2000
    n_calls: int = 4  # of each bird at each distance
    n_recordings: int = 3
    lead: float = 1.0
    clip_duration: float = 2.0
    gain: float = 1.0
    bad: str = ""
    dies_at: str = dataclasses.field(default="", repr=False)
    log: list[str] | None = dataclasses.field(default=None, repr=False, compare=False)

    @property
    def clips(self):
        pairs = itertools.product((1.0, 10.0), ("anna", "bert"), range(self.n_calls))
        return [Clip(f"{group} {call} at {distance:g}", distance, group) for distance, group, call in pairs]

    @property
    def recordings(self):
        return [f"recording {i}" for i in range(self.n_recordings)]

    def clip(self, clip):
        self._note(clip.name)
        rng = np.random.default_rng(sum(clip.name.encode()))
        x = rng.normal(0, 0.01, round((self.lead + self.clip_duration) * self.sr))
        begin = round((self.lead + rng.uniform(0.3, 0.5) * self.clip_duration) * self.sr)
        length = round(0.3 * self.clip_duration * self.sr)
        frequency = rng.uniform(0.1, 0.2) * self.sr
        x[begin : begin + length] += 0.3 / clip.distance * np.sin(2 * np.pi * frequency * np.arange(length) / self.sr)
        return Sound(self.gain * x, self.sr, self.lead)

    def recording(self, name):
        self._note(name)
        rng = np.random.default_rng(1000 + int(name.split()[1]))
        x = rng.normal(0, 0.01, round(10 * self.clip_duration * self.sr))
        places = rng.integers(0, x.size, 20)
        x[places] += rng.normal(0, 0.3, 20)
        return Sound(self.gain * x, self.sr)

    def _note(self, name):
        if name == self.dies_at:
            raise KeyboardInterrupt
        if self.log is not None:
            self.log.append(name)
        if name == self.bad:
            raise OSError(f"cannot read {name}.wav: it is broken")


# By hand


def functions_by_hand(x, protocol):
    """Detection functions of a waveform, by the equations on its whole spectrogram."""
    setting = protocol.setting
    E = spectrogram(x, setting)
    M = background(E, s=setting.s, start=None if protocol.start is None else np.full(setting.n_bands, protocol.start))
    if protocol.background == "including":
        M = setting.s * E + (1 - setting.s) * M
    pooled = max_pooled_flux(E)
    if protocol.rectified:
        pooled = np.array([max(value, 0) for value in pooled])
    return {
        "averaged flux": averaged_flux(E),
        "max-pooled flux": pooled,
        "max-pooled PCEN": np.log(1 + (E / M).max(axis=0)),
    }


def clip_by_hand(dataset, clip, protocol):
    """Detection functions of a clip, from its first frame on."""
    x, sr, lead = dataset.clip(clip)
    setting = protocol.setting
    if protocol.borders == "tiled":
        begin, n_samples = round(lead * sr), round(dataset.clip_duration * sr)
        alone = x[begin : begin + n_samples]
        x = np.concatenate([alone, alone, alone[::-1]])
        first = math.ceil(n_samples / setting.hop_length)
    else:
        first = round(lead * sr / setting.hop_length)
    first += protocol.skip_clip
    functions = {name: values[first:] for name, values in functions_by_hand(x, protocol).items()}
    return shifted(functions, protocol), first


def shifted(functions, protocol):
    return {name: values - min(values) if protocol.minimum_subtracted else values for name, values in functions.items()}


def table_by_hand(dataset, protocol):
    rows = []
    negatives = []
    for name in dataset.recordings:
        functions = functions_by_hand(dataset.recording(name).source, protocol)
        negatives.append(shifted({name: f[protocol.skip_recording :] for name, f in functions.items()}, protocol))
    for distance, group, detector in itertools.product((1.0, 10.0), ("anna", "bert"), DETECTORS):
        clips = [clip for clip in dataset.clips if (clip.distance, clip.group) == (distance, group)]
        peaks = sorted((max(clip_by_hand(dataset, clip, protocol)[0][detector]) for clip in clips), reverse=True)
        middle = len(peaks) // 2
        threshold = (
            peaks[middle] if len(peaks) % 2 or protocol.lower_median else (peaks[middle - 1] + peaks[middle]) / 2
        )
        alarms = frames = 0
        for values in (functions[detector] for functions in negatives):
            before = False
            frames += len(values)
            for above in values > threshold:
                alarms += above and (protocol.count == "frames" or not before)
                before = above
        rows.append((distance, group, detector, threshold, alarms, frames * protocol.setting.hop))
    return pd.DataFrame(rows, columns=COLUMNS[:6])


SWITCHED = {
    "plain": PLAIN,
    "all": OTHER,
    **{
        field.name: dataclasses.replace(PLAIN, **{field.name: getattr(OTHER, field.name)})
        for field in dataclasses.fields(Protocol)
    },
    "odd lead": PLAIN,
}


@pytest.mark.parametrize("name", SWITCHED)
def test_tables_equal_a_computation_by_hand(name):
    dataset = Tones(lead=1.237, n_calls=3) if name == "odd lead" else Tones()
    table = evaluate(dataset, {name: SWITCHED[name]}, jobs=1)
    assert list(table.columns) == ["protocol", *COLUMNS]
    assert set(table["protocol"]) == {name}
    expected = table_by_hand(dataset, SWITCHED[name])
    assert expected["false_alarms"].between(1, 900).any()
    assert_frame_equal(table[COLUMNS[:6]], expected, rtol=1e-5, check_dtype=False, check_categorical=False)
    with np.errstate(divide="ignore"):
        assert_allclose(table["mtbfa"], table["duration"] / table["false_alarms"])


@pytest.fixture(scope="module")
def tables():
    """The table of every protocol, from one evaluation."""
    table = evaluate(Tones(), SWITCHED, jobs=1)
    return {name: table[table["protocol"] == name].reset_index(drop=True) for name in SWITCHED}


def test_several_data_sets_are_one_table():
    protocols = dict(list(SWITCHED.items())[:1])
    datasets = {("a", 1): Tones(), ("b", 2): Tones()}
    found = evaluate_each(datasets, protocols, names=["kind", "seed"], jobs=1)
    alone = evaluate(Tones(), protocols, jobs=1)
    assert found.columns.tolist() == ["kind", "seed", *alone.columns]
    for (kind, seed), rows in found.groupby(["kind", "seed"]):
        assert (kind, seed) in datasets
        assert_frame_equal(rows.drop(columns=["kind", "seed"]), alone)


# For each field: whose thresholds change, and whose counts change where thresholds do not.
EVERYONE = set(DETECTORS)
CHANGES = {
    "background": ({"max-pooled PCEN"}, set()),
    "start": ({"max-pooled PCEN"}, set()),
    "borders": (EVERYONE, set()),
    "skip_recording": (set(), EVERYONE),
    "minimum_subtracted": (EVERYONE, set()),
    "lower_median": (EVERYONE, set()),
    "count": (set(), EVERYONE),
    "setting": (EVERYONE, set()),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_choice_changes_what_it_says_and_nothing_else(name, tables):
    plain, other = tables["plain"], tables[name]
    thresholds, counts = CHANGES[name]
    for detector in DETECTORS:
        before, after = (table[table["detector"] == detector] for table in (plain, other))
        same = ["distance", "group", "detector"]
        same += [] if detector in thresholds else ["threshold"]
        same += [] if name == "skip_recording" else ["duration"]
        assert_frame_equal(before[same], after[same], check_exact=name != "start")
        if detector in thresholds:
            assert not np.isclose(before["threshold"], after["threshold"], rtol=1e-9).all()
        elif detector not in counts:
            assert list(before["false_alarms"]) == list(after["false_alarms"])
    if name == "count":
        assert (plain["false_alarms"] <= other["false_alarms"]).all()
        assert (plain["false_alarms"] < other["false_alarms"]).any()
    if name == "lower_median":
        assert (other["threshold"] <= plain["threshold"]).all()
    if name == "skip_recording":
        assert_allclose(plain["duration"] - other["duration"], 3 * 7 * RIGHT_WHALE.hop)


def test_flux_is_rectified_where_every_band_falls():
    # With three bands, falls together are common; a clip is shifted by its minimum, which then is 0.
    setting = RIGHT_WHALE.with_bands(40, 42)
    free, rectified = (
        Protocol(setting=setting, minimum_subtracted=True, rectified=rectified) for rectified in (False, True)
    )
    found = clip_values(Tones(), {"free": free, "rectified": rectified}, jobs=1)
    values = found.set_index(["protocol", "detector", "clip"])["value"].sort_index()
    assert (values["free", "max-pooled flux"] > values["rectified", "max-pooled flux"] + 0.1).all()
    for detector in ("averaged flux", "max-pooled PCEN"):
        assert list(values["free", detector]) == list(values["rectified", detector])


def test_frames_that_are_skipped_do_not_count():
    # A tone that has been there from the first sample on, and noise that starts with a click.
    late, early = Protocol(setting=RIGHT_WHALE, start=1e-9, skip_clip=20), Protocol(setting=RIGHT_WHALE, start=1e-9)
    dataset = Tones(lead=0.0)
    found = clip_values(dataset, {"late": late, "early": early}, jobs=1).set_index(["protocol", "detector"])
    assert (found.loc[("early", "max-pooled PCEN"), "time"] == RIGHT_WHALE.times(1)[0]).all()
    assert (found.loc["late", "time"] >= RIGHT_WHALE.times(21)[-1]).all()
    assert (
        found.loc[("late", "max-pooled PCEN"), "value"] < found.loc[("early", "max-pooled PCEN"), "value"].min()
    ).all()


# Values of clips


@pytest.mark.parametrize("protocol", [PLAIN, OTHER], ids=["plain", "other"])
@pytest.mark.parametrize("lead", [1.0, 1.024, 0.0])
def test_values_and_times_of_clips_by_hand(protocol, lead):
    dataset = Tones(lead=lead)
    found = clip_values(dataset, {"it": protocol}, jobs=1)
    assert list(found.columns) == ["clip", "distance", "group", "protocol", "detector", "value", "time"]
    assert list(found["clip"]) == [clip.name for clip in dataset.clips for _ in DETECTORS]
    begin = dataset.clip_duration if protocol.borders == "tiled" else lead
    for row in found.itertuples():
        clip = next(clip for clip in dataset.clips if clip.name == row.clip)
        assert (row.distance, row.group) == (clip.distance, clip.group)
        functions, first = clip_by_hand(dataset, clip, protocol)
        values = functions[row.detector]
        assert row.value == pytest.approx(values.max(), rel=1e-5)
        frame = (row.time + begin) * 2000 / 128 - 1  # whose centre, one hop after its start, this is
        assert frame == pytest.approx(round(frame), abs=1e-6)
        assert values[round(frame) - first] == pytest.approx(values.max(), rel=1e-5)


def test_times_are_those_of_the_calls():
    dataset = SimulatedNighthawk(n_calls=5, distances=(30,))
    found = clip_values(dataset, {"paper": NIGHTHAWK_PAPER}, jobs=1)
    for row in found[found["detector"] == "max-pooled PCEN"].itertuples():
        onset = next(dataset.call(clip)[1] for clip in dataset.clips if clip.name == row.clip)
        assert 0 < row.time - onset < 0.05


class BeginsWithACall(Tones):
    """A tone that strikes within the first frame of each clip, and fades."""

    def clip(self, clip):
        x, sr, lead = super().clip(clip)
        strike = round(lead * sr) + 100
        time = np.arange(x.size - strike) / sr
        x[strike:] += 0.5 * np.exp(-time / 0.5) * np.sin(2 * np.pi * 300 * time)
        return Sound(x, sr, lead)


def test_a_frame_across_the_border_of_two_copies_is_dropped():
    protocol = Protocol(setting=RIGHT_WHALE, borders="tiled")
    dataset = BeginsWithACall()
    found = clip_values(dataset, {"tiled": protocol}, jobs=1).set_index(["clip", "detector"])["value"]
    for clip in dataset.clips:
        for detector, values in clip_by_hand(dataset, clip, protocol)[0].items():
            assert found[clip.name, detector] == pytest.approx(values.max(), rel=1e-5)


class Resampled(Tones):
    """The same sounds at twice the rate."""

    def clip(self, clip):
        x, sr, lead = super().clip(clip)
        return Sound(scipy.signal.resample(x, 2 * x.size), 2 * sr, lead)


def test_sounds_at_another_rate_are_resampled():
    twice, once = (clip_values(dataset, {"plain": PLAIN}, jobs=1) for dataset in (Resampled(), Tones()))
    clear = (once["detector"] == "max-pooled PCEN") & (once["distance"] == 1)
    assert_allclose(twice["value"][clear], once["value"][clear], rtol=0.1)
    assert_allclose(twice["time"][clear], once["time"][clear])


# As released, against librosa


def released_with_librosa(x):
    """Detection functions of the released notebooks, by librosa alone."""
    E = librosa.feature.melspectrogram(
        y=np.pad(2.0**31 * x, 384), sr=22050, n_fft=1024, win_length=256, hop_length=32, center=False, power=2,
        n_mels=128, fmin=2000, fmax=11025, htk=True,
    )[15:90]  # fmt: skip
    P = librosa.pcen(E, sr=22050, hop_length=32, time_constant=0.1, gain=1, bias=0, power=1, eps=1e-6)
    rise = np.maximum(np.diff(np.log1p(E), prepend=np.log1p(E[:, :1])), 0)
    return {
        "averaged flux": rise.mean(axis=0),
        "max-pooled flux": rise.max(axis=0),
        "max-pooled PCEN": np.log1p(P).max(axis=0),
    }


@pytest.mark.parametrize("gain", [1.0, 1e-4])
def test_the_released_protocol_is_what_librosa_computes(gain):
    # The background starts at 1, whatever the level: a weak sound is long about to forget it.
    dataset = Tones(sr=22050, clip_duration=0.7, lead=0.5, n_calls=1, n_recordings=1, gain=gain)
    found = clip_values(dataset, {"released": NIGHTHAWK_RELEASED}, jobs=1).set_index(["clip", "detector"])["value"]
    for clip in dataset.clips:
        alone = dataset.clip(clip).source[11025:]
        tiled = released_with_librosa(np.concatenate([alone, alone, alone[::-1]]))
        for detector, values in tiled.items():
            kept = values[math.ceil(alone.size / 32) + 10 :]
            assert found[clip.name, detector] == pytest.approx(kept.max() - kept.min(), rel=1e-4)
    table = evaluate(dataset, {"released": NIGHTHAWK_RELEASED}, jobs=1)
    scene = {name: f[100:] for name, f in released_with_librosa(dataset.recording("recording 0").source).items()}
    for row in table.itertuples():
        values = scene[row.detector] - scene[row.detector].min()
        assert row.false_alarms == np.count_nonzero(values > row.threshold)
        assert row.duration == pytest.approx(values.size * 32 / 22050)


@pytest.mark.parametrize("start", [1.0, 1e-3])
@pytest.mark.parametrize("s", [0.33, 0.062, 1.0])
def test_a_background_that_includes_the_frame_is_librosas(s, start):
    # librosa's starts at 1: the same as another start for another scale.
    setting = dataclasses.replace(RIGHT_WHALE, s=s)
    protocol = Protocol(setting=setting, background="including", start=start)
    dataset = Tones(lead=0.0)
    found = clip_values(dataset, {"it": protocol}, jobs=1)
    values = found[found["detector"] == "max-pooled PCEN"].set_index("clip")["value"]
    for clip in dataset.clips:
        E = spectrogram(dataset.clip(clip).source, setting) / start
        P = librosa.pcen(E, sr=2000, hop_length=128, b=s, gain=1, bias=0, power=1, eps=1e-30)
        assert values[clip.name] == pytest.approx(np.log1p(P.max()), rel=1e-5)


def test_the_released_bands_are_15_to_89_of_the_papers():
    filters = librosa.filters.mel(sr=22050, n_fft=1024, n_mels=128, fmin=2000, fmax=11025, htk=True, dtype=np.float64)
    released = NIGHTHAWK_RELEASED.setting
    assert_allclose(released.filters, filters[15:90], atol=1e-12)
    assert_allclose(released.filters, NIGHTHAWK.filters[15:90], atol=1e-12)
    assert released.n_bands == 75


def test_the_released_smoothing_is_librosas():
    frames = 0.1 * 22050 / 32
    assert NIGHTHAWK_RELEASED.setting.s == pytest.approx((math.sqrt(1 + 4 * frames**2) - 1) / (2 * frames**2))
    assert NIGHTHAWK_RELEASED.setting.s == pytest.approx(0.0144, abs=5e-5)


def test_the_protocol_of_the_paper():
    assert NIGHTHAWK_PAPER.setting == NIGHTHAWK
    assert NIGHTHAWK_PAPER.minimum_subtracted
    assert NIGHTHAWK_PAPER.count == "peaks"
    assert NIGHTHAWK_PAPER.skip_recording * NIGHTHAWK.hop == pytest.approx(0.5, abs=NIGHTHAWK.hop / 2)
    written = dataclasses.replace(NIGHTHAWK_PAPER, minimum_subtracted=False, skip_recording=0)
    assert written == Protocol(setting=NIGHTHAWK)


# Switches


def differences(a, b):
    """Fields of protocols and of their settings that differ."""
    fields = {
        ("setting", field.name): (getattr(a.setting, field.name), getattr(b.setting, field.name))
        for field in dataclasses.fields(Setting)
    }
    fields |= {
        ("protocol", field.name): (getattr(a, field.name), getattr(b, field.name))
        for field in dataclasses.fields(Protocol)
        if field.name != "setting"
    }
    return {key: theirs for key, (mine, theirs) in fields.items() if mine != theirs}


LONGER = dataclasses.replace(NIGHTHAWK, win_length=512, hop_length=64, n_fft=2048, n_bands=64)
PAIRS = pytest.mark.parametrize(
    ("paper", "released"),
    [
        (NIGHTHAWK_PAPER, NIGHTHAWK_RELEASED),
        (NIGHTHAWK_RELEASED, NIGHTHAWK_PAPER),
        (PLAIN, OTHER),
        (NIGHTHAWK_PAPER, dataclasses.replace(NIGHTHAWK_RELEASED, setting=LONGER)),
        (PLAIN, dataclasses.replace(PLAIN, skip_recording=3, skip_clip=1)),
    ],
    ids=["nighthawk", "backwards", "whale", "another window", "skips"],
)


@PAIRS
def test_switches_are_exactly_the_choices_that_differ(paper, released):
    expected = differences(paper, released)
    found = [differences(paper, thrown) for thrown in switches(paper, released).values()]
    assert all(found)
    assert sorted(itertools.chain(*found)) == sorted(expected)  # each in one switch
    for of_switch in found:
        assert of_switch.items() <= expected.items()


@PAIRS
def test_all_switches_one_after_the_other_lead_to_the_other_protocol(paper, released):
    protocol = paper
    while thrown := switches(protocol, released):
        protocol = next(iter(thrown.values()))
    assert protocol == released


def test_switches_of_the_nighthawk():
    thrown = switches(NIGHTHAWK_PAPER, NIGHTHAWK_RELEASED)
    assert list(thrown) == [
        "power", "s", "bands", "background", "start", "borders", "rectified", "lower_median", "count",
    ]  # fmt: skip
    assert differences(NIGHTHAWK_PAPER, thrown["borders"]) == {
        ("protocol", "borders"): "tiled",
        ("protocol", "skip_clip"): 10,
    }
    assert thrown["bands"].setting == NIGHTHAWK.with_bands(15, 89)


def test_every_field_belongs_to_one_switch():
    of_setting, of_protocol = ({field.name for field in dataclasses.fields(kind)} for kind in (Setting, Protocol))
    assert not of_setting & of_protocol
    assert of_setting | of_protocol > set(TOGETHER)
    for mine in (of_setting, of_protocol):  # no switch throws fields of both
        assert not {TOGETHER.get(name, name) for name in mine} & ((of_setting | of_protocol) - mine)


def test_a_protocol_has_no_switch_to_itself():
    assert switches(OTHER, OTHER) == {}


# Detectors of one's own

OWN = {"max-pooled flux": max_pooled_flux, "max-pooled PCEN": functools.partial(max_pooled_pcen, s=RIGHT_WHALE.s)}


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("changes", [{}, {"borders": "tiled", "skip_clip": 2, "minimum_subtracted": True}])
def test_the_papers_detectors_as_ones_own_have_the_papers_evaluation(changes, jobs):
    paper = dataclasses.replace(RIGHT_WHALE_PAPER, **changes)
    table = evaluate(Tones(), {"paper": paper, "own": dataclasses.replace(paper, detectors=OWN)}, jobs=jobs)
    expected, own = (table[(table["protocol"] == name) & table["detector"].isin(OWN)] for name in ("paper", "own"))
    for name in COLUMNS:
        if own[name].dtype == float:
            assert_allclose(own[name], expected[name], rtol=1e-5)
        else:
            assert list(own[name]) == list(expected[name])


def test_recordings_keep_their_order_and_lose_their_start():
    whole, later = (
        recording_functions(Tones(), {"own": dataclasses.replace(PLAIN, detectors=OWN, skip_recording=skip)}, jobs=jobs)
        for skip, jobs in ((0, 2), (20, 1))
    )
    assert list(whole) == list(later) == Tones().recordings
    for name in whole:
        x = whole[name]["own"]["max-pooled flux"]
        assert_allclose(x, max_pooled_flux(spectrogram(Tones().recording(name).source, RIGHT_WHALE)))
        assert_array_equal(x[20:], later[name]["own"]["max-pooled flux"])
    assert list(recording_functions(Tones(), {"plain": PLAIN}, ["recording 2"], jobs=1)) == ["recording 2"]


@pytest.mark.parametrize("changes", [{"start": 1}, {"rectified": True}, {"background": "including"}, {"detectors": {}}])
def test_detectors_of_ones_own_go_without_what_is_for_the_papers(changes):
    with pytest.raises(ValueError, match=r"^detectors must hold"):
        dataclasses.replace(PLAIN, **{"detectors": OWN} | changes)


def test_detectors_of_ones_own_have_no_checkpoint(tmp_path):
    with pytest.raises(ValueError, match=r"^checkpoint must be None"):
        evaluate(Tones(), {"own": dataclasses.replace(PLAIN, detectors=OWN)}, jobs=1, checkpoint=tmp_path / "counts")


@pytest.mark.parametrize("run", [clip_values, recording_functions, peak_places, measure_recordings])
def test_a_data_set_that_is_not_complete_is_refused(run):
    dataset = Tones(bad="anna 0 at 1" if run in (clip_values, peak_places) else "recording 0")
    with pytest.raises(OSError, match=r"(?s)must be complete: .*cannot read"):
        run(dataset, {"plain": PLAIN} if run in (clip_values, recording_functions) else RIGHT_WHALE, jobs=1)


def test_detectors_are_in_the_papers_order():
    table = evaluate(Tones(), {"plain": PLAIN}, jobs=1)
    assert list(table["detector"][:3]) == list(DETECTORS)
    for wide in (table.pivot(index=["distance", "group"], columns="detector", values="mtbfa"), medians_in_words(table)):
        assert list(wide.columns) == list(DETECTORS)


# Places and novelty

TWO_DISTANCES = SimulatedNighthawk(seed=3, n_calls=3, distances=(30, 200), n_scenes=2)


@dataclasses.dataclass(frozen=True)
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
    assert places["frequency"]["max-pooled PCEN"] == pytest.approx(Beep.frequency, abs=spacing)
    assert np.isnan(places["frequency"]["averaged flux"])
    assert set(places["distance"]) == {1.0}
    assert set(places["group"]) == {"machine"}


def test_a_clip_may_be_a_file_of_another_rate(tmp_path):
    import soundfile

    path = tmp_path / "beep.wav"
    soundfile.write(path, Beep().waveform(44100), 44100)
    found, expected = (peak_places(beep, NIGHTHAWK, jobs=1).set_index("detector") for beep in (Beep(str(path)), Beep()))
    assert_allclose(found["time"], expected["time"], atol=NIGHTHAWK.win_length / NIGHTHAWK.sr)


def test_times_are_those_of_the_detection_functions():
    values = clip_values(TWO_DISTANCES, {"paper": NIGHTHAWK_PAPER}, jobs=1)
    places = peak_places(TWO_DISTANCES, NIGHTHAWK, jobs=1)
    keys = ["clip", "distance", "group", "detector"]
    assert_frame_equal(places[keys], values[keys])
    assert_allclose(places["time"], values["time"], atol=1e-9)


def test_one_and_two_workers_find_the_same_places():
    assert_frame_equal(*(peak_places(TWO_DISTANCES, NIGHTHAWK, jobs=jobs) for jobs in (1, 2)))


def test_frequencies_are_centres_of_bands():
    frequencies = peak_places(TWO_DISTANCES, NIGHTHAWK, jobs=1)["frequency"].dropna()
    assert len(frequencies) == 2 * len(TWO_DISTANCES.clips)
    assert np.isin(frequencies, NIGHTHAWK.frequencies).all()


def test_recordings_are_measured_one_by_one():
    table = measure_recordings(TWO_DISTANCES, NIGHTHAWK, jobs=1)
    assert list(table["recording"]) == [name for name in TWO_DISTANCES.recordings for _ in range(3)]
    expected = measure_novelty(TWO_DISTANCES.recording("scene 0001").source, NIGHTHAWK)
    for row in table[table["recording"] == "scene 0001"].to_dict("records"):
        assert row == {"recording": "scene 0001", "detector": row["detector"], **expected[row["detector"]]._asdict()}
    assert_frame_equal(table, measure_recordings(TWO_DISTANCES, NIGHTHAWK, jobs=2))


# False alarms

TWO_SCENES = SimulatedNighthawk(seed=5, n_calls=1, n_scenes=2)
SLOW = Protocol(setting=dataclasses.replace(NIGHTHAWK, s=0.03), skip_recording=400, count="frames")
THRESHOLDS = {"max-pooled PCEN": [1.4, 1.2], "averaged flux": [0.15]}


def test_alarms_are_those_of_each_recording():
    table = count_alarms(TWO_SCENES, {"slow": SLOW}, THRESHOLDS, jobs=1)
    assert len(table) == 2 * 3
    functions = detection_functions(TWO_SCENES.recording("scene 0001").source, SLOW.setting)
    expected = count_exceedances([{k: v[400:] for k, v in functions.named().items()}], THRESHOLDS)
    rows = table[table["recording"] == "scene 0001"]
    for detector, alarms in expected.alarms.items():
        of_detector = rows[rows["detector"] == detector]
        assert tuple(of_detector["false_alarms"]) == alarms
        assert tuple(of_detector["threshold"]) == tuple(THRESHOLDS[detector])
    assert_allclose(rows["duration"], expected.n_frames * NIGHTHAWK.hop)


def test_one_and_two_workers_count_the_same():
    protocols = {"paper": NIGHTHAWK_PAPER, "slow": SLOW}
    one, two = (count_alarms(TWO_SCENES, protocols, THRESHOLDS, jobs=jobs) for jobs in (1, 2))
    assert_frame_equal(one, two)
    assert set(one["protocol"]) == {"paper", "slow"}


def test_alarms_need_a_protocol():
    with pytest.raises(ValueError, match="protocols must hold"):
        count_alarms(TWO_SCENES, {}, THRESHOLDS)


# Workers, interruptions, failures


def test_the_table_does_not_depend_on_the_workers():
    protocols = {"plain": PLAIN, "other": OTHER}
    table = evaluate(Tones(), protocols, jobs=1)
    assert_frame_equal(evaluate(Tones(), protocols, jobs=2), table, check_exact=True)
    with ThreadPoolExecutor(2) as threads:
        assert_frame_equal(evaluate(Tones(), protocols, executor=threads, jobs=2), table, check_exact=True)


def test_the_same_nighthawks_with_one_and_two_workers():
    dataset = SimulatedNighthawk(n_calls=4, n_birds=2, distances=(30, 200), n_scenes=2)
    protocols = {"paper": NIGHTHAWK_PAPER, "released": NIGHTHAWK_RELEASED}
    one, two = (evaluate(dataset, protocols, jobs=jobs) for jobs in (1, 2))
    assert_frame_equal(one, two, check_exact=True)
    assert len(one) == 2 * 2 * 2 * 3
    assert one["duration"].between(2 * 9, 2 * 10).all()
    assert {len(group) for _, group in one.groupby("protocol")} == {12}


def test_a_protocol_does_not_mind_the_others(tables):
    for name in ("plain", "borders", "all"):
        alone = evaluate(Tones(), {name: SWITCHED[name]}, jobs=1)
        assert_frame_equal(alone, tables[name], check_exact=True)


def test_each_sound_is_made_once_for_all_protocols():
    dataset = Tones(log=[])
    evaluate(dataset, {"plain": PLAIN, "other": OTHER, "slow": dataclasses.replace(PLAIN, count="frames")}, jobs=1)
    assert sorted(dataset.log) == sorted([clip.name for clip in dataset.clips] + dataset.recordings)


def test_an_interrupted_evaluation_goes_on_where_it_was(tmp_path):
    checkpoint = tmp_path / "counts.jsonl"
    make = functools.partial(Tones, n_recordings=12)
    with pytest.raises(KeyboardInterrupt):
        evaluate(make(dies_at="recording 11"), {"plain": PLAIN}, jobs=1, checkpoint=checkpoint)
    resumed = make(log=[])
    table = evaluate(resumed, {"plain": PLAIN}, jobs=1, checkpoint=checkpoint)
    again = [name for name in resumed.log if name.startswith("recording")]
    assert 0 < len(again) < 12
    assert_frame_equal(table, evaluate(make(), {"plain": PLAIN}, jobs=1), check_exact=True)
    finished = make(log=[])
    assert_frame_equal(evaluate(finished, {"plain": PLAIN}, jobs=1, checkpoint=checkpoint), table, check_exact=True)
    assert not [name for name in finished.log if name.startswith("recording")]


@pytest.mark.parametrize(
    ("dataset", "protocols"),
    [
        (Tones(n_calls=5), {"plain": PLAIN}),
        (Tones(), {"plain": dataclasses.replace(PLAIN, count="frames")}),
        (Tones(), {"renamed": PLAIN}),
    ],
)
def test_a_checkpoint_of_another_experiment_is_refused(dataset, protocols, tmp_path):
    evaluate(Tones(), {"plain": PLAIN}, jobs=1, checkpoint=tmp_path / "counts")
    with pytest.raises(ValueError, match=r"^checkpoint .*counts belongs to another job"):
        evaluate(dataset, protocols, jobs=1, checkpoint=tmp_path / "counts")


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("bad", ["bert 2 at 10", "recording 1"])
def test_data_that_cannot_be_read_end_the_experiment(bad, jobs):
    with pytest.raises(OSError, match=f"(?s)^the data set must be complete: .*1 failed.*{bad}: cannot read {bad}.wav"):
        evaluate(Tones(bad=bad), {"plain": PLAIN}, jobs=jobs)


# Bad input


def test_an_experiment_needs_a_protocol():
    with pytest.raises(ValueError, match=r"^protocols must hold at least one"):
        evaluate(Tones(), {})


def test_a_recording_must_be_longer_than_what_is_skipped():
    with pytest.raises(
        OSError, match=r"recording 0: a recording must be longer than the 1000 frames that are left out"
    ):
        evaluate(Tones(), {"plain": dataclasses.replace(PLAIN, skip_recording=1000)}, jobs=1)


def test_files_cannot_be_tiled(tmp_path):
    class Files(Tones):
        def clip(self, clip):
            return Sound(str(tmp_path / clip.name), None, 0.0)

    with pytest.raises(OSError, match="borders must be 'context' for clips that are files"):
        clip_values(Files(), {"other": OTHER}, jobs=1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("background", "after"),
        ("background", None),
        ("borders", "mirrored"),
        ("count", "runs"),
        ("skip_clip", -1),
        ("skip_clip", 1.5),
        ("skip_recording", -1),
        ("skip_recording", None),
        ("start", 0),
        ("start", -1.0),
        ("start", np.nan),
    ],
)
def test_bad_protocols_are_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name} must"):
        dataclasses.replace(PLAIN, **{name: value})


def test_protocols_are_frozen_hashable_and_take_keywords_only():
    with pytest.raises(dataclasses.FrozenInstanceError):
        PLAIN.count = "frames"
    assert len({PLAIN, Protocol(setting=RIGHT_WHALE), OTHER}) == 2
    with pytest.raises(TypeError):
        Protocol(RIGHT_WHALE)
