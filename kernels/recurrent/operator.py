"""The recurrent layer as the torch operators `snnbench::recurrent_lif` and
`snnbench::recurrent_lif_backward`, and as one autograd function for plain eager calls."""

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from ..lif.contract import state_dtype
from ..lif.operator import only_needed, or_empty
from ..register import register, register_backward
from ..spec import NeuronSpec
from . import backends
from .contract import Backward, Forward, parts_of_state


@dataclass(frozen=True)
class RecurrentOptions:
    """The arguments of a call beside its tensors, checked and complete."""

    spec: NeuronSpec
    saves: bool
    """True if the potentials for a backward pass are saved."""
    backend: str

    def arguments(self) -> tuple[str, str]:
        """Returns the schema's arguments."""
        return self.spec.text, f"{self.saves:d} {self.backend}"

    @staticmethod
    @lru_cache(maxsize=1024)
    def of(neuron: str, more: str) -> "RecurrentOptions":
        """Inverts `arguments`."""
        saves, backend = more.split()
        return RecurrentOptions(NeuronSpec.of(neuron), saves == "1", backend)


def allocate(
    currents: Tensor, options: RecurrentOptions
) -> tuple[Tensor, Tensor, Tensor | None, Tensor]:
    """Allocates spikes, final state, potentials (None if not saved) and bits."""
    compute, shape, parts = (
        state_dtype(currents.dtype),
        currents.shape,
        parts_of_state(options.spec),
    )
    return (
        currents.new_empty(shape),
        currents.new_empty((parts, *shape[1:]), dtype=compute),
        potentials_of(currents, options.spec, shape) if options.saves else None,
        backends.module(options.backend).bits_like(currents),
    )


def potentials_of(like: Tensor, spec: NeuronSpec, size: tuple[int, ...]) -> Tensor:
    """Allocates the potentials of `Forward` for currents of a `size`, of the type of `like`."""
    shape = size if spec.adaptation is None else (2, *size)
    return like.new_empty(shape, dtype=state_dtype(like.dtype))


def run_forward(
    options: RecurrentOptions, currents: Tensor, weight: Tensor, state: Tensor | None
) -> tuple[Tensor, Tensor, Tensor | None, Tensor]:
    """Returns the tensors of `allocate` for currents (T, B, N) and a weight (N, N)."""
    spikes, final_state, potentials, bits = allocate(currents, options)
    if not currents.numel():
        final_state.zero_() if state is None else final_state.copy_(state)
        return spikes, final_state, potentials, bits.zero_()
    call = Forward(
        spec=options.spec,
        currents=currents,
        weight=weight.contiguous(),
        bias=None,
        state=None if state is None else state.contiguous(),
        spikes=spikes,
        final_state=final_state,
        potentials=potentials,
        bits=bits,
    )
    backends.module(options.backend).forward(call)
    return spikes, final_state, potentials, bits


