"""What is said of neurons that do not find their state in a loop over time as they left it."""

import sys

import numpy as np
import pytest
import torch
from support.paths import FAULTS
from torch import nn

from snnbench.adapters.base import torch_model
from snnbench.adapters.base.torch_states import arrivals, keeping
from snnbench.worker.loop import state_findings
from snnbench.worker.models import inputs

sys.path.append(str(FAULTS / "models"))
import complaints

SHAPE = (7, 3, 11)


class Held(complaints.Net):
    """Neurons that hold their state; forward changes that of lif1 between steps."""

    def __init__(self, change=None):
        super().__init__()
        self.change = change

    def forward(self, x):
        self.begin()
        outputs = []
        for step, one in enumerate(x):
            outputs.append(self.step(one))
            if self.change == "every" or (self.change == "some" and step % 3 == 2):
                self.lif1.membrane.detach_()
            elif self.change == "reset":
                self.lif1.clear()
            elif self.change == "clone":
                self.lif1.membrane = self.lif1.membrane.clone()
            elif self.change == "clamp":
                self.lif1.membrane = self.lif1.membrane.clamp(-1, 1)
        return torch.stack(outputs)


class Cell(complaints.Lif):
    """Returns its state, and holds a copy."""

    def forward(self, current, membrane=None):
        self.membrane = membrane
        spikes = super().forward(current)
        return spikes, self.membrane


class Passed(nn.Module):
    """A cell of which forward passes the state on, changed."""

    def __init__(self, change=None, cells=1, lif=None):
        super().__init__()
        torch.manual_seed(0)
        self.fc, self.lif = nn.Linear(11, 11), Cell() if lif is None else lif
        self.change, self.cells = change, cells
        with torch.no_grad():
            self.fc.weight *= 4

    def forward(self, x):
        states, outputs = [torch.zeros(3, 11)] * self.cells, []
        for step, y in enumerate(x):
            for place, state in enumerate(states):
                y, state = self.lif(self.fc(y), state)
                if self.change == "every" or (self.change == "some" and step % 3 == 2):
                    state = state.detach()
                elif self.change == "reset":
                    state = torch.zeros_like(state)
                elif self.change == "clone":
                    state = state.clone()
                elif self.change == "clamp":
                    state = state.clamp(-1, 1)
                states[place] = state
            outputs.append(y)
        return torch.stack(outputs)


class Outside(Passed):
    """A module without memory, in which forward puts the membrane that it keeps by hand."""

    def forward(self, x):
        membrane, outputs = torch.zeros(3, 11), []
        for one in x:
            spikes, membrane = self.lif(0.75 * membrane + self.fc(one))
            outputs.append(spikes)
        return torch.stack(outputs)


class Spike(nn.Module):
    def forward(self, potential):
        return complaints.Surrogate.apply(potential - 1)


class Activation(Passed):
    """A spike function as a module; forward keeps the membrane by hand."""

    def forward(self, x):
        membrane, outputs = torch.zeros(3, 11), []
        for one in x:
            membrane = 0.75 * membrane + self.fc(one)
            outputs.append(self.lif(membrane))
            membrane = membrane - outputs[-1]
        return torch.stack(outputs)


