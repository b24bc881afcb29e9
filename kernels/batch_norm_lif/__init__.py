"""Batch normalisation and the neuron as one operator."""

from .module import BatchNormLIF

__all__ = ["BatchNormLIF"]
