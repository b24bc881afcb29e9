"""The options of a call of a linear layer and its neuron, and what its forward pass saves for its backward pass."""

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from .. import bits
from ..lif.operator import NeuronOptions
from .matmul import Operands


@dataclass(frozen=True)
class LinearOptions:
    """The arguments of a call beside its tensors, checked and complete."""

    neuron: NeuronOptions
    operands: str
    """ "plain", or the tier whose short operands are multiplied."""
    counts: int
    """The largest number of spikes in one input; 0 for a dense input."""
    recompute: bool
    """Save no currents for the backward pass; and if the input is spikes, save it in bits or bytes."""

    @property
    def packs(self) -> bool:
        """Whether spikes are saved in bits or bytes in place of the input."""
        return self.recompute and self.neuron.checkpoints and 0 < self.counts <= bits.LARGEST_COUNT

    def arguments(self) -> tuple[str, str]:
        """The options as arguments of a schema."""
        spec, _, more = self.neuron.arguments()
        return spec, f"{more} {self.counts} {self.operands} {self.recompute:d}"

    @staticmethod
    @lru_cache(maxsize=1024)
    def of(spec: str, more: str) -> "LinearOptions":
        """The inverse of `arguments`."""
        neuron, counts, operands, recompute = more.rsplit(" ", 3)
        return LinearOptions(
            NeuronOptions.of(spec, -1, neuron), operands, int(counts), recompute == "1"
        )


@dataclass(frozen=True)
class Saved:
    """What a forward pass saves for its backward pass; None for what is not saved."""

    x: Tensor | None
    """The input (T, B, K), unless it is packed."""
    packed: Tensor | None
    """The input as `bits.pack` stores it, or as int64 words of `linear.launch`."""
    currents: Tensor | None
    """The neuron's currents; or, if the input is in words, its potentials before the spike."""
    checkpoints: Tensor | None
    operands: Operands | None = None
    """Weight operands from forward, reused by backward. Without them backward looks them up, or splits the weight again while a
    CUDA graph is captured."""

    @property
    def potentials(self) -> Tensor | None:
        """`currents` if they are potentials."""
        return (
            self.currents if self.packed is not None and self.packed.dtype == torch.int64 else None
        )
