"""The neuron as torch operators: `snnbench::lif` and its backward, whatever spelling runs them.

Operators take tensors and, as texts, everything else (`Options`): torch's cost per call grows with the square of the
number of arguments. They allocate what they return and hand a `Forward` or `Backward` to a spelling. The fakes share
the allocation, so shapes and strides agree by construction.
"""

from dataclasses import dataclass, fields, replace
from functools import lru_cache

import torch
from torch import Tensor

from ..register import no_second_derivative, register
from ..spec import NeuronSpec
from ..work import CHECKPOINT_STEPS
from . import backends
from .contract import Backward, Forward
from .strides import Unwalkable

SPIKE_DTYPES = {
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float64": torch.float64,
    "uint8": torch.uint8,
    "bits": torch.uint8,
}


@dataclass(frozen=True)
class Options:
    """What a call of the operator is told beside its tensors."""

    spec: NeuronSpec
    channel_dim: int
    spikes: str
    """A key of SPIKE_DTYPES."""
    trace: bool
    checkpoints: bool
    """Keep what a backward pass needs."""
    backend: str

    def arguments(self) -> tuple[str, int, str]:
        """For a schema, of parts that torch.compile takes as constants: numbers inside a text it would not."""
        return self.spec.text, self.channel_dim, f"{self.spikes} {self.trace:d} {self.checkpoints:d} {self.backend}"

    @staticmethod
    @lru_cache(maxsize=1024)
    def of(neuron: str, channel_dim: int, more: str) -> "Options":
        """The inverse of `arguments`."""
        spikes, trace, checkpoints, backend = more.split()
        return Options(NeuronSpec.of(neuron), channel_dim, spikes, trace == "1", checkpoints == "1", backend)


def state_dtype(currents: torch.dtype) -> torch.dtype:
    """What is computed in: float32, or float64 for float64 currents."""
    return torch.float64 if currents == torch.float64 else torch.float32


def over_channel(values: Tensor | None, currents: Tensor, channel_dim: int) -> Tensor | None:
    """`values` (C,) as an expanded view of the shape of one step of `currents`."""
    if values is None:
        return None
    inner = currents.shape[1:]
    shape = [1] * len(inner)
    shape[channel_dim - 1 if channel_dim >= 0 else channel_dim] = -1
    return values.to(state_dtype(currents.dtype)).view(shape).expand(inner)


def sum_to_channel(sums: Tensor, channel_dim: int) -> Tensor:
    """(C,) from one number a sequence, summed in double precision."""
    kept = channel_dim - 1 if channel_dim >= 0 else sums.dim() + channel_dim
    others = [d for d in range(sums.dim()) if d != kept]
    return sums.sum(others, dtype=torch.float64).to(sums.dtype) if others else sums.clone()


def run(kernel, call) -> None:
    """Run a spelling's `forward` or `backward`; on contiguous copies if it cannot walk the tensors as they lie."""
    if not call.currents.numel():
        return fill_empty(call)
    try:
        kernel(call)
    except Unwalkable:
        given = {f.name: getattr(call, f.name) for f in fields(call)}
        copies = {name: _contiguous(value) for name, value in given.items()}
        kernel(replace(call, **copies))
        for name in WRITTEN[type(call)]:
            for own, copy in zip(_as_tuple(given[name]), _as_tuple(copies[name]), strict=True):
                if own is not copy:
                    own.copy_(copy)


def _contiguous(value):
    if isinstance(value, tuple):
        return tuple(_contiguous(v) for v in value)
    return value.contiguous() if isinstance(value, Tensor) else value


def _as_tuple(value) -> tuple:
    return value if isinstance(value, tuple) else () if value is None else (value,)


WRITTEN = {
    Forward: ("spikes", "final_state", "trace", "checkpoints"),
    Backward: ("grad_currents", "grad_state", "sum_error", "sum_by_current", "grad_parts"),
}


def fill_empty(call) -> None:
    """A call without steps or without sequences: states pass through, sums are 0."""
    if isinstance(call, Forward):
        call.final_state.zero_() if call.state is None else call.final_state.copy_(call.state)
        return
    if call.grad_state is not None:
        call.grad_state.zero_() if call.grad_final is None else call.grad_state.copy_(call.grad_final)
    for sums in (call.sum_error, call.sum_by_current):
        if sums is not None:
            sums.zero_()


