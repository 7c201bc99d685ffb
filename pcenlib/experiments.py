"""The experiments of sections 3 and 4: a data set and a protocol in, a tidy table of MTBFA@50 out.

A `Protocol` is every choice that the paper and the authors' released code make differently. `NIGHTHAWK_PAPER` and
`NIGHTHAWK_RELEASED` are two of them; `switches` throws one choice at a time.

The data set makes or reads each sound once, however many protocols look at it. Tables depend on the data set and the
protocols alone, not on the number of workers.
"""

import functools
import hashlib
import math
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from pcenlib._checks import check_range
from pcenlib.batch import Outcome, run
from pcenlib.datasets import Clip, DataSet, Sound
from pcenlib.evaluation import Counting, Counts, calibrate, count_exceedances, merge_counts, mtbfa_table
from pcenlib.evaluation import thresholds_by_detector as by_detector
from pcenlib.measurements import NoveltyMeasurements, measure_novelty
from pcenlib.novelty import averaged_flux, pcen, smoothing_coefficient
from pcenlib.recordings import samples
from pcenlib.spectrogram import NIGHTHAWK, RIGHT_WHALE, Setting, spectrogram
from pcenlib.streaming import DetectionFunctions, detection_functions

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "NIGHTHAWK_PAPER",
    "NIGHTHAWK_RELEASED",
    "RIGHT_WHALE_PAPER",
    "RIGHT_WHALE_RELEASED",
    "SCALES",
    "Protocol",
    "check_run",
    "clip_values",
    "count_alarms",
    "evaluate",
    "measure_recordings",
    "peak_places",
    "recording_functions",
    "switches",
]

