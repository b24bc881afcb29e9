"""Graph breaks under torch.compile. Slow: its import takes seconds."""

import inspect
import sys

import pytest
import torch
from support.paths import FAULTS

from snnbench.adapters.base.torch_model import TorchModel
from snnbench.worker.breaks import break_findings
from snnbench.worker.models import inputs

sys.path.append(str(FAULTS / "models"))
import complaints

pytestmark = pytest.mark.slow


class Compiled(complaints.Checked):
    """The user compiles a part."""

    def __init__(self):
        super().__init__()
        self.compiled = torch.compile(self.lif1)

    def step(self, x):
        return self.lif2(self.fc2(self.compiled(self.fc1(x))))


class Whole(complaints.Net):
    """The user compiles a part that is one graph, in a model that is not."""

    def __init__(self):
        super().__init__()
        self.first = torch.compile(self.fc1)

    def step(self, x):
        spikes = self.lif1(self.first(x))
        if spikes.any():
            spikes = 1 * spikes
        return self.lif2(self.fc2(spikes))


def told(net, **more):
    return list(break_findings(TorchModel(net, "tbf"), inputs((17, 3, 11))[0], **more))


@pytest.mark.parametrize(
    ("make", "severity"),
    [(complaints.Checked, "to know"), (Compiled, "costly")],
    ids=["not", "compiled"],
)
def test_the_first_break_is_told_with_its_module_and_line(make, severity):
    (finding,) = told(make())
    line = inspect.getsourcelines(complaints.Tells)[1] + 4
    assert (finding.severity, finding.module) == (severity, "lif1, lif2")
    where = f"breaks the graph of torch.compile at complaints.py:{line}: Data-"
    assert finding.sentence.startswith(where)
    assert " a forward over 4 steps runs as " in finding.sentence


@pytest.mark.parametrize("make", [complaints.Net, Whole])
def test_a_model_or_a_part_that_is_one_graph_has_no_sentence(make):
    assert told(make()) == []


def test_tracing_ends_with_its_time():
    (finding,) = told(complaints.Net(), limit_s=0.01)
    assert (
        "takes torch.compile more than 0.01 s of CPU time to trace over 4 steps" in finding.sentence
    )
    assert told(complaints.Net()) == []
