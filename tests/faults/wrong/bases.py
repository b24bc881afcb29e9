"""Right adapters in parts, so that a wrong one says no more than what is wrong with it."""

import torch

from snnbench.adapters import torch_spike
from snnbench.adapters.base.spikes import reset
from snnbench.adapters.base.time_loop import Uncut
from snnbench.adapters.base.torch_network import LinearNeuron
from snnbench.adapters.torch_loop import TorchLoop


class Around(TorchLoop):
    """The right neuron, with something done `around` it: (right, currents) → spikes."""

    def neuron(self, spec, features):
        return Uncut(super().neuron(spec, features), self.around)


class OfLayer(TorchLoop):
    """The right neuron behind a linear of another `kind`."""

    kind = LinearNeuron

    def layer(self, spec, inputs, outputs, bias, construction):
        return self.kind(inputs, outputs, bias, self.neuron(spec, (outputs,)))


class Multiplied(LinearNeuron):
    """A linear layer with a changeable weight and input, then the neuron."""

    def forward(self, x):
        return self.neuron(
            torch.nn.functional.linear(self.given(x), self.weight(), self.linear.bias)
        )

    def given(self, x):
        return x

    def weight(self):
        return self.linear.weight


class Recurrence(torch.nn.Module):
    """The right neuron, step by step."""

    def __init__(self, spec):
        super().__init__()
        self.spec, self.spike = spec, torch_spike(spec).apply

    def forward(self, currents):
        after, spikes = torch.zeros_like(currents[0]), []
        for t, current in enumerate(currents.unbind(0)):
            v = self.charged(after, current, t)
            spikes.append(self.fired(v, spikes))
            after = self.reset(v, spikes)
        return torch.stack(spikes)

    def charged(self, after, current, t):
        return self.spec.decay * after + current

    def fired(self, v, spikes):
        return self.spike(v)

    def reset(self, v, spikes):
        return reset(self.spec, v, spikes[-1], torch.Tensor.detach)


class OfLoop(TorchLoop):
    """The right linear before a loop of another `kind`."""

    kind = Recurrence

    def neuron(self, spec, features):
        return self.kind(spec)


def straight(exact, changed):
    """`changed` in the forward, with the gradient of `exact`."""
    return exact + (changed - exact).detach()


def with_gradient(change, tensor):
    """`tensor`; its gradient goes through `change` on its way back."""

    class Changed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, given):
            return given.view_as(given)

        @staticmethod
        def backward(ctx, gradient):
            return change(gradient)

    return Changed.apply(tensor)
