"""Adapters that get time or the batch axis wrong. Each wraps the right loop; every class says
what is wrong with it."""

import torch
from around import batch_scanned, items_mix, looks_ahead, pointwise
from bases import Around


class Late(Around):
    """Hands out every spike one step late."""

    name = "wrong-late"

    @staticmethod
    def around(right, currents):
        spikes = right(currents)
        return torch.cat([torch.zeros_like(spikes[:1]), spikes[:-1]])


class LateInput(Around):
    """Feeds every current one step late."""

    name = "wrong-late-input"

    @staticmethod
    def around(right, currents):
        return right(torch.cat([torch.zeros_like(currents[:1]), currents[:-1]]))


class BatchScanned(Around):
    """Scans the batch axis as if it were time."""

    name = "wrong-batch-scanned"
    around = staticmethod(batch_scanned)


class Reshaped(Around):
    """Reshapes (T, B, N) to (B, T, N) where it should transpose."""

    name = "wrong-reshaped"

    @staticmethod
    def around(right, currents):
        steps, items, neurons = currents.shape
        return (
            right(currents.reshape(items, steps, neurons).transpose(0, 1))
            .transpose(0, 1)
            .reshape(currents.shape)
        )


class Pointwise(Around):
    """Treats every step as the first: no memory."""

    name = "wrong-pointwise"
    around = staticmethod(pointwise)


class Reversed(Around):
    """Runs time backwards."""

    name = "wrong-reversed"

    @staticmethod
    def around(right, currents):
        return right(currents.flip(0)).flip(0)


class LooksAhead(Around):
    """Adds a thousandth of the next step's current."""

    name = "wrong-looks-ahead"
    around = staticmethod(looks_ahead(1e-3))


class ItemsMix(Around):
    """Adds a hundredth of the mean current of the batch."""

    name = "wrong-items-mix"
    around = staticmethod(items_mix(1e-2))


class FirstStepsOnly(Around):
    """Is right for 37 steps, the small problem's, and starts again from rest after each 37."""

    name = "wrong-first-steps-only"

    @staticmethod
    def around(right, currents):
        return torch.cat([right(part) for part in currents.split(37)])
