"""`lif`: the fused neuron as a function."""

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from ..spec import NeuronSpec
from ..spike_marks import mark
from . import autograd, backends
from .learned import LearnedDecay, decay_now
from .operator import SPIKE_DTYPES, NeuronOptions, lif_op, state_dtype


class LIFOutput(NamedTuple):
    """The results of `lif`."""

    spikes: Tensor
    """s (T, B, …) in `spikes_dtype`."""
    state: Tensor
    """The potential after the last step's reset, (B, …) float32."""
    trace: Tensor | None
    """The potentials v before the spike, (T, B, …) in the dtype of currents; None if not traced."""


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
    """Runs the neuron `spec` (default: soft reset) over all time steps of currents (T, B, …).

    currents      float32, float16 or bfloat16, any strides; arithmetic is float32. (float64 runs in
                  the reference only.)
    state         float32 (B, …): the potential after the reset of the previous step; None: zeros.
                  A sequence that is run in pieces, each from the previous state, gives bitwise
                  the same result. With a synaptic current (2, B, …): that current and the
                  potential.
    scale, shift  (C,) along `channel_dim`: the neuron's current is scale·x + shift. Pass a Linear's
                  bias as `shift`: its gradient is then summed in the same pass.
    spikes_dtype  torch.float32, float16 or bfloat16 (default: the currents' dtype), torch.uint8, or
                  "bits": uint8 (T, B, …, ⌈N/8⌉) with the first of eight spikes in the lowest bit.
                  Integer spikes have no gradient.
    trace         True: also returns the potentials v before the spike, with gradients.
    backend       "reference", "cpp", "triton" or "cuda"; default: the best that runs here, see
                  `backends.choose`.

    `snnbench.kernels.spec` has the formulas of the recurrence and of the surrogate gradients, with
    their sources. Autocast does not change the currents' dtype. Second derivatives and forward-mode
    differentiation raise an error. After os.fork a child process can run it on one thread only,
    like all of torch's OpenMP code. Raises ValueError or TypeError, naming the argument, if an
    argument is invalid.

    Example:

        >>> import torch
        >>> from snnbench.kernels import NeuronSpec
        >>> from snnbench.kernels.lif import lif
        >>> currents = torch.randn(100, 16, 512, requires_grad=True)  # T, B, N
        >>> spikes, state, _ = lif(currents, NeuronSpec("hard", decay=0.9, surrogate="atan"))
        >>> spikes.shape, state.shape
        (torch.Size([100, 16, 512]), torch.Size([16, 512]))
        >>> spikes.mean().backward()
    """
    spec = spec or _DEFAULT
    if isinstance(spec, NeuronSpec) and spec.current_decay is not None:
        return _lif_with_synaptic_current(
            currents,
            spec,
            state,
            spikes_dtype,
            trace,
            backend,
            scale=scale,
            shift=shift,
            channel_dim=channel_dim,
        )
    tensors = (currents, state, scale, shift)
    request = request_of(tensors, spec, channel_dim, spikes_dtype, trace, backend)
    if autograd.suffices(tensors):
        options = cached_options(request)
        out = LIFOutput(*autograd.Neuron.apply(*tensors, options))
    else:
        options = options_of(*request)
        spikes, final_state, potentials, _ = lif_op(*tensors, *options.arguments())
        out = LIFOutput(spikes, final_state, potentials if trace else None)
    if options.spikes != "bits":
        mark(out.spikes, options.spec.max_spikes)
    return out


def lif_of_parameter(
    currents: Tensor, spec: NeuronSpec, parameter: Tensor, spikes_dtype=None, backend=None
) -> Tensor:
    """Returns spikes of `spec` with the learned decay of `parameter` (1,). The host reads it, which
    synchronises a GPU."""
    now = replace(spec, decay=decay_now(spec, parameter), learned_decay=None)
    options = options_of(
        *request_of((currents, None, None, None), now, -1, spikes_dtype, False, backend)
    )
    learns = torch.is_grad_enabled() and (currents.requires_grad or parameter.requires_grad)
    spikes = LearnedDecay.apply(currents, parameter, spec, replace(options, checkpoints=learns))
    if options.spikes != "bits":
        mark(spikes, spec.max_spikes)
    return spikes


def _lif_with_synaptic_current(
    currents, spec, state, spikes_dtype, trace, backend, **scaled
) -> LIFOutput:
    """Runs two neurons: the synaptic current is the potential of one without reset that never
    fires, and it drives the neuron `spec`.

    The synaptic current has the dtype of `currents`. The gradient flows through both neurons.
    """
    if state is not None and state.shape[:1] != (2,):
        raise ValueError(
            f"state must be synaptic current and potential, (2, B, …), not {tuple(state.shape)}"
        )
    i, v = (None, None) if state is None else state.unbind(0)
    filtered, i_after = integrate(currents, spec.current_decay, state=i, backend=backend, **scaled)
    neuron = replace(spec, current_decay=None)
    spikes, v_after, potentials = lif(
        filtered, neuron, state=v, spikes_dtype=spikes_dtype, trace=trace, backend=backend
    )
    return LIFOutput(spikes, torch.stack([i_after, v_after]), potentials)


