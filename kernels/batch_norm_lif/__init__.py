"""Batch normalization and the neuron as one operator."""

from .batch_norm import BatchNormLIF

__all__ = ["BatchNormLIF"]
