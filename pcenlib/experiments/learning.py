r"""A small convolutional network that tells clips with a call from clips without, and PCEN as a part of it.

The network takes pictures of shape (clip, band, frame). Each band is standardized by its mean and standard deviation
over training clips. Layers of 3 x 3 convolutions follow, with rectified outputs, then the maximum over bands and
frames, and one weighted sum, the score of the clip. Adam (Kingma and Ba, 2015) minimizes the cross-entropy, for a fixed
number of epochs, at a rate that falls to zero along a cosine.

With `PCEN_START`, the pictures are magnitudes E, and PCEN is the first layer. Its four parameters are learned with the
weights, at a rate ten times as high. They are shared by all bands, and kept positive by a softplus, s below 1 by a
sigmoid. The recursion of equation 4 is written out: a background M is a weighted mean of all earlier frames, so it is
one product of matrices, which is as easy to differentiate as any other.

Only this module needs JAX, the extra `learn`. It is imported where it is used.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["PCEN_START", "Network", "Training", "differentiable_pcen", "scores", "train"]


Array = npt.NDArray[np.float32]
Tree = Any  # arrays of JAX in dictionaries, lists and tuples

PCEN_START: Mapping[str, float] = {"s": 0.33, "alpha": 1.0, "delta": 1.0, "r": 0.1}
"""Where learned parameters start: at the paper's, but for r, whose limit 0 no positive number reaches."""


@dataclass(frozen=True, kw_only=True)
class Training:
    """A network and how it is trained.

    Parameters
    ----------
    channels, strides : tuple of int
        Outputs of each layer of convolutions, and by how many bands and frames their places are apart.
    epochs : int
        How often each training clip is used.
    batch : int
        Clips between two steps.
    rate : float
        Size of the first step.
    """

    channels: tuple[int, ...] = (8, 16, 16)
    strides: tuple[int, ...] = (1, 2, 2)
    epochs: int = 20
    batch: int = 50
    rate: float = 0.003

    @property
    def n_weights(self) -> int:
        """Number of weights of the network."""
        layers = zip((1, *self.channels), self.channels, strict=False)
        return sum((9 * before + 1) * after for before, after in layers) + self.channels[-1] + 1

    def multiplications(self, n_bands: int, n_frames: int) -> int:
        """How many multiplications a picture takes."""
        count, before = 0, 1
        for after, stride in zip(self.channels, self.strides, strict=True):
            n_bands, n_frames = math.ceil(n_bands / stride), math.ceil(n_frames / stride)
            count += 9 * before * after * n_bands * n_frames
            before = after
        return count + before


@dataclass(frozen=True)
class Network:
    """A trained network.

    Parameters
    ----------
    training : Training
        What it is.
    n_frames : int
        How many of the last frames of a picture it looks at, after PCEN.
    weights : tree of arrays
        Of convolutions, of the last sum, and of PCEN before softplus and sigmoid, if that was learned.
    moments : pair of ndarrays, shape (band, 1)
        Mean and standard deviation of each band in training.
    """

    training: Training
    n_frames: int
    weights: Tree
    moments: Tree

    @property
    def pcen(self) -> dict[str, float]:
        """Parameters of PCEN that were learned, if any were."""
        return {name: float(value) for name, value in _in_range(self.weights["pcen"]).items()}


def differentiable_pcen(E: Tree, *, s: Tree, alpha: Tree, delta: Tree, r: Tree) -> Tree:
    """Equation 3 with eps = 0 and r > 0, in operations that JAX differentiates; `pcenlib.pcen` otherwise."""
    import jax.numpy as jnp

    t = np.arange(E.shape[-1])
    past = t[:, None] - t - 1  # frames between a frame and an earlier one
    later = jnp.where(past >= 0, (1 - s) ** jnp.maximum(past, 0), 0.0)
    weights = jnp.where(t == 0, later, s * later).at[0, 0].set(1.0)  # of the first frame, as of those before it
    log_gain = jnp.log1p(E / (E @ weights.T) ** alpha / delta)
    return delta**r / r * jnp.expm1(r * log_gain)


