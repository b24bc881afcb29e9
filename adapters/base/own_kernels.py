"""The project's kernels at a few shapes, prepared for timing by `snnbench doctor --kernels`."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import torch
from torch import Tensor

from snnbench.kernels.lif import backends
from snnbench.kernels.lif.contract import CHECKPOINT_STEPS, Backward, Forward
from snnbench.kernels.linear_lif.matmul import ShortOperands, currents_dtype, operands_of
from snnbench.kernels.linear_lif.split_formats import Split, bf16_triple
from snnbench.kernels.spec import NeuronSpec

Shape = tuple[int, int, int]
SHAPES: tuple[Shape, ...] = ((100, 16, 512), (500, 16, 512), (500, 16, 4096))
"""(T, B, N): hardly longer than a launch; fits a GPU's cache; exceeds it."""
FORMATS = {"fp32": torch.float32, "bf16": torch.bfloat16}
PRODUCTS = {"fp32": "plain", "fp32, split": "fp32", "tf32, split": "tf32", "bf16": "bf16"}
"""The operands of `linear_lif.matmul` by the displayed format."""
FIRING = 0.15


@dataclass(frozen=True)
class OwnKernel:
    """A kernel of the neuron in one `spelling`, or one of the library's products before it. `flops`
    are those of one product in full precision, however many short products it takes. `prepare`
    returns a call with memory of its own and the bytes of all its arrays; it raises RuntimeError
    where the kernel cannot run."""

    name: str
    spelling: str
    format: str
    shape: Shape
    flops: float
    prepare: Callable[[], tuple[Callable[[], object], int]]


def own_kernels(
    device: str, shapes: Sequence[Shape] = SHAPES, spellings: Sequence[str] = ("cuda", "triton")
) -> Iterator[OwnKernel]:
    """Yields forward and backward of the neuron, also the backward that writes its gradient in
    parts for a split product; and the products."""
    for shape in shapes:
        for spelling, (name, dtype) in product(spellings, FORMATS.items()):
            options = spelling, dtype, shape, device
            yield OwnKernel("lif forward", spelling, name, shape, 0.0, partial(_forward, *options))
            yield OwnKernel(
                "lif backward", spelling, name, shape, 0.0, partial(_backward, False, *options)
            )
            if dtype == torch.float32:
                split = partial(_backward, True, *options)
                yield OwnKernel("lif backward", spelling, f"{name}, split", shape, 0.0, split)
        flops = 2.0 * shape[0] * shape[1] * shape[2] ** 2
        outputs = "currents", "by weight", "by input"
        for (name, operands), output in product(PRODUCTS.items(), outputs):
            # The library computes the gradient by an fp32 input as without a split.
            if (operands, output) != ("fp32", "by input"):
                prepare = partial(_product, output, operands, shape, device)
                yield OwnKernel(output, "library", name, shape, flops, prepare)


def _normal(shape: Sequence[int], device: str, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape, device=device, dtype=dtype)


def _kernel(spelling: str, dtype: torch.dtype, device: str) -> Any:
    if reason := backends.unavailable(spelling, device.split(":")[0], dtype):
        raise RuntimeError(reason)
    return backends.module(spelling)


def _bytes(tensors: Iterable[Tensor | None]) -> int:
    return sum(tensor.nbytes for tensor in tensors if tensor is not None)


def _forward(
    spelling: str, dtype: torch.dtype, shape: Shape, device: str
) -> tuple[Callable[[], object], int]:
    kernel, x = _kernel(spelling, dtype, device), _normal(shape, device, dtype)
    state = x.new_empty(shape[1:], dtype=torch.float32)
    call = Forward(
        spec=NeuronSpec(),
        currents=x,
        spikes=torch.empty_like(x),
        final_state=state,
        checkpoints=_checkpoints(shape, device),
    )
    return partial(kernel.forward, call), _bytes(call.tensors().values())


def _backward(
    parts: bool, spelling: str, dtype: torch.dtype, shape: Shape, device: str
) -> tuple[Callable[[], object], int]:
    kernel, x = _kernel(spelling, dtype, device), _normal(shape, device, dtype)
    call = Backward(
        spec=NeuronSpec(),
        currents=x,
        checkpoints=_checkpoints(shape, device),
        grad_spikes=_normal(shape, device, dtype),
        grad_currents=torch.empty_like(x),
        grad_parts=x.new_empty((3, *shape), dtype=torch.bfloat16) if parts else None,
    )
    return partial(kernel.backward, call), _bytes(call.tensors().values())


def _checkpoints(shape: Shape, device: str) -> Tensor:
    return torch.zeros(-(-shape[0] // CHECKPOINT_STEPS), *shape[1:], device=device)


def _product(
    output: str, operands_name: str, shape: Shape, device: str
) -> tuple[Callable[[], object], int]:
    """Prepares the product `currents`, or the gradient `by weight` or `by input`, of a layer with
    as many inputs as neurons."""
    rows, width = shape[0] * shape[1], shape[2]
    weight = _normal((width, width), device) / width**0.5
    operands: Any = operands_of(weight, operands_name, 1)
    stored = operands.split.parts if isinstance(operands, ShortOperands) else (operands.weight,)
    x = (torch.rand(rows, width, device=device) < FIRING).to(operands.dtype)
    g = _normal((rows, width), device, currents_dtype(operands_name, weight))
    if output == "currents":
        return partial(operands.currents, x, g), _bytes((x, g, *stored))
    if output == "by input":
        out = torch.empty_like(g)
        return partial(operands.add_input, out, g, True), _bytes((out, g, *stored))
    out, parts = torch.empty_like(weight), bf16_triple(g) if operands.takes_parts else Split((g,))
    gradient = parts if operands.takes_parts else g
    return partial(operands.add_weight, out, gradient, x, True), _bytes((out, x, *parts.parts))
