"""Linear layer and neuron as one operator: spikes are exact in every format, so only weights need splitting."""

from .module import LinearLIF

__all__ = ["LinearLIF"]
