"""The fused recurrent layer: neurons that feed their spikes back through a weight, over all time
steps at once."""

from .functional import recurrent_lif
from .module import RecurrentLIF

__all__ = ["RecurrentLIF", "recurrent_lif"]
