"""The fused recurrent layer as a module for any torch model."""

import torch

from ..lif.functional import LIFOutput
from ..spec import NeuronSpec
from .functional import linear_recurrent_lif, recurrent_lif


class RecurrentLIF(torch.nn.Module):
    """Neurons `spec` that feed their spikes back: currents (T, B, neurons) → spikes of that shape.

    inputs        the linear layer in front is part of it: (T, B, inputs) → (T, B, neurons)
    bias          adds a bias; only with `inputs`
    recompute     keep no potentials for backward, but the input and a state every √T steps; only
                  with `inputs`, see `linear_recurrent_lif`
    return_state  return `LIFOutput(spikes, state, None)` instead of the spikes
    backend       as for `recurrent_lif`

    The currents of step t are x[t] + weight_hh_l0 · s[t-1], with inputs weight_ih_l0 · x[t] +
    bias_ih_l0 + weight_hh_l0 · s[t-1]. Parameters have the names and shapes of `torch.nn.RNN`, and
    its `state_dict` is loaded: a second bias is added to the first. A call takes the initial state
    of `recurrent_lif` as a second argument (default: zeros). Raises the errors of `recurrent_lif`.

    Example:

        >>> layer = RecurrentLIF(128, NeuronSpec("hard", detach_reset=True), inputs=700)
        >>> layer(torch.randint(0, 2, (100, 16, 700)).float()).shape
        torch.Size([100, 16, 128])
    """

    def __init__(
        self,
        neurons: int,
        spec: NeuronSpec | None = None,
        *,
        inputs: int | None = None,
        bias: bool = True,
        recompute: bool = False,
        return_state: bool = False,
        backend: str | None = None,
    ):
        super().__init__()
        if recompute and inputs is None:
            raise ValueError("recompute needs the linear layer in front: pass inputs")
        self.spec, self.return_state, self.backend = spec or NeuronSpec(), return_state, backend
        self.recompute = recompute

        def parameter(*shape: int) -> torch.nn.Parameter:
            return torch.nn.Parameter(torch.empty(shape))

        self.weight_hh_l0 = parameter(neurons, neurons)
        self.weight_ih_l0 = None if inputs is None else parameter(neurons, inputs)
        self.bias_ih_l0 = parameter(neurons) if bias and inputs is not None else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the parameters as `torch.nn.RNN` does: uniform within 1/√neurons."""
        bound = max(len(self.weight_hh_l0), 1) ** -0.5
        for values in self.parameters():
            torch.nn.init.uniform_(values, -bound, bound)

    def forward(
        self, x: torch.Tensor, state: torch.Tensor | None = None
    ) -> torch.Tensor | LIFOutput:
        out = self.run(x, state)
        return out if self.return_state else out.spikes

    def run(self, x: torch.Tensor, state: torch.Tensor | None = None) -> LIFOutput:
        """Returns spikes and state, whatever `return_state` is."""
        recurrent, options = self.weight_hh_l0, {"state": state, "backend": self.backend}
        if self.weight_ih_l0 is None:
            return recurrent_lif(x, recurrent, self.spec, **options)
        return linear_recurrent_lif(
            x,
            self.weight_ih_l0,
            self.bias_ih_l0,
            recurrent,
            self.spec,
            recompute=self.recompute,
            **options,
        )

    def _load_from_state_dict(self, state, prefix, *more):
        if (second := state.pop(f"{prefix}bias_hh_l0", None)) is not None:
            state[f"{prefix}bias_ih_l0"] = state[f"{prefix}bias_ih_l0"] + second
        super()._load_from_state_dict(state, prefix, *more)

    def extra_repr(self) -> str:
        neurons, inputs = len(self.weight_hh_l0), self.weight_ih_l0
        sizes = str(neurons) if inputs is None else f"{inputs.shape[1]}, {neurons}"
        recompute = ", recompute=True" if self.recompute else ""
        return f"{sizes}, {self.spec.label()}{recompute}"
