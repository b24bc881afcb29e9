"""Sinabs with the EXODUS kernels (https://github.com/synsense/sinabs-exodus): the same `LIF`, its
time loop in CUDA."""

from snnbench.core.case import Case
from snnbench.core.network import Network

from .sinabs import Sinabs


class SinabsExodus(Sinabs):
    name = "sinabs-exodus"
    requires = ("torch", "sinabs.exodus")
    distribution = "sinabs-exodus"
    constructions = {"default": {"adaptive", "learning"}}
    modes = ("eager",)
    devices = ("cuda",)
    layers = "sinabs.exodus.layers"

    def refuses(self, case: Case, network: Network) -> str | None:
        if case.precision not in ("fp32", "tf32"):
            return "the EXODUS kernels are for float32"
        return super().refuses(case, network)

    def supports(self, case: Case) -> str | None:
        return "EXODUS only subtracts" if case.spec.reset == "hard" else super().supports(case)

    def native(self, features):
        """exodus LIF(tau_mem=40, norm_input=False): β = exp(−1/40), many spikes a step, subtracts θ
        each, surrogate exponential.

        Source: the tutorial's neuron of Sinabs (see `sinabs.py`), its import changed as the README
        of EXODUS says.
        """
        return super().native(features)
