"""`lif`: the fused neuron as a function."""

from typing import NamedTuple

import torch
from torch import Tensor

from ..spec import NeuronSpec
from . import backends
from .operator import SPIKE_DTYPES, Options, lif_op, state_dtype


class LIFOutput(NamedTuple):
    """Spikes (T, B, …); state (B, …) float32 after the last step; trace (T, B, …) of potentials, or None."""

    spikes: Tensor
    state: Tensor
    trace: Tensor | None


def lif(
    currents: Tensor,
    spec: NeuronSpec | None = None,
    *,
    state: Tensor | None = None,
    scale: Tensor | None = None,
    shift: Tensor | None = None,
    channel_dim: int = -1,
    spikes_dtype: torch.dtype | str | None = None,
    trace: bool = False,
    backend: str | None = None,
) -> LIFOutput:
    """Run the neuron `spec` (default: soft reset) over all time steps of currents (T, B, …) at once.

    currents      float32, float16 or bfloat16 (float64: reference only), any strides; computed in float32.
    state         potential after the reset of the step before, (B, …); None: rest. A sequence run in pieces, each from
                  the state that the piece before handed out, gives the same bits as one run.
    scale, shift  (C,) along `channel_dim`: the current is scale·x + shift. A Linear's bias goes here, and its gradient
                  is summed in the same pass.
    spikes_dtype  float32, float16, bfloat16 (default: that of the currents), torch.uint8, or "bits": uint8
                  (T, B, …, ⌈N/8⌉), lowest bit first. Spikes that are not floats have no gradient.
    trace         also return v, the potential before the spike, differentiable.
    backend       "reference", "cpp", "triton" or "cuda"; default: the best that runs here, see `backends.choose`.

    Under autocast currents are taken in the type they come in. Second derivatives are refused with a RuntimeError; there
    is no forward-mode derivative. After os.fork, a child can only run it on one thread, as all of torch's OpenMP code.
    Raises ValueError or TypeError, naming the argument, when something does not fit.
    """
    options = prepare(
        currents,
        spec or NeuronSpec(),
        channel_dim,
        state=state,
        scale=scale,
        shift=shift,
        spikes_dtype=spikes_dtype,
        trace=trace,
        backend=backend,
    )
    spikes, final, traced, _ = lif_op(currents, state, scale, shift, *options.arguments())
    return LIFOutput(spikes, final, traced if trace else None)


def prepare(currents, spec, channel_dim, *, state, scale, shift, spikes_dtype, trace, backend) -> Options:
    """Check the arguments of `lif` and settle what is left open."""
    _check(currents, spec, state, scale, shift, channel_dim)
    name = _spikes_name(spikes_dtype, currents, spec)
    chosen = backends.choose(currents.device.type, currents.dtype, backend)
    differentiable = [t for t in (currents, state, scale, shift) if t is not None]
    checkpoints = torch.is_grad_enabled() and any(t.requires_grad for t in differentiable)
    return Options(spec, channel_dim, name, trace, checkpoints, chosen)


def _check(currents, spec, state, scale, shift, channel_dim):
    if currents.dim() < 2:
        raise ValueError(f"currents need the shape (time_steps, batch, …), not {tuple(currents.shape)}")
    if currents.dtype not in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        raise TypeError(f"currents must be float32, float16, bfloat16 or float64, not {currents.dtype}")
    if not isinstance(spec, NeuronSpec):
        raise TypeError(f"the neuron must be a NeuronSpec, not {spec!r}")
    for label, given in (("state", state), ("scale", scale), ("shift", shift)):
        if given is not None and given.device != currents.device:
            raise ValueError(f"{label} is on {given.device}, the currents are on {currents.device}")
    if not -currents.dim() < channel_dim < currents.dim() or channel_dim == 0:
        raise ValueError(f"channel_dim = {channel_dim} is no dim of currents {tuple(currents.shape)} beside time")
    if state is not None and (state.shape != currents.shape[1:] or state.dtype != state_dtype(currents)):
        raise ValueError(
            f"state must be {state_dtype(currents)} of shape {tuple(currents.shape[1:])}, not {state.dtype} {tuple(state.shape)}"
        )
    for label, values in (("scale", scale), ("shift", shift)):
        if values is not None and tuple(values.shape) != (currents.shape[channel_dim],):
            raise ValueError(f"{label} must have the shape ({currents.shape[channel_dim]},), not {tuple(values.shape)}")
    if spec.max_spikes > 1 and spec.reset.startswith("hard"):
        raise ValueError("a hard reset after a count of spikes is not defined: max_spikes must be 1")


def _spikes_name(dtype, currents, spec) -> str:
    name = str(currents.dtype if dtype is None else dtype).removeprefix("torch.")
    if name not in SPIKE_DTYPES or (name == "float64" and currents.dtype != torch.float64):
        known = ", ".join(n for n in SPIKE_DTYPES if n != "float64")
        raise TypeError(f"spikes_dtype = {dtype} is not one of {known} (float64 for float64 currents)")
    if name == "bits" and spec.max_spikes > 1:
        raise ValueError('spikes_dtype = "bits" holds 0 or 1: max_spikes must be 1')
    most = {"uint8": 255, "bfloat16": 256, "float16": 2048}.get(name, 2**24)
    if spec.max_spikes > most:
        raise ValueError(f"spikes_dtype = {name} holds counts up to {most}, max_spikes is {spec.max_spikes}")
    return name