def last(name, change):
    """A model that returns its last step only, in words of a framework."""
    if name == "snnTorch":
        import snntorch

        class Net(Passed):
            def forward(self, x):
                return super().forward(x)[-1]

        return Net(change, lif=snntorch.Leaky(0.75))
    from spikingjelly.activation_based import functional, neuron

    class Jelly(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.fc, self.lif = nn.Linear(11, 11), neuron.LIFNode()
            with torch.no_grad():
                self.fc.weight *= 8

        def forward(self, x):
            functional.reset_net(self)
            for step, one in enumerate(x):
                y = self.lif(self.fc(one))
                if change == "every" or (change == "some" and step % 3 == 2):
                    functional.detach_net(self)
                elif change == "reset":
                    functional.reset_net(self)
            return y

    return Jelly()


def watched(net):
    """Returns a model and its neurons on an input."""
    x, model = inputs(SHAPE)[0], torch_model.TorchModel(net, "tbf")
    model.restore()
    with model.watched(*SHAPE[:2]) as seen:
        model(model.put(x))
    neurons = torch_model.neurons_of(model, seen)
    assert neurons
    return model, x, neurons


def told(net):
    """Returns the sentences on a model's states."""
    found = state_findings(arrivals(*watched(net)))
    return [f"{one.severity} {one.module} {one.sentence}" for one in found]


FAULTS_OF = {
    "every": "find{} state detached in every step of the loop over time",
    "reset": "has no memory between steps",
    "some": "finds its state detached in 2 of 7 steps (3, 6): gradients reach back 3 steps at most",
}


@pytest.mark.parametrize("change", FAULTS_OF)
@pytest.mark.parametrize(
    "make", [Held, Passed, lambda change: last("snnTorch", change), lambda c: last("", c)]
)
def test_a_state_that_is_detached_or_lost_is_told(make, change):
    (sentence,) = told(make(change))
    assert FAULTS_OF[change].format("s its") in sentence
    assert sentence.startswith("to know" if change == "some" else "wrong")


@pytest.mark.parametrize(
    "make",
    [
        *(lambda change=change: Held(change) for change in (None, "clone", "clamp")),
        *(lambda change=change: Passed(change) for change in (None, "clone", "clamp")),
        lambda: Passed(cells=2),
        Outside,
        lambda: Activation(lif=Spike()),
        lambda: last("snnTorch", None),
        lambda: last("", None),
    ],
)
def test_a_right_state_has_no_sentence(make):
    assert told(make()) == []


@pytest.mark.parametrize("change", ["every", "clone", "clamp"])
def test_a_neuron_is_driven_with_the_state_that_it_returns(change):
    """Also where forward detaches, copies or clamps it: alone it has its memory."""
    model = torch_model.TorchModel(Passed(change), "tbf")
    with model.watched(*SHAPE[:2]) as seen:
        model(model.put(inputs(SHAPE)[0]))
    assert seen["lif"].passed_on == {1: 1}
    currents = np.zeros((2, 3, 11), np.float32)
    currents[:] = 0.75  # fires in the second step only if the first is remembered
    spikes, _ = model.drive(seen["lif"], currents)
    assert not spikes[0].any() and spikes[1].all()


class Potentials(Passed):
    """Returns what its neuron keeps, not its spikes."""

    def forward(self, x):
        membrane, outputs = torch.zeros(3, 11), []
        for one in x:
            membrane = self.lif(self.fc(one), membrane)[1]
            outputs.append(membrane)
        return torch.stack(outputs)


@pytest.mark.parametrize(
    ("make", "is_used"), [(Passed, True), (Potentials, False), (complaints.Silent, True)]
)
def test_spikes_that_nothing_depends_on_are_known(make, is_used):
    """A silent readout of potentials needs no larger weights; a layer before a silent one does."""
    net = make()
    for each in net.children():
        each.threshold = 1e4
    model, x, (lif, *_) = watched(net)
    assert model.is_used(lif, x) is is_used


class Kept(Held):
    def begin(self):
        pass


@pytest.mark.parametrize(("make", "keepers"), [(Held, []), (Kept, ["lif1", "lif2"]), (Passed, [])])
def test_a_silent_neuron_that_is_not_reset_is_known_by_its_state(make, keepers):
    net = make()
    for lif in net.children():
        lif.threshold = 1e4
    model, x, neurons = watched(net)
    assert keeping(model, x, neurons) == keepers


def test_a_training_step_that_detaches_between_its_chunks_is_told():
    """The model alone keeps all gradients."""
    net = Held()
    net.begin = lambda: None

    def step(net, x):
        Held.begin(net)
        for chunk in x.split(3):
            net(chunk).sum().backward()
            for lif in (net.lif1, net.lif2):
                lif.membrane = lif.membrane.detach()

    model, x, neurons = watched(net)
    assert list(state_findings(arrivals(model, x, neurons))) == []
    model.training = torch_model.Training(step=step)
    (finding,) = state_findings(arrivals(model, x, neurons))
    assert (finding.severity, finding.module) == ("to know", "lif1, lif2")
    assert " in 2 of 7 steps (3, 6): gradients reach back 3 steps at most" in finding.sentence
