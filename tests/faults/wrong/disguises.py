"""Right adapters in disguise: odd spellings of the network that must pass. Every class says what
is odd about it."""

import torch
from bases import Around, Multiplied, OfLayer, OfLoop, Recurrence
from torch.utils.checkpoint import checkpoint

from snnbench.adapters.base.time_loop import TimeLoop
from snnbench.adapters.torch_loop import TorchLoop


class SpikesAsFloat64(Around):
    """Hands out its spikes as float64."""

    name = "right-spikes-as-float64"

    @staticmethod
    def around(right, currents):
        return right(currents).double()


class SpikesAsBool(Around):
    """Hands out its spikes as truth values where no gradient is asked for."""

    name = "right-spikes-as-bool"

    @staticmethod
    def around(right, currents):
        spikes = right(currents)
        return spikes if torch.is_grad_enabled() else spikes.bool()


class NotContiguous(Around):
    """Hands out spikes that do not lie one behind the other."""

    name = "right-not-contiguous"

    @staticmethod
    def around(right, currents):
        return right(currents.permute(0, 2, 1).contiguous()).permute(0, 2, 1)


class InChunks(TorchLoop):
    """Runs its loop in chunks of seven steps."""

    name = "right-in-chunks"

    def neuron(self, spec, features):
        return Chunks(super().neuron(spec, features))


class Chunks(TimeLoop):
    def __init__(self, right):
        super().__init__()
        self.right = right

    def scan(self, currents, state):
        spikes = []
        for chunk in currents.split(7):
            part, state = self.right.scan(chunk, state)
            spikes.append(part)
        return torch.cat(spikes), state


class Recomputes(Around):
    """Keeps its input alone, and runs its loop again in the backward."""

    name = "right-recomputes"

    @staticmethod
    def around(right, currents):
        return checkpoint(right, currents, use_reentrant=False)


class ItemByItem(Around):
    """Runs its loop once for every batch item."""

    name = "right-item-by-item"

    @staticmethod
    def around(right, currents):
        return torch.cat([right(item) for item in currents.split(1, 1)], 1)


class Backwards(Around):
    """Computes its neurons in the reverse order, and puts them right."""

    name = "right-backwards"

    @staticmethod
    def around(right, currents):
        return right(currents.flip(2)).flip(2)


class Packed(Multiplied):
    def forward(self, x):
        packed = self.linear.weight.T.contiguous().clone()
        bias = 0 if self.linear.bias is None else self.linear.bias.clone()
        return self.neuron(x.flatten(0, 1).matmul(packed).unflatten(0, x.shape[:2]) + bias)


class PacksEachCall(OfLayer):
    """Copies its weights in another order in every call."""

    name = "right-packs-each-call"
    kind = Packed


class Split(Multiplied):
    def forward(self, x):
        half = x.shape[-1] // 2
        weight = self.linear.weight
        currents = x[..., half:] @ weight[:, half:].T + x[..., :half] @ weight[:, :half].T
        return self.neuron(currents if self.linear.bias is None else self.linear.bias + currents)


class TwoProducts(OfLayer):
    """Multiplies the two halves of its input one after the other."""

    name = "right-two-products"
    kind = Split


class WithOnes(Multiplied):
    def forward(self, x):
        if self.linear.bias is None:
            return super().forward(x)
        ones = torch.ones_like(x[..., :1])
        return self.neuron(
            torch.cat([x, ones], -1)
            @ torch.cat([self.linear.weight, self.linear.bias[:, None]], 1).T
        )


class BiasAsWeight(OfLayer):
    """Takes its bias for the weight of one more input, which is always one."""

    name = "right-bias-as-weight"
    kind = WithOnes


class Doubled(Multiplied):
    def forward(self, x):
        bias = None if self.linear.bias is None else self.linear.bias.double()
        return self.neuron(
            torch.nn.functional.linear(x.double(), self.linear.weight.double(), bias).float()
        )


class ProductsInFloat64(OfLayer):
    """Multiplies in float64."""

    name = "right-products-in-float64"
    kind = Doubled


class Incremental(Recurrence):
    def charged(self, after, current, t):
        return current - (1 - self.spec.decay) * after + after


class OtherOrder(OfLoop):
    """Adds up the potential in another order: v + (x − (1 − decay)·v)."""

    name = "right-other-order"
    kind = Incremental


class Viewed(Multiplied):
    def given(self, x):
        return x.transpose(0, 1).contiguous().transpose(0, 1)


class ThroughViews(OfLayer):
    """Works on views of a copy that has the batch as its first axis."""

    name = "right-through-views"
    kind = Viewed
