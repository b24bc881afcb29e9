"""One file per framework: how that framework spells the same neuron.

`TorchAdapter` and `JaxAdapter` are what an adapter subclasses; importing them imports neither torch nor JAX.
"""

from .base.case import Case
from .base.contract import Adapter, FixedPoint, Unsupported
from .base.jax_adapter import JaxAdapter
from .base.torch_adapter import TorchAdapter

__all__ = ["Adapter", "Case", "FixedPoint", "JaxAdapter", "TorchAdapter", "Unsupported"]
