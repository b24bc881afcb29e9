"""Adapters of stacks that are right when they are proved and wrong in timed inference. Every
class says how."""

import torch
from timed import Driven

from snnbench.adapters.base.torch_program import TorchProgram


class Flipping(TorchProgram):
    share = 0.01

    def inference(self, x):
        result = super().inference(x)
        flipped = (
            torch.rand(result.output.shape, generator=torch.Generator().manual_seed(3)) < self.share
        )
        result.output = torch.where(flipped, 1 - result.output, result.output)
        result.borders = dict.fromkeys(result.borders, result.output)
        return result


class FlipsAHundredth(Driven):
    """Decides one of a hundred spikes the other way in an inference."""

    name = "wrong-flips-a-hundredth"
    driver = Flipping


class FlippingOne(TorchProgram):
    def inference(self, x):
        result = super().inference(x)
        result.output[-1, -1, -1] = 1 - result.output[-1, -1, -1]
        return result


class FlipsOne(Driven):
    """Decides the very last spike of an inference the other way."""

    name = "wrong-flips-one"
    driver = FlippingOne


class Short(TorchProgram):
    def inference(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            result = super().inference(x)
        result.output = result.output.float()
        result.borders = dict.fromkeys(result.borders, result.output)
        return result


class InferenceInBf16(Driven):
    """Multiplies in bf16 in an inference."""

    name = "wrong-inference-in-bf16"
    driver = Short


class HiddenOnce(TorchProgram):
    hidden = None

    def inference(self, x):
        first, last = self.network.parts
        with torch.no_grad():
            self.hidden = first.module(x) if self.hidden is None else self.hidden
        result = super().inference(x)
        with torch.no_grad():
            result.output = last.module(self.hidden)
        result.borders = dict.fromkeys(result.borders, result.output)
        return result


class HiddenFromFirstCall(Driven):
    """Keeps the first layer's spikes of the first inference."""

    name = "wrong-hidden-from-first-call"
    driver = HiddenOnce


class NoLastSpikes(TorchProgram):
    def inference(self, x):
        result = super().inference(x)
        result.borders = {}
        return result


class HandsOutNoSpikes(Driven):
    """Hands out no spikes after an inference."""

    name = "wrong-hands-out-no-spikes"
    driver = NoLastSpikes


class LastSpikesAlone(TorchProgram):
    def step(self, x, upstream):
        result = super().step(x, upstream.bfloat16().float())
        *_, last = result.borders.items()
        result.borders = dict([last])
        return result


class HidesItsStep(Driven):
    """Rounds a step's upstream gradient to bf16 and hands out the last neuron's spikes alone."""

    name = "wrong-hides-its-step"
    driver = LastSpikesAlone
