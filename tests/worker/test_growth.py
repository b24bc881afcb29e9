"""How a training step grows: with time steps, with batch, and step after step."""

import re
import sys

import pytest
import torch
from support.paths import FAULTS

from snnbench.adapters.base.torch_breakdown import left_after
from snnbench.adapters.base.torch_model import TorchModel
from snnbench.worker.growth import growth
from snnbench.worker.models import inputs

sys.path.append(str(FAULTS / "models"))
import complaints


class Concatenates(complaints.Net):
    """The record grows by torch.cat in every step: bytes go with T squared, calls do not."""

    def forward(self, x):
        self.begin()
        record = x.new_zeros(0, x.shape[1], 5)
        for one in x:
            record = torch.cat([record, self.step(one)[None]])
        return record


class LooksBack(complaints.Net):
    """Every step computes all steps before it again."""

    def forward(self, x):
        last = []
        for t in range(len(x)):
            self.begin()
            for one in x[: t + 1]:
                spikes = self.step(one)
            last.append(spikes)
        return torch.stack(last)


KEPT = []


class Records(complaints.Net):
    """A list outside the model keeps spikes."""

    def forward(self, x):
        spikes = super().forward(x)
        KEPT.append(spikes)
        return spikes


def grown(module, shape=(13, 3, 11), **more):
    return growth(TorchModel(module, "tbf", **more), *inputs(shape))


def test_a_right_model_grows_with_time_and_batch_alone():
    cost, findings = grown(complaints.Net(), (37, 3, 11))
    assert findings == []
    assert cost.startswith("a training step makes ")
    assert ", 2.0 times as much at twice T, " in cost


@pytest.mark.slow
@pytest.mark.parametrize(
    "model, steps, words",
    [
        (Concatenates, 97, "writes # times the memory at twice T: "),
        (LooksBack, 11, "makes # times the calls at twice T: "),
    ],
)
def test_work_that_grows_with_t_squared_is_told(model, steps, words):
    (finding,) = grown(model(), (steps, 3, 11))[1]
    assert (finding.severity, finding.module) == ("costly", "a training step")
    assert re.sub(r"\d\.\d", "#", finding.sentence).startswith(words)
    assert "its work grows with T squared" in finding.sentence


@pytest.mark.slow
def test_memory_that_is_left_after_every_step_is_told():
    KEPT.clear()
    (finding,) = grown(Records(), (37, 3, 11))[1]
    assert finding.severity == "costly" and " more in use than the step before" in finding.sentence


def test_what_is_left_after_each_call_is_counted():
    kept = []
    sizes = left_after(lambda: kept.append(torch.empty(1 << 16, dtype=torch.uint8)), 3)
    assert sizes == [1 << 16, 2 << 16, 3 << 16]
    assert left_after(lambda: torch.empty(1 << 16), 3) == [0, 0, 0]


def test_a_model_that_keeps_its_state_is_measured_too():
    assert grown(complaints.NoReset())[1] == []


@pytest.mark.slow
def test_a_workspace_of_larger_sizes_is_no_growth():
    class Jumps(complaints.Net):
        def forward(self, x):
            torch.empty(len(x) * (1 << 16 if len(x) > 20 else 1 << 8))
            return super().forward(x)

    assert grown(Jumps())[1] == []
