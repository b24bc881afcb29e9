"""The fused neuron: one recurrence over all time steps, in four spellings behind one torch operator."""

from .functional import LIFOutput, lif
from .module import LIF

__all__ = ["LIF", "LIFOutput", "lif"]
