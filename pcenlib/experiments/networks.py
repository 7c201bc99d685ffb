"""PCEN as the input of a convolutional network (section 5): up-calls, alone and in the noise of ships.

One small network is trained on each of `INPUTS`, to tell up-calls of the right whale challenge from its noise clips, in
the bands of up-calls alone. Clips are cut into blocks of neighbors and blocks dealt into five folds; a network is
tested on the fold that it was not trained on. Ships are dealt into the same folds: in testing, others are heard than in
training. Each clip, call or not, is mixed with a stretch of a ship at a ratio of their levels in these bands.

A clip has no past, so it comes after itself reversed, ship and all. Front ends see both, the network the clip alone.

The network, the number of epochs and the step were chosen before any two inputs were compared: on the logarithm alone,
without ships, within the training clips of the first fold.
"""

import importlib.util
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pcenlib.core.novelty import pcen
from pcenlib.core.recordings import waveform
from pcenlib.core.resampling import N_RESAMPLES, interval
from pcenlib.core.setting import RIGHT_WHALE
from pcenlib.core.spectrogram import spectrogram
from pcenlib.datasets.real import RealSet
from pcenlib.experiments.intervals import cluster_draws
from pcenlib.experiments.learning import PCEN_START, Training, scores, train
from pcenlib.experiments.protocols import RIGHT_WHALE_RELEASED
from pcenlib.experiments.right_whales import BLOCK, neighbor_blocks
from pcenlib.experiments.stored import Experiment, describe

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "ALONE",
    "EXPERIMENTS",
    "INPUTS",
    "IN_SHIPS",
    "LEARNED",
    "LOG",
    "MEAN",
    "PCEN",
    "RATIOS",
    "SETTING",
    "TRAINING",
    "areas",
    "at",
    "magnitudes",
    "mixed",
]


Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

SETTING = RIGHT_WHALE.within(50, 300)
"""The paper's, in the bands of up-calls."""
RATIOS = (10, 5, 0, -5, -10)
"""Of the level of a clip to that of the ship, in dB."""
TRAINING = Training()
"""The network of the chapter."""

LOG, PCEN, LEARNED = "log magnitude", "PCEN", "learned PCEN"
INPUTS: Mapping[str, Callable[[Array], npt.NDArray[np.floating]]] = {
    LOG: np.log,
    "log(E/median)": lambda E: np.log(E / np.median(E, axis=-1, keepdims=True)),
    PCEN: lambda E: pcen(E, s=RIGHT_WHALE.s),
    "slower PCEN": lambda E: pcen(E, s=RIGHT_WHALE_RELEASED.setting.s),
    LEARNED: lambda E: E,
}
"""From magnitudes E to what a network is given. Learned PCEN is a part of its network, which is given E itself."""

ALONE, IN_SHIPS, MEAN = "without ships", "in ships", "mean over ratios"
SEEDS = tuple(range(2019, 2024))
N_FOLDS = 5
COPIES = 5  # mixes of each clip in training, each with another ship and ratio
SEED = 2019  # of mixes and resamples


def magnitudes(x: npt.ArrayLike) -> Array:
    """E of clips after themselves reversed, in the bands of `SETTING`.

    Parameters
    ----------
    x : array_like, shape (clip, sample)
        Waveforms at 2 kHz.

    Returns
    -------
    ndarray, shape (clip, band, frame)
    """
    x = np.asarray(x)
    parts = np.split(x, range(200, len(x), 200))  # so their windows are never all in memory
    return np.concatenate([spectrogram(np.concatenate([part[:, ::-1], part], axis=-1), SETTING) for part in parts])


