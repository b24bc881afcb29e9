"""Arguments of one call of a kernel: the contract between the operator and its backends.

The recurrence is that of `snnbench.kernels.spec`, from p[-1] = state, with currents x and i[t] =
scale·x[t] + shift:

    v[t] = decay · p[t-1] + i[t];   s[t] = spike(v[t]);   p[t] = reset(v[t], s[t])

Backward in time, with gs, gv and gp[T-1] the gradients of the loss by spikes, trace and final
state:

    e[t]    = gs[t]·σ'(v[t] − θ) + gv[t] + gp[t]·ρ[t]          the gradient by v[t], and so by i[t]
    gp[t-1] = decay · e[t]

    ρ = dp/dv:  soft            1 − θ·σ'           (detached: 1)
                soft-undecayed  1 − (θ/decay)·σ'   (detached: 1)
                hard            (1 − s) − v·σ'     (detached: 1 − s)
                hard-straight   1 − v·σ'           (detached: 1)
                none            1

Tensors may have any strides, also 0 if they are only read. A written tensor overlaps no other.
Arithmetic is float32 for every storage type (float64 in the reference for float64 currents) without
fused multiply-adds, so the spikes of all backends have the same bits. A backend may write a product
with a 0/1 spike as a selection. NaN and infinities follow the formulas: a NaN potential does not
fire and stays NaN to the end of its sequence; an infinite one fires or not by its sign, and a hard
reset sets it to 0. Sequences do not affect each other.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch

from ..spec import RESETS, SURROGATES, NeuronSpec

CHECKPOINT_STEPS = 32
"""Time steps between saved states, from which the backward pass recomputes potentials."""


@dataclass(kw_only=True)
class Call:
    """Fields of both passes, which are only read, and the names of a pass's tensors."""

    STEPPED: ClassVar[tuple[str, ...]]
    """Tensors with time in the order of CUDA and C++; INNER, those without time, follow."""
    INNER: ClassVar[tuple[str, ...]]
    WRITTEN: ClassVar[tuple[str, ...]]

    spec: NeuronSpec
    currents: torch.Tensor
    """x (T, *inner), T ≥ 1: float32, float16 or bfloat16."""
    scale: torch.Tensor | None = None
    shift: torch.Tensor | None = None
    """float32, one number for each channel, expanded to inner; None: 1 and 0."""

    def tensors(self) -> dict[str, torch.Tensor | None]:
        """Returns all tensors by name, STEPPED and then INNER."""
        return {name: getattr(self, name) for name in (*self.STEPPED, *self.INNER)}


@dataclass(kw_only=True)
class Forward(Call):
    """A forward pass."""

    STEPPED = ("trace", "checkpoints", "currents", "spikes")
    INNER = ("state", "scale", "shift", "final_state")
    WRITTEN = ("spikes", "final_state", "trace", "checkpoints")

    state: torch.Tensor | None = None
    """p[-1], float32, inner; None: zeros."""
    spikes: torch.Tensor
    """s (T, *inner) in a float type or uint8; with `bits` uint8 (T, *inner[:-1], ⌈last/8⌉), lowest
    bit first."""
    bits: bool = False
    final_state: torch.Tensor
    """p[T-1], float32, inner."""
    trace: torch.Tensor | None = None
    """v (T, *inner) in the currents' type; None: not written."""
    checkpoints: torch.Tensor | None = None
    """p[K·c − 1] for chunks c = 0, 1, … of K = CHECKPOINT_STEPS steps: float32 (⌈T/K⌉, *inner);
    None: not written."""


@dataclass(kw_only=True)
class Backward(Call):
    """A backward pass. A result that is None is not written."""

    STEPPED = (
        "grad_spikes",
        "grad_trace",
        "grad_currents",
        "grad_parts",
        "currents",
        "checkpoints",
    )
    INNER = (
        *("scale", "shift", "grad_final", "center", "mix_error", "mix_current", "mix_constant"),
        *("grad_state", "sum_error", "sum_by_current"),
    )
    WRITTEN = ("grad_currents", "grad_parts", "grad_state", "sum_error", "sum_by_current")

    checkpoints: torch.Tensor
    """Those of the forward pass."""
    grad_spikes: torch.Tensor | None = None
    """gs (T, *inner), any float type; None: zeros."""
    grad_trace: torch.Tensor | None = None
    """gv (T, *inner), any float type; None: zeros."""
    grad_final: torch.Tensor | None = None
    """gp[T-1], float32, inner; None: zeros."""
    center: torch.Tensor | None = None
    """Subtracted from x in `sum_by_current` and `grad_currents`; float32, inner; None: 0."""
    mix_error: torch.Tensor | None = None
    mix_current: torch.Tensor | None = None
    mix_constant: torch.Tensor | None = None
    """a, b and c, float32, inner, like scale: all three, or None for (scale, 0, 0)."""
    grad_currents: torch.Tensor | None = None
    """a·e + b·(x − center) + c, (T, *inner), in the currents' type."""
    grad_state: torch.Tensor | None = None
    """gp[-1], float32, inner."""
    sum_error: torch.Tensor | None = None
    """Σ_t e[t], float32, inner; summed over all dims but the channel's, the gradient by shift."""
    sum_by_current: torch.Tensor | None = None
    """Σ_t e[t]·(x[t] − center), float32, inner; summed likewise, the gradient by scale."""
    grad_parts: torch.Tensor | None = None
    """bfloat16 (3, T, *inner): float32 grad_currents as an exact sum of three, for tensor cores.

    See `linear_lif.split_formats.bf16_triple`. May be requested without grad_currents, from
    backends with WRITES_PARTS.
    """


def state_dtype(currents: torch.dtype) -> torch.dtype:
    """Returns the type of states and arithmetic: float64 for float64 currents, else float32."""
    return torch.float64 if currents == torch.float64 else torch.float32


def neuron_macros(spec: NeuronSpec) -> dict[str, int]:
    """Returns the macros of lif_step.h."""
    return {
        "LIF_RESET": RESETS.index(spec.reset),
        "LIF_DETACH": int(spec.detach_reset),
        "LIF_SURROGATE": SURROGATES.index(spec.surrogate),
        "LIF_MAX_SPIKES": spec.max_spikes,
        "LIF_ROUNDS": int(spec.rounding is not None),
    }


def forward_macros(spec: NeuronSpec) -> dict[str, int]:
    """Returns the macros of a forward pass, equal for all neurons with the same spikes and
    resets."""
    return {**neuron_macros(spec), "LIF_DETACH": 0, "LIF_SURROGATE": 0}


def neuron_numbers(spec: NeuronSpec) -> tuple[float, float, float, float]:
    """Returns the fields of lif_step.h's LifNeuron: decay, threshold, subtracted, slope."""
    return spec.decay, spec.threshold, spec.subtracted, spec.slope
