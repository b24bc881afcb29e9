"""The fused neuron as a module for any torch model."""

import torch

from ..spec import NeuronSpec, parameter_of_decay
from .adaptive import adaptive_spikes
from .functional import LIFOutput, lif, lif_of_parameter


class LIF(torch.nn.Module):
    """The neuron `spec` as a module: currents (T, B, …) → spikes (T, B, …). Each call runs one
    whole sequence.

    `spikes_dtype`, `trace` and `backend` are those of `lif`. A call takes the initial state (B, …)
    as a second argument (default: zeros). With `return_state` or `trace` it returns
    `LIFOutput(spikes, state, trace)` instead of the spikes. With a `learned_decay` the module has
    the parameter `decay` (1,), which the host reads at every call. With a `learned_decay` or an
    `adaptation` it takes no state and returns spikes alone; with an `adaptation`, of the currents'
    type. Raises the errors of `lif`.

    Example:

        >>> neuron = LIF(NeuronSpec("soft", decay=0.95))
        >>> layer = torch.nn.Sequential(torch.nn.Linear(700, 128), neuron)
        >>> layer(torch.randn(100, 16, 700)).shape
        torch.Size([100, 16, 128])
    """

    def __init__(
        self,
        spec: NeuronSpec | None = None,
        *,
        spikes_dtype: torch.dtype | str | None = None,
        return_state: bool = False,
        trace: bool = False,
        backend: str | None = None,
    ):
        super().__init__()
        self.spec = spec or NeuronSpec()
        self.spikes_dtype, self.return_state, self.trace, self.backend = (
            spikes_dtype,
            return_state,
            trace,
            backend,
        )
        self.decay: torch.nn.Parameter | None = None
        if self.spec.adaptation_coupling is not None:
            raise ValueError("no LIF has an adaptation current (adaptation_coupling)")
        if self.kind and (return_state or trace):
            raise ValueError(f"a LIF {self.kind} returns spikes alone: no return_state, no trace")
        if self.spec.adaptation is not None and spikes_dtype is not None:
            raise ValueError(
                "a LIF with an adaptive threshold returns spikes of its currents' type: no"
                " spikes_dtype"
            )
        if self.spec.learned_decay:
            self.decay = torch.nn.Parameter(torch.tensor([parameter_of_decay(self.spec)]))

    @property
    def kind(self) -> str | None:
        """The feature of the neuron that rules out runs in pieces, or None."""
        if self.spec.adaptation is not None:
            return "with an adaptive threshold"
        return "that learns its decay" if self.spec.learned_decay else None

    def forward(
        self, currents: torch.Tensor, state: torch.Tensor | None = None
    ) -> torch.Tensor | LIFOutput:
        if self.kind and state is not None:
            raise ValueError(f"a LIF {self.kind} starts at rest: it takes no state")
        if self.spec.adaptation is not None:
            return adaptive_spikes(currents, self.spec, self.backend)
        if self.decay is not None:
            return lif_of_parameter(
                currents, self.spec, self.decay, self.spikes_dtype, self.backend
            )
        out = lif(
            currents,
            self.spec,
            state=state,
            spikes_dtype=self.spikes_dtype,
            trace=self.trace,
            backend=self.backend,
        )
        return out if self.return_state or self.trace else out.spikes

    def extra_repr(self) -> str:
        return self.spec.label()
