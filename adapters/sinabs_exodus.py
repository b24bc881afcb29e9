"""Sinabs with the EXODUS kernels (https://github.com/synsense/sinabs-exodus): the same `LIF`, its time loop in CUDA.

Untested: no CUDA device has run this yet.
"""

from .base import Adapter, Case
from .sinabs import Sinabs


class SinabsExodus(Sinabs):
    name = "sinabs-exodus"
    requires = ("torch", "sinabs.exodus")
    distribution = "sinabs-exodus"
    constructions = ("default",)
    modes = ("eager",)
    devices = ("cuda",)

    native = Adapter.native  # the tutorial's is measured as sinabs

    def supports(self, case: Case) -> str | None:
        if case.neuron.reset == "hard":
            return "EXODUS only subtracts"
        if case.precision not in ("fp32", "tf32"):
            return "the EXODUS kernels are for float32"
        return super().supports(case)

    def layers(self):
        from sinabs.exodus import layers

        return layers
