"""Adapters that are right when they are proved, and wrong in what is timed. Every class says
what is wrong with it."""

import torch
from bases import OfLayer
from torch import Tensor

from snnbench.adapters.base.torch_network import LinearNeuron
from snnbench.adapters.base.torch_program import TorchProgram
from snnbench.adapters.torch_loop import TorchLoop


class Driven(TorchLoop):
    """The right network, driven by a program of the adapter's own."""

    driver: type[TorchProgram]

    def program(self, case, network):
        return self.driver(self, case, network)


class ForwardForStep(TorchProgram):
    def step(self, x, upstream):
        return self.forward(x)


class NoBackward(Driven):
    """Does nothing but the forward in a step."""

    name = "wrong-no-backward"
    driver = ForwardForStep


class Frozen(TorchProgram):
    def step(self, x, upstream):
        self.release()
        result = self.backward(self.forward(x), upstream)
        result.updated = self.parameters
        return result


class NoUpdate(Driven):
    """Leaves the parameters as they are in a step."""

    name = "wrong-no-update"
    driver = Frozen


class ConstantInput(TorchProgram):
    def step(self, x, upstream):
        self.release()
        with self.autocast:
            borders, output = self.call(x.detach(), True)
        output.backward(upstream)
        self.trainer.update()
        result = super().forward(x)
        result.borders, result.output, result.updated = borders, output, self.parameters
        return result


class StepWithoutInputGradient(Driven):
    """Gives the input no gradient in a step."""

    name = "wrong-step-without-input-gradient"
    driver = ConstantInput


class ShortUpstream(TorchProgram):
    def step(self, x, upstream):
        return super().step(x, upstream.bfloat16().float())


class StepInBf16(Driven):
    """Rounds the upstream gradient of a step to bf16."""

    name = "wrong-step-in-bf16"
    driver = ShortUpstream


class HalfRate(TorchProgram):
    def step(self, x, upstream):
        starts = [leaf.detach().clone() for leaf in self.leaves]
        result = super().step(x, upstream)
        with torch.no_grad():
            for leaf, start in zip(self.leaves, starts, strict=True):
                leaf.copy_((leaf + start) / 2)
        return result


class HalfAnUpdate(Driven):
    """Takes half of the step that was asked for."""

    name = "wrong-half-an-update"
    driver = HalfRate


class Undone(TorchProgram):
    def step(self, x, upstream):
        result = super().step(x, upstream)
        for norm in self.network.norms().values():
            norm.reset_running_stats()
        return result


class StepWithoutStatistics(Driven):
    """Leaves running statistics as they were in a step."""

    name = "wrong-step-without-statistics"
    driver = Undone


class InTraining(TorchProgram):
    def inference(self, x):
        self.network.train()
        with torch.no_grad(), self.unchanged_statistics():
            return self._result(x, *self.call(x, False))


class InferenceOfTheBatch(Driven):
    """Runs a timed inference in training mode."""

    name = "wrong-inference-of-the-batch"
    driver = InTraining


class Packed(LinearNeuron):
    """Copies its weight at the first call, and never looks again."""

    def forward(self, x: Tensor) -> Tensor:
        if not hasattr(self, "copy"):
            self.copy = self.linear.weight.detach().clone()
        weight = self.copy + (self.linear.weight - self.linear.weight.detach())
        return self.neuron(torch.nn.functional.linear(x, weight, self.linear.bias))


class WeightsPackedOnce(OfLayer):
    """Copies its weights at the first call and never looks at them again."""

    name = "wrong-weights-packed-once"
    kind = Packed


class Remembers(LinearNeuron):
    """Answers what it answered to the input of the same `key`."""

    def __init__(self, *given):
        super().__init__(*given)
        self.answers = {}

    def forward(self, x):
        spikes = super().forward(x)
        known = self.answers.setdefault((self.key(x), x.shape), spikes.detach().clone())
        return known + (spikes - spikes.detach())

    def key(self, x):
        return x.data_ptr()


class AnswersByAddress(OfLayer):
    """Keeps the answer to every address that it was ever given."""

    name = "wrong-answers-by-address"
    kind = Remembers


class RemembersSums(Remembers):
    def key(self, x):
        return int(x.sum())


class AnswersBySum(OfLayer):
    """Keeps the answer to every number of spikes that it was ever given."""

    name = "wrong-answers-by-sum"
    kind = RemembersSums


class LeaksAtTimes(torch.nn.Module):
    def __init__(self, right):
        super().__init__()
        self.right, self.calls = right, 0

    def forward(self, currents):
        self.calls += 1
        started = currents.new_zeros(currents.shape)
        started[0] = 0.5 * (self.calls > 40 and self.calls % 3 == 0)
        return self.right(currents + started)


class LeaksEveryThirdCall(TorchLoop):
    """Starts every third call from a potential, once it has been called forty times."""

    name = "wrong-leaks-every-third-call"

    def neuron(self, spec, features):
        return LeaksAtTimes(super().neuron(spec, features))


class Lazy(Tensor):
    """A tensor with values that may be computed later."""


class LazyInference(TorchLoop):
    """Hands out a tensor of another kind, which may compute its values when they are asked for."""

    name = "wrong-lazy-inference"

    def neuron(self, spec, features):
        return Late(super().neuron(spec, features))


class Late(torch.nn.Module):
    def __init__(self, right):
        super().__init__()
        self.right = right

    def forward(self, currents):
        spikes = self.right(currents)
        return spikes if torch.is_grad_enabled() else spikes.as_subclass(Lazy)


class Sparing(TorchProgram):
    def call(self, x, every_border):
        if every_border or not self.network.training:
            return super().call(x, every_border)
        borders, output = super().call(x[: len(x) // 4], every_border)
        rest = torch.zeros_like(output[:1]).expand(len(x) - len(output), *output.shape[1:])
        return {name: torch.cat([spikes, rest]) for name, spikes in borders.items()}, torch.cat(
            [output, rest]
        )


class WeighsAQuarter(Driven):
    """Computes a quarter of the time steps while memory is weighed."""

    name = "wrong-while-weighed"
    driver = Sparing
