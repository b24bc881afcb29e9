"""A synthetic task that every network with a loss can learn: classes differ in the places where
samples are bright."""

import numpy as np

from ..core.case import SPIKE_SHARE, Case
from ..core.network import Network

TASK = 7
"""The stream of random numbers, apart from those of a problem."""
CELLS = 4
"""Patches per side of an image's pattern, as far as the image allows: convolutions see no single
pixels."""
BRIGHT, DARK = 2.5, 0.5
"""Multiples of the usual share of ones, in the bright quarter of the input and elsewhere: the mean
stays."""
SHARES = {"events": 0.03, "rate": 0.3, "images": SPIKE_SHARE, "dense": SPIKE_SHARE}
"""Mean share of ones by kind of input; of spikes it is the case's own."""
NOISE = 0.5
"""Standard deviation of a pixel around its mean: 1 where the image is bright and 0 elsewhere."""


def batch_of(case: Case, network: Network, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns batch `number` of the task: float32 input (T, B, *features) of the case's kind, and
    labels (B,). It is the same for every framework. Spikes are Bernoulli with a share that depends
    on class and place; images are the same at every step."""
    random = np.random.Generator(
        np.random.PCG64(np.random.SeedSequence([case.seed, TASK, 1, number]))
    )
    labels = random.integers(0, network.shapes[network.output.name][-1], case.batch)
    bright = _patterns(case, network)[labels]
    if case.input == "images":
        picture = bright + NOISE * random.standard_normal(bright.shape)
        return np.repeat(picture[None], case.time_steps, axis=0).astype(np.float32), labels
    share = SHARES.get(case.input) or case.firing or SPIKE_SHARE
    chances = np.minimum(share * np.where(bright, BRIGHT, DARK), 1)
    drawn = random.random((case.time_steps, *bright.shape))
    return (drawn * 2 * chances if case.input == "dense" else drawn < chances).astype(
        np.float32
    ), labels


def _patterns(case: Case, network: Network) -> np.ndarray:
    """Returns the bright places of each class, bool (K, *features): a quarter of the features, or
    of the patches of every channel."""
    random = np.random.Generator(np.random.PCG64(np.random.SeedSequence([case.seed, TASK, 0])))
    classes, shape = network.shapes[network.output.name][-1], network.input
    if len(shape) == 1:
        return random.random((classes, *shape)) < 0.25
    patches = random.random((classes, shape[0], *(min(CELLS, side) for side in shape[1:]))) < 0.25
    for axis, side in enumerate(shape[1:], start=2):
        patches = np.take(patches, np.arange(side) * patches.shape[axis] // side, axis=axis)
    return patches
