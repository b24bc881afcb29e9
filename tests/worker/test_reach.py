"""How far gradients reach back in time, measured."""

import sys

import pytest
import torch
from support.paths import FAULTS
from torch import nn

from snnbench.adapters.base import torch_model
from snnbench.worker.models import inputs
from snnbench.worker.reach import reach_finding

sys.path.append(str(FAULTS / "models"))
import complaints


class Truncated(complaints.Net):
    """The membrane is a variable of forward, detached every few steps, as in truncated BPTT."""

    def __init__(self, every, gives):
        super().__init__()
        self.every, self.gives = every, gives

    def forward(self, x):
        membrane, outputs = torch.zeros(x.shape[1], complaints.HIDDEN), []
        for step, one in enumerate(x):
            if self.every and step % self.every == 0:
                membrane = membrane.detach()
            membrane = 0.75 * membrane + self.fc1(one)
            spikes = complaints.Surrogate.apply(membrane - 1)
            membrane = membrane - spikes
            outputs.append(self.fc2(spikes))
        if self.gives == "last":
            return membrane
        return torch.stack(outputs) if self.gives == "all" else sum(outputs)


def told(net, shape):
    x, other = inputs(shape)
    model = torch_model.TorchModel(net, "tbf")
    with model.watched(*shape[:2]) as seen:
        model(model.put(x))
    units = torch_model.units_of(seen, torch_model.neurons_of(model, seen))
    found = reach_finding(model, x, other, units)
    return found and (found.severity, found.sentence)


@pytest.mark.parametrize("gives", ["all", "sum", "last"])
@pytest.mark.parametrize(("every", "steps"), [(4, 17), (5, 17), (9, 13), (3, 8)])
def test_truncated_backpropagation_is_told_with_its_steps(every, steps, gives):
    """Also if the last stretch has one step, as of 17 steps in fours."""
    severity, sentence = told(Truncated(every, gives), (steps, 3, 11))
    assert severity == "to know"
    assert sentence.startswith(f"has gradients that reach back {every} steps at most, although ")
    assert sentence.endswith("right for truncated backpropagation through time")


@pytest.mark.parametrize("gives", ["all", "sum", "last"])
def test_a_state_that_is_detached_in_every_step_is_wrong(gives):
    severity, sentence = told(Truncated(1, gives), (7, 3, 11))
    assert severity == "wrong" and sentence.startswith("has no gradient by earlier steps")


class Forgets(nn.Module):
    """A gradient that is too small for float32 after 40 steps, and no state that is detached."""

    def forward(self, x):
        membrane = 0.0
        for one in x:
            membrane = 0.1 * membrane + one
        return membrane


class Windowed(nn.Module):
    """Reads its last steps alone."""

    def forward(self, x):
        return x[-4:].sum(0)


@pytest.mark.parametrize(
    ("net", "steps"),
    [
        (Truncated(0, "all"), 17),
        (Truncated(0, "sum"), 17),
        (Truncated(0, "last"), 17),
        (Truncated(17, "all"), 17),
        (Truncated(3, "all"), 2),
        (Forgets(), 97),
        (Windowed(), 17),
    ],
)
def test_gradients_that_reach_what_changes_the_output_have_no_sentence(net, steps):
    assert told(net, (steps, 3, 11)) is None
