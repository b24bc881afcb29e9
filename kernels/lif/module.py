"""The fused neuron as modules, to drop into any torch model."""

import torch

from ..spec import NeuronSpec
from .functional import LIFOutput, lif


class LIF(torch.nn.Module):
    """Currents (T, B, …) → spikes (T, B, …), every call one whole sequence; arguments as for `lif`.

    With `return_state` a call takes and returns the state too, as recurrent modules do: `LIFOutput(spikes, state,
    trace)`.
    """

    def __init__(self, spec: NeuronSpec | None = None, *, spikes_dtype=None, return_state=False, trace=False, backend=None):
        super().__init__()
        self.spec = spec or NeuronSpec()
        self.spikes_dtype, self.return_state, self.trace, self.backend = spikes_dtype, return_state, trace, backend

    def forward(self, currents: torch.Tensor, state: torch.Tensor | None = None) -> torch.Tensor | LIFOutput:
        out = lif(currents, self.spec, state=state, spikes_dtype=self.spikes_dtype, trace=self.trace, backend=self.backend)
        return out if self.return_state or self.trace else out.spikes

    def extra_repr(self) -> str:
        return self.spec.label()