def allocate_gradients(
    options: RecurrentOptions,
    potentials: Tensor,
    weight: Tensor,
    spikes_dtype: torch.dtype,
    needed: list[bool],
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Allocates gradients by currents, weight and state; the last two None if not `needed`."""
    shape, parts = potentials.shape[-3:], parts_of_state(options.spec)
    return (
        potentials.new_empty(shape, dtype=spikes_dtype),
        weight.new_empty(weight.shape) if needed[1] else None,
        potentials.new_empty((parts, *shape[1:])) if needed[2] else None,
    )


def run_backward(
    options: RecurrentOptions,
    weight: Tensor,
    potentials: Tensor,
    bits: Tensor,
    grad_spikes: Tensor,
    grad_final: Tensor | None,
    needed: list[bool],
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Returns gradients by currents, weight and state; the last two None if not `needed`."""
    results = allocate_gradients(options, potentials, weight, grad_spikes.dtype, needed)
    errors, grad_weight, grad_state = results
    if not errors.numel():
        if grad_weight is not None:
            grad_weight.zero_()
        if grad_state is not None:
            grad_state.zero_() if grad_final is None else grad_state.copy_(grad_final)
        return results
    call = Backward(
        spec=options.spec,
        weight=weight.contiguous(),
        potentials=potentials,
        bits=bits,
        grad_spikes=grad_spikes,
        grad_final=None if grad_final is None else grad_final.contiguous(),
        errors=errors,
        grad_state=grad_state,
        grad_weight=grad_weight,
    )
    backends.module(options.backend).backward(call)
    if grad_state is not None:
        by_spikes(errors, weight, grad_state)
    return results


def v_of(potentials: Tensor) -> Tensor:
    """Returns v (T, B, N) of the potentials of `Forward`."""
    return potentials if potentials.dim() == 3 else potentials[0]


def by_spikes(errors: Tensor, weight: Tensor, grad_state: Tensor) -> None:
    """Writes the part of `grad_state` that `Backward` leaves out."""
    torch.mm(errors[0].to(grad_state.dtype), weight.to(grad_state.dtype), out=grad_state[1])


class RecurrentLayer(torch.autograd.Function):
    """The layer in plain eager calls, without torch's dispatcher (see `lif.autograd`)."""

    @staticmethod
    def forward(
        ctx, currents: Tensor, weight: Tensor, state: Tensor | None, options: RecurrentOptions
    ) -> tuple[Tensor, Tensor]:
        """Returns spikes and final state."""
        spikes, final_state, potentials, bits = run_forward(options, currents, weight, state)
        if options.saves:
            ctx.save_for_backward(weight, potentials, bits)
            ctx.set_materialize_grads(False)
            ctx.options, ctx.spikes_dtype = options, spikes.dtype
        return spikes, final_state

    @staticmethod
    def backward(ctx, grad_spikes, grad_final):
        needed = list(ctx.needs_input_grad[:3])
        saved = ctx.saved_tensors
        grad_spikes = _or_zeros(grad_spikes, saved[1], ctx.spikes_dtype)
        if not torch.is_grad_enabled():
            gradients = run_backward(ctx.options, *saved, grad_spikes, grad_final, needed)
        else:  # create_graph=True: the operator raises a clear error.
            gradients = recurrent_lif_backward_op(
                *saved, grad_spikes, grad_final, needed, *ctx.options.arguments()
            )
        return *only_needed(gradients, needed), None


def _or_zeros(grad_spikes: Tensor | None, potentials: Tensor, dtype: torch.dtype) -> Tensor:
    if grad_spikes is not None:
        return grad_spikes
    return potentials.new_zeros((), dtype=dtype).expand(potentials.shape[-3:])


def _forward(currents, weight, state, *encoded):
    return or_empty(run_forward(RecurrentOptions.of(*encoded), currents, weight, state), currents)


def _forward_fake(currents, weight, state, *encoded):
    return or_empty(allocate(currents, RecurrentOptions.of(*encoded)), currents)


def _setup_context(ctx, inputs, output):
    currents, weight, state, *encoded = inputs
    ctx.save_for_backward(weight, *output[2:])
    ctx.set_materialize_grads(False)
    ctx.encoded, ctx.spikes_dtype = encoded, currents.dtype
    ctx.needed = [t is not None and t.requires_grad for t in (currents, weight, state)]
    ctx.mark_non_differentiable(*output[2:])


def _backward_of_forward(ctx, grad_spikes, grad_final, *_):
    saved = ctx.saved_tensors
    gradients = recurrent_lif_backward_op(
        *saved,
        _or_zeros(grad_spikes, saved[1], ctx.spikes_dtype),
        grad_final,
        ctx.needed,
        *ctx.encoded,
    )
    return *only_needed(gradients, ctx.needed), None, None


def _backward(weight, potentials, bits, grad_spikes, grad_final, needed, *encoded):
    upstream = grad_spikes, grad_final, needed
    return or_empty(
        run_backward(RecurrentOptions.of(*encoded), weight, potentials, bits, *upstream), weight
    )


def _backward_fake(weight, potentials, bits, grad_spikes, grad_final, needed, *encoded):
    options = RecurrentOptions.of(*encoded)
    return or_empty(
        allocate_gradients(options, potentials, weight, grad_spikes.dtype, needed), weight
    )


recurrent_lif_op = register(
    "recurrent_lif",
    "Tensor currents, Tensor weight, Tensor? state, str neuron, str more",
    4,
    _forward,
    _forward_fake,
    _backward_of_forward,
    _setup_context,
)
recurrent_lif_backward_op = register_backward(
    "recurrent_lif_backward",
    "Tensor weight, Tensor potentials, Tensor bits, Tensor grad_spikes, Tensor? grad_final,"
    " bool[] needed, str neuron, str more",
    3,
    _backward,
    _backward_fake,
    "recurrent_lif",
)
