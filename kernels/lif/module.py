"""The fused neuron as a module for any torch model."""

import torch

from ..spec import NeuronSpec, parameter_of_decay
from .functional import LIFOutput, lif, lif_of_parameter


class LIF(torch.nn.Module):
    """The neuron `spec` as a module: currents (T, B, …) → spikes (T, B, …). Each call runs one whole sequence.

    `spikes_dtype`, `trace` and `backend` are those of `lif`. A call takes the state (B, …) to start from as a second argument
    (default: zeros). With `return_state` or `trace` it returns `LIFOutput(spikes, state, trace)` instead of the spikes. Errors
    are those of `lif`. With `learned_decay` in its specification the module has the parameter `decay` (1,), takes no state and
    hands out spikes alone; the decay is read on the host at every call.

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
        self.decay: torch.nn.Parameter | None = None
        if self.spec.learned_decay:
            if return_state or trace:
                raise ValueError("a LIF that learns its decay hands out spikes alone: no return_state, no trace")
            self.decay = torch.nn.Parameter(torch.tensor([parameter_of_decay(self.spec)]))

    def forward(self, currents: torch.Tensor, state: torch.Tensor | None = None) -> torch.Tensor | LIFOutput:
        if self.decay is not None:
            if state is not None:
                raise ValueError("a LIF that learns its decay starts at rest: it takes no state")
            return lif_of_parameter(currents, self.spec, self.decay, self.spikes_dtype, self.backend)
        out = lif(currents, self.spec, state=state, spikes_dtype=self.spikes_dtype, trace=self.trace, backend=self.backend)
        return out if self.return_state or self.trace else out.spikes

    def extra_repr(self) -> str:
        return self.spec.label()
