"""The experiments of sections 3 and 4: a data set and protocols in, a tidy table of MTBFA@50 out.

Stage one, `clip_values`, finds the maximum of each detection function over each clip; half of these maxima exceed the
threshold. Stage two, `mtbfa_at`, counts how often recordings without a call exceed it. `evaluate` does both, and
`recording_functions` returns what stage two counts.

A sound is made or read once, however many protocols look at it. Tables depend on the data set and the protocols, not
on the number of workers. What cannot be read ends the experiment: its numbers would belong to another data set.
"""

import functools
import hashlib
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack

import numpy as np
import numpy.typing as npt

from pcenlib.core.evaluation import Counts, count_exceedances, merge_counts
from pcenlib.core.novelty import averaged_flux, log_contrast, pcen
from pcenlib.core.recordings import waveform
from pcenlib.core.setting import Setting
from pcenlib.core.spectrogram import read_spectrogram
from pcenlib.core.streaming import DETECTORS, MAX_POOLED_FLUX, MAX_POOLED_PCEN, DetectionFunctions, detection_functions
from pcenlib.datasets.interface import Clip, DataSet, Sound
from pcenlib.experiments.novelty_measurements import NoveltyMeasurements, measure_novelty
from pcenlib.experiments.protocols import Protocol
from pcenlib.experiments.tables import calibrate, in_order, mtbfa_table, thresholds_by_detector
from pcenlib.jobs.run import run

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Workers",
    "clip_values",
    "count_alarms",
    "evaluate",
    "evaluate_each",
    "measure_recordings",
    "mtbfa_at",
    "peak_places",
    "recording_functions",
]


Item = TypeVar("Item")
Result = TypeVar("Result")
Values = dict[str, npt.NDArray[np.floating]]  # by detector
Edges = Mapping[str, Mapping[str, list[float]]]  # by protocol and detector


class Workers(TypedDict, total=False):
    """Who does the work, as for `jobs.run.run`: every function here takes these keywords."""

    executor: Executor | None
    jobs: int | None
    progress: bool


def evaluate(
    dataset: DataSet,
    protocols: Mapping[str, Protocol],
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    **workers: Unpack[Workers],
) -> "pd.DataFrame":
    """Mean time between false alarms at half recall, for each protocol, distance, group and detector (section 3.2).

    Parameters
    ----------
    dataset : DataSet
        Clips with calls, and recordings without.
    protocols : mapping of str to Protocol
        Names and protocols.
    checkpoint : path, optional
        As for `mtbfa_at`.
    **workers
        `Workers`.

    Returns
    -------
    DataFrame
        The columns of `mtbfa_table`, after a column `protocol`.
    """
    values = clip_values(dataset, protocols, **workers)
    thresholds = {
        label: calibrate(values[values["protocol"] == label], lower=protocol.lower_median)
        for label, protocol in protocols.items()
    }
    return mtbfa_at(dataset, protocols, thresholds, checkpoint=checkpoint, **workers)


def evaluate_each(
    datasets: Mapping[Any, DataSet], protocols: Mapping[str, Protocol], *, names: list[str], **workers: Unpack[Workers]
) -> "pd.DataFrame":
    """`evaluate` on several data sets, such as those of several seeds, as one table.

    Parameters
    ----------
    datasets : mapping to DataSet
        What tells them apart, a value or a tuple of values, and the data sets.
    protocols : mapping of str to Protocol
        Names and protocols.
    names : list of str
        Names of the columns for what tells the data sets apart.
    **workers
        `Workers`.

    Returns
    -------
    DataFrame
        The tables of `evaluate`, one below the other, after the columns `names`.
    """
    import pandas as pd

    tables = {key: evaluate(dataset, protocols, **workers) for key, dataset in datasets.items()}
    return pd.concat(tables, names=names).reset_index(names)


