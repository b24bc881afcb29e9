"""Rockpool's `LIFExodus` (https://rockpool.ai): its LIF neuron on the EXODUS kernels, CUDA only.

Its synapse, which decays the input before the neuron, is switched off: a synaptic decay of about
2⁻⁴⁰ and weights times its inverse leave a residue of 10⁻¹² from the step before.
"""

from math import log, prod

from snnbench.core.case import Case
from snnbench.kernels.surrogates import derivative

from .base.torch_adapter import TorchAdapter
from .rockpool import SYNAPSE_OFF, constant, from_rest


class RockpoolExodus(TorchAdapter):
    name = "rockpool-exodus"
    requires = ("torch", "sinabs.exodus", "rockpool.nn.modules.sinabs.lif_exodus")
    distribution = "rockpool"
    constructions = {"default": set()}
    modes = ("eager",)
    devices = ("cuda",)

    def supports(self, case: Case) -> str | None:
        spec = case.spec
        if spec.reset != "soft" or spec.detach_reset or spec.max_spikes > 1:
            return "LIFExodus only subtracts, with gradient; offered here with one spike a step"
        if spec.decay == 1:
            return "LIFExodus always leaks"
        if case.precision not in ("fp32", "tf32"):
            return "the EXODUS kernels are for float32"
        return None

    def current_scale(self, spec) -> float:
        return 1 / SYNAPSE_OFF

    def neuron(self, spec, features):
        import torch
        from rockpool.nn.modules import LIFExodus

        slope_at = derivative(spec, torch)
        lif = LIFExodus(
            prod(features),
            tau_mem=constant(-1 / log(spec.decay)),
            tau_syn=constant(-1 / log(SYNAPSE_OFF)),
            threshold=torch.tensor(spec.threshold),
            bias=constant(0.0),
            dt=1.0,
            max_spikes_per_dt=torch.tensor(1.0),
        )
        # The constructor ignores its argument for this.
        lif.spike_generation_fn = lambda v, threshold: slope_at(v - threshold)
        return from_rest(lif)
