"""A linear layer and its neuron as one operator. Spikes are exact in every number format, so only weights are split."""

from .module import LinearLIF

__all__ = ["LinearLIF"]
