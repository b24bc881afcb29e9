"""One file per framework: how that framework spells the same neuron.

`from snnbench.adapters import TorchAdapter, …` has all that an adapter of your own needs; each name
is imported when it is asked for, so that nothing here imports torch or JAX before you do.
"""

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
"""Where each name is defined."""


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