Values = dict[str, npt.NDArray[np.floating]]


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """How an experiment is done: every choice that the paper and its released code make differently.

    Parameters
    ----------
    setting : Setting
        Window, transform, bands, magnitudes or their squares, and s.
    background : {"before", "including"}
        Whether M[t] stops before frame t, equation 4, or includes it, as librosa's does.
    start : float, optional
        Background before the first frame; by default, the first frame itself. librosa's is 1, whatever the level.
    borders : {"context", "tiled"}
        What comes before a clip: the sound that was heard there, or, as in the released code, the clip itself:
        the clip, the clip again, the clip reversed, of which the first third is dropped.
    skip_clip, skip_recording : int
        Frames that are left out at the start of each clip and of each recording.
    rectified : bool
        Whether max-pooled flux is at least 0; equation 2 has no such limit.
    minimum_subtracted : bool
        Whether the smallest value of each clip and each recording is subtracted from all of its values.
    dropped_in_recordings : int
        Number of lowest bands that max-pooled PCEN leaves out in recordings, though not in clips: in section 4 the
        released code drops the lowest bins there twice.
    lower_median : bool
        Whether the threshold of an even number of clips is the lower of the two middle values, or their mean.
    count : {"frames", "peaks"}
        What a false alarm is: each frame above the threshold, or each run of them.

    Notes
    -----
    Chapters 3.3, *Results*, and *What the result hangs on*.
    """

    setting: Setting
    background: Literal["before", "including"] = "before"
    start: float | None = None
    borders: Literal["context", "tiled"] = "context"
    skip_clip: int = 0
    skip_recording: int = 0
    rectified: bool = False
    minimum_subtracted: bool = False
    dropped_in_recordings: int = 0
    lower_median: bool = False
    count: Counting = "peaks"

    def __post_init__(self) -> None:
        choices = {"background": ("before", "including"), "borders": ("context", "tiled"), "count": ("frames", "peaks")}
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}")
        for name in ("skip_clip", "skip_recording"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 0:
                raise ValueError(f"{name} must be a non-negative integer, got {getattr(self, name)!r}")
        if self.start is not None:
            check_range("start", self.start, 0, open_low=True)
        check_range("dropped_in_recordings", self.dropped_in_recordings, 0, self.setting.n_bands - 1)


def evaluate(
    dataset: DataSet,
    protocols: Mapping[str, Protocol],
    *,
    executor: Executor | None = None,
    jobs: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> "pd.DataFrame":
    """Mean time between false alarms at half recall, for each protocol, distance, group and detector (section 3.2).

    Parameters
    ----------
    dataset : DataSet
        Clips with calls, and recordings without.
    protocols : mapping of str to Protocol
        Names and protocols. The sound of each clip and recording is made once for all of them.
    executor, jobs, checkpoint, progress
        As for `batch.run`. A checkpoint keeps the counts of each recording, which take nearly all of the time.

    Returns
    -------
    DataFrame
        The columns of `evaluation.mtbfa_table`, after a column `protocol`.

    Notes
    -----
    Chapters 3.3 and 4.2, *Results*. Anything that cannot be read ends the experiment: its numbers would be of another
    data set.
    """
    import pandas as pd

    options: dict[str, Any] = {"executor": executor, "jobs": jobs, "progress": progress}
    positives = clip_values(dataset, protocols, **options)
    thresholds = {
        name: calibrate(positives[positives["protocol"] == name], lower=protocol.lower_median)
        for name, protocol in protocols.items()
    }
    counts = _count(dataset, protocols, thresholds, checkpoint=checkpoint, **options)
    tables = [
        mtbfa_table(thresholds[name], counts[name], hop=protocol.setting.hop).assign(protocol=name)
        for name, protocol in protocols.items()
    ]
    table = pd.concat(tables, ignore_index=True)
    return table[["protocol", *table.columns.drop("protocol")]]


def clip_values(
    dataset: DataSet,
    protocols: Mapping[str, Protocol],
    *,
    executor: Executor | None = None,
    jobs: int | None = None,
    progress: bool = False,
) -> "pd.DataFrame":
    """Maximum of each detection function over each clip, and when it comes: what stage one sorts.

    Parameters
    ----------
    dataset, protocols, executor, jobs, progress
        As for `evaluate`.

    Returns
    -------
    DataFrame
        Columns `protocol`, `clip`, `distance`, `group`, `detector`, `value`, and `time`, the centre of the frame in
        seconds from the start of the clip. Where borders are tiled, a time after its end lies in the reversed clip.

    Notes
    -----
    Chapters 3.1, *Data and spectrograms*, and 3.3, *Results*.
    """
    import pandas as pd

    if not protocols:
        raise ValueError("protocols must hold at least one protocol")
    clips = dataset.clips
    outcome = run(
        functools.partial(_peaks_of_clip, dataset=dataset, protocols=protocols),
        clips,
        names=[clip.name for clip in clips],
        executor=executor,
        jobs=jobs,
        progress=progress,
    )
    _check_complete(outcome)
    rows = [
        (protocol, clip.name, clip.distance, clip.group, detector, value, time)
        for clip, peaks in zip(clips, outcome.results.values(), strict=True)
        for protocol, detector, value, time in peaks
    ]
    return pd.DataFrame(rows, columns=["protocol", "clip", "distance", "group", "detector", "value", "time"])


def _peaks_of_clip(
    clip: Clip, *, dataset: DataSet, protocols: Mapping[str, Protocol]
) -> list[tuple[str, str, float, float]]:
    """Protocol, detector, value and time of the maximum of each detection function over a clip."""
    sound = dataset.clip(clip)
    found = []
    for name, protocol, functions in _functions(sound, protocols, dataset.clip_duration):
        setting = protocol.setting
        if protocol.borders == "tiled":
            origin = dataset.clip_duration
            first = math.ceil(origin * setting.sr / setting.hop_length)
        else:
            origin = sound.lead
            first = round(origin * setting.sr / setting.hop_length)
        first += protocol.skip_clip
        for detector, values in _values(functions, protocol, first).items():
            peak = int(values.argmax())
            time = float(setting.times(first + peak + 1)[-1]) - origin
            found.append((name, detector, float(values[peak]), time))
    return found


def peak_places(
    dataset: DataSet,
    setting: Setting,
    *,
    executor: Executor | None = None,
    jobs: int | None = None,
    progress: bool = False,
) -> "pd.DataFrame":
    """Where each detection function has its maximum over each clip: the white dots of figure 1, for all clips.

    Parameters
    ----------
    dataset : DataSet
        Clips with calls.
    setting : Setting
        Window, hop, bands and s.
    executor, jobs, progress
        As for `batch.run`.

    Returns
    -------
    DataFrame
        Columns `clip`, `distance`, `group`, `detector`, `time`, the centre of the frame in seconds from the start of
        the clip, and `frequency`, the centre of the band in hertz; a mean over bands has none.

    Notes
    -----
    Chapter 3.1, *Data and spectrograms*.
    """
    import pandas as pd

    clips = dataset.clips
    outcome = run(
        functools.partial(_places_of_clip, dataset=dataset, setting=setting),
        clips,
        names=[clip.name for clip in clips],
        executor=executor,
        jobs=jobs,
        progress=progress,
    )
    _check_complete(outcome)
    rows = [
        (clip.name, clip.distance, clip.group, detector, *place)
        for clip, places in zip(clips, outcome.results.values(), strict=True)
        for detector, place in places.items()
    ]
    return pd.DataFrame(rows, columns=["clip", "distance", "group", "detector", "time", "frequency"])


def _places_of_clip(clip: Clip, *, dataset: DataSet, setting: Setting) -> dict[str, tuple[float, float]]:
    """Time and frequency of the maximum of each detection function over a clip."""
    sound = dataset.clip(clip)
    E = spectrogram(_waveform(sound, setting), setting)
    first = round(sound.lead * setting.sr / setting.hop_length)
    contrasts = {
        "averaged_flux": averaged_flux(E)[np.newaxis],
        "max_pooled_flux": np.diff(np.log(E), prepend=np.log(E[:, :1])),
        "max_pooled_pcen": pcen(E, s=setting.s),
    }
    places = {}
    for detector, values in contrasts.items():
        time, frequency = setting.place_of_maximum(values[:, first:])
        time += first * setting.hop - sound.lead
        places[detector] = (time, frequency if len(values) > 1 else math.nan)
    return places


def measure_recordings(
    dataset: DataSet,
    setting: Setting,
    *,
    executor: Executor | None = None,
    jobs: int | None = None,
    progress: bool = False,
) -> "pd.DataFrame":
    """What the detection functions make of each recording without a call: `measurements.measure_novelty` of all.

    Parameters
    ----------
    dataset : DataSet
        Recordings without calls, each short enough for memory.
    setting : Setting
        Window, hop, bands and s.
    executor, jobs, progress
        As for `batch.run`.

    Returns
    -------
    DataFrame
        Columns `recording`, `detector`, and the fields of `measurements.NoveltyMeasurements`.

    Notes
    -----
    Chapter 3.1, *Data and spectrograms*.
    """
    import pandas as pd

    outcome = run(
        functools.partial(_novelty_of_recording, dataset=dataset, setting=setting),
        dataset.recordings,
        executor=executor,
        jobs=jobs,
        progress=progress,
    )
    _check_complete(outcome)
    rows = [
        {"recording": name, "detector": detector, **measured._asdict()}
        for name, by_name in outcome.results.items()
        for detector, measured in by_name.items()
    ]
    return pd.DataFrame(rows)


def _novelty_of_recording(name: str, *, dataset: DataSet, setting: Setting) -> dict[str, NoveltyMeasurements]:
    return measure_novelty(_waveform(dataset.recording(name), setting), setting)


def _waveform(sound: Sound, setting: Setting) -> npt.NDArray[np.floating]:
    """All samples of a sound, at the rate of the setting."""
    return np.concatenate(list(samples(sound.source, setting.sr, sr=sound.sr)))


def count_alarms(
    dataset: DataSet,
    protocols: Mapping[str, Protocol],
    thresholds: Mapping[str, npt.ArrayLike],
    *,
    executor: Executor | None = None,
    jobs: int | None = None,
    progress: bool = False,
) -> "pd.DataFrame":
    """False alarms of each recording at thresholds of your choice: stage two by itself.

    Parameters
    ----------
    dataset, protocols, executor, jobs, progress
        As for `evaluate`.
    thresholds : mapping of str to array_like, shape (threshold,)
        For each detector, its thresholds; the same for all protocols.

    Returns
    -------
    DataFrame
        Columns `protocol`, `recording`, `detector`, `threshold`, `false_alarms`, and the `duration` of the recording
        that counts, in seconds.

    Notes
    -----
    Chapter *A distance laboratory*.
    """
    import pandas as pd

    if not protocols:
        raise ValueError("protocols must hold at least one protocol")
    edges = {detector: np.asarray(values, dtype=float).tolist() for detector, values in thresholds.items()}
    outcome = run(
        functools.partial(
            _alarms_of_recording, dataset=dataset, protocols=protocols, thresholds=dict.fromkeys(protocols, edges)
        ),
        dataset.recordings,
        executor=executor,
        jobs=jobs,
        progress=progress,
    )
    _check_complete(outcome)
    rows = [
        (label, recording, detector, threshold, alarms, counts["n_frames"] * protocols[label].setting.hop)
        for recording, by_protocol in outcome.results.items()
        for label, counts in by_protocol.items()
        for detector, values in edges.items()
        for threshold, alarms in zip(values, counts["alarms"][detector], strict=True)
    ]
    return pd.DataFrame(rows, columns=["protocol", "recording", "detector", "threshold", "false_alarms", "duration"])


def _count(
    dataset: DataSet,
    protocols: Mapping[str, Protocol],
    thresholds: "Mapping[str, pd.DataFrame]",
    **options: Any,
) -> dict[str, Counts]:
    """False alarms of all recordings together, under each protocol."""
    edges = {name: by_detector(table) for name, table in thresholds.items()}
    described = f"{dataset!r} {protocols!r} {edges!r}"
    outcome = run(
        functools.partial(_alarms_of_recording, dataset=dataset, protocols=protocols, thresholds=edges),
        dataset.recordings,
        job=hashlib.sha256(described.encode()).hexdigest(),
        **options,
    )
    _check_complete(outcome)
    return {name: merge_counts(Counts(**result[name]) for result in outcome.results.values()) for name in protocols}


def _alarms_of_recording(
    name: str,
    *,
    dataset: DataSet,
    protocols: Mapping[str, Protocol],
    thresholds: Mapping[str, Mapping[str, list[float]]],
) -> dict[str, dict[str, Any]]:
    """False alarms of one recording, under each protocol."""
    return {
        label: asdict(count_exceedances([values], thresholds[label], count=protocols[label].count))
        for label, values in recording_functions(dataset, name, protocols).items()
    }


def recording_functions(dataset: DataSet, name: str, protocols: Mapping[str, Protocol]) -> dict[str, Values]:
    """Detection functions of one recording, as each protocol has them: what stage two counts.

    Parameters
    ----------
    dataset : DataSet
        Where the recording is.
    name : str
        Which.
    protocols : mapping of str to Protocol
        Names and protocols.

    Returns
    -------
    dict of str to dict of str to ndarray, shape (frame,)
        For each protocol, the values of each detector.

    Notes
    -----
    Chapters *Right whales and real ships* and *ESC-50*.
    """
    return {
        label: _values(functions, protocol, protocol.skip_recording)
        for label, protocol, functions in _functions(dataset.recording(name), protocols, None)
    }


def _functions(
    sound: Sound, protocols: Mapping[str, Protocol], clip_duration: float | None
) -> Iterator[tuple[str, Protocol, DetectionFunctions]]:
    """Name, protocol and detection functions for each protocol; those that need the same are computed once."""
    known: dict[Any, DetectionFunctions] = {}

    def functions(setting: Setting, start: float | None, tiled: bool) -> DetectionFunctions:
        key = setting, start, tiled
        if key not in known:
            source = _tiled(sound, clip_duration) if tiled and clip_duration else sound.source
            known[key] = detection_functions(source, setting, sr=sound.sr, start=start)
        return known[key]

    for name, protocol in protocols.items():
        setting, start, dropped = protocol.setting, protocol.start, protocol.dropped_in_recordings
        if clip_duration is not None:
            yield name, protocol, functions(setting, start, protocol.borders == "tiled")
        elif dropped:
            fewer = functions(setting.with_bands(dropped, setting.n_bands - 1), start, False)
            pcen = fewer.max_pooled_pcen
            yield name, protocol, functions(setting, start, False)._replace(max_pooled_pcen=pcen)
        else:
            yield name, protocol, functions(setting, start, False)


def _tiled(sound: Sound, clip_duration: float) -> npt.NDArray[np.floating]:
    """The clip, the clip again, and the clip reversed."""
    if sound.sr is None:
        raise ValueError("borders must be 'context' for clips that are files")
    begin = round(sound.lead * sound.sr)
    x = np.asarray(sound.source)[..., begin : begin + round(clip_duration * sound.sr)]
    return np.concatenate([x, x, x[..., ::-1]], axis=-1)


def _values(functions: DetectionFunctions, protocol: Protocol, first: int) -> Values:
    """The detection functions of a recording from a frame on, as the protocol has them."""
    values: Values = {name: function[first:] for name, function in functions._asdict().items()}
    if not len(values["averaged_flux"]):
        raise ValueError(f"a recording must be longer than the {first} frames that are left out at its start")
    if protocol.background == "including":
        # With M' = s E + (1 - s) M, E/M' is 1/(s + (1 - s) M/E).
        s = protocol.setting.s
        ratio = np.expm1(values["max_pooled_pcen"])
        values["max_pooled_pcen"] = np.log1p(1 / (s + (1 - s) / ratio))
    if protocol.rectified:
        values["max_pooled_flux"] = np.maximum(values["max_pooled_flux"], 0)
    if protocol.minimum_subtracted:
        values = {name: function - function.min() for name, function in values.items()}
    return values


# Fields of a setting and of a protocol, by the choice that they belong to.
OF_SETTING = {
    "power": ["power"],
    "s": ["s"],
    "window": ["sr", "win_length", "hop_length", "n_fft"],
    "bands": ["n_bands", "fmin", "fmax", "scale"],
}
OF_PROTOCOL = {
    "background": ["background"],
    "start": ["start", "skip_recording"],
    "borders": ["borders", "skip_clip"],
    "rectified": ["rectified"],
    "minimum_subtracted": ["minimum_subtracted"],
    "dropped_in_recordings": ["dropped_in_recordings"],
    "lower_median": ["lower_median"],
    "count": ["count"],
}


def switches(paper: Protocol, released: Protocol) -> dict[str, Protocol]:
    """The first protocol with one choice at a time made as in the second.

    Parameters
    ----------
    paper, released : Protocol
        Two protocols.

    Returns
    -------
    dict of str to Protocol
        For each choice that differs, its name and the first protocol with it thrown. Some fields go together: those of
        the bands, those of the window and its transform, the start of a background and what is skipped of a recording,
        the borders of a clip and what is skipped there.

    Notes
    -----
    Chapter *What the result hangs on*.
    """

    def changes(mine: object, theirs: object, names: list[str]) -> dict[str, Any]:
        return {name: getattr(theirs, name) for name in names if getattr(mine, name) != getattr(theirs, name)}

    thrown = {}
    for label, names in OF_SETTING.items():
        if of_setting := changes(paper.setting, released.setting, names):
            thrown[label] = replace(paper, setting=replace(paper.setting, **of_setting))
    for label, names in OF_PROTOCOL.items():
        if of_protocol := changes(paper, released, names):
            thrown[label] = replace(paper, **of_protocol)
    return thrown


SCALES: Mapping[str, int] = {"default": 600, "paper": 9983}
"""Number of ten-second scenes without a call, which are 100 minutes, or as many as in section 3.3."""


def check_run(*, scale: object, seed: object, jobs: object) -> None:
    """Raise ValueError unless the parameters of a chapter's run are valid.

    Parameters
    ----------
    scale : {"default", "paper"}
        A name of `SCALES`.
    seed : int
        At least 0.
    jobs : int
        Number of worker processes, at least 1.

    Notes
    -----
    Chapter 3.3, *Results*. The parameters may come from a command line, so that they may be anything.
    """
    if not isinstance(scale, str) or scale not in SCALES:
        raise ValueError(f"scale must be one of {', '.join(SCALES)}, got {scale!r}")
    for name, value, least in (("seed", seed, 0), ("jobs", jobs, 1)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")


def _check_complete(outcome: Outcome[Any]) -> None:
    if outcome.failures:
        raise OSError(f"the data set must be complete: {outcome}")


NIGHTHAWK_PAPER = Protocol(setting=NIGHTHAWK, minimum_subtracted=True, skip_recording=round(0.5 / NIGHTHAWK.hop))
"""Section 3 as it is written.

Where it says nothing, the choice that is kinder to PCEN is to let its background settle: half a second of each scene
is left out.
"""

NIGHTHAWK_RELEASED = Protocol(
    setting=replace(
        NIGHTHAWK.with_bands(15, 89),
        power=2,
        # librosa's time_constant=0.1 is a cut-off period 2 pi times as long.
        s=smoothing_coefficient(2 * math.pi * 0.1, hop=NIGHTHAWK.hop),
    ),
    background="including",
    start=2.0**-62,  # 1, for waveforms multiplied by 2^31 and squared
    borders="tiled",
    skip_clip=10,
    skip_recording=100,
    rectified=True,
    minimum_subtracted=True,
    lower_median=True,
    count="frames",
)
"""Section 3 as the authors' notebooks ran it."""

RIGHT_WHALE_PAPER = Protocol(setting=RIGHT_WHALE, skip_recording=round(2 / RIGHT_WHALE.hop))
"""Section 4 as it is written, except that two seconds of each ship are left out for the background to settle."""

RIGHT_WHALE_RELEASED = Protocol(
    setting=replace(
        # Of bins 0 to 128 of the transform, the code drops the five lowest; the first is none of the paper's bands.
        RIGHT_WHALE.with_bands(4, 127),
        s=smoothing_coefficient(2 * math.pi * 1.0, hop=RIGHT_WHALE.hop),
    ),
    background="including",
    skip_recording=round(2 / RIGHT_WHALE.hop),
    rectified=True,
    dropped_in_recordings=5,
    lower_median=True,
    count="frames",
)
"""Section 4 as the authors' notebooks ran it, with the sound around each clip, which they had too."""
