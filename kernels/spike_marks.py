"""Marks the spikes of this package's operators, so that a next layer treats them as spikes.

A mark is an attribute of one tensor object. Other tensors made from it (a view, a copy, the result
of a compiled graph) have no mark, and a write to the tensor invalidates it. Tensors made under
`torch.inference_mode` do not count writes and are never marked.
"""

import torch
from torch import Tensor

_NAME = "_snnbench_spikes"


def mark(spikes: Tensor, most: int, words: Tensor | None = None) -> None:
    """Marks whole numbers from 0 to `most`, with their `words` (`linear.launch`) if they exist."""
    if not torch.compiler.is_compiling() and not spikes.is_inference():
        setattr(spikes, _NAME, (most, spikes._version, words))


def words_of_spikes(tensor: Tensor) -> Tensor | None:
    """Returns the words of a valid mark of 0/1 spikes, or None."""
    most, version, words = getattr(tensor, _NAME, (0, None, None))
    return words if most == 1 and not tensor.is_inference() and version == tensor._version else None


def most_spikes(tensor: Tensor) -> int:
    """Returns the largest possible value of a marked tensor; 0 without a valid mark."""
    if torch.compiler.is_compiling() or tensor.is_inference():
        return 0
    most, version, _ = getattr(tensor, _NAME, (0, None, None))
    return most if version == tensor._version else 0