def clip_values(dataset: DataSet, protocols: Mapping[str, Protocol], **workers: Unpack[Workers]) -> "pd.DataFrame":
    """Maximum of each detection function over each clip, and its time: stage one.

    Parameters
    ----------
    dataset, protocols, **workers
        As for `evaluate`.

    Returns
    -------
    DataFrame
        Columns `clip`, `distance`, `group`, `protocol`, `detector`, `value`, and `time`, the center of the frame in
        seconds from the start of the clip. Where borders are tiled, a time after its end is in the reversed clip.
    """
    _check_protocols(protocols)
    peaks = functools.partial(_peaks, dataset=dataset, protocols=protocols)
    return _clip_table(peaks, dataset, ["protocol", "detector", "value", "time"], workers)


def _peaks(clip: Clip, *, dataset: DataSet, protocols: Mapping[str, Protocol]) -> list[tuple[str, str, float, float]]:
    """Protocol, detector, value and time of the maximum of each detection function over a clip."""
    sound = dataset.clip(clip)
    found = []
    for label, protocol, functions in _functions(sound, protocols, dataset.clip_duration):
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
            found.append((label, detector, float(values[peak]), time))
    return found


def peak_places(dataset: DataSet, setting: Setting, **workers: Unpack[Workers]) -> "pd.DataFrame":
    """Where each detection function has its maximum over each clip: the white dots of figure 1, for all clips.

    Parameters
    ----------
    dataset, **workers
        As for `evaluate`.
    setting : Setting
        Window, hop, bands and s.

    Returns
    -------
    DataFrame
        Columns `clip`, `distance`, `group`, `detector`, `time`, the center of the frame in seconds from the start of
        the clip, and `frequency`, the center of the band in hertz. A mean over bands has no frequency.
    """
    places = functools.partial(_places, dataset=dataset, setting=setting)
    return _clip_table(places, dataset, ["detector", "time", "frequency"], workers)


def _places(clip: Clip, *, dataset: DataSet, setting: Setting) -> list[tuple[str, float, float]]:
    """Detector, time and frequency of the maximum of each detection function over a clip."""
    sound = dataset.clip(clip)
    E = read_spectrogram(sound.source, setting, sr=sound.sr)
    first = round(sound.lead * setting.sr / setting.hop_length)
    contrasts = averaged_flux(E)[np.newaxis], log_contrast(E), pcen(E, s=setting.s)
    places = []
    for detector, values in zip(DETECTORS, contrasts, strict=True):
        time, frequency = setting.place_of_maximum(values[:, first:])
        time += first * setting.hop - sound.lead
        places.append((detector, time, frequency if len(values) > 1 else math.nan))
    return places


def measure_recordings(dataset: DataSet, setting: Setting, **workers: Unpack[Workers]) -> "pd.DataFrame":
    """`measure_novelty` of each recording without a call.

    Parameters
    ----------
    dataset, **workers
        As for `evaluate`; each recording must fit into memory.
    setting : Setting
        Window, hop, bands and s.

    Returns
    -------
    DataFrame
        Columns `recording`, `detector`, and the fields of `NoveltyMeasurements`.
    """
    import pandas as pd

    novelty = _run(functools.partial(_novelty, dataset=dataset, setting=setting), dataset.recordings, **workers)
    rows = [
        {"recording": name, "detector": detector, **measured._asdict()}
        for name, by_detector in novelty.items()
        for detector, measured in by_detector.items()
    ]
    return in_order(pd.DataFrame(rows))


def _novelty(name: str, *, dataset: DataSet, setting: Setting) -> dict[str, NoveltyMeasurements]:
    source, sr, _ = dataset.recording(name)
    return measure_novelty(waveform(source, setting.sr, sr=sr), setting)


def recording_functions(
    dataset: DataSet,
    protocols: Mapping[str, Protocol],
    names: Sequence[str] | None = None,
    **workers: Unpack[Workers],
) -> dict[str, dict[str, Values]]:
    """Detection functions of recordings, under each protocol.

    Parameters
    ----------
    dataset, protocols, **workers
        As for `evaluate`.
    names : sequence of str, optional
        Which recordings; by default, all.

    Returns
    -------
    dict of str to dict of str to dict of str to ndarray, shape (frame,)
        For each recording and each protocol, the values of each detector.
    """
    _check_protocols(protocols)
    of_recording = functools.partial(_functions_of_recording, dataset=dataset, protocols=protocols)
    return _run(of_recording, dataset.recordings if names is None else names, **workers)


