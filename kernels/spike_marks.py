"""Marks the spikes that our own operators made, so that a next layer treats them as spikes.

A mark is an attribute of one tensor object. It is lost where another tensor is made from it (a view, a copy, the result of
a graph that torch.compile made) and no longer counts once the tensor was written to. Tensors made under
`torch.inference_mode` do not count writes and are never marked.
"""

import torch
from torch import Tensor

_NAME = "_snnbench_spikes"


def mark(spikes: Tensor, most: int, words: Tensor | None = None) -> None:
    """Note that all values are whole numbers from 0 to `most`, and if there are, their words (`linear.launch`)."""
    if not torch.compiler.is_compiling() and not spikes.is_inference():
        setattr(spikes, _NAME, (most, spikes._version, words))


def words_of_spikes(tensor: Tensor) -> Tensor | None:
    """The words that a valid mark of 0/1 spikes holds."""
    most, version, words = getattr(tensor, _NAME, (0, None, None))
    return words if most == 1 and not tensor.is_inference() and version == tensor._version else None


def most_spikes(tensor: Tensor) -> int:
    """The largest number of spikes that a value of a marked tensor can be; 0 if the tensor has no valid mark."""
    if torch.compiler.is_compiling() or tensor.is_inference():
        return 0
    most, version, _ = getattr(tensor, _NAME, (0, None, None))
    return most if version == tensor._version else 0
