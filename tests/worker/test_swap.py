"""Fused neurons in place of a user's: which are replaced, and whether the model stays the same."""

import re
import sys
from dataclasses import replace
from math import exp

import numpy as np
import pytest
import torch
from support.paths import FAULTS
from support.slow import representatives, without
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


class Last(complaints.Net):
    def forward(self, x):
        return super().forward(x)[-1]


class BatchFirst(complaints.Net):
    def forward(self, x):
        return super().forward(x.transpose(0, 1)).transpose(0, 1)


GAIN = Equation("proved", JELLY, gain=0.5)
SAME = {
    # model: (equations of its neurons, layout, sizes of features, code of the swap)
    "loop": (complaints.Net, [SPEC, SPEC], {}, "return y\n"),
    "batch first": (BatchFirst, [SPEC, SPEC], {"axes": "btf"}, "return y.transpose(0, 1)\n"),
    "the last step": (Last, [SPEC, SPEC], {}, "return y[-1]\n"),
    "images": (ConvolutionByStep, [SPEC] * 2, {"features": (2, 5, 7)}, "return y.sum(0)\n"),
    "a step a call": (right.spikingjelly_step, [], {"axes": "bf"}, "class AllSteps"),
    "higher surrogate": (Higher, [Equation("proved", SPEC, height=2.0)] * 2, {}, "Scale(2.0)"),
    "all steps": (convolutional, [GAIN] * 2, {"features": (2, 7, 9)}, "set_submodule('layers.2'"),
    "tuples": (right.norse_lifted, [], {}, "WithState("),
    "recurrent in steps": (right.SnnTorchRecurrent, [], {}, "'lif1.recurrent'), 0, 1.0, "),
    "recurrent": (right.sinabs_recurrent, [], {"axes": "btf"}, "'1.rec_connect'), 1, "),
}
SAME["a step a call"][1].append(
    Equation("proved", NeuronSpec("hard", decay=0.5, surrogate="sigmoid", slope=4.0), gain=0.5)
)
SAME["recurrent in steps"][1].append(
    Equation("proved", NeuronSpec("soft-undecayed", True, 0.9, surrogate="atan"))
)
SAME["recurrent"][1].append(
    Equation(
        "proved",
        NeuronSpec("soft", decay=exp(-1 / 10), surrogate="exponential", slope=2.0),
    )
)
SAME["tuples"][1].append(
    Equation("proved", NeuronSpec("hard", decay=0.9, current_decay=0.8), gain=0.1)
)


@pytest.mark.parametrize("name", without(SAME.keys() - {"all steps", "tuples"}, SAME))
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
    answer = swapped(complaints.Net(), wrong, SPEC)
    assert answer.difference.startswith("spikes of lif1 differ from step ")
    assert (answer.measured, answer.code) == (None, "")


class Cut(ConvolutionByStep):
    """Sums its spikes, and detaches the states in every step."""

    def step(self, x):
        for lif in (self.lif1, self.lif2):
            if lif.membrane is not None:
                lif.membrane.detach_()
        return super().step(x)


def test_of_ways_to_swap_the_one_with_the_right_sizes_is_said_to_differ(swapped):
    answer = swapped(loud(Cut()), SPEC, SPEC, features=(2, 5, 7))
    assert answer.difference.startswith("the gradient of "), answer.difference


def test_times_and_ratio_are_those_of_the_median_round(monkeypatch):
    seconds = iter([1.0, 60.0, 30.0, 2.0, 3.0, 12.0])  # the new model is first in every other round
    monkeypatch.setattr(swap, "_slot", lambda model, x: next(seconds))
    monkeypatch.setattr(swap, "_peak_bytes", lambda model, x: 1)
    monkeypatch.setattr(swap, "ROUNDS", 3)
    measured = swap._measure(None, None, None)
    assert (measured.seconds, measured.ratios) == ((30.0, 2.0), [4.0, 15.0, 60.0])


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


