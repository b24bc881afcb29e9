"""The fused neuron as a module for any torch model."""

import torch

from ..spec import NeuronSpec
from .functional import LIFOutput, lif


class LIF(torch.nn.Module):
    """The neuron `spec` as a module: currents (T, B, …) → spikes (T, B, …). Each call runs one whole sequence.

    `spikes_dtype`, `trace` and `backend` are those of `lif`. A call takes the state (B, …) to start from as a second argument
    (default: zeros). With `return_state` or `trace` it returns `LIFOutput(spikes, state, trace)` instead of the spikes. Errors
    are those of `lif`.

    Example:

        >>> layer = torch.nn.Sequential(torch.nn.Linear(700, 128), LIF(NeuronSpec("soft", decay=0.95)))
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
        self.spikes_dtype, self.return_state, self.trace, self.backend = spikes_dtype, return_state, trace, backend

    def forward(self, currents: torch.Tensor, state: torch.Tensor | None = None) -> torch.Tensor | LIFOutput:
        out = lif(currents, self.spec, state=state, spikes_dtype=self.spikes_dtype, trace=self.trace, backend=self.backend)
        return out if self.return_state or self.trace else out.spikes

    def extra_repr(self) -> str:
        return self.spec.label()
