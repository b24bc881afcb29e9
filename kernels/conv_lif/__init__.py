"""A convolution, batch normalisation and the neuron as one module."""

from .module import ConvLIF

__all__ = ["ConvLIF"]
