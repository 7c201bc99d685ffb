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
from pcenlib.novelty import smoothing_coefficient
from pcenlib.spectrogram import NIGHTHAWK, RIGHT_WHALE, Setting
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
    "evaluate",
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
            check_range(name, getattr(self, name), 0)
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
        seconds from the start of the clip.

    Notes
    -----
    Chapters 3.1, *Data and spectrograms*, and 3.3, *Results*.
    """
    import pandas as pd

    _check_protocols(protocols)
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
            first = math.ceil(dataset.clip_duration * setting.sr / setting.hop_length)
            origin = first * setting.hop
        else:
            first = round(sound.lead * setting.sr / setting.hop_length)
            origin = sound.lead
        first += protocol.skip_clip
        for detector, values in _values(functions, protocol, first).items():
            peak = int(values.argmax())
            time = float(setting.times(first + peak + 1)[-1]) - origin
            found.append((name, detector, float(values[peak]), time))
    return found


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
        label: asdict(
            count_exceedances(
                [_values(functions, protocol, protocol.skip_recording)], thresholds[label], count=protocol.count
            )
        )
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


def switches(paper: Protocol, released: Protocol) -> dict[str, Protocol]:
    """The first protocol with one choice at a time made as in the second.

    Parameters
    ----------
    paper, released : Protocol
        Two protocols.

    Returns
    -------
    dict of str to Protocol
        For each choice that differs, its name and the first protocol with it thrown. The fields of the setting are
        choices of their own, except that bands go together, and so do the borders of clips and what is skipped there.

    Notes
    -----
    Chapter *What the result hangs on*.
    """
    groups = [
        *(("setting", [name]) for name in ("power", "s", "n_fft")),
        ("setting", ["n_bands", "fmin", "fmax"]),
        ("", ["background"]),
        ("", ["start", "skip_recording"]),
        ("", ["borders", "skip_clip"]),
        *(
            ("", [name])
            for name in ("rectified", "minimum_subtracted", "dropped_in_recordings", "lower_median", "count")
        ),
    ]
    thrown = {}
    for part, names in groups:
        mine, theirs = (paper.setting, released.setting) if part else (paper, released)
        changes = {name: getattr(theirs, name) for name in names if getattr(mine, name) != getattr(theirs, name)}
        if changes:
            label = "bands" if "n_bands" in names else names[0]
            thrown[label] = (
                replace(paper, setting=replace(paper.setting, **changes)) if part else replace(paper, **changes)
            )
    return thrown


SCALES: Mapping[str, int] = {"default": 600, "paper": 9983}
"""Number of ten-second scenes without a call: 100 minutes, or as many as in section 3.3."""


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


def _check_protocols(protocols: Mapping[str, Protocol]) -> None:
    if not protocols:
        raise ValueError("protocols must hold at least one protocol")


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
