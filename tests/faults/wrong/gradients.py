"""Adapters with right spikes and wrong gradients. Every class says what is wrong with it."""

from dataclasses import replace

import torch
from bases import OfLayer, OfLoop, Recurrence

from snnbench.adapters.base.torch_network import LinearNeuron
from snnbench.adapters.torch_loop import TorchLoop


class DetachExchanged(TorchLoop):
    """Detaches the reset where it should be attached, and the reverse."""

    name = "wrong-detach-exchanged"

    def neuron(self, spec, features):
        return super().neuron(replace(spec, detach_reset=not spec.detach_reset), features)


class OtherSurrogate(TorchLoop):
    """Uses the derivative of atan instead of superspike."""

    name = "wrong-other-surrogate"

    def neuron(self, spec, features):
        return super().neuron(replace(spec, surrogate="atan"), features)


class Steeper(TorchLoop):
    """Uses a surrogate slope of 1.0001 instead of 1."""

    name = "wrong-steeper"

    def neuron(self, spec, features):
        return super().neuron(replace(spec, slope=1.0001 * spec.slope), features)


class Cut(Recurrence):
    def charged(self, after, current, t):
        return super().charged(after.detach() if t % 32 == 0 else after, current, t)


class CutEvery32(OfLoop):
    """Cuts the gradient through time every 32 steps."""

    name = "wrong-cut-every-32"
    kind = Cut


class ConstantBias(LinearNeuron):
    def forward(self, x):
        bias = None if self.linear.bias is None else self.linear.bias.detach()
        return self.neuron(torch.nn.functional.linear(x, self.linear.weight, bias))


class BiasGradientMissing(OfLayer):
    """Does not give the bias a gradient."""

    name = "wrong-bias-gradient-missing"
    kind = ConstantBias


class ConstantInput(LinearNeuron):
    def forward(self, x):
        return super().forward(x.detach())


class InputGradientMissing(OfLayer):
    """Does not give the input a gradient."""

    name = "wrong-input-gradient-missing"
    kind = ConstantInput


class ScaledInputGradient(LinearNeuron):
    def forward(self, x):
        if x.requires_grad:
            x = x.view_as(x)
            x.register_hook(lambda gradient: 1.0001 * gradient)
        return super().forward(x)


class InputGradientOff(OfLayer):
    """Gives 1.0001 times the gradient of the input."""

    name = "wrong-input-gradient-off"
    kind = ScaledInputGradient
