"""Adapters that get time or the batch axis wrong. Each wraps the right loop; every class says what is wrong with it."""

import torch

from snnbench.adapters.torch_loop import TorchLoop


class Around(torch.nn.Module):
    """The right neuron with something done to its currents (T, B, N) or its spikes."""

    def __init__(self, right, around):
        super().__init__()
        self.right, self.around = right, around

    def forward(self, currents):
        return self.around(self.right, currents)


class Late(TorchLoop):
    """Hands out every spike one step late."""

    name = "wrong-late"

    def neuron(self, spec, features):
        return Around(super().neuron(spec, features), self.around)

    @staticmethod
    def around(right, currents):
        spikes = right(currents)
        return torch.cat([torch.zeros_like(spikes[:1]), spikes[:-1]])


class LateInput(Late):
    """Feeds every current one step late."""

    name = "wrong-late-input"

    @staticmethod
    def around(right, currents):
        return right(torch.cat([torch.zeros_like(currents[:1]), currents[:-1]]))


class BatchScanned(Late):
    """Scans the batch axis as if it were time."""

    name = "wrong-batch-scanned"

    @staticmethod
    def around(right, currents):
        return right(currents.transpose(0, 1)).transpose(0, 1)


class Reshaped(Late):
    """Reshapes (T, B, N) to (B, T, N) where it should transpose."""

    name = "wrong-reshaped"

    @staticmethod
    def around(right, currents):
        steps, items, neurons = currents.shape
        return right(currents.reshape(items, steps, neurons).transpose(0, 1)).transpose(0, 1).reshape(currents.shape)


class Pointwise(Late):
    """Treats every step as the first: no memory."""

    name = "wrong-pointwise"

    @staticmethod
    def around(right, currents):
        return right(currents.flatten(0, 1).unsqueeze(0)).reshape(currents.shape)


class Reversed(Late):
    """Runs time backwards."""

    name = "wrong-reversed"

    @staticmethod
    def around(right, currents):
        return right(currents.flip(0)).flip(0)


class LooksAhead(Late):
    """Adds a thousandth of the next step's current."""

    name = "wrong-looks-ahead"

    @staticmethod
    def around(right, currents):
        return right(currents + 1e-3 * torch.cat([currents[1:], torch.zeros_like(currents[:1])]))


class ItemsMix(Late):
    """Adds a hundredth of the mean current of the batch."""

    name = "wrong-items-mix"

    @staticmethod
    def around(right, currents):
        return right(currents + 1e-2 * currents.mean(1, keepdim=True))


class FirstStepsOnly(Late):
    """Is right for 37 steps, the small problem's, and starts again from rest after each 37."""

    name = "wrong-first-steps-only"

    @staticmethod
    def around(right, currents):
        return torch.cat([right(part) for part in currents.split(37)])
