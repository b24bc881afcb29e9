"""Whether two models compute the same: what is called the same, and where the first difference is."""

import sys

import numpy as np
import pytest
import torch
from support.paths import FAULTS
from torch import nn

from snnbench.kernels import LIF, NeuronSpec
from snnbench.worker.models import Unfit, inputs
from snnbench.worker.same import Model, compare

sys.path.append(str(FAULTS / "models"))
import complaints

SHAPE = (37, 3, 11)
SPEC = NeuronSpec("soft", decay=0.75, surrogate="atan", slope=1.0)


class Fused(nn.Module):
    """`complaints.Net` with fused neurons of all steps at once, under other names."""

    def __init__(self, spec=SPEC):
        super().__init__()
        self.first, self.spikes1 = nn.Linear(11, 13), LIF(spec)
        self.second, self.spikes2 = nn.Linear(13, 5), LIF(spec)

    def forward(self, x):
        return self.spikes2(self.second(self.spikes1(self.first(x))))


class Rounds(complaints.Net):
    """Rounds coarsely, in the format that it computes in."""

    def step(self, x):
        currents = self.fc1(x)
        currents = currents * (1 - 2e3 * torch.finfo(currents.dtype).eps)
        return self.lif2(self.fc2(self.lif1(currents)))


class SinglePrecision(complaints.Net):
    """Asks for float32 in its own code."""

    def step(self, x):
        return super().step(x.to(torch.float32)).float()


class Wider(complaints.Net):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(()))

    def step(self, x):
        return super().step(x) * self.gain


class Twice(complaints.Net):
    def forward(self, x):
        spikes = super().forward(x)
        return spikes, spikes.sum(0)


class Potential(complaints.Net):
    """Its output is scaled, its spikes are right."""

    def forward(self, x):
        return 1.01 * super().forward(x)


def compared(second, first=None, shape=SHAPE):
    models = Model("old", first or complaints.Net(), "tbf"), Model("new", second, "tbf")
    return compare(*models, inputs(shape)[0])


@pytest.mark.parametrize("second", [complaints.Net, Fused, SinglePrecision])
def test_the_same_model_written_otherwise_is_the_same(second):
    torch.manual_seed(1)
    answer = compared(second())
    assert (answer.difference, answer.notes) == ("", [])
    assert answer.extent == (
        "1 output, spikes of 2 layers and gradients of 4 parameters, in 37 steps of 3 items"
    )


def other(**changes):
    from dataclasses import replace

    return lambda: Fused(replace(SPEC, **changes))


DIFFERENT = {
    "decay": (other(decay=0.78), "spikes of lif"),
    "reset": (other(reset="hard"), "spikes of lif1 and spikes1 differ from step "),
    "detached": (
        other(detach_reset=True),
        "the gradient of fc2.bias and second.bias differs by 0.",
    ),
    "surrogate": (other(slope=1.01), "the gradient of fc2.bias and second.bias differs by "),
    "cut": (
        complaints.Cut,
        "the gradient of fc1.bias is missing in new; 2 of 4",
    ),
    "learns": (Wider, "new learns gain, which old has not"),
    "outputs": (Twice, "forward returns 1 tensor and 2 tensors"),
    "output": (Potential, "the output differs by 0.01 (relative L2 error)"),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_the_first_difference_is_named(name):
    second, words = DIFFERENT[name]
    assert compared(second()).difference.startswith(words), compared(second()).difference


def test_the_first_difference_in_time_has_its_place():
    class Late(complaints.Net):
        """Adds a spike of one neuron in one step."""

        def forward(self, x):
            self.begin()
            steps = [self.step(one) for one in x]
            return torch.stack(steps)

        def neuron(self):
            class Odd(complaints.Lif):
                calls = 0

                def clear(self):
                    super().clear()
                    self.calls = 0

                def spike(self, u):
                    self.calls += 1
                    spikes = super().spike(u)
                    if self.calls == 8:
                        changed = torch.zeros_like(spikes)
                        changed[2, 4] = 1
                        spikes = spikes + changed * (1 - 2 * spikes.detach())
                    return spikes

            return Odd()

    first = complaints.Net()
    with torch.no_grad():
        first.fc1.weight.zero_()
        first.fc1.bias.fill_(-1)
    difference = compared(Late(), first).difference
    assert difference.startswith("spikes of lif1 differ from step 7 on (item 2, neuron 4: 0 and 1)")


def test_rounding_is_no_difference():
    """Decisions differ in float32 and do not in float64."""
    first = complaints.Net()
    answer = compared(Rounds(), first, (97, 31, 11))
    assert answer.difference == ""
    assert answer.notes[0].startswith("only rounding differs: spikes of lif")


def test_what_proves_little_is_said():
    (note,) = compared(complaints.Silent(), complaints.Silent()).notes
    assert note == "lif2 never fires on this input, which proves little of it"
    answer = compared(nn.Sequential(nn.Linear(11, 5)), nn.Sequential(nn.Linear(11, 5)))
    assert "spikes of 0 layers" in answer.extent


def test_the_model_of_which_a_layer_is_silent_is_said():
    answer = compared(complaints.Silent())
    assert answer.difference.startswith("spikes of lif2 differ from step ")
    assert answer.notes == ["lif2 never fires on this input in new"]


@pytest.mark.parametrize(
    ("second", "keepers"),
    [(complaints.Net, ""), (complaints.NoReset, "new keeps its")],
)
def test_a_reset_that_one_call_does_not_show_is_a_note(second, keepers):
    answer = compared(second())
    assert answer.difference == ""
    sentence = (
        f"{keepers} state from one call to the next: without a reset a second call gives something "
        "else; the first calls were compared"
    )
    assert answer.notes == [sentence] * bool(keepers)
    assert (
        compared(complaints.NoReset(), complaints.NoReset())
        .notes[0]
        .startswith("old and new keep their state from one call to the next")
    )


def test_gradients_that_differ_because_a_state_is_detached_have_that_reason():
    class Short(complaints.Net):
        def step(self, x):
            for lif in (self.lif1, self.lif2):
                if lif.membrane is not None:
                    lif.membrane.detach_()
            return super().step(x)

    answer = compared(Short())
    assert answer.difference.startswith("the gradient of fc2.bias differs by ")
    assert answer.notes[0] == "in new the state of lif1, lif2 is detached in the loop over time"


def test_a_model_that_does_not_repeat_itself_is_not_compared():
    with pytest.raises(Unfit, match="old does not repeat itself: the output differs by"):
        compared(complaints.Net(), complaints.Global())


def test_a_model_that_cannot_run_is_named():
    with pytest.raises(Unfit, match="new raises RuntimeError: mat1 and mat2"):
        compared(nn.Linear(12, 5))


def test_the_second_has_the_parameters_of_the_first():
    first, second = complaints.Net(), Fused()
    compared(second, first)
    assert np.array_equal(first.fc1.weight.detach(), second.first.weight.detach())
