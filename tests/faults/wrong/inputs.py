"""Adapters with right results that write over the input they were handed. Every class says
where."""

from natives import Right
from timed import Driven

from snnbench.adapters.base.torch_program import TorchProgram


class SpikesOverInput(TorchProgram):
    def inference(self, x):
        result = super().inference(x)
        x.copy_(result.output)
        return result


class InferenceOverInput(Driven):
    """Writes the spikes of an inference over its input."""

    name = "wrong-inference-over-input"
    driver = SpikesOverInput


class SilentInput(TorchProgram):
    def forward(self, x):
        result = super().forward(x.clone())
        x.zero_()
        return result


class ForwardOverInput(Driven):
    """Computes a forward on a copy of its input, and clears the input."""

    name = "wrong-forward-over-input"
    driver = SilentInput


class GradientOverInput(TorchProgram):
    def backward(self, result, upstream):
        done = super().backward(result, upstream)
        done.x.data.copy_(done.input_gradient)
        return done


class BackwardOverInput(Driven):
    """Writes the input's gradient over the input in a backward."""

    name = "wrong-backward-over-input"
    driver = GradientOverInput


class ScaledInput(TorchProgram):
    def step(self, x, upstream):
        result = super().step(x, upstream)
        x.mul_(0.999)
        return result


class StepOverInput(Driven):
    """Makes its input a little smaller in a step."""

    name = "wrong-step-over-input"
    driver = ScaledInput


class NativeOverInput(Right):
    """Writes the spikes of an inference over its input."""

    name = "native-over-input"

    def program(self, case, network):
        return SpikesOverInput(self, case, network)


class NativeForwardOverInput(Right):
    """Clears its input after a forward."""

    name = "native-forward-over-input"

    def program(self, case, network):
        return SilentInput(self, case, network)
