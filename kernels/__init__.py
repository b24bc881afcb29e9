"""The neurons' definition (`spec`) and fused kernels. The package works without the harness.

    from snnbench.kernels import LIF, BatchNormLIF, ConvLIF, LinearLIF, NeuronSpec, RecurrentLIF
    from snnbench.kernels.lif import lif  # the neuron as a function
    from snnbench.kernels import PackedFrames  # recordings of events in few bytes

torch is imported with the first kernel. The kernels for CUDA devices (the backends "cuda" and
"triton", and the tiers of `LinearLIF`) are tested by emulation, in Triton's interpreter and by
their machine code; no GPU has run them yet.
"""

from importlib import import_module

from .spec import NEURONS, NeuronSpec

_MODULES = {
    "LIF": ".lif.module",
    "Integrator": ".lif.integrator",
    "LIFOutput": ".lif.functional",
    "LinearLIF": ".linear_lif.module",
    "BatchNormLIF": ".batch_norm_lif.module",
    "ConvLIF": ".conv_lif.module",
    "LinearNormLIF": ".conv_lif.module",
    "PackedFrames": ".events.packed",
    "RecurrentLIF": ".recurrent.module",
    "SpikesLinear": ".linear.module",
}
"""Modules of the names that need torch."""

__all__ = [
    "LIF",
    "NEURONS",
    "BatchNormLIF",
    "ConvLIF",
    "Integrator",
    "LIFOutput",
    "LinearLIF",
    "LinearNormLIF",
    "NeuronSpec",
    "PackedFrames",
    "RecurrentLIF",
    "SpikesLinear",
]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
