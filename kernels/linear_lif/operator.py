"""Linear layer and neuron as torch operators, `snnbench::linear_lif` and its backward, and past the dispatcher in plain calls.

As in `neuron.operator`, options are texts, and fakes and kernels share the allocation; what a pass computes is in `passes`.
"""

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from .. import bits
from ..lif.operator import Options as NeuronOptions
from ..register import register
from . import passes
from .matmul import currents_dtype
from .passes import Kept

KEEPS_GRADIENTS = hasattr(Tensor, "grad_dtype")
"""Whether a tensor's gradient may have another type than it: else torch would round it to that of short spikes."""


@dataclass(frozen=True)
class Options:
    neuron: NeuronOptions
    operands: str
    """ "plain", or the tier whose short operands are multiplied."""
    counts: int
    """Most spikes of an input; 0: a dense one."""
    recompute: bool
    """Keep no currents for the backward pass, and the input in bits or bytes if it is spikes."""

    @property
    def packs(self) -> bool:
        """Whether spikes are kept in bits or bytes, in place of the input."""
        return self.recompute and self.neuron.checkpoints and 0 < self.counts <= bits.LARGEST

    def arguments(self) -> tuple[str, str]:
        spec, _, more = self.neuron.arguments()
        return spec, f"{more} {self.operands} {self.counts} {self.recompute:d}"

    @staticmethod
    @lru_cache(maxsize=1024)
    def of(spec: str, more: str) -> "Options":
        """The inverse of `arguments`."""
        neuron, operands, counts, recompute = more.rsplit(" ", 3)
        return Options(NeuronOptions.of(spec, -1, neuron), operands, int(counts), recompute == "1")


def linear_lif(told: Options, x: Tensor, weight: Tensor, bias: Tensor | None, plainly: bool) -> Tensor:
    """Spikes; `plainly` where autograd alone has to know of the call."""
    if plainly:
        return _LinearNeuron.apply(x, weight, bias, told)
    return linear_lif_op(x, weight, bias, *told.arguments())[0]


def _filled(kept: Kept, x: Tensor) -> tuple[Tensor, ...]:
    """An empty tensor for every None: operators return tensors."""
    return tuple(x.new_empty(0) if t is None else t for t in (kept.packed, kept.currents, kept.checkpoints))


def _kept(told: Options, packed: Tensor, currents: Tensor, checkpoints: Tensor) -> Kept:
    return Kept(packed if told.packs else None, None if told.recompute else currents, checkpoints)


def _linear_lif(x, weight, bias, *options):
    """(spikes, packed input, currents, checkpoints); the last three are empty where they are not kept."""
    spikes, kept = passes.forward(Options.of(*options), x, weight, bias)
    return spikes, *_filled(kept, x)


def _linear_lif_fake(x, weight, bias, *options):
    spikes, kept = passes.allocated(Options.of(*options), x, weight)
    return spikes, *_filled(kept, x)


def _linear_lif_backward(x, weight, bias, packed, currents, checkpoints, grad_spikes, needed, *options):
    """Gradients by (x, weight, bias), empty where not `needed`; x is one step of the input where it is packed."""
    told = Options.of(*options)
    found = passes.backward(told, x, weight, bias, _kept(told, packed, currents, checkpoints), grad_spikes, needed)
    return tuple(weight.new_empty(0) if g is None else g for g in found)


def _linear_lif_backward_fake(x, weight, bias, packed, currents, checkpoints, grad_spikes, needed, *options):
    told = Options.of(*options)
    shape = (*grad_spikes.shape[:-1], weight.shape[1])
    like = (weight.new_empty(shape, dtype=currents_dtype(told.operands, weight)), weight.new_empty(weight.shape), bias)
    return tuple(torch.empty_like(g) if wanted else weight.new_empty(0) for g, wanted in zip(like, needed, strict=True))


def _needed(tensors) -> list[bool]:
    return [t is not None and t.requires_grad for t in tensors]


def _setup_context(ctx, inputs, output):
    x, weight, bias, *options = inputs
    told, (_, packed, currents, checkpoints) = Options.of(*options), output
    ctx.save_for_backward(None if told.packs else x, weight, bias, packed, currents, checkpoints)
    ctx.set_materialize_grads(False)
    ctx.options, ctx.needed = options, _needed((x, weight, bias))
    ctx.mark_non_differentiable(packed, currents, checkpoints, *([] if output[0].is_floating_point() else [output[0]]))


def _backward(ctx, grad_spikes, *_):
    if grad_spikes is None:
        return (None,) * 5
    found = linear_lif_backward_op(*ctx.saved_tensors, grad_spikes, ctx.needed, *ctx.options)
    return *(g if wanted else None for g, wanted in zip(found, ctx.needed, strict=True)), None, None


def _no_second_derivative(ctx, *gradients):
    raise RuntimeError(
        "a spike's surrogate has no second derivative: LinearLIF cannot be differentiated twice (create_graph=True)"
    )


linear_lif_op = register(
    "linear_lif",
    "(Tensor x, Tensor weight, Tensor? bias, str neuron, str more) -> (Tensor, Tensor, Tensor, Tensor)",
    (_linear_lif, _linear_lif_fake, _backward, _setup_context),
)
linear_lif_backward_op = register(
    "linear_lif_backward",
    "(Tensor? x, Tensor weight, Tensor? bias, Tensor packed, Tensor currents, Tensor checkpoints, Tensor grad_spikes,"
    " bool[] needed, str neuron, str more) -> (Tensor, Tensor, Tensor)",
    (_linear_lif_backward, _linear_lif_backward_fake, _no_second_derivative, lambda ctx, inputs, output: None),
)


class _LinearNeuron(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, told):
        spikes, kept = passes.forward(told, x, weight, bias)
        if told.neuron.checkpoints:
            ctx.save_for_backward(None if told.packs else x, weight, bias, kept.packed, kept.currents, kept.checkpoints)
            ctx.set_materialize_grads(False)
            ctx.told, ctx.operands = told, kept.operands
            if not spikes.is_floating_point():
                ctx.mark_non_differentiable(spikes)
            elif told.operands != "bf16" and spikes.dtype != kept_dtype(kept, weight) and KEEPS_GRADIENTS:
                spikes.grad_dtype = kept_dtype(kept, weight)
        return spikes

    @staticmethod
    def backward(ctx, grad_spikes):
        if grad_spikes is None:
            return (None,) * 4
        x, weight, bias, *kept = ctx.saved_tensors
        needed = list(ctx.needs_input_grad[:3])
        if not torch.is_grad_enabled():
            return *passes.backward(ctx.told, x, weight, bias, Kept(*kept, ctx.operands), grad_spikes, needed), None
        arguments = (x, weight, bias, *_filled(Kept(*kept), weight), grad_spikes, needed)
        found = linear_lif_backward_op(*arguments, *ctx.told.arguments())  # which can say what is wrong with that
        return *(g if wanted else None for g, wanted in zip(found, needed, strict=True)), None


def kept_dtype(kept: Kept, weight: Tensor) -> torch.dtype:
    """The type of currents, and so of gradients."""
    return weight.dtype if kept.currents is None else kept.currents.dtype
