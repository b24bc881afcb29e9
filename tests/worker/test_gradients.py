"""Which cause of a gradient of zero is told."""

import sys

import pytest
from support.paths import FAULTS
from torch import nn

from snnbench.adapters.base import torch_model
from snnbench.worker.gradients import gradient_findings
from snnbench.worker.models import inputs

sys.path.append(str(FAULTS / "models"))
import complaints

SHAPE = (7, 3, 11)


class Window(complaints.Surrogate):
    """It ends: 1 around the threshold."""

    @staticmethod
    def backward(ctx, gradient):
        (u,) = ctx.saved_tensors
        return gradient * (u.abs() < 0.5)


class Narrow(complaints.Lif):
    def spike(self, u):
        return Window.apply(u)


class Readout(complaints.Net):
    """A layer behind the last spikes, in its own flat module."""

    def __init__(self):
        super().__init__()
        self.drop, self.fc3 = nn.Dropout(0.0), nn.Linear(complaints.CLASSES, 4)

    def step(self, x):
        return self.fc3(self.drop(super().step(x)))


def silent(net, name, neuron=None):
    """Returns a model with a neuron that never fires."""
    setattr(net, name, neuron or complaints.Lif())
    getattr(net, name).threshold = 1e4
    return net


class Blank(complaints.Net):
    """The input is lost before the first layer."""

    def step(self, x):
        return super().step(0 * x)


class Passes(complaints.Lif):
    """Fires, but its derivative is 0."""

    def spike(self, u):
        return Window.apply(1e6 * u)


def unheard():
    net = complaints.Net()
    net.lif2 = Passes()
    return net


def unread():
    """Half of the layers is multiplied by 0."""

    class Unread(complaints.Net):
        def step(self, x):
            return x[:, :5] + 0 * super().step(x)

    return Unread()


WINDOW = "no gradient passes lif2, which is silent beyond the reach of its surrogate"
CAUSES = {
    # parameters: (model, cause)
    "fc3.weight": (
        lambda: silent(Readout(), "lif2"),
        "has a gradient of exactly zero on this input: its input is all zeros, because lif2 is "
        "silent",
    ),
    "fc1.weight, fc1.bias, fc2.weight, fc2.bias": (
        lambda: silent(Readout(), "lif2", Narrow()),
        f"have a gradient of exactly zero on this input: {WINDOW}",
    ),
    "fc1.weight": (
        Blank,
        "has a gradient of exactly zero on this input: its input is all zeros",
    ),
    "fc1.weight, fc1.bias, fc2.weight, fc2.bias ": (
        unheard,
        "have a gradient of exactly zero on this input: no gradient passes lif2",
    ),
    "fc1.weight, fc1.bias, fc2.weight, fc2.bias  ": (
        unread,
        "have a gradient of exactly zero on this input: no gradient comes back to their output",
    ),
}


@pytest.mark.parametrize("names", CAUSES)
def test_the_cause_of_a_gradient_of_zero_is_the_one_that_was_seen(names):
    make, sentence = CAUSES[names]
    model, x = torch_model.TorchModel(make(), "tbf"), inputs(SHAPE)[0]
    model.restore()
    with model.watched(*SHAPE[:2]) as seen:
        model(model.put(x))
    neurons = torch_model.neurons_of(model, seen)
    model.restore()
    model.backward(x)
    told = {one.module: one.sentence for one in gradient_findings(model, x, seen, neurons)}
    assert told[names.strip()] == sentence, told
