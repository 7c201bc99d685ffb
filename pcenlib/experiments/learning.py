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

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["PCEN_START", "Network", "Training", "differentiable_pcen", "scores", "train"]


Array = npt.NDArray[np.float32]
Tree = Any  # arrays of JAX in dictionaries, lists and tuples

PCEN_START: Mapping[str, float] = {"s": 0.33, "alpha": 1.0, "delta": 1.0, "r": 0.1}
"""Where learned parameters start, at the paper's but for r, whose limit 0 no positive number reaches."""


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
    strides: tuple[int, ...] = (2, 2, 1)
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
    pictures, y = np.asarray(pictures, dtype=np.float32), np.asarray(labels, dtype=np.float32)
    n_used = y.size - y.size % training.batch
    weights = _first_weights(training, rng, learned)
    zeros = jax.tree.map(jnp.zeros_like, weights)
    state = weights, zeros, zeros, 0
    for k in range(training.epochs):
        order = rng.permutation(y.size)[:n_used].reshape(-1, training.batch)
        state = _epoch(training, n_frames)(state, pictures[k % len(pictures)], y, order)
    weights = jax.tree.map(np.asarray, state[0])
    x = np.concatenate([_front(weights, copy, n_frames) for copy in pictures])
    return Network(training, n_frames, weights, _moments(x))


@functools.cache  # so it is compiled once, not for each network
def _epoch(training: Training, n_frames: int) -> Callable[..., Tree]:
    """A function that takes the steps of one epoch, a batch each."""
    import jax
    import jax.numpy as jnp

    def loss(weights: Tree, x: Tree, y: Tree) -> Tree:
        x = _front(weights, x, n_frames)
        score = _score(weights, x, _moments(x), training.strides)
        return jnp.mean(jax.nn.softplus(score) - y * score)

    def step(state: Tree, x: Tree, y: Tree, n_steps: int) -> Tree:
        weights, means, squares, count = state
        gradient = jax.grad(loss)(weights, x, y)
        means = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, means, gradient)
        squares = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g**2, squares, gradient)
        rate = training.rate * (1 + jnp.cos(math.pi * count / n_steps)) / 2
        count += 1
        change = jax.tree.map(
            lambda m, v: rate * m / (1 - 0.9**count) / (jnp.sqrt(v / (1 - 0.999**count)) + 1e-8), means, squares
        )
        change["pcen"] = jax.tree.map(lambda each: 10 * each, change["pcen"])
        return jax.tree.map(jnp.subtract, weights, change), means, squares, count

    @jax.jit
    def epoch(state: Tree, x: Tree, y: Tree, order: Tree) -> Tree:
        n_steps = training.epochs * len(order)
        return jax.lax.scan(lambda state, i: (step(state, x[i], y[i], n_steps), None), state, order)[0]

    return epoch


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
    x = np.asarray(pictures, dtype=np.float32)
    found = _scoring(network.training, network.n_frames)(network.weights, network.moments, x)
    return np.asarray(found, dtype=np.float64)


@functools.cache
def _scoring(training: Training, n_frames: int) -> Callable[..., Tree]:
    import jax

    return jax.jit(lambda weights, moments, x: _score(weights, _front(weights, x, n_frames), moments, training.strides))


def _first_weights(training: Training, rng: np.random.Generator, learned: bool) -> Tree:
    """Random weights, as large as keeps the spread of what passes (He and others, 2015)."""
    layers, before = [], 1
    for after in training.channels:
        kernel = rng.standard_normal((9 * before, after)) * math.sqrt(2 / (9 * before))
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


def _moments(x: Tree) -> Tree:
    """Mean and standard deviation of each band; a band that never changes is left as it is."""
    return x.mean((0, 2))[:, None], x.std((0, 2))[:, None] + 1e-6


def _score(weights: Tree, x: Tree, moments: Tree, strides: tuple[int, ...]) -> Tree:
    import jax

    mean, spread = moments
    x = ((x - mean) / spread)[..., None]
    for (kernel, offset), stride in zip(weights["layers"], strides, strict=True):
        x = jax.nn.relu(_neighborhoods(x, stride) @ kernel + offset)
    last, offset = weights["last"]
    return x.max((1, 2)) @ last + offset


def _neighborhoods(x: Tree, stride: int) -> Tree:
    """The 3 x 3 values around each place, zeros beyond the borders: a convolution is a product of matrices with them.

    On a processor, this is several times faster than the convolution of JAX, which is not compiled well in a loop.
    """
    import jax.numpy as jnp

    n_bands, n_frames = x.shape[1:3]
    x = jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    shifted = [x[:, i : i + n_bands : stride, j : j + n_frames : stride] for i in range(3) for j in range(3)]
    return jnp.concatenate(shifted, axis=-1)
