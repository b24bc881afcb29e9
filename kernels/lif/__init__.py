"""The fused neuron: the recurrence over all time steps as one torch operator, with four
backends."""

from .functional import LIFOutput, lif
from .module import LIF

__all__ = ["LIF", "LIFOutput", "lif"]
