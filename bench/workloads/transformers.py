"""Blocks of spiking transformers: `spikformer-block`.

Tokens are the pixels of an image, so that a linear of every token is a convolution of 1 × 1. Zhou
et al. (ICLR 2023, `cifar10/model.py`) multiply the spikes of queries, keys and values without a
softmax: sums of whole numbers, times 1/8. The neuron behind them has the threshold ½ and counts
half of its input; here it is 1 for all of it. Many potentials would lie exactly on it, where
frameworks that fire above and at a threshold compute two networks (docs/ties.md). It is therefore
lowered by 2⁻¹¹, so that at a decay of ½ no sum of eighths meets it in eight steps.

The published sizes are width = 384, heads = 12, image = 8, T = 4, B = 128.
"""

from ..core.case import Case
from ..core.network import Network
from .base import workload
from .builder import Builder

SCALE, BELOW = 1 / 8, 1 - 2**-11
"""Factor on the products of queries, keys and values; threshold of the neuron behind them."""
HIDDEN = 4
"""Width of the perceptron in a block, as a multiple of the block's."""
SMALL = {"time_steps": 4, "batch": 3, "width": 42, "heads": 2, "image": 7}


@workload("spikformer-block", axes=("width", "heads", "image"), small=SMALL)
def spikformer_block(case: Case) -> Network:
    """A block of Spikformer: self-attention of spikes in `heads` and a perceptron, each added to
    its input."""
    net = Builder(case, (case.width, case.image, case.image))
    _spikformer(net, case, case.image)
    return net.network


def _spikformer(net: Builder, case: Case, image: int) -> None:
    before = net.last
    query, key, value = (_in_heads(net, case, image, before) for _ in range(3))
    scores = net.of_two("product", query, key, left=True)
    net.of_two("product", value, scores, scale=SCALE, right=True)
    net.neuron(threshold=BELOW)
    net.reshape(case.width, image, image)
    _layer(net, case.width)
    before = net.add(before)
    _layer(net, HIDDEN * case.width)
    _layer(net, case.width)
    net.add(before)


def _in_heads(net: Builder, case: Case, image: int, before: str) -> str:
    """Adds spikes (heads, features, tokens) of the node `before`."""
    features, rest = divmod(case.width, case.heads)
    if rest:
        raise ValueError(f"width = {case.width} is no multiple of heads = {case.heads}")
    _layer(net, case.width, before)
    return net.reshape(case.heads, features, image**2)


def _layer(net: Builder, width: int, after: str | None = None) -> None:
    net.conv(width, kernel=1, after=after)
    net.norm()
    net.neuron()