def mixed(x: npt.ArrayLike, ships: Sequence[Array], ratios: npt.ArrayLike, rng: np.random.Generator) -> Array:
    """Clips, each with a random stretch of a random ship.

    Parameters
    ----------
    x : array_like, shape (clip, sample)
        Waveforms at 2 kHz.
    ships : sequence of ndarray, shape (sample,)
        Recordings of ships, at least as long.
    ratios : array_like, shape (clip,) or ()
        Root mean square of the clip over that of the ship, from 50 to 300 Hz, in dB.
    rng : numpy.random.Generator
        Source of ships and stretches.

    Returns
    -------
    ndarray, shape (clip, sample)
    """
    x = np.asarray(x)
    chosen = [ships[k] for k in rng.integers(len(ships), size=len(x))]
    begins = [rng.integers(ship.size - x.shape[-1] + 1) for ship in chosen]
    noise = np.array([ship[begin : begin + x.shape[-1]] for ship, begin in zip(chosen, begins, strict=True)])
    gain = _level(x) / _level(noise) * 10 ** (-np.asarray(ratios) / 20)
    return x + gain[:, np.newaxis] * noise


def _level(x: Array) -> Array:
    """Root mean square in the bands of the setting, but for a factor."""
    frequency = np.fft.rfftfreq(x.shape[-1], 1 / SETTING.sr)
    inside = (frequency >= SETTING.frequencies[0]) & (frequency <= SETTING.frequencies[-1])
    return np.sqrt((np.abs(np.fft.rfft(x))[:, inside] ** 2).sum(axis=-1))


def networks(
    challenge: RealSet,
    ships: RealSet,
    *,
    training: Training = TRAINING,
    seeds: Sequence[int] = SEEDS,
    inputs: Sequence[str] = tuple(INPUTS),
    trainings: Sequence[str] = (ALONE, IN_SHIPS),
    spread: float = 0.0,
) -> "pd.DataFrame":
    """How well networks tell up-calls of `RightWhaleChallenge` from noise clips, by what they are given.

    For each `input` of `inputs`, what it was `trained` and `tested` on, and each `seed`, the `value` of a `quantity`:
    the "area" under the curve of calls and noise clips of a fold; "area within blocks", of those of a block, which a
    network cannot raise by knowing which days have more calls; or what a parameter of learned PCEN has become, averaged
    over folds. With "all" seeds, the mean of areas over seeds, and its quotient by that of the logarithm, "over log",
    with intervals of 95 % (`value_low`, `value_high`) from resampling blocks of `BLOCK` neighboring clips within folds,
    for all inputs alike. In the end, every clip is made louder or fainter by a random number of dB, up to `spread`.
    """
    import pandas as pd
    from tqdm import tqdm

    if importlib.util.find_spec("jax") is None:
        raise ModuleNotFoundError("networks are trained with JAX: pip install 'pcenlib[learn]'")
    x, calls, blocks, fleet = _clips(challenge, ships)
    folds = blocks % N_FOLDS
    rows: list[dict[str, Any]] = []
    found: dict[tuple[str, str, str], Array] = defaultdict(lambda: np.empty((len(seeds), calls.size)))
    with tqdm(total=N_FOLDS * len(inputs) * len(trainings) * len(seeds), unit="network") as bar:
        for fold, (parts, tests) in enumerate(_parts(x, folds, fleet, spread)):
            for name in inputs:
                front_end = INPUTS[name]
                tested_on = {tested: front_end(E) for tested, E in tests.items()}
                for trained in trainings:
                    pictures = front_end(parts[trained])
                    for k, seed in enumerate(seeds):
                        network = train(
                            pictures,
                            calls[folds != fold],
                            training=training,
                            seed=seed,
                            n_frames=SETTING.n_frames(x.shape[-1]),
                            learned=name == LEARNED,
                        )
                        for tested, looked_at in tested_on.items():
                            found[name, trained, tested][k, folds == fold] = scores(network, looked_at)
                        keys = {"input": name, "trained": trained, "tested": "training", "seed": str(seed)}
                        rows += [{**keys, "quantity": which, "value": value} for which, value in network.pcen.items()]
                        bar.update()
    parameters = pd.DataFrame(rows).groupby([*KEYS], sort=False, as_index=False).mean()  # over folds
    return pd.concat([_table(found, seeds, calls, blocks, folds), parameters], ignore_index=True)


