"""Templates from a few recorded up-calls, against noise of their own sea and against ships of another."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pcenlib.core.evaluation import threshold_at_recall
from pcenlib.core.novelty import max_pooled_flux
from pcenlib.core.resampling import N_RESAMPLES, interval
from pcenlib.core.setting import RIGHT_WHALE
from pcenlib.core.spectrogram import spectrogram
from pcenlib.datasets.interface import Reflected
from pcenlib.datasets.real import RealSet
from pcenlib.datasets.right_whale_challenge import SNR_BINS, received_snr
from pcenlib.experiments.detectors import follow_sweeps
from pcenlib.experiments.intervals import alarms_in_each, cluster_draws, totals
from pcenlib.experiments.protocols import RIGHT_WHALE_PAPER, RIGHT_WHALE_RELEASED
from pcenlib.experiments.right_whales import BLOCK, CallsAndNoise, Settled, neighbor_blocks
from pcenlib.experiments.stored import Experiment, describe
from pcenlib.experiments.template_areas import block_weights, mean_area, mean_recall
from pcenlib.experiments.templates import (
    LOG,
    OVER_MEDIAN,
    PCEN,
    REPRESENTATIONS,
    SLOWER_PCEN,
    loudest_stretch,
    match,
    representations,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CLEAR", "EXPERIMENTS", "MAXIMUM", "RISING", "SETTING", "SLOWER", "SPECTRUM", "TEMPLATES"]

Array = npt.NDArray[np.float64]

SETTING = RIGHT_WHALE.within(50, 300)
"""The bands of up-calls, with the paper's s."""

SLOWER = RIGHT_WHALE_RELEASED.setting.s
"""The other s, that of the released code."""

TEMPLATES, CLEAR = "templates", "templates of high SNR"
SPECTRUM, RISING, MAXIMUM = "templates on the spectrum alone", "rising lines", "maximum over bands"
"""How a picture is scored."""

SEED = 2019
N_DRAWS, N_TEMPLATES = 20, 8
FEWER = (1, 2, 4)  # templates of each draw, the first ones
N_FRAMES = round(1.0 / SETTING.hop)  # of a template
RATES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # of false alarms in noise clips
LINES: Mapping[str, Any] = {
    "starts": (70, 85, 103, 125, 150),
    "ends": (170, 195, 225, 260),
    "durations": (0.6, 0.9, 1.2),
    "curvatures": (1.0, 2.0),
}
# Tilts of all clips alike, and standard deviations of tilts that differ, in dB an octave.
TILTS, SPREADS = (-12, -6, 6, 12), (3, 6, 12)
ON_LINES = (LOG, OVER_MEDIAN, PCEN, SLOWER_PCEN)
FLUX = "flux"


@dataclass(frozen=True)
class _Clips:
    """Every clip of the challenge in the order of its blocks: `pictures` by representation (clip, band, frame)."""

    is_call: npt.NDArray[np.bool_]
    snr: Array
    blocks: npt.NDArray[np.int64]
    loudest: list[slice]
    pictures: Mapping[str, Array]
    flux: Array


