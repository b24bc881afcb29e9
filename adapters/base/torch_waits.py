"""Where a training step of a user's torch module would make the host wait for a GPU: it asks for
values of tensors. This shows on a CPU, too."""

import sys
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from types import FrameType
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from .torch_lines import TORCH, is_torch
from .torch_model import TorchModel, tensors

aten = torch.ops.aten
READS = {
    aten._local_scalar_dense: "a number or a truth value",
    aten.equal: "torch.equal",
    aten.nonzero: "nonzero",
    aten.masked_select: "masked_select",
    aten._unique2: "unique",
    aten.unique_consecutive: "unique_consecutive",
    aten.unique_dim: "unique",
}
"""Operators with a result, or a size of it, that depends on values, in words."""
INDEXED = (aten.index, aten.index_put, aten.index_put_, aten._index_put_impl_)
"""Operators that look for the places of a boolean index; torch fills these with one number without
looking for them."""
COPIES = {
    Tensor.cpu: ".cpu()",
    Tensor.numpy: ".numpy()",
    Tensor.__array__: ".numpy()",
    Tensor.tolist: ".tolist()",
}
OPTIMIZERS = f"{TORCH}optim/"
Wait = tuple[str, int, str]
"""File, line, and what is asked for."""


def waits(model: TorchModel, x: np.ndarray) -> Counter[Wait]:
    """Returns how often a training step on x (T, B, *features), until it ends or raises, asks for
    values that would be on a GPU: of the input, parameters and buffers, and of what is computed
    from them. Those of an optimizer stay on the host and are left out."""
    model.module.train()
    model.restore()
    model.keep_parameters()
    given = model.put(x)
    seen = _Values([given, *model.module.parameters(), *model.module.buffers()])
    with suppress(Exception), seen, _Copies(seen):
        model.learn(given)
    model.restore_parameters()
    return seen.waits


class _Values(TorchDispatchMode):
    """Follows values from tensors that would be on a GPU, by their storages."""

    def __init__(self, tensors: Iterable[Tensor]):
        super().__init__()
        self.storages = {*map(_storage, tensors)}
        self.waits = Counter[Wait]()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Without it torch imports its compiler, which takes seconds."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        operator = func.overloadpacket
        given = [] if operator is aten.lift_fresh else tensors([*args, kwargs])
        is_followed = any(map(self.follows, given))
        if is_followed and (what := _asked(operator, args)):
            self.count(what)
        result = func(*args, **(kwargs or {}))
        change = self.storages.update if is_followed else self.storages.difference_update
        change(map(_storage, tensors(result)))
        return result

    def follows(self, tensor: Tensor) -> bool:
        return _storage(tensor) in self.storages

    def count(self, what: str) -> None:
        """Counts a wait at the innermost line that is not torch's."""
        frame: FrameType | None = sys._getframe(1)
        while frame and (is_torch(file := frame.f_code.co_filename) or file == __file__):
            if file.startswith(OPTIMIZERS):
                return
            frame = frame.f_back
        if frame:
            self.waits[file, frame.f_lineno, what] += 1


class _Copies(TorchFunctionMode):
    """Counts copies to the host, which on a CPU are no operators."""

    def __init__(self, values: _Values):
        super().__init__()
        self.values = values

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in COPIES and self.values.follows(args[0]):
            self.values.count(COPIES[func])
        return func(*args, **(kwargs or {}))


def _asked(operator: Any, args: Any) -> str:
    """Returns which value of its tensors an operator asks for, in words; nothing without one."""
    if operator in INDEXED and any(one.dtype == torch.bool for one in tensors(args[1])):
        return "" if len(args) > 2 and args[2].numel() == 1 else "a boolean index"
    return READS.get(operator, "")


def _storage(tensor: Tensor) -> int:
    """Returns the identity of a tensor's storage; 0 of one without, such as a sparse one."""
    try:
        return int(tensor.untyped_storage()._cdata)
    except RuntimeError:
        return 0