class Late(complaints.Net):
    def step(self, x):
        return self.lif2(3 * self.fc2(self.lif1(self.fc1(x))))


class Recorded(complaints.Net):
    """A loop that also hands out what the last neuron keeps, as potentials for a loss."""

    def forward(self, x):
        self.begin()
        steps = [(self.step(one), self.lif2.membrane) for one in x]
        return torch.stack([each[1] for each in steps])


def squeezed():
    """Frames of batch and time in one axis, and a neuron that finds the steps again."""
    import sinabs
    import sinabs.layers as sl
    from sinabs.activation import SingleExponential

    class Net(nn.Module):
        def __init__(self, **sizes):
            super().__init__()
            torch.manual_seed(0)
            neuron = sl.IAFSqueeze(**sizes, surrogate_grad_fn=SingleExponential(grad_scale=0.5))
            self.layers = nn.Sequential(nn.Conv2d(2, 3, 3), neuron, nn.Flatten(), nn.Linear(45, 5))

        def forward(self, x):
            sinabs.reset_states(self)
            return self.layers(x.flatten(0, 1)).unflatten(0, x.shape[:2]).sum(1)

    return Net


IAF = NeuronSpec("soft", decay=1.0, surrogate="exponential", slope=2.0, max_spikes=1 << 16)


@pytest.mark.parametrize("sizes", representatives([{"batch_size": 3}, {"num_timesteps": 37}], [0]))
def test_a_neuron_for_rows_of_batch_and_time_is_replaced(swapped, sizes):
    net = squeezed()(**sizes)
    answer = swapped(net, Equation("proved", IAF), axes="btf", features=(2, 5, 7))
    assert (answer.difference, answer.refused) == ("", [])
    assert ("3, -1)" if "batch_size" in sizes else "-1, 37)") in answer.code


PARTLY = {
    # model: (equations, what is replaced, why the other stays)
    "one is not proved": (
        Ends,
        [SPEC, Equation("nearest", SPEC, differs="…")],
        "lif2 has no fused replacement: its equation is not proved",
    ),
    "the last one's potentials go out": (
        Recorded,
        [SPEC, SPEC],
        r"lif2 stays: with a fused one (the )?output .*differs by .*; does forward use its potentials",
    ),
    "something lies between": (
        Late,
        [SPEC, SPEC],
        "lif2 stays: forward goes step by step and computes something of its own between fc2",
    ),
}


@pytest.mark.parametrize("name", without({"something lies between"}, PARTLY))
def test_what_can_be_replaced_is_computed_before_the_loop(swapped, name):
    make, equations, sentence = PARTLY[name]
    answer = swapped(loud(make()), *equations)
    assert (answer.difference, answer.modules) == ("", ["lif1"])
    assert len(answer.refused) == 1 and re.match(sentence, answer.refused[0]), answer.refused
    assert "class Ahead" in answer.code and len(answer.measured.ratios) == 2


def norse_recurrent():
    import norse.torch as norse

    return nn.Sequential(norse.LIFRecurrent(11, 13), First())


class First(nn.Module):
    def forward(self, x):
        return x[0]


REFUSED = {
    "0 has no fused replacement: it holds the weights of its recurrence itself, not in a layer": (
        norse_recurrent,
        [SPEC],
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
    name = "it's"
    change = _in_place({name: seen}, {name: Fused(SPEC, 1.0)}, [name], "tbf")
    assert """net.set_submodule("it's", """ in change.code


def test_the_most_bytes_of_a_call_are_those_in_use_at_once():
    def call():
        first = torch.empty(1 << 20, dtype=torch.uint8)
        del first
        kept = [torch.empty(1 << 20, dtype=torch.uint8) for _ in range(3)]
        del kept[:2]
        return torch.empty(1 << 18, dtype=torch.uint8)

    assert np.isclose(work_of(call).peak_bytes, 3 << 20, rtol=0.01)