def _clips(challenge: RealSet) -> _Clips:
    dataset = CallsAndNoise(challenge)
    by_name = {clip.name: clip for clip in dataset.clips}
    blocks = neighbor_blocks(by_name)
    spectrograms, ratios = [], []
    for name in blocks:
        sound = Reflected(dataset).clip(by_name[name])
        x = np.asarray(sound.source)
        spectrograms.append(spectrogram(x, SETTING))
        ratios.append(received_snr(x[x.size // 2 :], SETTING.sr))
    lead = round(dataset.clip_duration / SETTING.hop)
    E = np.stack(spectrograms)
    return _Clips(
        is_call=np.array([by_name[name].group == "call" for name in blocks]),
        snr=np.array(ratios),
        blocks=np.array(list(blocks.values())),
        loudest=[loudest_stretch(each, N_FRAMES) for each in E[..., lead:]],
        pictures=representations(E, s=SETTING.s, slower=SLOWER, lead=lead),
        flux=np.asarray(max_pooled_flux(E)[..., lead:], dtype=np.float64),
    )


def _chosen(clips: _Clips) -> dict[str, npt.NDArray[np.int64]]:
    """Clips that give templates, (draw, template): any call of each of some blocks, and the clearest call of each."""
    rng = np.random.default_rng(SEED)
    found: dict[str, list[list[int]]] = {TEMPLATES: [], CLEAR: []}
    for _ in range(N_DRAWS):
        some = rng.choice(np.unique(clips.blocks[clips.is_call]), N_TEMPLATES, replace=False)
        calls = [np.flatnonzero(clips.is_call & (clips.blocks == block)) for block in some]
        found[TEMPLATES].append([int(rng.choice(of_block)) for of_block in calls])
        found[CLEAR].append([int(of_block[clips.snr[of_block].argmax()]) for of_block in calls])
    return {kind: np.array(chosen) for kind, chosen in found.items()}


def _cut(clips: _Clips, name: str, chosen: npt.NDArray[np.int64]) -> Array:
    """Templates (draw, template, band, frame) of one representation."""
    return np.array([[clips.pictures[name][k][:, clips.loudest[k]] for k in of_draw] for of_draw in chosen])


def _scores(clips: _Clips, chosen: Mapping[str, npt.NDArray[np.int64]]) -> dict[tuple[str, str], Array]:
    """Scores of all clips (draw, clip), by way of scoring and representation; the same for all draws without templates.

    Those of templates have an axis of templates before the clips, for the best of the first, of the first two, and on.
    """
    found = {}
    for name, pictures in clips.pictures.items():
        for kind, of_kind in chosen.items():
            templates = _cut(clips, name, of_kind)
            best = np.stack([match(templates, picture).max(axis=-1) for picture in pictures], axis=-1)
            found[kind, name] = np.maximum.accumulate(best, axis=1)
    found[SPECTRUM, LOG] = _on_spectra(clips, chosen[TEMPLATES])
    pad = round(max(LINES["durations"]) / SETTING.hop)
    for name in ON_LINES:
        # All clips in a row. Lines that leave a clip go through values that no clip has, so they are never the best.
        apart = np.pad(clips.pictures[name], ((0, 0), (0, 0), (0, pad)), constant_values=-1e6)
        row = follow_sweeps(np.concatenate(list(apart), axis=-1), setting=SETTING, **LINES)
        found[RISING, name] = row.reshape(len(apart), -1).max(axis=-1)
    for name in (PCEN, SLOWER_PCEN):
        found[MAXIMUM, name] = clips.pictures[name].max(axis=(-2, -1))
    found[MAXIMUM, FLUX] = clips.flux.max(axis=-1)
    return {key: values if values.ndim > 1 else np.tile(values, (N_DRAWS, 1)) for key, values in found.items()}


def _on_spectra(clips: _Clips, chosen: npt.NDArray[np.int64]) -> Array:
    """Best scores (draw, clip) on log magnitudes without any event: each band is constant, at its median."""
    templates = _cut(clips, LOG, chosen)
    spectra = np.median(clips.pictures[LOG], axis=-1, keepdims=True).repeat(N_FRAMES, axis=-1)
    return np.stack([match(templates, each).max(axis=(1, 2)) for each in spectra], axis=-1)


def _tilted(clips: _Clips, chosen: npt.NDArray[np.int64], tilts: Array) -> Array:
    """Best scores (draw, clip) on log magnitudes of clips whose spectra are tilted, in dB an octave; templates stay."""
    templates = _cut(clips, LOG, chosen)
    gains = np.log(10) / 20 * tilts[:, np.newaxis] * np.log2(SETTING.frequencies)
    tilted = zip(clips.pictures[LOG], gains[..., np.newaxis], strict=True)
    return np.stack([match(templates, each + gain).max(axis=(1, 2)) for each, gain in tilted], axis=-1)


def _in_ships(clips: _Clips, chosen: npt.NDArray[np.int64], ships: RealSet) -> dict[tuple[str, str], list[list[Array]]]:
    """Scores over time of each ship and draw, without what comes before the ship for the background to settle."""
    lead = RIGHT_WHALE_PAPER.skip_recording
    found: dict[tuple[str, str], list[list[Array]]] = {}
    for name in ships.recordings:
        E = spectrogram(np.asarray(Settled(ships).recording(name).source), SETTING)
        pictures = representations(E, s=SETTING.s, slower=SLOWER, lead=lead, n_frames=lead)
        functions = {(RISING, each): follow_sweeps(pictures[each], setting=SETTING, **LINES) for each in ON_LINES}
        functions |= {(MAXIMUM, each): pictures[each].max(axis=0) for each in (PCEN, SLOWER_PCEN)}
        functions[MAXIMUM, FLUX] = max_pooled_flux(E)[lead:]
        of_ship = {key: [np.asarray(values, dtype=np.float64)] * N_DRAWS for key, values in functions.items()}
        for each, picture in pictures.items():
            scores = match(_cut(clips, each, chosen), picture).max(axis=1)
            of_ship[TEMPLATES, each] = list(scores)
        for key, of_draws in of_ship.items():
            found.setdefault(key, []).append(of_draws)
    return found


def whale_templates(challenge: RealSet, ships: RealSet) -> "pd.DataFrame":
    """Up-calls against noise clips and ships, by templates on each representation and without templates.

    In each of `N_DRAWS` draws, one call of each of `N_TEMPLATES` blocks of neighboring clips gives a template: its
    loudest second. These blocks are left out, and values are means over draws.

    Columns are `method`, `of` (the representation), `measure`, `at`, `value`, and an interval of 95 %, `low` and
    `high`, over blocks or over ships. Methods are templates of any call; templates of the call with the highest
    received SNR of each block; templates of any call on clips without any event, in which each band is constant at its
    median; rising lines; and the maximum over bands.

    Measures are "area", `at` a number of templates; "ratio" of that area to that of log magnitudes, and "ratio to
    log(E/median)"; "area by SNR", `at` a received SNR; "tilted area", `at` a tilt of the spectra of all clips in dB an
    octave, which the templates do not have, and "unequal area", `at` the standard deviation of such tilts that differ
    from clip to clip; "recall", `at` a rate of false alarms in noise clips; "alarms", false alarms a minute in ships at
    half recall; and the share of clips in which most bands rise at once, of calls, of noise and of those that gave
    templates ("broadband"), and of the tenth of the noise with the highest scores ("broadband above"). Tilts change
    nothing but log magnitudes.
    """
    import pandas as pd

    clips = _clips(challenge)
    chosen = _chosen(clips)
    n_blocks = int(clips.blocks.max()) + 1
    draws = cluster_draws(range(n_blocks), np.random.default_rng(SEED), N_RESAMPLES)
    weights = [block_weights(draws, n_blocks, clips.blocks[of_draw]) for of_draw in chosen[TEMPLATES]]
    kept = np.stack([w[0, clips.blocks] > 0 for w in weights])
    rows = []

    def add(key: tuple[str, str], measure: str, at: float, values: Array) -> None:
        ends = dict(zip(("value", "low", "high"), interval("", values).values(), strict=True))
        rows.append({"method": key[0], "of": key[1], "measure": measure, "at": at, **ends})

    every = _scores(clips, chosen)
    curves = clips.is_call, clips.blocks, weights
    bases = {kind: {of: mean_area(every[kind, of][:, -1], *curves) for of in (LOG, OVER_MEDIAN)} for kind in chosen}
    sounding = _in_ships(clips, chosen[TEMPLATES], ships)
    nearest = np.abs(clips.snr[:, np.newaxis] - SNR_BINS).argmin(axis=1)
    for key, scores in every.items():
        best = scores[:, -1] if key[0] in chosen else scores
        area = mean_area(best, *curves)
        add(key, "area", np.nan if key[0] in (RISING, MAXIMUM) else N_TEMPLATES, area)
        if key[0] in chosen:
            add(key, "ratio", N_TEMPLATES, area / bases[key[0]][LOG])
            add(key, "ratio to log(E/median)", N_TEMPLATES, area / bases[key[0]][OVER_MEDIAN])
            for n in FEWER:
                add(key, "area", n, mean_area(scores[:, n - 1], *curves))
        if key[0] == CLEAR:
            continue
        for rate, recalls in zip(RATES, mean_recall(best, *curves, rates=RATES).T, strict=True):
            add(key, "recall", rate, recalls)
        for k, center in enumerate(SNR_BINS):
            if (clips.is_call & (nearest == k)).any():
                add(key, "area by SNR", center, mean_area(best, *curves, among=nearest == k))
        if key in sounding:
            add(key, "alarms", np.nan, _alarms(best, kept & clips.is_call, sounding[key]))
    alike = np.ones(clips.blocks.size)
    different = np.random.default_rng(SEED).standard_normal(clips.blocks.size)
    for measure, pattern, sizes in (("tilted area", alike, TILTS), ("unequal area", different, SPREADS)):
        for size in sizes:
            tilted = _tilted(clips, chosen[TEMPLATES], size * pattern)
            add((TEMPLATES, LOG), measure, size, mean_area(tilted, *curves))
    return pd.DataFrame([*rows, *_bangs(clips, every, chosen, kept)])


def _bangs(
    clips: _Clips,
    scores: Mapping[tuple[str, str], Array],
    chosen: Mapping[str, npt.NDArray[np.int64]],
    kept: npt.NDArray[np.bool_],
) -> list[dict[str, object]]:
    """Rows on the share of clips in which most bands are at more than twice M where PCEN has its maximum."""
    ratio = np.expm1(clips.pictures[PCEN])
    frames = ratio.max(axis=1).argmax(axis=-1)
    bang = np.array([(each[:, frame] > 2).mean() > 0.5 for each, frame in zip(ratio, frames, strict=True)])
    noise = kept & ~clips.is_call
    shares = {("noise", "all"): bang[~clips.is_call].mean(), ("calls", "all"): bang[clips.is_call].mean()}
    shares |= {(kind, "all"): bang[of_kind].mean() for kind, of_kind in chosen.items()}
    for key, values in scores.items():
        best = values[:, -1] if key[0] in chosen else values
        least = np.nanquantile(np.where(noise, best, np.nan), 0.9, axis=1, keepdims=True)
        above = noise & (best >= least)
        shares[key] = (above & bang).sum() / above.sum()
    return [
        {
            "method": method,
            "of": of,
            "measure": "broadband" if of == "all" else "broadband above",
            "value": float(share),
        }
        for (method, of), share in shares.items()
    ]


def _alarms(scores: Array, calls: npt.NDArray[np.bool_], functions: list[list[Array]]) -> Array:
    """False alarms a minute above the median call, mean over draws, for the ships and for resamples of them."""
    minutes = np.array([SETTING.hop * of_ship[0].size / 60 for of_ship in functions])
    counts = np.zeros(len(functions))
    for k, (mine, chosen) in enumerate(zip(scores, calls, strict=True)):
        threshold = threshold_at_recall(mine[chosen], 0.5)
        counts += alarms_in_each([of_ship[k] for of_ship in functions], [threshold], count="peaks")[0] / len(scores)
    draws = cluster_draws(range(len(functions)), np.random.default_rng(SEED), N_RESAMPLES)
    return totals(counts, draws) / totals(minutes, draws)


EXPERIMENTS = {
    "template-whales": Experiment(
        run=whale_templates,
        sets=("narw", "deepship"),
        definition=describe(
            "templates of up-calls against noise clips and ships, version 1",
            SETTING,
            SLOWER,
            REPRESENTATIONS,
            (SEED, N_DRAWS, N_TEMPLATES, N_FRAMES, RATES, TILTS, SPREADS, LINES, BLOCK, N_RESAMPLES),
        ),
        keys=("method", "of", "measure", "at"),
        tolerances={"value": 1e-5, "low": 1e-5, "high": 1e-5},
    ),
}
"""The experiments of this module, by the names of their stored tables."""
