"""The neuron's definition (`spec`) and the project's own fused kernels. Usable without the harness.

`from snnbench.kernels import LIF, NeuronSpec`; torch is imported only when a kernel is asked for.
"""

from .spec import NEURONS, NeuronSpec

__all__ = ["LIF", "NEURONS", "BatchNormLIF", "LIFOutput", "LinearLIF", "NeuronSpec", "lif"]


def __getattr__(name):
    if name in __all__:
        from . import linear, neuron

        return getattr(linear if name == "LinearLIF" else neuron, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
