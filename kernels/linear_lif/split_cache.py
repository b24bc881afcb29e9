"""Caches the short operands of weights, by a weight's storage and torch's count of writes to it.

The count does not include writes through `parameter.data` or from outside of torch: call `forget`
after such a write. A weight without a count (`torch.inference_mode`) is split at every call; so is
any weight while a CUDA graph is captured, because the graph must include the splitting.
"""

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from .split_formats import TIERS, Split

_splits: dict = {}
"""By storage, position in it and tier: (weak reference to the storage, count of writes, split)."""


def prepared(weight: Tensor, tier: str) -> Split:
    """Returns the split of `weight` (outputs, inputs) for `tier`."""
    if weight.is_inference() or (weight.is_cuda and torch.cuda.is_current_stream_capturing()):
        return TIERS[tier].split(weight)
    reference = StorageWeakRef(weight.untyped_storage())
    key = (
        reference.cdata,
        weight.storage_offset(),
        weight.shape,
        weight.stride(),
        weight.dtype,
        tier,
    )
    # The weak reference keeps another storage from getting the same address.
    _, version, split = _splits.get(key, (None, None, None))
    if split is None or version != weight._version:
        for other in [k for k, (storage, _, _) in _splits.items() if storage.expired()]:
            del _splits[other]
        split = TIERS[tier].split(weight.detach())
        _splits[key] = (reference, weight._version, split)
    return split


def forget() -> None:
    """Empties the cache, so that every weight is split again at its next use."""
    _splits.clear()
