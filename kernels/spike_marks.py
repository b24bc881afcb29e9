"""What is known of a tensor's values because our own operators made it: that they are spikes, and up to how many a step.

A mark is an attribute of the tensor. It does not survive what makes another tensor (a view, a copy, a pass through a graph
that torch.compile made), and it is void once the tensor was written to, so what is marked is spikes. Tensors of
`torch.inference_mode` do not count writes, and are not marked.
"""

import torch
from torch import Tensor

_NAME = "_snnbench_spikes"


def mark(spikes: Tensor, most: int) -> None:
    """Note that the values are whole numbers from 0 to `most`."""
    if not torch.compiler.is_compiling() and not spikes.is_inference():
        setattr(spikes, _NAME, (most, spikes._version))


def most_spikes(tensor: Tensor) -> int:
    """Up to how many spikes a value of the tensor is known to be; 0: nothing is known."""
    if torch.compiler.is_compiling() or tensor.is_inference():
        return 0
    most, version = getattr(tensor, _NAME, (0, None))
    return most if version == tensor._version else 0