def integrate(currents: Tensor, decay: float, **options) -> tuple[Tensor, Tensor]:
    """Returns v[t] = decay · v[t-1] + x[t] and the last v, with `options` of `lif`: potentials of a
    neuron without reset that never fires."""
    spec = NeuronSpec("none", decay=decay, threshold=NEVER)
    _, state, potentials = lif(currents, spec, spikes_dtype=torch.uint8, trace=True, **options)
    assert potentials is not None
    return potentials, state


NEVER = 1e38
"""A threshold that no potential reaches."""
_DEFAULT = NeuronSpec()


def request_of(tensors, spec, channel_dim, spikes_dtype, trace, backend) -> tuple:
    """Returns the arguments of `options_of` for tensors (currents, state, scale, shift)."""
    infos = tuple(None if t is None else (t.shape, t.dtype, t.device) for t in tensors)
    checkpoints = torch.is_grad_enabled() and any(
        t is not None and t.requires_grad for t in tensors
    )
    return spec, channel_dim, infos, spikes_dtype, trace, checkpoints, backend


def options_of(
    spec, channel_dim, infos, spikes_dtype, trace, checkpoints, backend
) -> NeuronOptions:
    """Checks the arguments of `lif` and fills in defaults. `infos` are (shape, dtype, device) of
    each tensor, or None."""
    _check(spec, channel_dim, *infos)
    _, dtype, device = infos[0]
    name = _spikes_name(spikes_dtype, dtype, spec)
    return NeuronOptions(
        spec, channel_dim, name, trace, checkpoints, backends.choose(device.type, dtype, backend)
    )


_lookup = lru_cache(maxsize=1024)(options_of)


def cached_options(request: tuple) -> NeuronOptions:
    """Like `options_of`, but cached; not for code that torch.compile traces."""
    try:
        return _lookup(*request)
    except TypeError:  # an argument is unhashable, or a check failed and raises again
        return options_of(*request)


_NOT_FUSED = {
    "current_decay": "a synaptic current",
    "adaptation": "an adaptive threshold",
    "learned_decay": "a learned decay",
}
"""Fields of neurons that only the module `LIF` computes, with what they add."""


def _check(spec, channel_dim, currents, state, scale, shift):
    shape, dtype, device = currents
    if len(shape) < 2:
        raise ValueError(f"currents need the shape (time_steps, batch, …), not {tuple(shape)}")
    if dtype not in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        raise TypeError(f"currents must be float32, float16, bfloat16 or float64, not {dtype}")
    if not isinstance(spec, NeuronSpec):
        raise TypeError(f"the neuron must be a NeuronSpec, not {spec!r}")
    for field, addition in _NOT_FUSED.items():
        if getattr(spec, field) is not None:
            raise ValueError(
                f"a neuron with {addition} ({field}) needs the module LIF, behind a separate "
                "Linear or norm"
            )
    for label, info in (("state", state), ("scale", scale), ("shift", shift)):
        if info is not None and info[2] != device:
            raise ValueError(f"{label} is on {info[2]}, the currents are on {device}")
    if not -len(shape) < channel_dim < len(shape) or channel_dim == 0:
        raise ValueError(
            f"channel_dim = {channel_dim} must be a dim of currents {tuple(shape)} other than the "
            "first, time"
        )
    if state is not None and state[:2] != (shape[1:], state_dtype(dtype)):
        wanted = f"{state_dtype(dtype)} of shape {tuple(shape[1:])}"
        raise ValueError(f"state must be {wanted}, not {state[1]} {tuple(state[0])}")
    for label, info in (("scale", scale), ("shift", shift)):
        if info is not None and tuple(info[0]) != (shape[channel_dim],):
            raise ValueError(
                f"{label} must have the shape ({shape[channel_dim]},), not {tuple(info[0])}"
            )
    if spec.max_spikes > 1 and spec.reset.startswith("hard"):
        raise ValueError(
            "a hard reset after a count of spikes is not defined: max_spikes must be 1"
        )


def _spikes_name(dtype, currents_dtype, spec) -> str:
    """Returns the name of the spikes' dtype. Raises an error if it cannot hold the spikes of
    `spec`."""
    name = str(currents_dtype if dtype is None else dtype).removeprefix("torch.")
    if name not in SPIKE_DTYPES or (name == "float64" and currents_dtype != torch.float64):
        supported = ", ".join(n for n in SPIKE_DTYPES if n != "float64")
        raise TypeError(
            f"spikes_dtype = {dtype} is not one of {supported} (float64 for float64 currents)"
        )
    if name == "bits" and spec.max_spikes > 1:
        raise ValueError('spikes_dtype = "bits" holds 0 or 1: max_spikes must be 1')
    exact = 2**24 if spec.rounding is None else 2**22  # Triton rounds by a sum
    most = {"uint8": 255, "bfloat16": 256, "float16": 2048}.get(name, exact)
    if spec.max_spikes > most:
        raise ValueError(
            f"spikes_dtype = {name} holds counts up to {most}, max_spikes is {spec.max_spikes}"
        )
    return name
