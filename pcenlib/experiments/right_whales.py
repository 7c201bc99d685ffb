"""Up-calls of the right whale challenge, against noise of their own sea and against ships of another."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pcenlib.core.evaluation import threshold_at_recall
from pcenlib.core.novelty import over_background
from pcenlib.core.setting import RIGHT_WHALE, Setting
from pcenlib.core.spectrogram import spectrogram
from pcenlib.core.streaming import MAX_POOLED_PCEN
from pcenlib.datasets.interface import Clip, Reflected, Sound
from pcenlib.datasets.real import RealSet
from pcenlib.experiments.evaluate import clip_values, recording_functions
from pcenlib.experiments.intervals import (
    N_RESAMPLES,
    alarms_in_each,
    area_under_curve,
    interval,
    resamples,
)
from pcenlib.experiments.protocols import RIGHT_WHALE_PAPER, RIGHT_WHALE_RELEASED, Protocol
from pcenlib.experiments.stored import Experiment, describe

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BEFORE", "EXPERIMENTS", "PROTOCOLS", "CallsAndNoise"]


Array = npt.NDArray[np.float64]

SEED = 2019
ALL = "all"  # signal-to-noise ratios


def band_name(setting: Setting) -> str:
    """Lowest and highest band of a setting, as in *8-1000 Hz*."""
    return f"{setting.fmin:.0f}-{setting.fmax:.0f} Hz"


def _protocols() -> dict[str, Protocol]:
    return {
        f"s = {s:.2g}, {band_name(setting)}": replace(RIGHT_WHALE_PAPER, setting=replace(setting, s=s))
        for setting in (RIGHT_WHALE, RIGHT_WHALE.within(50, 300))
        for s in (RIGHT_WHALE_PAPER.setting.s, RIGHT_WHALE_RELEASED.setting.s)
    }


PROTOCOLS = _protocols()
"""Section 4 as written, in all bands and in those from 50 to 300 Hz alone, with s as written and as released."""

BEFORE: Mapping[str, Mapping[str, Any]] = {
    "reflection": {},
    "nothing": {},
    "nothing, 0.5 s left out": {"skip_clip": round(0.5 / RIGHT_WHALE.hop)},
    "itself": {"borders": "tiled"},
}
"""What may come before a clip whose past nobody kept, and what that changes in a protocol."""


@dataclass(frozen=True)
class CallsAndNoise:
    """All clips of the challenge, in the groups "call" and "noise"; a noise has no distance.

    Parameters
    ----------
    challenge : RealSet
        `RightWhaleChallenge`.
    """

    challenge: RealSet

    @property
    def clip_duration(self) -> float:
        """Length of each clip in seconds."""
        return self.challenge.clip_duration

    @property
    def clips(self) -> list[Clip]:
        """Calls, then noise."""
        noise = [Clip(name, np.nan, "noise") for name in self.challenge.recordings]
        return [clip._replace(group="call") for clip in self.challenge.clips] + noise

    @property
    def recordings(self) -> list[str]:
        """None."""
        return []

    def clip(self, clip: Clip) -> Sound:
        """Sound of a clip."""
        return self.challenge.clip(clip)

    def recording(self, name: str) -> Sound:
        """Sound of a noise clip."""
        return self.challenge.recording(name)


def right_whales_and_ships(challenge: RealSet, ships: RealSet, *, jobs: int = 2) -> "pd.DataFrame":
    """Up-calls of `RightWhaleChallenge` against noise clips of the same sea, and against the ships of `DeepShip`.

    For each `detector`, `s` (of PCEN alone), `bands`, what comes `before` a clip, and `snr` ("all", or the center of a
    bin): the number of calls; the `area` under the curve of calls against noise clips, by their maxima; the `threshold`
    at half recall; the share of noise clips above it; in ships, the number of false alarms, their duration and the
    MTBFA. Intervals of 95 % come from resampling clips and ships.
    """
    import pandas as pd

    values = _maxima(CallsAndNoise(challenge), jobs)
    in_ships = recording_functions(ships, PROTOCOLS, jobs=jobs).values()
    rng = np.random.default_rng(SEED)
    rows = []
    for keys, table in values.groupby(["label", "before", "detector"], sort=False, observed=True):
        label, before, detector = map(str, keys)
        setting = PROTOCOLS[label].setting
        if detector != MAX_POOLED_PCEN and setting.s != RIGHT_WHALE.s:
            continue  # flux knows no s
        of_ships = [each[label][detector] for each in in_ships]
        durations = np.array([each.size for each in of_ships]) * setting.hop
        calls = table[table["group"] == "call"]
        noise = table.loc[table["group"] == "noise", "value"].to_numpy()
        noises = noise[resamples(noise.size, rng)]
        ships_drawn = resamples(len(of_ships), rng)
        bins = sorted(calls["distance"].unique()) if before == "reflection" else []
        for snr in (ALL, *bins):
            mine = (calls if snr == ALL else calls[calls["distance"] == snr])["value"].to_numpy()
            samples = mine[resamples(mine.size, rng)]
            thresholds = np.array([threshold_at_recall(sample) for sample in samples])
            in_each = alarms_in_each(of_ships, thresholds, count="peaks")
            alarms = np.take_along_axis(in_each, ships_drawn, axis=1).sum(axis=1)
            with np.errstate(divide="ignore"):
                times = durations[ships_drawn].sum(axis=1) / alarms
            rows.append(
                {
                    "detector": detector,
                    "s": round(setting.s, 3) if detector == MAX_POOLED_PCEN else np.nan,
                    "bands": band_name(setting),
                    "before": before,
                    "snr": str(snr),
                    "n_calls": samples.shape[1],
                    "threshold": thresholds[0],
                    **interval("area", area_under_curve(samples, noises)),
                    **interval("noise_share", (noises > thresholds[:, np.newaxis]).mean(axis=1)),
                    "false_alarms": int(alarms[0]),
                    "duration": durations.sum(),
                    **interval("mtbfa", times),
                }
            )
    return pd.DataFrame(rows)


def _maxima(dataset: CallsAndNoise, jobs: int) -> "pd.DataFrame":
    """Maxima of all clips under each protocol, with each of the things that may come before a clip."""
    import pandas as pd

    tables = []
    for before, changes in BEFORE.items():
        protocols = {label: replace(protocol, **changes) for label, protocol in PROTOCOLS.items()}
        clips = Reflected(dataset) if before == "reflection" else dataset
        tables.append(clip_values(clips, protocols, jobs=jobs).assign(before=before))
    return pd.concat(tables, ignore_index=True).rename(columns={"protocol": "label"})


def loudest_moments(challenge: RealSet) -> "pd.DataFrame":
    """What is there where max-pooled PCEN has its maximum, in each clip of `RightWhaleChallenge`.

    For each `clip`, its `group` ("call" or "noise"), the `bands`, and at the maximum of E/M at s = 0.33: the `rise`
    20 log10 (E/M) in dB, `time` in seconds, `frequency` in hertz, `spread`, the share of these bands in which E is more
    than twice M at that time, and `lasting`, how many seconds around it the band stays less than 6 dB below its
    magnitude at that time.
    """
    import pandas as pd

    dataset = Reflected(CallsAndNoise(challenge))
    settings = [protocol.setting for protocol in PROTOCOLS.values() if protocol.setting.s == RIGHT_WHALE.s]
    rows = []
    for clip in dataset.clips:
        sound = dataset.clip(clip)
        first = round(sound.lead / RIGHT_WHALE.hop)
        for setting in settings:
            E = spectrogram(np.asarray(sound.source), setting)
            ratio = over_background(E, s=setting.s)[:, first:]
            band, frame = np.unravel_index(ratio.argmax(), ratio.shape)
            time, frequency = setting.place_of_maximum(ratio)
            within = E[band, first:] > E[band, first + frame] / 2
            rows.append(
                {
                    "clip": clip.name,
                    "group": clip.group,
                    "bands": band_name(setting),
                    "rise": 20 * np.log10(ratio[band, frame]),
                    "time": time,
                    "frequency": frequency,
                    "spread": float((ratio[:, frame] > 2).mean()),
                    "lasting": _run_around(within, int(frame)) * setting.hop,
                }
            )
    return pd.DataFrame(rows)


def _run_around(within: npt.NDArray[np.bool_], place: int) -> int:
    """Length of the run of true values around a place."""
    outside = np.flatnonzero(~within)
    after = np.searchsorted(outside, place)
    first = outside[after - 1] if after else -1
    last = outside[after] if after < outside.size else within.size
    return int(last - first - 1)


def noise_that_defeats(challenge: RealSet, *, n: int = 12) -> "pd.DataFrame":
    """Summary of `loudest_moments`: quartiles of calls, of noise and of its upper tenth; and the n strongest noises.

    Columns `bands`, `what` (a group, or the name of a clip), `share` (quantile, or missing), the columns of
    `loudest_moments` after its `bands`, and `broadband`, the share of clips whose spread is more than a half.
    """
    import pandas as pd

    moments = loudest_moments(challenge)
    columns = ["rise", "time", "frequency", "spread", "lasting"]
    rows = []
    for bands, table in moments.groupby("bands", sort=False):
        noise = table[table["group"] == "noise"].sort_values("rise", ascending=False)
        top = noise.head(max(1, round(0.1 * len(noise))))
        groups = {"calls": table[table["group"] == "call"], "noise": noise, "upper tenth of noise": top}
        for what, group in groups.items():
            broad = float((group["spread"] > 0.5).mean())
            for share, row in group[columns].quantile([0.25, 0.5, 0.75]).iterrows():
                rows.append({"bands": bands, "what": what, "share": share, **row, "broadband": broad})
        for _, row in top.head(n).iterrows():
            rows.append({"bands": bands, "what": row["clip"], **row[columns], "broadband": float(row["spread"] > 0.5)})
    return pd.DataFrame(rows)[["bands", "what", "share", *columns, "broadband"]]


EXPERIMENTS = {
    "right-whales-and-ships": Experiment(
        run=right_whales_and_ships,
        sets=("narw", "deepship"),
        definition=describe(
            "up-calls against noise clips and ships, version 2",
            PROTOCOLS,
            BEFORE,
            SEED,
            N_RESAMPLES,
        ),
        keys=("detector", "s", "bands", "before", "snr"),
        tolerances={"n_calls": 0, "threshold": 1e-5, "area": 1e-5, "noise_share": 1e-5, "false_alarms": 0},
    ),
    "right-whale-noise": Experiment(
        run=noise_that_defeats,
        sets=("narw",),
        definition=describe("loudest moments of PCEN in calls and noise, version 1", PROTOCOLS),
        keys=("bands", "what", "share"),
        tolerances={"rise": 1e-5, "frequency": 1e-5, "spread": 1e-5, "lasting": 1e-5},
    ),
}
"""The experiments of this module, by the names of their stored tables."""
