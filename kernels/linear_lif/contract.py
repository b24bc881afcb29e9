"""Options of a call of a linear layer and its neuron, and the tensors saved for its backward
pass."""

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
    """Name of the tier of short operands, or "plain"."""
    counts: int
    """Largest number of spikes in one input; 0 for a dense input."""
    recompute: bool
    """True if currents are recomputed in backward, and an input of spikes is saved in bits or
    bytes."""

    @property
    def packs(self) -> bool:
        """True if spikes are saved in bits or bytes in place of the input."""
        return self.recompute and self.neuron.checkpoints and 0 < self.counts <= bits.LARGEST_COUNT

    def arguments(self) -> tuple[str, str]:
        """Returns the options as arguments of a schema."""
        spec, _, more = self.neuron.arguments()
        return spec, f"{more} {self.counts} {self.operands} {self.recompute:d}"

    @staticmethod
    @lru_cache(maxsize=1024)
    def of(spec: str, more: str) -> "LinearOptions":
        """Inverts `arguments`."""
        neuron, counts, operands, recompute = more.rsplit(" ", 3)
        return LinearOptions(
            NeuronOptions.of(spec, -1, neuron), operands, int(counts), recompute == "1"
        )


@dataclass(frozen=True)
class Saved:
    """Tensors that a forward pass saves for its backward pass; None if not saved."""

    x: Tensor | None
    """The input (T, B, K), unless it is packed."""
    packed: Tensor | None
    """The input in the format of `bits.pack`, or as int64 words of `linear.launch`."""
    currents: Tensor | None
    """The neuron's currents; if the input is in words, its potentials before the spike."""
    checkpoints: Tensor | None
    operands: Operands | None = None
    """Operands from forward, reused by backward; if None, backward looks them up or splits
    again."""

    @property
    def potentials(self) -> Tensor | None:
        """`currents` if they are potentials."""
        return (
            self.currents if self.packed is not None and self.packed.dtype == torch.int64 else None
        )
