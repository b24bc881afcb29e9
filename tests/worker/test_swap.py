"""Fused neurons in place of a user's: which are replaced, and whether the model stays the same."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from support.paths import FAULTS
from torch import nn

from snnbench.adapters.base import torch_model
from snnbench.adapters.base.torch_breakdown import work_of
from snnbench.adapters.base.torch_swap import Fused
from snnbench.kernels import LIF, NeuronSpec
from snnbench.proof.equation import Equation
from snnbench.worker import swap
from snnbench.worker.models import inputs

sys.path.append(str(FAULTS / "models"))
import complaints
import right

SPEC = NeuronSpec("soft", decay=0.75, surrogate="atan", slope=1.0)
"""The neuron of `complaints`."""
JELLY = NeuronSpec("hard", decay=0.5, surrogate="atan")


@pytest.fixture
def swapped(monkeypatch):
    """Returns a function that swaps the neurons of a model that have the equations `specs`."""
    monkeypatch.setitem(sys.modules, "samna", None)
    monkeypatch.setattr(swap, "ROUNDS", 2)
    monkeypatch.setattr(swap, "LEAST_ROUNDS", 2)
    monkeypatch.setattr(swap, "SLOT_S", 0.0)

    def of(module, *equations, axes="tbf", features=(11,)):
        shape = (37, 3, *features)
        x = inputs(shape)[0]
        model = torch_model.TorchModel(module, axes)
        model.module.train()
        model.restore()
        with model.watched(*shape[:2]) as seen:
            model(model.put(x))
        neurons = torch_model.neurons_of(model, seen)
        by_name = {
            one.name: each if isinstance(each, Equation) else Equation("proved", each)
            for one, each in zip(neurons, equations, strict=True)
        }
        return swap.swapped(model, seen, neurons, by_name, x)

    return of


def loud(net):
    with torch.no_grad():
        for one in net.modules():
            if isinstance(one, nn.Linear):
                one.weight *= 4
    return net


def convolutional():
    """A small convolutional net of SpikingJelly, all steps at once."""
    from spikingjelly.activation_based import functional, layer, neuron, surrogate

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.layers = nn.Sequential(
                layer.Conv2d(2, 5, 3, bias=False),
                layer.BatchNorm2d(5),
                neuron.LIFNode(surrogate_function=surrogate.ATan()),
                layer.Flatten(),
                layer.Linear(5 * 5 * 7, 4),
                neuron.LIFNode(surrogate_function=surrogate.ATan()),
            )
            functional.set_step_mode(self, "m")

        def forward(self, x):
            functional.reset_net(self)
            return self.layers(x).mean(0)

    return Net()


class ConvolutionByStep(complaints.Net):
    """Modules alone in a loop over time, images, a norm and the sum of spikes."""

    def __init__(self):
        super().__init__()
        self.conv, self.flat = nn.Conv2d(2, 3, 3), nn.Flatten()
        self.lif1, self.fc2 = self.neuron(), nn.Linear(3 * 3 * 5, 5)
        del self.fc1

    def step(self, x):
        return self.lif2(self.fc2(self.flat(self.lif1(self.conv(x)))))

    def forward(self, x):
        return super().forward(x).sum(0)


class Double(complaints.Surrogate):
    """Its surrogate is twice as high."""

    @staticmethod
    def backward(ctx, gradient):
        return 2 * complaints.Surrogate.backward(ctx, gradient)


class Higher(complaints.Net):
    def neuron(self):
        class Neuron(complaints.Lif):
            def spike(self, u):
                return Double.apply(u)

        return Neuron()


class BatchFirst(complaints.Net):
    def forward(self, x):
        return super().forward(x.transpose(0, 1)).transpose(0, 1)


GAIN = Equation("proved", JELLY, gain=0.5)
SAME = {
    # model: (equations of its neurons, layout, sizes of features, code of the swap)
    "loop": (complaints.Net, [SPEC, SPEC], {}, "return x\n"),
    "batch first": (BatchFirst, [SPEC, SPEC], {"axes": "btf"}, "return x.transpose(0, 1)\n"),
    "images": (ConvolutionByStep, [SPEC] * 2, {"features": (2, 5, 7)}, "return x.sum(0)\n"),
    "a step a call": (right.spikingjelly_step, [], {"axes": "bf"}, "class AllSteps"),
    "higher surrogate": (Higher, [Equation("proved", SPEC, height=2.0)] * 2, {}, "Scale(2.0)"),
    "all steps": (convolutional, [GAIN] * 2, {"features": (2, 7, 9)}, "set_submodule('layers.2'"),
    "tuples": (right.norse_lifted, [], {}, "WithState("),
}
SAME["a step a call"][1].append(
    Equation("proved", NeuronSpec("hard", decay=0.5, surrogate="sigmoid", slope=4.0), gain=0.5)
)
SAME["tuples"][1].append(
    Equation("proved", NeuronSpec("hard", decay=0.9, current_decay=0.8), gain=0.1)
)


@pytest.mark.parametrize("name", SAME)
def test_the_model_with_fused_neurons_is_the_same(swapped, name):
    make, equations, more, code = SAME[name]
    answer = swapped(loud(make()), *equations, **more)
    assert (answer.difference, answer.refused) == ("", [])
    assert len(answer.modules) == len(equations)
    assert code in answer.code
    measured = answer.measured
    assert len(measured.ratios) == 2 and min(*measured.seconds, *measured.bytes) > 0


def test_a_swap_that_changes_the_model_is_neither_written_nor_measured(swapped):
    wrong = replace(SPEC, decay=0.6)
    answer = swapped(complaints.Net(), SPEC, wrong)
    assert answer.difference.startswith("spikes of lif2 differ from step ")
    assert (answer.measured, answer.code) == (None, "")


class Between(complaints.Net):
    def step(self, x):
        return self.lif2(self.fc2(self.lif1(3 * self.fc1(x))))


class Ends(complaints.Net):
    """A readout behind the last spikes."""

    def __init__(self):
        super().__init__()
        self.fc3 = nn.Linear(5, 5)

    def step(self, x):
        return self.fc3(super().step(x))


REFUSED = {
    "lif2 has no fused replacement: its equation is not proved": (
        complaints.Net,
        [SPEC, Equation("nearest", SPEC, differs="…")],
    ),
    "lif1 has no fused replacement: its spikes come late": (
        complaints.Net,
        [Equation("proved", SPEC, late=1), SPEC],
    ),
    "lif1 has no fused replacement: its surrogate is 2 times that of the fused exponential": (
        complaints.Net,
        [Equation("proved", replace(SPEC, surrogate="exponential"), height=2.0), SPEC],
    ),
    "lif1, lif2 stay: forward goes step by step and computes something of its own between fc1 and "
    "lif1": (Between, [SPEC, SPEC]),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_is_not_replaced_has_a_reason(swapped, sentence):
    make, equations = REFUSED[sentence]
    answer = swapped(make(), *equations)
    assert sentence in answer.refused
    assert (answer.modules, answer.code) == ([], "")


def test_a_readout_behind_the_last_spikes_is_part_of_the_swap(swapped):
    answer = swapped(loud(Ends()), SPEC, SPEC)
    assert (answer.difference, answer.refused) == ("", [])


def test_a_learned_constant_stays(swapped):
    import snntorch

    net = nn.Sequential(nn.Linear(11, 13), snntorch.Leaky(0.9, init_hidden=True, learn_beta=True))
    answer = swapped(net, SPEC, axes="bf")
    assert answer.refused == ["1 has no fused replacement: it learns beta"]


def test_a_model_of_fused_neurons_stays(swapped):
    answer = swapped(nn.Sequential(nn.Linear(11, 13), LIF(SPEC)), SPEC)
    assert answer == swap.Swapped()


def test_a_name_with_quotes_is_no_code():
    assert "'" in Fused(SPEC, 1.0).code
    from snnbench.adapters.base.torch_swap import _in_place

    seen = torch_model.Seen("it's", nn.Identity(), layout="tb")
    assert """net.set_submodule("it's", """ in _in_place({"it's": seen}, {"it's": Fused(SPEC, 1.0)})


def test_the_most_bytes_of_a_call_are_those_in_use_at_once():
    def call():
        first = torch.empty(1 << 20, dtype=torch.uint8)
        del first
        kept = [torch.empty(1 << 20, dtype=torch.uint8) for _ in range(3)]
        del kept[:2]
        return torch.empty(1 << 18, dtype=torch.uint8)

    assert np.isclose(work_of(call).peak_bytes, 3 << 20, rtol=0.01)
