"""How much of a network's arithmetic spikes ask for: counted on the oracle's own run, the same for every framework."""

import numpy as np

from ..core.network import Network, Node
from .oracle import Run

WORK = ("spikes", "synaptic_operations", "dense_operations")
"""Of one forward of all time steps and batch items: spikes of all neurons; products of weights with values that are not 0, one
for each spike and each weight that it meets; and products with all values."""


def operations(network: Network, node: Node, result: Run) -> tuple[float, float]:
    """Synaptic and dense operations of a node that has just been computed, 0 where it has no weights. A weight that meets the
    padding of a convolution counts in neither."""
    outputs = network.shapes[node.name][0]
    if node.kind not in ("linear", "conv") and not node.options.get("recurrent"):
        return 0.0, 0.0
    if node.kind == "neuron":
        before = result.spikes[node.name][:-1]  # nothing feeds back into the first step
        return float(np.count_nonzero(before)) * outputs, float(before.size) * outputs
    x = result.values[node.inputs[0]]
    if node.kind == "linear":
        return float(np.count_nonzero(x)) * outputs, float(x.size) * outputs
    reads = np.outer(
        *(
            _reads(side, places, node)
            for side, places in zip(x.shape[-2:], network.shapes[node.name][1:], strict=True)
        )
    )
    events = np.count_nonzero(x, axis=(0, 1, 2))
    return float((events * reads).sum()) * outputs, float(reads.sum()) * np.prod(
        x.shape[:3]
    ) * outputs


def _reads(side: int, places: int, node: Node) -> np.ndarray:
    """How many places of a convolution read each pixel along one side."""
    kernel, stride, padding = (node.options[name] for name in ("kernel", "stride", "padding"))
    starts = np.arange(places) * stride - padding
    return np.array(
        [np.count_nonzero((starts <= pixel) & (pixel < starts + kernel)) for pixel in range(side)],
        np.float64,
    )