def allocate(currents: Tensor, options: Options) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    """Spikes, final state, trace and checkpoints, in the memory order of the currents; None is not asked for."""
    dtype, state = SPIKE_DTYPES[options.spikes], state_dtype(currents.dtype)
    if options.spikes == "bits":
        spikes = currents.new_empty((*currents.shape[:-1], (currents.shape[-1] + 7) // 8), dtype=dtype)
    else:
        spikes = torch.empty_like(currents, dtype=dtype)
    chunks = (currents.shape[0] + CHECKPOINT_STEPS - 1) // CHECKPOINT_STEPS
    return (
        spikes,
        currents.new_empty(currents.shape[1:], dtype=state),
        torch.empty_like(currents) if options.trace else None,
        torch.empty_like(currents[:chunks], dtype=state) if options.checkpoints else None,
    )


def or_empty(tensors, currents: Tensor) -> tuple[Tensor, ...]:
    """An empty tensor for every None: operators return tensors."""
    return tuple(currents.new_empty(0, dtype=state_dtype(currents.dtype)) if t is None else t for t in tensors)


def run_forward(told: Options, currents: Tensor, state, scale, shift):
    """Spikes, final state, trace and checkpoints of currents with a scale and shift (C,); see `allocate`."""
    spikes, final, trace, checkpoints = allocate(currents, told)
    call = Forward(
        spec=told.spec,
        currents=currents,
        state=state,
        scale=over_channel(scale, currents, told.channel_dim),
        shift=over_channel(shift, currents, told.channel_dim),
        spikes=spikes,
        bits=told.spikes == "bits",
        final_state=final,
        trace=trace,
        checkpoints=checkpoints,
    )
    run(backends.module(told.backend).forward, call)
    return spikes, final, trace, checkpoints


def _lif(currents, state, scale, shift, *options):
    """(spikes, final state, trace, checkpoints); the last two are empty unless asked for."""
    return or_empty(run_forward(Options.of(*options), currents, state, scale, shift), currents)


def _lif_fake(currents, state, scale, shift, *options):
    return or_empty(allocate(currents, Options.of(*options)), currents)


def run_backward(told: Options, currents, scale, shift, checkpoints, grad_spikes, grad_trace, grad_final, needed, parts=None):
    """Gradients by (currents, state, scale, shift); None is not `needed`. `parts`: where to write those of `Backward`."""
    grad_currents, grad_state, by_current, error = _allocate_gradients(currents, needed)
    call = Backward(
        spec=told.spec,
        currents=currents,
        scale=over_channel(scale, currents, told.channel_dim),
        shift=over_channel(shift, currents, told.channel_dim),
        checkpoints=checkpoints,
        grad_spikes=grad_spikes,
        grad_trace=grad_trace,
        grad_final=grad_final,
        center=None,
        mix=None,
        grad_currents=grad_currents,
        grad_state=grad_state,
        sum_error=error,
        sum_by_current=by_current,
        grad_parts=parts,
    )
    run(backends.module(told.backend).backward, call)
    return grad_currents, grad_state, *(None if t is None else sum_to_channel(t, told.channel_dim) for t in (by_current, error))


def _lif_backward(currents, scale, shift, checkpoints, grad_spikes, grad_trace, grad_final, needed, *options):
    saved, upstream = (currents, scale, shift, checkpoints), (grad_spikes, grad_trace, grad_final)
    return or_empty(run_backward(Options.of(*options), *saved, *upstream, needed), currents)


def _allocate_gradients(currents: Tensor, needed: list[bool]) -> list[Tensor | None]:
    state, inner = state_dtype(currents.dtype), currents.shape[1:]
    first = torch.empty_like(currents) if needed[0] else None
    return [first, *(currents.new_empty(inner, dtype=state) if wanted else None for wanted in needed[1:])]


def _lif_backward_fake(currents, scale, shift, checkpoints, grad_spikes, grad_trace, grad_final, needed, *options):
    outputs = _allocate_gradients(currents, needed)
    channels = currents.shape[Options.of(*options).channel_dim]
    sums = (None if t is None else t.new_empty((channels,)) for t in outputs[2:])
    return or_empty((*outputs[:2], *sums), currents)


def _setup_context(ctx, inputs, output):
    currents, _, scale, shift, *options = inputs
    ctx.save_for_backward(currents, scale, shift, output[3])
    ctx.set_materialize_grads(False)
    ctx.options, ctx.needed = options, [t is not None and t.requires_grad for t in inputs[:4]]
    ctx.mark_non_differentiable(*[t for t in (output[3], output[0]) if t is output[3] or not t.is_floating_point()])


def _backward(ctx, grad_spikes, grad_final, grad_trace, _):
    currents, scale, shift, checkpoints = ctx.saved_tensors
    grad_trace = grad_trace if Options.of(*ctx.options).trace else None
    upstream = (grad_spikes, grad_trace, grad_final)
    found = lif_backward_op(currents, scale, shift, checkpoints, *upstream, ctx.needed, *ctx.options)
    return *(g if wanted else None for g, wanted in zip(found, ctx.needed, strict=True)), None, None, None


lif_op = register(
    "lif",
    "(Tensor currents, Tensor? state, Tensor? scale, Tensor? shift, str neuron, int channel_dim, str more)"
    " -> (Tensor, Tensor, Tensor, Tensor)",
    (_lif, _lif_fake, _backward, _setup_context),
)
lif_backward_op = register(
    "lif_backward",
    "(Tensor currents, Tensor? scale, Tensor? shift, Tensor checkpoints, Tensor? grad_spikes, Tensor? grad_trace,"
    " Tensor? grad_final, bool[] needed, str neuron, int channel_dim, str more) -> (Tensor, Tensor, Tensor, Tensor)",
    (_lif_backward, _lif_backward_fake, no_second_derivative, lambda ctx, inputs, output: None),
)
