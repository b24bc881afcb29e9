"""The fused neuron: one recurrence over all time steps, in four spellings behind one torch operator."""

from .batch_norm import BatchNormLIF
from .functional import LIFOutput, lif
from .modules import LIF

__all__ = ["LIF", "BatchNormLIF", "LIFOutput", "lif"]
