"""The neuron's definition (`spec`) and the project's own fused kernels. Usable without the harness.

`from snnbench.kernels import LIF, NeuronSpec`; torch is imported only when a kernel is asked for. The neuron as a function is
`from snnbench.kernels.lif import lif`.
"""

from importlib import import_module

from .spec import NEURONS, NeuronSpec

_OPERATORS = {
    "LIF": ".lif.module",
    "LIFOutput": ".lif.functional",
    "LinearLIF": ".linear_lif.module",
    "BatchNormLIF": ".batch_norm_lif.batch_norm",
}
"""Where each name that needs torch is defined."""

__all__ = ["LIF", "NEURONS", "BatchNormLIF", "LIFOutput", "LinearLIF", "NeuronSpec"]


def __getattr__(name):
    if name in _OPERATORS:
        return getattr(import_module(_OPERATORS[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
