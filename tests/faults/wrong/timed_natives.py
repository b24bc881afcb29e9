"""Native neurons that are right when they are proved, and wrong in what is timed. Every class
says how."""

import torch
from natives import Right

from snnbench.adapters.base.torch_program import TorchProgram


class Driven(Right):
    """The right native neuron, driven by a program of the adapter's own."""

    def program(self, case, network):
        return self.driver(self, case, network)


class ShortUpstream(TorchProgram):
    def step(self, x, upstream):
        return super().step(x, upstream.bfloat16().float())


class NativeStepInBf16(Driven):
    """Rounds the upstream gradient of a step to bf16."""

    name = "wrong-native-step-in-bf16"
    driver = ShortUpstream


class ConstantInput(TorchProgram):
    def backward(self, result, upstream):
        super().backward(result, upstream)
        self.calls = getattr(self, "calls", 0) + 1
        result.input_gradient = None if self.calls == 41 else result.input_gradient
        return result


class NativeWithoutInputGradient(Driven):
    """Gives the input no gradient in the call that is looked at."""

    name = "wrong-native-without-input-gradient"
    driver = ConstantInput


class Flipping(TorchProgram):
    def inference(self, x):
        result = super().inference(x)
        flipped = torch.rand(result.output.shape, generator=torch.Generator().manual_seed(3)) < 0.01
        result.output = torch.where(flipped, 1 - result.output, result.output)
        result.borders = dict.fromkeys(result.borders, result.output)
        return result


class NativeFlipsAHundredth(Driven):
    """Decides one of a hundred spikes the other way in an inference."""

    name = "wrong-native-flips-a-hundredth"
    driver = Flipping
