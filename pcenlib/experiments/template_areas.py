"""Areas and curves of many draws of templates, with intervals over blocks of neighboring clips.

Every draw leaves out the blocks that gave its templates, and every resample draws blocks with all their clips. So each
block has a weight in each resample, and counts of pairs within and between blocks are made once for all resamples.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["block_weights", "mean_area", "mean_recall", "wins"]

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


def block_weights(draws: Sequence[Indices], n_blocks: int, left_out: npt.ArrayLike = ()) -> Array:
    """How often each block is in each resample, and 0 for those that are left out.

    Parameters
    ----------
    draws : sequence of ndarrays
        Blocks in each resample, from `cluster_draws`.
    n_blocks : int
        Number of blocks.
    left_out : array_like
        Blocks that are not looked at.

    Returns
    -------
    ndarray, shape (resample, block)
    """
    weights = np.stack([np.bincount(draw, minlength=n_blocks) for draw in draws]).astype(np.float64)
    weights[:, np.asarray(left_out, dtype=np.intp)] = 0
    return weights


def wins(calls: Array, noise: Array, call_blocks: Indices, noise_blocks: Indices, n_blocks: int) -> Array:
    """Number of pairs in which the call is above the noise, by their blocks; pairs of equals count half.

    Parameters
    ----------
    calls, noise : ndarray, shape (clip,)
        Scores.
    call_blocks, noise_blocks : ndarray of int, shape (clip,)
        Their blocks, in ascending order.
    n_blocks : int
        Number of blocks.

    Returns
    -------
    ndarray, shape (block of the call, block of the noise)
    """
    above = (calls[:, np.newaxis] > noise).astype(np.float64) + 0.5 * (calls[:, np.newaxis] == noise)
    some, first = np.unique(call_blocks, return_index=True)
    others, first_other = np.unique(noise_blocks, return_index=True)
    counts = np.zeros((n_blocks, n_blocks))
    counts[np.ix_(some, others)] = np.add.reduceat(np.add.reduceat(above, first, axis=0), first_other, axis=1)
    return counts


def mean_area(
    scores: Array,
    is_call: npt.NDArray[np.bool_],
    blocks: Indices,
    weights: Sequence[Array],
    *,
    among: npt.NDArray[np.bool_] | None = None,
) -> Array:
    """Area under the curve in each resample: mean over draws of templates.

    Parameters
    ----------
    scores : ndarray, shape (draw, clip)
        Scores of all clips by the templates of each draw.
    is_call, blocks : ndarray, shape (clip,)
        Whether a clip has a call, and its block, in ascending order.
    weights : sequence of ndarray, shape (resample, block)
        Of each draw, from `block_weights`.
    among : ndarray of bool, shape (clip,), optional
        The calls to look at; by default all.

    Returns
    -------
    ndarray, shape (resample,)
    """
    chosen = is_call if among is None else is_call & among
    some, others = blocks[chosen], blocks[~is_call]
    n_blocks = weights[0].shape[1]
    n_calls, n_noise = np.bincount(some, minlength=n_blocks), np.bincount(others, minlength=n_blocks)
    areas = [
        np.einsum("rb,rb->r", w @ wins(mine[chosen], mine[~is_call], some, others, n_blocks), w)
        / ((w @ n_calls) * (w @ n_noise))
        for mine, w in zip(scores, weights, strict=True)
    ]
    return np.asarray(np.mean(areas, axis=0))


def mean_recall(
    scores: Array,
    is_call: npt.NDArray[np.bool_],
    blocks: Indices,
    weights: Sequence[Array],
    *,
    rates: npt.ArrayLike,
) -> Array:
    """Share of the calls above the threshold that at most a given share of the noise clips exceeds: mean over draws.

    Parameters
    ----------
    scores, is_call, blocks, weights
        As for `mean_area`.
    rates : array_like, shape (rate,)
        Shares of noise clips, below 1.

    Returns
    -------
    ndarray, shape (resample, rate)
    """
    rates = np.asarray(rates, dtype=np.float64)
    if not ((rates >= 0) & (rates < 1)).all():
        raise ValueError(f"rates must be at least 0 and below 1, got {rates.tolist()}")
    total = np.zeros((len(weights[0]), rates.size))
    for mine, w in zip(scores, weights, strict=True):
        calls, noise = mine[is_call], mine[~is_call]
        down, up = np.argsort(-noise), np.argsort(-calls)
        # A noise clip is the threshold if no more than the rate is above it, itself included with the next.
        reached = np.cumsum(w[:, blocks[~is_call][down]], axis=1)
        found = np.cumsum(w[:, blocks[is_call][up]], axis=1)
        n_above = np.searchsorted(-calls[up], -noise[down], side="left")  # calls above each noise clip
        found = np.concatenate([np.zeros((len(w), 1)), found], axis=1)
        allowed = rates * reached[:, -1:] * (1 + 1e-12)
        for k in range(rates.size):
            threshold = (reached <= allowed[:, [k]]).sum(axis=1)
            total[:, k] += found[np.arange(len(w)), n_above[threshold]] / found[:, -1]
    return total / len(scores)
