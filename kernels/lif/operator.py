"""The neuron as the torch operators `snnbench::lif` and `snnbench::lif_backward`, the same for
every backend.

An operator takes tensors and, as texts, everything else (`NeuronOptions`), because torch's cost of
a call grows with the square of the number of arguments. It allocates its results and passes a
`Forward` or `Backward` to a backend. Its fake allocates by the same function, so shapes and strides
agree.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from ..register import register, register_backward
from ..spec import NeuronSpec
from . import backends
from .contract import CHECKPOINT_STEPS, Backward, Forward, state_dtype
from .strides import Unwalkable

SPIKE_DTYPES = {
    name: getattr(torch, name) for name in ("float32", "float16", "bfloat16", "float64", "uint8")
}
SPIKE_DTYPES["bits"] = torch.uint8


@dataclass(frozen=True)
class NeuronOptions:
    """The arguments of a call beside its tensors, checked and complete."""

    spec: NeuronSpec
    channel_dim: int
    spikes: str
    """A key of SPIKE_DTYPES."""
    trace: bool
    checkpoints: bool
    """True if the states for a backward pass are saved."""
    backend: str

    def arguments(self) -> tuple[str, int, str]:
        """Returns the schema's arguments; `channel_dim` is separate, so that torch.compile sees
        constants."""
        return (
            self.spec.text,
            self.channel_dim,
            f"{self.spikes} {self.trace:d} {self.checkpoints:d} {self.backend}",
        )

    @staticmethod
    @lru_cache(maxsize=1024)
    def of(neuron: str, channel_dim: int, more: str) -> "NeuronOptions":
        """Inverts `arguments`."""
        spikes, trace, checkpoints, backend = more.split()
        return NeuronOptions(
            NeuronSpec.of(neuron), channel_dim, spikes, trace == "1", checkpoints == "1", backend
        )


def over_channel(values: Tensor | None, currents: Tensor, channel_dim: int) -> Tensor | None:
    """Returns `values` (C,) expanded to one step of `currents`, unless they have that shape
    already.

    On CPUs the values of one item are copied: one row over all channels is much faster than a row
    for each.
    """
    if values is None or values.dim() == currents.dim() - 1 > 1:
        return values
    inner = currents.shape[1:]
    shape = [1] * len(inner)
    channel = channel_dim - 1 if channel_dim >= 0 else len(inner) + channel_dim
    shape[channel] = -1
    values = values.to(state_dtype(currents.dtype)).view(shape)
    if currents.device.type == "cpu" and 0 < channel < len(inner) - 1 and currents.stride(-1) == 1:
        values = values.expand(1, *inner[1:]).contiguous()
    return values.expand(inner)


def sum_to_channel(sums: Tensor, channel_dim: int) -> Tensor:
    """Sums (B, …) to (C,) in float64; `channel_dim` counts dims of the currents."""
    channel = channel_dim - 1 if channel_dim >= 0 else sums.dim() + channel_dim
    others = [d for d in range(sums.dim()) if d != channel]
    return sums.sum(others, dtype=torch.float64).to(sums.dtype) if others else sums.clone()


def run(kernel: Callable, call: Forward | Backward) -> None:
    """Runs a backend's pass, on contiguous copies if the kernel cannot walk over the strides."""
    if not call.currents.numel():
        return fill_empty(call)
    try:
        kernel(call)
    except Unwalkable:
        present = {name: tensor for name, tensor in call.tensors().items() if tensor is not None}
        copies: dict[str, Any] = {name: tensor.contiguous() for name, tensor in present.items()}
        kernel(replace(call, **copies))
        for name in present.keys() & call.WRITTEN:
            if copies[name] is not present[name]:
                present[name].copy_(copies[name])


def fill_empty(call: Forward | Backward) -> None:
    """Writes the results of a call without steps or sequences: the state is unchanged, sums are
    0."""
    if isinstance(call, Forward):
        call.final_state.zero_() if call.state is None else call.final_state.copy_(call.state)
        return
    if call.grad_state is not None:
        call.grad_state.zero_() if call.grad_final is None else call.grad_state.copy_(
            call.grad_final
        )
    for sums in (call.sum_error, call.sum_by_current):
        if sums is not None:
            sums.zero_()


