"""Adapters with right spikes and wrong gradients. Every class says what is wrong with it."""

from dataclasses import replace

import torch

from snnbench.adapters import torch_spike
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


class CutEvery32(TorchLoop):
    """Cuts the gradient through time every 32 steps."""

    name = "wrong-cut-every-32"

    def neuron(self, spec, features):
        return Cut(spec)


class Cut(torch.nn.Module):
    def __init__(self, spec):
        super().__init__()
        self.spec, self.spike = spec, torch_spike(spec).apply

    def forward(self, currents):
        after, spikes = torch.zeros_like(currents[0]), []
        for t, current in enumerate(currents.unbind(0)):
            v = self.spec.decay * (after.detach() if t % 32 == 0 else after) + current
            spikes.append(self.spike(v))
            s = spikes[-1].detach() if self.spec.detach_reset else spikes[-1]
            after = {"soft": v - self.spec.threshold * s, "hard": v * (1 - s), "none": v}[self.spec.reset]
        return torch.stack(spikes)


class BiasGradientMissing(TorchLoop):
    """Does not give the bias a gradient."""

    name = "wrong-bias-gradient-missing"

    def layer(self, spec, inputs, outputs, bias, construction):
        return ConstantBias(inputs, outputs, bias, self.neuron(spec, (outputs,)))


class ConstantBias(LinearNeuron):
    def forward(self, x):
        bias = None if self.linear.bias is None else self.linear.bias.detach()
        return self.neuron(torch.nn.functional.linear(x, self.linear.weight, bias))


class InputGradientMissing(TorchLoop):
    """Does not give the input a gradient."""

    name = "wrong-input-gradient-missing"

    def layer(self, spec, inputs, outputs, bias, construction):
        return ConstantInput(inputs, outputs, bias, self.neuron(spec, (outputs,)))


class ConstantInput(LinearNeuron):
    def forward(self, x):
        return super().forward(x.detach())


class InputGradientOff(TorchLoop):
    """Gives 1.0001 times the gradient of the input."""

    name = "wrong-input-gradient-off"

    def layer(self, spec, inputs, outputs, bias, construction):
        return ScaledInputGradient(inputs, outputs, bias, self.neuron(spec, (outputs,)))


class ScaledInputGradient(LinearNeuron):
    def forward(self, x):
        if x.requires_grad:
            x = x.view_as(x)
            x.register_hook(lambda gradient: 1.0001 * gradient)
        return super().forward(x)