def levels_alone(challenge: RealSet, ships: RealSet) -> "pd.DataFrame":
    """How well calls and noise clips are told apart by nothing but how loud a clip is, in the bands of `SETTING`.

    For each condition that networks are `tested` in, the `area`, as for `networks`, with its interval.
    """
    import pandas as pd

    x, calls, blocks, fleet = _clips(challenge, ships)
    folds = blocks % N_FOLDS
    found: dict[str, Array] = defaultdict(lambda: np.empty((1, calls.size)))
    for fold, (_, tests) in enumerate(_parts(x, folds, fleet)):
        for tested, E in tests.items():
            found[tested][0, folds == fold] = (E**2).sum(axis=(-2, -1))
    counts = _counts(blocks, folds)
    draws = {tested: areas(levels, calls, folds, counts)[1] for tested, levels in found.items()}
    draws[MEAN] = np.mean([draws[at(ratio)] for ratio in RATIOS], axis=0)
    return pd.DataFrame([{"tested": tested, **interval("area", values)} for tested, values in draws.items()])


def _clips(challenge: RealSet, ships: RealSet) -> tuple[Array, Flags, Indices, list[Array]]:
    """Waveforms of all clips, which of them are calls, their blocks, and ships."""
    names = [*(clip.name for clip in challenge.clips), *challenge.recordings]
    block_of = neighbor_blocks(names)
    x = np.array([waveform(challenge.folder / name, SETTING.sr) for name in names])
    fleet = [waveform(ships.folder / name, SETTING.sr) for name in ships.recordings]
    return x, np.arange(len(names)) < len(challenge.clips), np.array([block_of[name] for name in names]), fleet


def _parts(
    x: Array, folds: Indices, fleet: Sequence[Array], spread: float = 0.0
) -> Iterator[tuple[dict[str, Array], dict[str, Array]]]:
    """Magnitudes of each fold: to train with, (copy, clip, band, frame), and to test with, (clip, band, frame)."""

    def at_any_level(E: Array, rng: np.random.Generator) -> Array:
        gains = 10 ** (rng.uniform(-spread, spread, len(E)) / 20)
        return E * (gains / unit)[:, np.newaxis, np.newaxis]

    alone = magnitudes(x)
    unit = np.median(alone)  # what magnitudes are relative to, for learned parameters that depend on it
    for fold in range(N_FOLDS):
        inside = folds == fold
        own, others = fleet[fold::N_FOLDS], [ship for k, ship in enumerate(fleet) if k % N_FOLDS != fold]
        copies = []
        for copy in range(COPIES):
            rng = np.random.default_rng([SEED, fold, copy])
            ratios = rng.uniform(min(RATIOS), max(RATIOS), np.count_nonzero(~inside))
            copies.append(at_any_level(magnitudes(mixed(x[~inside], others, ratios, rng)), rng))
        rng = np.random.default_rng([SEED, fold])
        parts = {ALONE: at_any_level(alone[~inside], rng)[np.newaxis], IN_SHIPS: np.stack(copies)}
        tests = {ALONE: at_any_level(alone[inside], rng)}
        for ratio in RATIOS:
            rng = np.random.default_rng([SEED, fold])  # the same stretches of ships at all ratios
            tests[at(ratio)] = at_any_level(magnitudes(mixed(x[inside], own, ratio, rng)), rng)
        yield parts, tests


def _counts(blocks: Indices, folds: Indices) -> Indices:
    """How often each clip is in each resample of blocks within folds; the first has each once."""
    draws = cluster_draws(blocks.tolist(), np.random.default_rng(SEED), N_RESAMPLES, strata=folds.tolist())
    return np.array([np.bincount(draw, minlength=blocks.size) for draw in draws])


