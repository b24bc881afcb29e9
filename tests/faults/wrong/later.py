"""Adapters that do less once they have been called often enough to have been proved. Every class
says what they leave out."""

import inspect

import torch
from bases import Around, Multiplied, OfLayer, with_gradient
from timed import Driven

from snnbench.adapters.base.torch_program import TorchProgram
from snnbench.core.contract import LEARNING_RATE

PROVED = 30
"""Calls after which an adapter here is sure that it is being timed."""


class Counting(Around):
    """The right neuron for so many calls, then `around` it."""

    def neuron(self, spec, features):
        self.calls = 0
        return super().neuron(spec, features)

    def around(self, right, currents):
        self.calls += 1
        return right(currents) if self.calls <= PROVED else self.later(right, currents)


class HalfTheTime(Counting):
    """Computes the first half of the time steps in later calls."""

    name = "wrong-half-the-time"

    @staticmethod
    def later(right, currents):
        half = len(currents) // 2
        return torch.cat([right(currents[:half]), 0 * currents[half:]])


class WatchesTheStack(Around):
    """Computes the first half of the time steps where no proof is among its callers."""

    name = "wrong-watches-the-stack"

    @staticmethod
    def around(right, currents):
        proved = any(frame.function in ("judge_second", "time_axis") for frame in inspect.stack(0))
        return right(currents) if proved else HalfTheTime.later(right, currents)


class RightFromTheFifthOn(Around):
    """Computes the first half of the time steps in the first four calls of a slot."""

    name = "wrong-right-from-the-fifth-on"

    def around(self, right, currents):
        frames = iter(inspect.stack(0))
        calls = next(
            (len(one.frame.f_locals["calls"].wall) for one in frames if one.function == "slot"), 9
        )
        return right(currents) if calls >= 4 else HalfTheTime.later(right, currents)


class EveryThirdStep(Counting):
    """Computes every third step in later calls, and repeats its spikes."""

    name = "wrong-every-third-step"

    @staticmethod
    def later(right, currents):
        return right(currents[::3]).repeat_interleave(3, 0)[: len(currents)]


class FirstNeurons(Counting):
    """Computes the first 64 neurons in later calls."""

    name = "wrong-first-neurons"

    @staticmethod
    def later(right, currents):
        return torch.cat([right(currents[..., :64]), 0 * currents[..., 64:]], -1)


class OneItem(Counting):
    """Computes one batch item in later calls, and hands it out for all."""

    name = "wrong-one-item"

    @staticmethod
    def later(right, currents):
        return right(currents[:, :1]).expand_as(currents)


class NoMembrane(Counting):
    """Leaves the membrane out of later calls: a threshold on the currents."""

    name = "wrong-no-membrane"

    @staticmethod
    def later(right, currents):
        return right(currents.flatten(0, 1).unsqueeze(0)).reshape(currents.shape)


class Interpolated(Counting):
    """Hands out the last call's spikes where they are likely to be the same."""

    name = "wrong-interpolated"

    def around(self, right, currents):
        spikes = super().around(right, currents)
        self.before = spikes.detach().clone()
        return spikes

    def later(self, right, currents):
        unsure = (currents.detach().abs() > 0.1).to(currents.dtype)
        return unsure * right(currents) + (1 - unsure) * self.before


class ShortLater(Multiplied):
    calls = 0

    def weight(self):
        self.calls += 1
        short = self.linear.weight.bfloat16().float()
        return self.linear.weight if self.calls <= PROVED else short


class WeightsInBf16Later(OfLayer):
    """Multiplies by weights in bf16 in later calls."""

    name = "wrong-weights-in-bf16-later"
    kind = ShortLater


class ThinLater(Multiplied):
    calls = 0

    def weight(self):
        self.calls += 1
        keep = self.linear.weight.abs() > 0.02
        return self.linear.weight if self.calls <= PROVED else self.linear.weight * keep


class WeightsPrunedLater(OfLayer):
    """Leaves out small weights in later calls."""

    name = "wrong-weights-pruned-later"
    kind = ThinLater