def train(
    pictures: npt.ArrayLike, labels: npt.ArrayLike, *, training: Training, seed: int, n_frames: int, learned: bool
) -> Network:
    """Train a network.

    Parameters
    ----------
    pictures : array_like, shape (copy, clip, band, frame)
        What it looks at, in as many copies as there are, such as mixes with other noise: one an epoch, in turn.
    labels : array_like of bool, shape (clip,)
        Whether there is a call.
    training : Training
        What to train, and how.
    seed : int
        Of the first weights and of the order of the clips. Nothing else is random.
    n_frames : int
        How many of the last frames to look at.
    learned : bool
        Whether pictures are magnitudes, and PCEN is learned.

    Returns
    -------
    Network
    """
    import jax
    import jax.numpy as jnp

    rng = np.random.default_rng(seed)
    pictures, y = np.asarray(pictures, dtype=np.float32), jnp.asarray(np.asarray(labels), dtype=jnp.float32)
    n_steps = y.size // training.batch

    def loss(weights: Tree, x: Tree, y: Tree) -> Tree:
        x = _front(weights, x, n_frames)
        score = _score(weights, (x - x.mean((0, 2), keepdims=True)[0]) / _spread(x), training.strides)
        return jnp.mean(jax.nn.softplus(score) - y * score)

    def step(carry: Tree, chosen: Tree, x: Tree) -> Tree:
        weights, means, squares, count = carry
        gradient = jax.grad(loss)(weights, x[chosen], y[chosen])
        means = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, means, gradient)
        squares = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g**2, squares, gradient)
        rate = training.rate * (1 + jnp.cos(math.pi * count / (n_steps * training.epochs))) / 2
        count += 1
        change = jax.tree.map(
            lambda m, v: rate * m / (1 - 0.9**count) / (jnp.sqrt(v / (1 - 0.999**count)) + 1e-8), means, squares
        )
        change["pcen"] = jax.tree.map(lambda each: 10 * each, change["pcen"])
        return jax.tree.map(jnp.subtract, weights, change), means, squares, count

    @jax.jit
    def epoch(carry: Tree, x: Tree, order: Tree) -> Tree:
        return jax.lax.scan(lambda carry, chosen: (step(carry, chosen, x), None), carry, order)[0]

    weights = _first_weights(training, rng, learned)
    zeros = jax.tree.map(jnp.zeros_like, weights)
    carry = weights, zeros, zeros, 0
    for k in range(training.epochs):
        order = rng.permutation(y.size)[: n_steps * training.batch].reshape(n_steps, training.batch)
        carry = epoch(carry, pictures[k % len(pictures)], order)
    weights = carry[0]
    x = np.concatenate([_front(weights, copy, n_frames) for copy in pictures])
    moments = x.mean((0, 2), keepdims=True)[0], _spread(x)
    return Network(training, n_frames, jax.tree.map(np.asarray, weights), moments)


def scores(network: Network, pictures: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Score of each picture: the logarithm of the odds that there is a call, as far as the network can tell.

    Parameters
    ----------
    network : Network
        From `train`.
    pictures : array_like, shape (clip, band, frame)
        As those that it was trained with.

    Returns
    -------
    ndarray, shape (clip,)
    """
    mean, spread = network.moments
    x = _front(network.weights, np.asarray(pictures, dtype=np.float32), network.n_frames)
    return np.asarray(_score(network.weights, (x - mean) / spread, network.training.strides), dtype=np.float64)


def _first_weights(training: Training, rng: np.random.Generator, learned: bool) -> Tree:
    """Random weights, as large as keeps the spread of what passes (He and others, 2015)."""
    layers, before = [], 1
    for after in training.channels:
        kernel = rng.standard_normal((3, 3, before, after)) * math.sqrt(2 / (9 * before))
        layers.append((kernel.astype(np.float32), np.zeros(after, np.float32)))
        before = after
    last = (rng.standard_normal(before) / math.sqrt(before)).astype(np.float32), np.float32(0)
    free = {name: math.log(math.expm1(value)) for name, value in PCEN_START.items()}
    free["s"] = math.log(PCEN_START["s"] / (1 - PCEN_START["s"]))
    return {"layers": layers, "last": last, "pcen": {k: np.float32(v) for k, v in free.items()} if learned else {}}


def _in_range(free: Mapping[str, Tree]) -> dict[str, Tree]:
    import jax

    return {name: (jax.nn.sigmoid if name == "s" else jax.nn.softplus)(value) for name, value in free.items()}


def _front(weights: Tree, x: Tree, n_frames: int) -> Tree:
    if weights["pcen"]:
        x = differentiable_pcen(x, **_in_range(weights["pcen"]))
    return x[..., -n_frames:]


def _spread(x: Tree) -> Tree:
    """Standard deviation of each band; a band that never changes is left as it is."""
    return x.std((0, 2), keepdims=True)[0] + 1e-6


def _score(weights: Tree, x: Tree, strides: tuple[int, ...]) -> Tree:
    import jax
    import jax.numpy as jnp

    x = jnp.asarray(x)[..., None]
    for (kernel, offset), stride in zip(weights["layers"], strides, strict=True):
        form = ("NHWC", "HWIO", "NHWC")
        x = jax.nn.relu(
            jax.lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", dimension_numbers=form) + offset
        )
    vector, offset = weights["last"]
    return x.max((1, 2)) @ vector + offset
