"""A linear layer and its neuron as one operator; spikes are exact in every format, so only weights
are split."""

from .module import LinearLIF

__all__ = ["LinearLIF"]