def _functions_of_recording(name: str, *, dataset: DataSet, protocols: Mapping[str, Protocol]) -> dict[str, Values]:
    return {
        label: _values(values, protocol, protocol.skip_recording)
        for label, protocol, values in _functions(dataset.recording(name), protocols)
    }


def mtbfa_at(
    dataset: DataSet,
    protocols: Mapping[str, Protocol],
    thresholds: "Mapping[str, pd.DataFrame]",
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    **workers: Unpack[Workers],
) -> "pd.DataFrame":
    """Mean time between false alarms of all recordings together: stage two.

    Parameters
    ----------
    dataset, protocols, **workers
        As for `evaluate`.
    thresholds : mapping of str to DataFrame
        For each protocol, a table of `calibrate`.
    checkpoint : path, optional
        Keeps the counts of each finished recording, as for `jobs.run.run`; not for detectors of one's own.

    Returns
    -------
    DataFrame
        The columns of `mtbfa_table`, after a column `protocol`.
    """
    import pandas as pd

    if checkpoint is not None and any(protocol.detectors for protocol in protocols.values()):
        raise ValueError("checkpoint must be None for detectors of one's own: no text says what they compute")
    edges = {label: thresholds_by_detector(thresholds[label]) for label in protocols}
    job = hashlib.sha256(f"{dataset!r} {protocols!r} {edges!r}".encode()).hexdigest()
    counts = _alarms(dataset, protocols, edges, checkpoint=checkpoint, job=job, **workers)
    tables = {}
    for label, protocol in protocols.items():
        total = merge_counts(of_recording[label] for of_recording in counts.values())
        tables[label] = mtbfa_table(thresholds[label], total, hop=protocol.setting.hop)
    return pd.concat(tables, names=["protocol"]).reset_index("protocol").reset_index(drop=True)


