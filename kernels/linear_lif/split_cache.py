"""A weight's short operands, made once for every value that it has: kept by its storage and torch's count of writes to it.

The count does not see what is written through `parameter.data` or from outside of torch: call `forget` after such a write.
Tensors of `torch.inference_mode` have no count, and while a CUDA graph is captured the splitting has to be part of the graph:
both are split at every call.
"""

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from .split_formats import TIERS, Split

_kept: dict = {}
"""By storage, place in it and tier: (weak reference to the storage, count of writes, split)."""


def prepared(weight: Tensor, tier: str) -> Split:
    """The split of `weight` (outputs, inputs) that `tier` multiplies with."""
    if weight.is_inference() or (weight.is_cuda and torch.cuda.is_current_stream_capturing()):
        return TIERS[tier].split(weight)
    reference = StorageWeakRef(weight.untyped_storage())
    key = (reference.cdata, weight.storage_offset(), weight.shape, weight.stride(), weight.dtype, tier)
    # A weak reference keeps the address of its storage from being given to another.
    _, version, split = _kept.get(key, (None, None, None))
    if split is None or version != weight._version:
        for other in [k for k, (kept, _, _) in _kept.items() if kept.expired()]:
            del _kept[other]
        split = TIERS[tier].split(weight.detach())
        _kept[key] = (reference, weight._version, split)
    return split


def forget() -> None:
    """Split every weight anew at its next use."""
    _kept.clear()
