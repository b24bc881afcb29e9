"""Adapters of stacks in which something is wrong between or behind the layers. Every class says
what is wrong with it."""

from dataclasses import replace

import torch
from state import FromState, carried

from snnbench.adapters.base.torch_program import TorchProgram
from snnbench.adapters.torch_loop import TorchLoop

FIRST, SECOND = ("linear1", "neuron1"), ("linear2", "neuron2")


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

    def modules(self, case, network):
        spec = case.neuron.with_reset(self.reset if case.neuron.reset != self.reset else "soft")
        other = self.layer(spec, case.neurons, case.neurons, case.bias, case.construction)
        return super().modules(case, network) | {SECOND: other}


class SecondCarriesOver(TorchLoop):
    """Its second layer starts where the previous call ended."""

    name = "wrong-second-carries-over"

    def modules(self, case, network):
        modules = super().modules(case, network)
        modules[SECOND].neuron = FromState(case.neuron, modules[SECOND].neuron, carried(1.0))
        return modules


class Exchanged(TorchProgram):
    def __init__(self, adapter, case, network):
        super().__init__(adapter, case, network)
        parts = self.network.parts
        modules = [part.module for part in reversed(parts)]
        self.network.parts = tuple(
            replace(part, module=module) for part, module in zip(parts, modules, strict=True)
        )


class WeightsExchanged(TorchLoop):
    """Its first layer has the weights of its last."""

    name = "wrong-weights-exchanged"

    def program(self, case, network):
        return Exchanged(self, case, network)


class SecondSkipped(TorchLoop):
    """Its second layer hands on what it is given."""

    name = "wrong-second-skipped"

    def modules(self, case, network):
        modules = super().modules(case, network)
        return modules | {SECOND: Skipped(modules[SECOND])}


class Skipped(torch.nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.linear = layer.linear

    def forward(self, x):
        return x + 0 * self.linear(x)


class HiddenInBf16(TorchLoop):
    """Hands spikes on in bf16, in which they are exact and their gradients are not."""

    name = "wrong-hidden-in-bf16"

    def modules(self, case, network):
        modules = super().modules(case, network)
        return modules | {FIRST: Between(modules[FIRST], self.change)}

    def change(self, spikes):
        return spikes.bfloat16()


class HiddenInBytes(HiddenInBf16):
    """Hands spikes on in bytes, which no gradient passes."""

    name = "wrong-hidden-in-bytes"

    def change(self, spikes):
        return spikes.to(torch.uint8)


class Given(torch.nn.Module):
    """A layer, and what is done to the spikes that it is given."""

    def __init__(self, layer, change):
        super().__init__()
        self.layer, self.change = layer, change
        self.linear = layer.linear

    def forward(self, x):
        return self.layer(self.change(x))


class SecondOneStepLate(TorchLoop):
    """Gives its second layer the spikes of the step before, as layers updated at once do."""

    name = "wrong-second-one-step-late"

    def modules(self, case, network):
        modules = super().modules(case, network)
        return modules | {SECOND: Given(modules[SECOND], self.change)}

    @staticmethod
    def change(spikes):
        return torch.cat([torch.zeros_like(spikes[:1]), spikes[:-1]])


class SharedState(TorchLoop):
    """Its second layer starts from the state in which its first one ended: both have one neuron."""

    name = "wrong-shared-state"

    def modules(self, case, network):
        modules = super().modules(case, network)
        first = FromState(case.neuron, modules[FIRST].neuron, lambda after: 0.0)
        modules[FIRST].neuron = first
        modules[SECOND].neuron = FromState(
            case.neuron, modules[SECOND].neuron, lambda after: first.after
        )
        return modules


class HiddenAveraged(SecondOneStepLate):
    """Gives its second layer the mean spikes of the batch."""

    name = "wrong-hidden-averaged"

    @staticmethod
    def change(spikes):
        return spikes.mean(1, keepdim=True).expand_as(spikes)
