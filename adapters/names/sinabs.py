"""Sinabs' neurons and surrogates (3.1). Time constants are in steps."""

from dataclasses import dataclass, replace
from math import exp, isclose

from .meaning import MANY, Meaning, Surrogate, meaning, names_of, surrogate


@surrogate
def SingleExponential(grad_width: float = 0.5, grad_scale: float = 1.0) -> Surrogate:
    return Surrogate("exponential", 1 / grad_width, 2 * grad_scale)


@dataclass(frozen=True)
class Spikes:
    """Most spikes of a step."""

    most: int


def MultiSpike() -> Spikes:
    return Spikes(MANY)


def SingleSpike() -> Spikes:
    return Spikes(1)


def MaxSpike(max_num_spikes_per_bin: int) -> Spikes:
    return Spikes(max_num_spikes_per_bin)


@dataclass(frozen=True)
class Reset:
    """A subtraction, None: of the threshold; or a reset to zero."""

    subtracts: bool
    value: float | None = None

    def name(self, threshold: float, decay: float) -> str:
        if not self.subtracts:
            return "hard"
        if self.value is None or self.value == threshold:
            return "soft"
        if self.value == 0:
            return "none"
        if isclose(self.value, threshold / decay, rel_tol=1e-6):
            return "soft-undecayed"
        raise ValueError(
            f"MembraneSubtract(subtract_value={self.value:g}) has no equation here: it must be the"
            f" threshold {threshold:g}, this divided by the decay ({threshold / decay:g}), or 0"
        )


def MembraneSubtract(subtract_value: float | None = None) -> Reset:
    return Reset(True, subtract_value)


def MembraneReset() -> Reset:
    return Reset(False)


def LIF(
    tau_mem: float,
    tau_syn: float | None = None,
    spike_threshold: float = 1.0,
    spike_fn: Spikes = MultiSpike(),
    reset_fn: Reset = MembraneSubtract(),
    surrogate_grad_fn: Surrogate = SingleExponential(),
    norm_input: bool = True,
) -> Meaning:
    """The decays are exp(−1/tau_mem) and, of the synapse, exp(−1/tau_syn)."""
    decay = exp(-1 / tau_mem)
    synapse = None if tau_syn is None else exp(-1 / tau_syn)
    reset = reset_fn.name(spike_threshold, decay)
    return meaning(
        replace(surrogate_grad_fn, slope=surrogate_grad_fn.slope / spike_threshold),
        reset,
        decay=decay,
        detached=reset == "hard",
        gain=(1 - decay if norm_input else 1.0) * (synapse or 1.0),
        threshold=spike_threshold,
        max_spikes=spike_fn.most,
        current_decay=synapse,
    )


def IAF(
    spike_threshold: float = 1.0,
    spike_fn: Spikes = MultiSpike(),
    reset_fn: Reset = MembraneSubtract(),
    surrogate_grad_fn: Surrogate = SingleExponential(),
) -> Meaning:
    """There is no decay."""
    reset = reset_fn.name(spike_threshold, 1.0)
    return meaning(
        replace(surrogate_grad_fn, slope=surrogate_grad_fn.slope / spike_threshold),
        reset,
        decay=1.0,
        detached=reset == "hard",
        threshold=spike_threshold,
        max_spikes=spike_fn.most,
    )


NAMES = names_of(
    LIF,
    IAF,
    SingleExponential,
    MultiSpike,
    SingleSpike,
    MaxSpike,
    MembraneSubtract,
    MembraneReset,
)