def count_alarms(
    dataset: DataSet,
    protocols: Mapping[str, Protocol],
    thresholds: Mapping[str, npt.ArrayLike],
    **workers: Unpack[Workers],
) -> "pd.DataFrame":
    """False alarms of each recording, at thresholds of your choice.

    Parameters
    ----------
    dataset, protocols, **workers
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

    edges = {detector: np.asarray(values, dtype=float).tolist() for detector, values in thresholds.items()}
    rows = [
        (label, recording, detector, threshold, alarms, counts.n_frames * protocols[label].setting.hop)
        for recording, by_protocol in _alarms(dataset, protocols, dict.fromkeys(protocols, edges), **workers).items()
        for label, counts in by_protocol.items()
        for detector, values in edges.items()
        for threshold, alarms in zip(values, counts.alarms[detector], strict=True)
    ]
    columns = ["protocol", "recording", "detector", "threshold", "false_alarms", "duration"]
    return in_order(pd.DataFrame(rows, columns=columns))


def _alarms(
    dataset: DataSet, protocols: Mapping[str, Protocol], thresholds: Edges, **options: Any
) -> dict[str, dict[str, Counts]]:
    """False alarms of each recording, under each protocol."""
    _check_protocols(protocols)
    count = functools.partial(_count, dataset=dataset, protocols=protocols, thresholds=thresholds)
    counts = _run(count, dataset.recordings, **options)
    return {name: {label: Counts(**each) for label, each in found.items()} for name, found in counts.items()}


def _count(
    name: str, *, dataset: DataSet, protocols: Mapping[str, Protocol], thresholds: Edges
) -> dict[str, dict[str, Any]]:
    """False alarms of one recording under each protocol, as a checkpoint can hold them."""
    return {
        label: asdict(count_exceedances([values], thresholds[label], count=protocols[label].count))
        for label, values in _functions_of_recording(name, dataset=dataset, protocols=protocols).items()
    }


def _functions(
    sound: Sound, protocols: Mapping[str, Protocol], clip_duration: float | None = None
) -> Iterator[tuple[str, Protocol, Values]]:
    """Label, protocol and detection functions of a sound, which is a clip if it has a duration."""

    def source(tiled: bool) -> Any:
        if not tiled or clip_duration is None:
            return sound.source
        if sound.sr is None:
            raise ValueError("borders must be 'context' for clips that are files")
        begin = round(sound.lead * sound.sr)
        x = np.asarray(sound.source)[..., begin : begin + round(clip_duration * sound.sr)]
        return np.concatenate([x, x, x[..., ::-1]], axis=-1)

    @functools.cache  # what several protocols need is computed once
    def streamed(setting: Setting, start: float | None, tiled: bool) -> DetectionFunctions:
        return detection_functions(source(tiled), setting, sr=sound.sr, start=start)

    @functools.cache
    def magnitudes(setting: Setting, tiled: bool) -> npt.NDArray[np.floating]:
        return read_spectrogram(source(tiled), setting, sr=sound.sr)

    for label, protocol in protocols.items():
        setting, tiled = protocol.setting, protocol.borders == "tiled" and clip_duration is not None
        if protocol.detectors is not None:
            E = magnitudes(setting, tiled)
            yield label, protocol, {name: detector(E) for name, detector in protocol.detectors.items()}
            continue
        values = streamed(setting, protocol.start, tiled).named()
        if protocol.dropped_in_recordings and clip_duration is None:
            fewer = setting.with_bands(protocol.dropped_in_recordings, setting.n_bands - 1)
            values[MAX_POOLED_PCEN] = streamed(fewer, protocol.start, tiled).max_pooled_pcen
        yield label, protocol, values


def _values(functions: Values, protocol: Protocol, first: int) -> Values:
    """Detection functions from a frame on, as the protocol has them."""
    values = {name: function[first:] for name, function in functions.items()}
    if not all(map(len, values.values())):
        raise ValueError(f"a recording must be longer than the {first} frames that are left out at its start")
    if protocol.background == "including":
        # With M' = s E + (1 - s) M, E/M' is 1/(s + (1 - s) M/E). It rises with E/M, so the largest E/M of a frame gives
        # the largest E/M'. Streaming returns the largest E/M alone, inside a logarithm.
        s = protocol.setting.s
        ratio = np.expm1(values[MAX_POOLED_PCEN])
        values[MAX_POOLED_PCEN] = np.log1p(1 / (s + (1 - s) / ratio))
    if protocol.rectified:
        values[MAX_POOLED_FLUX] = np.maximum(values[MAX_POOLED_FLUX], 0)
    if protocol.minimum_subtracted:
        values = {name: function - function.min() for name, function in values.items()}
    return values


def _clip_table(
    function: Callable[[Clip], list[tuple[Any, ...]]], dataset: DataSet, columns: list[str], workers: Workers
) -> "pd.DataFrame":
    """A table of what a function finds in each clip, in the columns that it names."""
    import pandas as pd

    clips = list(dataset.clips)
    found = _run(function, clips, names=[clip.name for clip in clips], **workers)
    about = [(clip.name, clip.distance, clip.group) for clip in clips]
    rows = [(*clip, *row) for clip, rows in zip(about, found.values(), strict=True) for row in rows]
    return in_order(pd.DataFrame(rows, columns=["clip", "distance", "group", *columns]))


def _run(function: Callable[[Item], Result], items: Sequence[Item], **options: Any) -> dict[str, Result]:
    """Results of a function by the name of the item, complete."""
    outcome = run(function, items, **{"progress": False} | options)
    if outcome.failures:
        raise OSError(f"the data set must be complete: {outcome}")
    return dict(outcome.results)


def _check_protocols(protocols: Mapping[str, Protocol]) -> None:
    if not protocols:
        raise ValueError("protocols must hold at least one protocol")
