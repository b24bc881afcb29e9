"""One file per framework: how that framework spells the same neuron.

`TorchAdapter` and `JaxAdapter` are what an adapter subclasses; importing them imports neither torch nor JAX.
"""

from .base import Adapter, Case, FixedPoint, Unsupported
from .jax_adapter import JaxAdapter
from .torch_adapter import TorchAdapter

__all__ = ["Adapter", "Case", "FixedPoint", "JaxAdapter", "TorchAdapter", "Unsupported"]
