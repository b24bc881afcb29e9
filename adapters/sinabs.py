"""Sinabs' `LIF`, batch first, the time loop inside (https://sinabs.readthedocs.io).

`default`, `stepwise`   `LIF` with its time constant, of which it makes the decay at every call; without a leak `IAF`.
`alphas`                `LIF` with the decay itself (`train_alphas=True`), not trained.
"""

import math
from importlib import import_module

from snnbench.kernels.surrogates import derivative

from .base.case import Case
from .base.torch_adapter import TorchAdapter


class Sinabs(TorchAdapter):
    name = "sinabs"
    requires = ("torch", "sinabs")
    constructions = (*TorchAdapter.constructions, "alphas")
    layers = "sinabs.layers"

    def supports(self, case: Case) -> str | None:
        spec = case.spec
        if spec.reset == "hard-straight":
            return "LIF has no reset that backward does not see"
        if spec.reset == "hard" and not spec.detach_reset:
            return "MembraneReset is always detached"
        if spec.reset.startswith("soft") and spec.detach_reset:
            return "MembraneSubtract is never detached"
        if spec.decay == 1 and case.construction == "alphas":
            return "LIF always leaks"
        return None

    def lif(self, spec, features, construction):
        import torch
        from sinabs import activation

        slope_at = derivative(spec, torch)
        subtracted = {"soft": None, "soft-undecayed": spec.subtracted, "none": 0.0}  # None: the threshold
        reset = activation.MembraneReset() if spec.reset == "hard" else activation.MembraneSubtract(subtracted[spec.reset])
        # The default, MultiSpike, knows no bound.
        spikes = activation.SingleSpike if spec.max_spikes == 1 else activation.MaxSpike(spec.max_spikes)
        alike = {
            "spike_threshold": torch.tensor(float(spec.threshold)),
            "spike_fn": spikes,
            "reset_fn": reset,
            "surrogate_grad_fn": lambda v, threshold: slope_at(v - threshold),
        }
        layers = import_module(self.layers)
        if spec.decay == 1:
            return loop(layers.IAF(**alike).requires_grad_(False))
        tau = torch.tensor(-1 / math.log(spec.decay))
        lif = layers.LIF(tau_mem=tau, norm_input=False, train_alphas=construction == "alphas", **alike)
        lif.requires_grad_(False)
        if construction == "alphas":
            lif.alpha_mem.fill_(spec.decay)
        return loop(lif)

    def native(self, features):
        """LIF(tau_mem=40, norm_input=False): β = exp(−1/40), many spikes a step, subtracts θ each, surrogate exponential.

        Source: Sinabs' tutorial "Choosing a neuron model" (docs/tutorials/neuron_models.ipynb) and the defaults of
        `sinabs.layers.LIF`. Its time constant is trained along.
        """
        return loop(import_module(self.layers).LIF(tau_mem=40.0, norm_input=False))


def loop(layer):
    """The TimeLoop of a layer of Sinabs, batch first, that keeps its potential itself, as its `v_mem`."""
    from .base.time_loop import TimeLoop

    class Loop(TimeLoop):
        def __init__(self):
            super().__init__()
            self.lif = layer

        def scan(self, currents, state):
            if state is None:
                self.lif.reset_states()
            else:
                self.lif.v_mem = state
            return self.lif(currents.transpose(0, 1)).transpose(0, 1), self.lif.v_mem

    return Loop()
