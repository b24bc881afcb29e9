"""Adapters: one file per framework, which spells the same neuron in that framework's words.

`from snnbench.adapters import TorchAdapter, …` has all that a third-party adapter needs. Names are
imported on first use, so this package imports neither torch nor JAX by itself."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from snnbench.core.case import Case as Case
    from snnbench.core.contract import Adapter as Adapter
    from snnbench.core.contract import FixedPoint as FixedPoint
    from snnbench.core.contract import Unsupported as Unsupported
    from snnbench.core.network import Network as Network
    from snnbench.core.network import Node as Node
    from snnbench.kernels.spec import NeuronSpec as NeuronSpec
    from snnbench.kernels.surrogates import derivative as derivative

    from .base.jax_adapter import JaxAdapter as JaxAdapter
    from .base.spikes import jax_spike as jax_spike
    from .base.spikes import torch_spike as torch_spike
    from .base.time_loop import TimeLoop as TimeLoop
    from .base.torch_adapter import TorchAdapter as TorchAdapter

_MODULES = {
    "Adapter": "snnbench.core.contract",
    "Case": "snnbench.core.case",
    "FixedPoint": "snnbench.core.contract",
    "JaxAdapter": ".base.jax_adapter",
    "Network": "snnbench.core.network",
    "NeuronSpec": "snnbench.kernels.spec",
    "Node": "snnbench.core.network",
    "TimeLoop": ".base.time_loop",
    "TorchAdapter": ".base.torch_adapter",
    "Unsupported": "snnbench.core.contract",
    "derivative": "snnbench.kernels.surrogates",
    "jax_spike": ".base.spikes",
    "torch_spike": ".base.spikes",
}
"""The module that defines each name."""


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
