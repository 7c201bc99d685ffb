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
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pcenlib.core.evaluation import Counts, count_exceedances, merge_counts
from pcenlib.core.novelty import averaged_flux, pcen
from pcenlib.core.recordings import waveform
from pcenlib.core.setting import Setting
from pcenlib.core.spectrogram import read_spectrogram
from pcenlib.core.streaming import DetectionFunctions, detection_functions
from pcenlib.datasets.interface import Clip, DataSet, Sound
from pcenlib.experiments.novelty_measurements import NoveltyMeasurements, measure_novelty
from pcenlib.experiments.protocols import Protocol
from pcenlib.experiments.tables import calibrate, mtbfa_table
from pcenlib.experiments.tables import thresholds_by_detector as by_detector
from pcenlib.jobs.run import Outcome, run

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["clip_values", "count_alarms", "evaluate", "measure_recordings", "peak_places", "recording_functions"]


Values = dict[str, npt.NDArray[np.floating]]


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
        As for `jobs.run.run`. A checkpoint keeps the counts of each recording, which take nearly all of the time.

    Returns
    -------
    DataFrame
        The columns of `mtbfa_table`, after a column `protocol`.

    Notes
    -----
    Anything that cannot be read ends the experiment: its numbers would be of another data set.
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
        As for `jobs.run.run`.

    Returns
    -------
    DataFrame
        Columns `clip`, `distance`, `group`, `detector`, `time`, the centre of the frame in seconds from the start of
        the clip, and `frequency`, the centre of the band in hertz; a mean over bands has none.
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
    E = read_spectrogram(sound.source, setting, sr=sound.sr)
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
    """What the detection functions make of each recording without a call: `measure_novelty` of all.

    Parameters
    ----------
    dataset : DataSet
        Recordings without calls, each short enough for memory.
    setting : Setting
        Window, hop, bands and s.
    executor, jobs, progress
        As for `jobs.run.run`.

    Returns
    -------
    DataFrame
        Columns `recording`, `detector`, and the fields of `measurements.NoveltyMeasurements`.
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
    sound = dataset.recording(name)
    return measure_novelty(waveform(sound.source, setting.sr, sr=sound.sr), setting)


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


def _check_complete(outcome: Outcome[Any]) -> None:
    if outcome.failures:
        raise OSError(f"the data set must be complete: {outcome}")
