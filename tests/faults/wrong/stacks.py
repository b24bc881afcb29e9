"""Adapters of stacks in which something is wrong between or behind the layers. Every class says what is wrong with it."""

import torch

from snnbench.adapters.base.torch_program import TorchProgram
from snnbench.adapters.torch_loop import TorchLoop


class Between(torch.nn.Module):
    """A layer, and what is done to its spikes."""

    def __init__(self, layer, change):
        super().__init__()
        self.layer, self.change = layer, change
        self.linear = layer.linear

    def forward(self, x):
        return self.change(self.layer(x))


class SecondWithoutReset(TorchLoop):
    """Its second layer does not reset."""

    name = "wrong-second-without-reset"
    reset = "none"

    def stack(self, case):
        layers = super().stack(case)
        spec = case.neuron.with_reset(self.reset if case.neuron.reset != self.reset else "soft")
        layers[1] = self.layer(spec, case.neurons, case.neurons, case.bias, case.construction)
        return layers


class SecondCarriesOver(TorchLoop):
    """Its second layer starts where the previous call ended."""

    name = "wrong-second-carries-over"

    def stack(self, case):
        layers = super().stack(case)
        layers[1].neuron = Carried(case.neuron, layers[1].neuron)
        return layers


class Carried(torch.nn.Module):
    def __init__(self, spec, right):
        super().__init__()
        self.spec, self.right, self.after = spec, right, 0.0

    def forward(self, currents):
        start, v = self.after, self.after
        spikes = self.right(torch.cat([currents[:1] + self.spec.decay * start, currents[1:]]))
        for current, s in zip(currents.detach(), spikes.detach(), strict=True):
            v = self.spec.decay * v + current
            v = {"soft": v - self.spec.threshold * s, "hard": v * (1 - s), "none": v}[self.spec.reset]
        self.after = v
        return spikes


class Exchanged(TorchProgram):
    def __init__(self, adapter, case):
        super().__init__(adapter, case)
        self.calls.reverse()


class WeightsExchanged(TorchLoop):
    """Its first layer has the weights of its last."""

    name = "wrong-weights-exchanged"

    def program(self, case):
        return Exchanged(self, case)


class SecondSkipped(TorchLoop):
    """Its second layer hands on what it is given."""

    name = "wrong-second-skipped"

    def stack(self, case):
        layers = super().stack(case)
        layers[1] = Skipped(layers[1])
        return layers


class Skipped(torch.nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.linear = layer.linear

    def forward(self, x):
        return x + 0 * self.linear(x)


class HiddenInBf16(TorchLoop):
    """Hands spikes on in bf16, in which they are exact and their gradients are not."""

    name = "wrong-hidden-in-bf16"

    def stack(self, case):
        first, *others = super().stack(case)
        return [Between(first, self.change), *others]

    def change(self, spikes):
        return spikes.bfloat16()


class HiddenInBytes(HiddenInBf16):
    """Hands spikes on in bytes, which no gradient passes."""

    name = "wrong-hidden-in-bytes"

    def change(self, spikes):
        return spikes.to(torch.uint8)
