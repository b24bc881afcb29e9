"""A convolution, batch normalisation and the neuron in one."""

from .module import ConvLIF

__all__ = ["ConvLIF"]
