"""Sinabs' `LIF`, batch first, the time loop inside (https://sinabs.readthedocs.io)."""

import math

from .base import Case
from .surrogates import derivative
from .torch_adapter import TorchAdapter


class Sinabs(TorchAdapter):
    name = "sinabs"
    requires = ("torch", "sinabs")

    def supports(self, case: Case) -> str | None:
        spec = case.neuron
        if spec.reset == "hard-straight" or spec.max_spikes > 1:
            return "offered here with one spike a step and a reset that backward sees"
        if spec.reset == "hard" and not spec.detach_reset:
            return "MembraneReset is always detached"
        if spec.reset.startswith("soft") and spec.detach_reset:
            return "MembraneSubtract is never detached"
        if spec.decay == 1:
            return "LIF always leaks (IAF is another neuron)"
        return None

    def layers(self):
        from sinabs import layers

        return layers

    def neuron(self, spec, features):
        import sinabs.activation
        import torch

        from .time_loop import TimeLoop

        layers, slope_at = self.layers(), derivative(spec, torch)
        reset = {
            "soft": lambda: sinabs.activation.MembraneSubtract(),
            "soft-undecayed": lambda: sinabs.activation.MembraneSubtract(spec.threshold / spec.decay),
            "hard": lambda: sinabs.activation.MembraneReset(),
            "none": lambda: sinabs.activation.MembraneSubtract(0.0),
        }[spec.reset]()

        class Loop(TimeLoop):
            def __init__(self):
                super().__init__()
                self.lif = layers.LIF(
                    tau_mem=torch.tensor(-1 / math.log(spec.decay)),
                    spike_threshold=torch.tensor(spec.threshold),
                    norm_input=False,
                    spike_fn=sinabs.activation.SingleSpike,
                    reset_fn=reset,
                    surrogate_grad_fn=lambda v, threshold: slope_at(v - threshold),
                )
                self.lif.tau_mem.requires_grad_(False)

            def scan(self, currents, state):
                if state is None:
                    self.lif.reset_states()
                else:
                    self.lif.v_mem = state
                return self.lif(currents.transpose(0, 1)).transpose(0, 1), self.lif.v_mem

        return Loop()
