"""The fused recurrent layer as a function."""

import torch
from torch import Tensor

from ..lif import autograd
from ..lif.contract import state_dtype
from ..lif.functional import LIFOutput
from ..linear.launch import words_of
from ..spec import NeuronSpec
from ..spike_marks import mark, words_of_spikes
from . import backends
from .behind_linear import BehindLinear, Plan
from .contract import parts_of_state
from .operator import RecurrentLayer, RecurrentOptions, recurrent_lif_op

_NOT_FUSED = {
    "learned_decay": "a learned decay",
    "rounding": "rounded spikes",
    "adaptation_coupling": "an adaptation current",
}
"""Fields of neurons that this layer does not compute, with what they add."""


def recurrent_lif(
    currents: Tensor,
    weight: Tensor,
    spec: NeuronSpec | None = None,
    *,
    state: Tensor | None = None,
    backend: str | None = None,
) -> LIFOutput:
    """Runs neurons `spec` (default: soft reset) that feed back to each other, over all time steps.

    currents      (T, B, N), float32, float16 or bfloat16, any strides; arithmetic is float32.
                  (float64 runs in the reference only.)
    weight        R (N, N), of a type of currents: the currents of step t are x[t] + R·s[t-1].
    state         float32 (2, B, N): the potential after the reset and the spikes of the previous
                  step; None: zeros. (3, B, N) with an adaptive threshold, its rise at the next
                  step, or with a synaptic current, through which spikes then feed back. A sequence
                  that is run in pieces, each from the previous state, gives bitwise the same
                  result.
    backend       "reference" or "cpp"; default: the best that runs here.

    Returns `LIFOutput(spikes, state, None)`, spikes of the currents' type. Gradients flow to
    currents, weight and state; second derivatives and forward-mode differentiation raise an error.
    Raises ValueError or TypeError, naming the argument, if an argument is invalid.

    Example:

        >>> import torch
        >>> from snnbench.kernels.recurrent import recurrent_lif
        >>> currents, weight = torch.randn(100, 16, 128), 0.1 * torch.randn(128, 128)
        >>> recurrent_lif(currents, weight).spikes.shape
        torch.Size([100, 16, 128])
    """
    spec = spec or NeuronSpec()
    tensors = (currents, weight, state)
    _check(spec, currents.shape, *tensors)
    options = RecurrentOptions(
        spec, _saves(tensors), backends.choose(currents.device.type, currents.dtype, backend)
    )
    if autograd.suffices(tensors):
        spikes, final_state = RecurrentLayer.apply(*tensors, options)
    else:
        spikes, final_state, *_ = recurrent_lif_op(*tensors, *options.arguments())
    mark(spikes, 1)
    return LIFOutput(spikes, final_state, None)


def linear_recurrent_lif(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    recurrent: Tensor,
    spec: NeuronSpec | None = None,
    *,
    state: Tensor | None = None,
    recompute: bool = False,
    backend: str | None = None,
) -> LIFOutput:
    """Runs `recurrent_lif` on the currents x·Wᵀ + b, for x (T, B, M), W (N, M) and b (N,).

    Plain eager calls of one type keep no currents, and on CPUs multiply only with inputs that are
    not zero if x holds zeros and ones. With `recompute` they keep no potentials either, but x
    (spikes as bits) and a state every √T steps; under torch.compile and autocast it changes
    nothing.
    """
    spec = spec or NeuronSpec()
    tensors = (x, weight, bias, recurrent, state)
    one_type = x.dtype == weight.dtype == recurrent.dtype
    if not (
        one_type
        and autograd.suffices(tensors)
        and not torch.is_autocast_enabled(x.device.type)
        and x.numel()
        and weight.numel()
    ):
        currents = torch.nn.functional.linear(x, weight, bias)
        return recurrent_lif(currents, recurrent, spec, state=state, backend=backend)
    _check(spec, torch.Size((*x.shape[:-1], len(weight))), x, recurrent, state)
    if weight.shape[1] != x.shape[2] or (bias is not None and bias.shape != weight.shape[:1]):
        raise ValueError(
            f"a weight {tuple(weight.shape)} with bias {bias is not None and tuple(bias.shape)}"
            f" does not fit x {tuple(x.shape)}"
        )
    chosen = backends.choose(x.device.type, x.dtype, backend)
    plan = Plan(spec, chosen, recompute, saves=_saves(tensors))
    known = words = None
    if chosen == "cpp" and not recompute:
        known, shape = words_of_spikes(x), torch.Size((*x.shape[:-1], len(weight)))
        if known is not None and (known.numel() != words_of(x.shape, 1) or known[0] < 0):
            known = None
        words = x.new_empty(words_of(shape, 1), dtype=torch.int64)
    spikes, final_state = BehindLinear.apply(*tensors, plan, known, words)
    mark(spikes, 1, words)
    return LIFOutput(spikes, final_state, None)


def _saves(tensors: tuple[Tensor | None, ...]) -> bool:
    return torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors)


def _check(
    spec: NeuronSpec,
    shape: torch.Size,
    currents: Tensor,
    weight: Tensor,
    state: Tensor | None,
) -> None:
    """Raises an error if arguments do not fit. `currents`, or what they are computed of, has their
    type and device, `shape` is theirs."""
    if not isinstance(spec, NeuronSpec):
        raise TypeError(f"the neuron must be a NeuronSpec, not {spec!r}")
    for field, addition in _NOT_FUSED.items():
        if getattr(spec, field) is not None:
            raise ValueError(f"a recurrent neuron with {addition} ({field}) is not offered")
    if spec.max_spikes > 1:
        raise ValueError("recurrent spikes are 0 or 1: max_spikes must be 1")
    if len(shape) != 3:
        raise ValueError(
            f"currents need the shape (time_steps, batch, neurons), not {tuple(shape)}"
        )
    floats = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
    for label, tensor in (("currents", currents), ("weight", weight)):
        if tensor.dtype not in floats:
            raise TypeError(
                f"{label} must be float32, float16, bfloat16 or float64, not {tensor.dtype}"
            )
    if (weight.dtype == torch.float64) != (currents.dtype == torch.float64):
        raise TypeError(f"currents are {currents.dtype}, the weight is {weight.dtype}")
    batch, neurons = shape[1:]
    compute = state_dtype(currents.dtype)
    for label, tensor, wanted in (
        ("weight", weight, (neurons, neurons)),
        ("state", state, (parts_of_state(spec), batch, neurons)),
    ):
        if tensor is None:
            continue
        if tensor.device != currents.device:
            raise ValueError(
                f"{label} is on {tensor.device}, the currents are on {currents.device}"
            )
        if tensor.shape != wanted:
            raise ValueError(f"{label} must have the shape {wanted}, not {tuple(tensor.shape)}")
    if state is not None and state.dtype != compute:
        raise TypeError(f"state must be {compute}, not {state.dtype}")
