"""A convolution or a linear layer, batch normalisation and the neuron as one module."""

from .module import ConvLIF, LinearNormLIF

__all__ = ["ConvLIF", "LinearNormLIF"]
