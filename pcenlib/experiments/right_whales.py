"""Up-calls of the right whale challenge, against noise of their own sea and against ships of another."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pcenlib.core.novelty import over_background
from pcenlib.core.recordings import waveform
from pcenlib.core.resampling import N_RESAMPLES, interval
from pcenlib.core.setting import RIGHT_WHALE, Setting
from pcenlib.core.spectrogram import spectrogram
from pcenlib.core.streaming import AVERAGED_FLUX, DETECTORS, MAX_POOLED_FLUX, MAX_POOLED_PCEN
from pcenlib.datasets.interface import Clip, Paired, Reflected, Sound
from pcenlib.datasets.real import RealSet, read
from pcenlib.datasets.right_whale_challenge import received_snr
from pcenlib.datasets.shipsear_excerpts import ShipsEarExcerpts
from pcenlib.experiments.evaluate import clip_values, recording_functions
from pcenlib.experiments.intervals import area_under_curve, blocks, bootstrap_alarms, cluster_draws
from pcenlib.experiments.protocols import RIGHT_WHALE_BELOW_900, RIGHT_WHALE_PAPER, RIGHT_WHALE_RELEASED, Protocol
from pcenlib.experiments.stored import Experiment, describe

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BEFORE", "BLOCK", "EXPERIMENTS", "PROTOCOLS", "CallsAndNoise", "Settled", "neighbor_blocks"]


Array = npt.NDArray[np.float64]

SEED = 2019
N_AREAS = 200  # resamples of areas under the curve
ALL, QUARTER = "all", "upper quarter"  # signal-to-noise ratios

BLOCK = 20
"""Number of neighboring clips, by their numbers, that are resampled together."""


def band_name(setting: Setting) -> str:
    """Lowest and highest band of a setting, as in *8-1000 Hz*."""
    return f"{setting.fmin:.0f}-{setting.fmax:.0f} Hz"


def _protocols() -> dict[str, Protocol]:
    return {
        f"s = {s:.2g}, {band_name(setting)}": replace(RIGHT_WHALE_PAPER, setting=replace(setting, s=s))
        for setting in (RIGHT_WHALE_BELOW_900.setting, RIGHT_WHALE.within(50, 300))
        for s in (RIGHT_WHALE_PAPER.setting.s, RIGHT_WHALE_RELEASED.setting.s)
    }


PROTOCOLS = _protocols()
"""Section 4 as written, in all bands below 900 Hz and from 50 to 300 Hz alone, with s as written and as released."""

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


class Settled(Paired):
    """A data set whose recordings come after their own first two seconds reversed, which the protocols leave out.

    So the background has settled at the level of the recording, as in `Reflected` clips, and nothing of it is lost.
    """

    def recording(self, name: str) -> Sound:
        """Sound of a recording, after its beginning reversed."""
        source, sr, _ = super().recording(name)
        x = waveform(source, RIGHT_WHALE.sr, sr=sr)
        n_samples = RIGHT_WHALE_PAPER.skip_recording * RIGHT_WHALE.hop_length
        return Sound(np.concatenate([x[:n_samples][::-1], x]), RIGHT_WHALE.sr)


def right_whales_and_ships(challenge: RealSet, *ships: RealSet, jobs: int = 2) -> "pd.DataFrame":
    """Up-calls of `RightWhaleChallenge` against noise clips of the same sea, and against ships of other sets.

    For each set of `ships`, `detector`, `s` (of PCEN alone), `bands`, what comes `before` a clip, and `snr` ("all", the
    "upper quarter" of calls by `received_snr`, or the center of a bin): the number of calls; the `area` under the curve
    of calls against noise clips, by their maxima; the `threshold` at half recall; the share of noise clips above it; in
    ships, the number of false alarms, their duration and the MTBFA; and how many times `fewer` false alarms there are
    than those of averaged flux (for max-pooled flux) or of max-pooled flux (for PCEN), with a half added to both.
    Intervals of 95 % come from resampling blocks of `BLOCK` neighboring clips, and ships: recordings of `DeepShip`, or
    pieces of `ShipsEarExcerpts` within each recording.
    """
    import pandas as pd

    values = _maxima(CallsAndNoise(challenge), jobs)
    blocks_of = neighbor_blocks(clip.name for clip in challenge.clips) | neighbor_blocks(challenge.recordings)
    upper = _upper_quarter(challenge)
    in_ships = {each: recording_functions(Settled(each), PROTOCOLS, jobs=jobs) for each in ships}
    rows = []
    for keys, table in values.groupby(["label", "before"], sort=False):
        label, before = map(str, keys)
        protocol = PROTOCOLS[label]
        of_protocol = DETECTORS if protocol.setting.s == RIGHT_WHALE.s else (MAX_POOLED_PCEN,)  # flux knows no s
        wide = table.pivot(index=["clip", "group", "distance"], columns="detector", values="value").reset_index()
        calls, noise = wide[wide["group"] == "call"], wide[wide["group"] == "noise"]
        noise_draws = cluster_draws(
            [blocks_of[name] for name in noise["clip"]], np.random.default_rng(SEED), N_RESAMPLES
        )
        chosen = {ALL: calls}
        if before == "reflection":
            chosen[QUARTER] = calls[calls["clip"].isin(upper)]
            chosen |= {str(center): of_bin for center, of_bin in calls.groupby("distance")}
        for snr, mine in chosen.items():
            clusters = [blocks_of[name] for name in mine["clip"]]
            call_draws = cluster_draws(clusters, np.random.default_rng(SEED), N_AREAS)
            areas = {
                detector: [
                    float(area_under_curve(mine[detector].to_numpy()[some], noise[detector].to_numpy()[others]))
                    for some, others in zip(call_draws, noise_draws[: 1 + N_AREAS], strict=True)
                ]
                for detector in of_protocol
            }
            for each, functions in in_ships.items():
                boot = bootstrap_alarms(
                    {detector: mine[detector].to_numpy() for detector in DETECTORS},
                    {detector: [of_ship[label][detector] for of_ship in functions.values()] for detector in DETECTORS},
                    call_clusters=clusters,
                    strata=[_recording_of(each, name) for name in functions],
                    count=protocol.count,
                    hop=protocol.setting.hop,
                    rng=np.random.default_rng(SEED),
                    n=N_RESAMPLES,
                )
                for detector in of_protocol:
                    shares = [
                        float((noise[detector].to_numpy()[draw] > threshold).mean())
                        for draw, threshold in zip(noise_draws, boot.thresholds[detector], strict=True)
                    ]
                    rows.append(
                        {
                            "ships": each.about.title,
                            "detector": detector,
                            "s": round(protocol.setting.s, 3) if detector == MAX_POOLED_PCEN else np.nan,
                            "bands": band_name(protocol.setting),
                            "before": before,
                            "snr": snr,
                            "n_calls": len(mine),
                            "n_ships": len(functions),
                            "threshold": boot.thresholds[detector][0],
                            **interval("area", areas[detector]),
                            **interval("noise_share", shares),
                            "false_alarms": int(boot.alarms[detector][0]),
                            "duration": boot.durations[0],
                            **_columns("mtbfa", boot.mtbfa(detector)),
                            **(_columns("fewer", boot.ratio(detector, OVER[detector])) if detector in OVER else {}),
                        }
                    )
    return pd.DataFrame(rows)


OVER = {MAX_POOLED_FLUX: AVERAGED_FLUX, MAX_POOLED_PCEN: MAX_POOLED_FLUX}  # what detectors are compared to


def _columns(name: str, ends: Mapping[str, float]) -> dict[str, float]:
    return {name: ends["estimate"], f"{name}_low": ends["low"], f"{name}_high": ends["high"]}


def _recording_of(ships: RealSet, name: str) -> str:
    """Recording that a piece of `ShipsEarExcerpts` comes from; the recordings of any other set are all alike."""
    return ShipsEarExcerpts.source(name) if isinstance(ships, ShipsEarExcerpts) else ""


def neighbor_blocks(names: Iterable[str]) -> dict[str, int]:
    """Block of each clip, of `BLOCK` neighbors by the number in its name; equal numbers are in the order of names."""

    def number(name: str) -> tuple[int, str]:
        found = re.search(r"(\d+)\.", name)
        return int(found[1]) if found else 0, name

    in_order = sorted(names, key=number)
    return dict(zip(in_order, blocks(len(in_order), BLOCK).tolist(), strict=True))


def _upper_quarter(challenge: RealSet) -> set[str]:
    """Names of the quarter of the calls that stand out most."""
    ratios = {clip.name: received_snr(*read(challenge.folder / clip.name)) for clip in challenge.clips}
    return set(sorted(ratios, key=ratios.__getitem__)[-max(1, len(ratios) // 4) :])


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
        further=("shipsear_excerpts",),
        definition=describe(
            "up-calls against noise clips and ships, version 3",
            PROTOCOLS,
            BEFORE,
            BLOCK,
            SEED,
            N_RESAMPLES,
        ),
        keys=("ships", "detector", "s", "bands", "before", "snr"),
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
