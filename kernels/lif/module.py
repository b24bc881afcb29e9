"""The fused neuron as a module for any torch model."""

import torch

from ..spec import NeuronSpec
from .functional import LIFOutput, lif


class LIF(torch.nn.Module):
    """The neuron `spec` as a module: currents (T, B, …) → spikes (T, B, …). Each call runs one whole sequence from rest.

    `spikes_dtype`, `trace` and `backend` are those of `lif`. With `return_state` (or `trace`) a call returns
    `LIFOutput(spikes, state, trace)`; its second argument is the state to start from. Errors are those of `lif`.

    Example:

        >>> layer = torch.nn.Sequential(torch.nn.Linear(700, 128), LIF(NeuronSpec("soft", decay=0.95)))
        >>> layer(torch.randn(100, 16, 700)).shape
        torch.Size([100, 16, 128])
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