def allocate(
    currents: Tensor, options: NeuronOptions
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    """Allocates spikes, final state, trace and checkpoints in the currents' memory order; None if
    not requested."""
    dtype, state = SPIKE_DTYPES[options.spikes], state_dtype(currents.dtype)
    if options.spikes == "bits":
        spikes = currents.new_empty(
            (*currents.shape[:-1], (currents.shape[-1] + 7) // 8), dtype=dtype
        )
    else:
        spikes = torch.empty_like(currents, dtype=dtype)
    chunks = (currents.shape[0] + CHECKPOINT_STEPS - 1) // CHECKPOINT_STEPS
    return (
        spikes,
        currents.new_empty(currents.shape[1:], dtype=state),
        torch.empty_like(currents) if options.trace else None,
        torch.empty_like(currents[:chunks], dtype=state) if options.checkpoints else None,
    )


def or_empty(tensors: Iterable[Tensor | None], currents: Tensor) -> tuple[Tensor, ...]:
    """Replaces every None by an empty tensor, because operators cannot return None."""
    return tuple(
        currents.new_empty(0, dtype=state_dtype(currents.dtype)) if t is None else t
        for t in tensors
    )


def run_forward(
    options: NeuronOptions,
    currents: Tensor,
    state: Tensor | None,
    scale: Tensor | None,
    shift: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    """Returns the tensors of `allocate` for currents (T, B, …) with scale and shift (C,)."""
    spikes, final_state, trace, checkpoints = allocate(currents, options)
    call = Forward(
        spec=options.spec,
        currents=currents,
        state=state,
        scale=over_channel(scale, currents, options.channel_dim),
        shift=over_channel(shift, currents, options.channel_dim),
        spikes=spikes,
        bits=options.spikes == "bits",
        final_state=final_state,
        trace=trace,
        checkpoints=checkpoints,
    )
    run(backends.module(options.backend).forward, call)
    return spikes, final_state, trace, checkpoints


def _lif(currents, state, scale, shift, *encoded):
    return or_empty(
        run_forward(NeuronOptions.of(*encoded), currents, state, scale, shift), currents
    )


def _lif_fake(currents, state, scale, shift, *encoded):
    return or_empty(allocate(currents, NeuronOptions.of(*encoded)), currents)


def run_backward(
    options: NeuronOptions,
    currents: Tensor,
    scale: Tensor | None,
    shift: Tensor | None,
    checkpoints: Tensor,
    grad_spikes: Tensor | None,
    grad_trace: Tensor | None,
    grad_final: Tensor | None,
    needed: list[bool],
    grad_parts: Tensor | None = None,
) -> tuple[Tensor | None, ...]:
    """Returns gradients by (currents, state, scale, shift), None if not `needed`; writes
    `grad_parts`."""
    grad_currents, grad_state, sum_by_current, sum_error = allocate_gradients(currents, needed)
    call = Backward(
        spec=options.spec,
        currents=currents,
        scale=over_channel(scale, currents, options.channel_dim),
        shift=over_channel(shift, currents, options.channel_dim),
        checkpoints=checkpoints,
        grad_spikes=grad_spikes,
        grad_trace=grad_trace,
        grad_final=grad_final,
        grad_currents=grad_currents,
        grad_state=grad_state,
        sum_error=sum_error,
        sum_by_current=sum_by_current,
        grad_parts=grad_parts,
    )
    run(backends.module(options.backend).backward, call)
    of_channels = (
        None if sums is None else sum_to_channel(sums, options.channel_dim)
        for sums in (sum_by_current, sum_error)
    )
    return grad_currents, grad_state, *of_channels


def _lif_backward(
    currents, scale, shift, checkpoints, grad_spikes, grad_trace, grad_final, needed, *encoded
):
    saved, upstream = (currents, scale, shift, checkpoints), (grad_spikes, grad_trace, grad_final)
    return or_empty(run_backward(NeuronOptions.of(*encoded), *saved, *upstream, needed), currents)


def allocate_gradients(currents: Tensor, needed: list[bool]) -> list[Tensor | None]:
    """Allocates gradients by currents and state, and sums by scale and shift; None if not
    `needed`."""
    state, inner = state_dtype(currents.dtype), currents.shape[1:]
    grad_currents = torch.empty_like(currents) if needed[0] else None
    return [
        grad_currents,
        *(currents.new_empty(inner, dtype=state) if wanted else None for wanted in needed[1:]),
    ]


def _lif_backward_fake(
    currents, scale, shift, checkpoints, grad_spikes, grad_trace, grad_final, needed, *encoded
):
    outputs = allocate_gradients(currents, needed)
    channels = currents.shape[NeuronOptions.of(*encoded).channel_dim]
    sums = (None if t is None else t.new_empty((channels,)) for t in outputs[2:])
    return or_empty((*outputs[:2], *sums), currents)


def _setup_context(ctx, inputs, output):
    currents, _, scale, shift, *encoded = inputs
    ctx.save_for_backward(currents, scale, shift, output[3])
    ctx.set_materialize_grads(False)
    ctx.encoded, ctx.needed = encoded, [t is not None and t.requires_grad for t in inputs[:4]]
    ctx.mark_non_differentiable(
        *[t for t in (output[3], output[0]) if t is output[3] or not t.is_floating_point()]
    )


def _backward(ctx, grad_spikes, grad_final, grad_trace, _):
    currents, scale, shift, checkpoints = ctx.saved_tensors
    grad_trace = grad_trace if NeuronOptions.of(*ctx.encoded).trace else None
    upstream = (grad_spikes, grad_trace, grad_final)
    gradients = lif_backward_op(
        currents, scale, shift, checkpoints, *upstream, ctx.needed, *ctx.encoded
    )
    return *only_needed(gradients, ctx.needed), None, None, None


def only_needed(gradients: Iterable[Tensor], needed: Iterable[bool]) -> tuple[Tensor | None, ...]:
    """Replaces gradients that are not needed by None, as autograd expects."""
    return tuple(
        gradient if wanted else None for gradient, wanted in zip(gradients, needed, strict=True)
    )


_FORWARD = (
    "Tensor currents, Tensor? state, Tensor? scale, Tensor? shift, str neuron, int channel_dim,"
    " str more"
)
_BACKWARD = (
    "Tensor currents, Tensor? scale, Tensor? shift, Tensor checkpoints, Tensor? grad_spikes,"
    " Tensor? grad_trace, Tensor? grad_final, bool[] needed, str neuron, int channel_dim, str more"
)
lif_op = register("lif", _FORWARD, 4, _lif, _lif_fake, _backward, _setup_context)
lif_backward_op = register_backward(
    "lif_backward", _BACKWARD, 4, _lif_backward, _lif_backward_fake, "lif"
)
