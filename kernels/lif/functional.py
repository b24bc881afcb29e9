"""`lif`: the fused neuron as a function."""

from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from ..spec import NeuronSpec
from ..spike_marks import mark
from . import autograd, backends
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

    Under autocast currents are taken in the type they come in. Second and forward-mode derivatives are refused. After
    os.fork, a child can only run it on one thread, as all of torch's OpenMP code.
    Raises ValueError or TypeError, naming the argument, when something does not fit.
    """
    tensors = (currents, state, scale, shift)
    told = asked(tensors, spec or _DEFAULT, channel_dim, spikes_dtype, trace, backend)
    if autograd.suffices(tensors):
        settled = _settled(told)
        out = LIFOutput(*autograd.lif(tensors, settled))
    else:
        settled = options_of(*told)
        spikes, final, traced, _ = lif_op(*tensors, *settled.arguments())
        out = LIFOutput(spikes, final, traced if trace else None)
    if settled.spikes != "bits":
        mark(out.spikes, settled.spec.max_spikes)
    return out


_DEFAULT = NeuronSpec()


def asked(tensors, spec, channel_dim, spikes_dtype, trace, backend) -> tuple:
    """The arguments of `options_of` for tensors (currents, state, scale, shift)."""
    kinds = tuple(None if t is None else (t.shape, t.dtype, t.device) for t in tensors)
    checkpoints = torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors)
    return spec, channel_dim, kinds, spikes_dtype, trace, checkpoints, backend


def options_of(spec, channel_dim, kinds, spikes_dtype, trace, checkpoints, backend) -> Options:
    """Check the arguments of `lif`, tensors as (shape, dtype, device), and settle what is left open."""
    _check(spec, channel_dim, *kinds)
    _, dtype, device = kinds[0]
    name = _spikes_name(spikes_dtype, dtype, spec)
    return Options(spec, channel_dim, name, trace, checkpoints, backends.choose(device.type, dtype, backend))


_known_options = lru_cache(maxsize=1024)(options_of)


def _settled(told) -> Options:
    try:
        return _known_options(*told)
    except TypeError:  # something cannot be hashed, or is of a wrong type, which is then said once more
        return options_of(*told)


def _check(spec, channel_dim, currents, state, scale, shift):
    shape, dtype, device = currents
    if len(shape) < 2:
        raise ValueError(f"currents need the shape (time_steps, batch, …), not {tuple(shape)}")
    if dtype not in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        raise TypeError(f"currents must be float32, float16, bfloat16 or float64, not {dtype}")
    if not isinstance(spec, NeuronSpec):
        raise TypeError(f"the neuron must be a NeuronSpec, not {spec!r}")
    for label, given in (("state", state), ("scale", scale), ("shift", shift)):
        if given is not None and given[2] != device:
            raise ValueError(f"{label} is on {given[2]}, the currents are on {device}")
    if not -len(shape) < channel_dim < len(shape) or channel_dim == 0:
        raise ValueError(f"channel_dim = {channel_dim} is no dim of currents {tuple(shape)} beside time")
    if state is not None and state[:2] != (shape[1:], state_dtype(dtype)):
        wanted = f"{state_dtype(dtype)} of shape {tuple(shape[1:])}"
        raise ValueError(f"state must be {wanted}, not {state[1]} {tuple(state[0])}")
    for label, given in (("scale", scale), ("shift", shift)):
        if given is not None and tuple(given[0]) != (shape[channel_dim],):
            raise ValueError(f"{label} must have the shape ({shape[channel_dim]},), not {tuple(given[0])}")
    if spec.max_spikes > 1 and spec.reset.startswith("hard"):
        raise ValueError("a hard reset after a count of spikes is not defined: max_spikes must be 1")


def _spikes_name(dtype, currents_dtype, spec) -> str:
    name = str(currents_dtype if dtype is None else dtype).removeprefix("torch.")
    if name not in SPIKE_DTYPES or (name == "float64" and currents_dtype != torch.float64):
        known = ", ".join(n for n in SPIKE_DTYPES if n != "float64")
        raise TypeError(f"spikes_dtype = {dtype} is not one of {known} (float64 for float64 currents)")
    if name == "bits" and spec.max_spikes > 1:
        raise ValueError('spikes_dtype = "bits" holds 0 or 1: max_spikes must be 1')
    most = {"uint8": 255, "bfloat16": 256, "float16": 2048}.get(name, 2**24)
    if spec.max_spikes > most:
        raise ValueError(f"spikes_dtype = {name} holds counts up to {most}, max_spikes is {spec.max_spikes}")
    return name