def areas(values: Array, calls: Flags, groups: Indices, counts: npt.NDArray[np.number]) -> tuple[Array, Array]:
    """Area under the curve, of calls and noise clips of the same group: scores of two groups are never compared.

    Parameters
    ----------
    values : ndarray, shape (seed, clip)
        Scores of each seed.
    calls : ndarray of bool, shape (clip,)
        Whether there is a call.
    groups : ndarray of int, shape (clip,)
        In which group each clip is: a fold, or a block.
    counts : ndarray, shape (draw, clip)
        How often each clip is in each resample.

    Returns
    -------
    (ndarray, shape (seed,), ndarray, shape (draw,))
        The area of each seed, all clips once; and the mean over seeds in each resample.
    """
    of_seeds, of_draws = [], []
    for group in np.unique(groups):
        p, n = (groups == group) & calls, (groups == group) & ~calls
        above = (1 + np.sign(values[:, p, np.newaxis] - values[:, np.newaxis, n])) / 2  # 1/2 for equals
        of_seeds.append([above.sum(axis=(1, 2)), np.full(len(values), p.sum() * n.sum())])
        wins = (counts[:, p] @ above.mean(axis=0) * counts[:, n]).sum(axis=1)
        of_draws.append([wins, counts[:, p].sum(axis=1) * counts[:, n].sum(axis=1)])
    (above_seeds, pairs_seeds), (above_draws, pairs_draws) = np.sum(of_seeds, axis=0), np.sum(of_draws, axis=0)
    return above_seeds / pairs_seeds, above_draws / pairs_draws


def _table(
    found: Mapping[tuple[str, str, str], Array], seeds: Sequence[int], calls: Flags, blocks: Indices, folds: Indices
) -> "pd.DataFrame":
    """Areas of each seed; those of all, and their quotients by the logarithm's, with intervals."""
    import pandas as pd

    counts = _counts(blocks, folds)
    rows = []
    # A block is in a resample as a whole: k times its pairs, where the product of two counts would be k squared.
    for suffix, groups, weights in (("", folds, counts), (" within blocks", blocks, np.sqrt(counts))):
        both = {keys: areas(values, calls, groups, weights) for keys, values in found.items()}
        for name, trained in dict.fromkeys(keys[:2] for keys in found):
            pairs = [both[name, trained, at(ratio)] for ratio in RATIOS]
            both[name, trained, MEAN] = np.mean([a for a, _ in pairs], axis=0), np.mean([b for _, b in pairs], axis=0)
        for (name, trained, tested), (of_seeds, of_draws) in both.items():
            keys = {"input": name, "trained": trained, "tested": tested}
            rows += [
                {**keys, "seed": str(seed), "quantity": f"area{suffix}", "value": value}
                for seed, value in zip(seeds, of_seeds, strict=True)
            ]
            over_log = of_draws / both[LOG, trained, tested][1]
            for quantity, values in {f"area{suffix}": of_draws, f"over log{suffix}": over_log}.items():
                rows.append({**keys, "seed": "all", "quantity": quantity, **interval("value", values)})
    return pd.DataFrame(rows)


def at(ratio: float) -> str:
    """What clips that are mixed at a ratio are called in the table."""
    return f"{ratio} dB"


KEYS = ("input", "trained", "tested", "seed", "quantity")
TOLERANCES = {"value": 0.03, "value_low": 0.03, "value_high": 0.03}  # trained on another machine, a network is another
COMPARED = (LOG, PCEN, LEARNED)

CHOICES = (dict(PCEN_START), TRAINING, RATIOS, SEEDS, (BLOCK, N_FOLDS, COPIES, SEED, N_RESAMPLES))
SPREAD = 20.0  # dB

EXPERIMENTS = {
    "networks": Experiment(
        run=networks,
        sets=("narw", "deepship"),
        definition=describe("networks that tell up-calls from noise clips, version 1", SETTING, [*INPUTS], *CHOICES),
        keys=KEYS,
        tolerances=TOLERANCES,
        note="needs the extra learn, and a quarter of an hour on one core",
    ),
    "networks-any-level": Experiment(
        run=partial(networks, inputs=COMPARED, trainings=(IN_SHIPS,), spread=SPREAD),
        sets=("narw", "deepship"),
        definition=describe("networks, clips at any level, version 1", SETTING, COMPARED, SPREAD, *CHOICES),
        keys=KEYS,
        tolerances=TOLERANCES,
        note="needs the extra learn, and five minutes",
    ),
    "networks-levels": Experiment(
        run=levels_alone,
        sets=("narw", "deepship"),
        definition=describe("up-calls told from noise clips by level alone, version 1", SETTING, *CHOICES),
        keys=("tested",),
        tolerances={"area": 1e-5, "area_low": 1e-5, "area_high": 1e-5},
    ),
}
"""The experiments of this module, by the names of their stored tables. Those with a note need the extra `learn`."""