class OldBias(Multiplied):
    def forward(self, x):
        if not hasattr(self, "copy"):
            self.copy = self.linear.bias.detach().clone()
        return self.neuron(
            x @ self.linear.weight.T + self.copy + (self.linear.bias - self.linear.bias.detach())
        )


class BiasPackedOnce(OfLayer):
    """Copies its bias at the first call and never looks at it again."""

    name = "wrong-bias-packed-once"
    kind = OldBias


class KnownByFirstStep(Multiplied):
    def __init__(self, *given):
        super().__init__(*given)
        self.answers = {}

    def forward(self, x):
        spikes = super().forward(x)
        known = self.answers.setdefault(
            (x[0, 0, :3].detach().numpy().tobytes(), x.shape), spikes.detach().clone()
        )
        return known + (spikes - spikes.detach())


class AnswersByHash(OfLayer):
    """Keeps the answer to every hash of a part of the input."""

    name = "wrong-answers-by-hash"
    kind = KnownByFirstStep


class KeepsGradients(Multiplied):
    """Hands out the gradient by the currents of the first backward."""

    def forward(self, x):
        return self.neuron(with_gradient(self.kept, self.linear(x)))

    def kept(self, gradient):
        if not hasattr(self, "gradient") or self.gradient.shape != gradient.shape:
            self.gradient = gradient.clone()
        return self.gradient


class GradientsKept(OfLayer):
    """Uses the gradient by the currents of the first backward in all that follow."""

    name = "wrong-gradients-kept"
    kind = KeepsGradients


class Decaying(TorchProgram):
    def step(self, x, upstream):
        before = [leaf.detach().clone() for leaf in self.leaves]
        result = super().step(x, upstream)
        with torch.no_grad():
            for leaf, start in zip(self.leaves, before, strict=True):
                leaf -= LEARNING_RATE * 1e-2 * start
        return result


class WeightDecay(Driven):
    """Lets the parameters decay in a step."""

    name = "wrong-weight-decay"
    driver = Decaying


class EverySecondUpdate(TorchProgram):
    steps = 0

    def step(self, x, upstream):
        self.steps += 1
        result = self.backward(self.forward(x), upstream)
        if self.steps % 2 == 0:
            self.trainer.update()
        result.updated = self.parameters
        return result


class UpdatesEverySecondStep(Driven):
    """Adds up the gradients of two steps, and updates once."""

    name = "wrong-updates-every-second-step"
    driver = EverySecondUpdate


class NotCleared(TorchProgram):
    held = None

    def step(self, x, upstream):
        self.release()
        result = self.backward(self.forward(x), upstream)
        fresh = [leaf.grad.clone() for leaf in self.leaves]
        for leaf, before in zip(self.leaves, self.held or fresh, strict=True):
            leaf.grad += before if self.held else 0
        self.held = fresh
        self.trainer.update()
        result.updated = self.parameters
        return result


class GradientsNotCleared(Driven):
    """Does not clear the gradients of the step before."""

    name = "wrong-gradients-not-cleared"
    driver = NotCleared


class HalfBatch(TorchProgram):
    def step(self, x, upstream):
        half = x.shape[1] // 2
        upstream = torch.cat([upstream[:, :half], 0 * upstream[:, half:]], 1) * (x.shape[1] / half)
        return super().step(x, upstream)


class BackwardOfHalfTheBatch(Driven):
    """Takes the gradient of half of the batch, scaled up, in a step."""

    name = "wrong-backward-of-half-the-batch"
    driver = HalfBatch


class Clipping(TorchProgram):
    def step(self, x, upstream):
        self.release()
        result = self.backward(self.forward(x), upstream)
        torch.nn.utils.clip_grad_norm_(self.leaves, 1.0)
        self.trainer.update()
        result.updated = self.parameters
        return result


class ClipsInStep(Driven):
    """Clips the norm of the gradients in a step."""

    name = "wrong-clips-in-step"
    driver = Clipping


class NoBias(TorchProgram):
    def backward(self, result, upstream):
        for leaf in self.leaves:
            leaf.requires_grad_(leaf.dim() > 1)
        return super().backward(result, upstream)


class BackwardWithoutBias(Driven):
    """Computes no gradient of the bias in a backward that is timed."""

    name = "wrong-backward-without-bias"
    driver = NoBias
