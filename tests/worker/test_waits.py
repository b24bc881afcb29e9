"""Steps that ask for values of tensors: on a GPU the host waits for each."""

import inspect
import sys
from pathlib import Path

import pytest
import torch
from support.paths import FAULTS
from torch import nn

from snnbench.adapters.base.torch_model import TorchModel, Training
from snnbench.worker.models import inputs
from snnbench.worker.waits import wait_findings

sys.path.append(str(FAULTS / "models"))
import complaints

SHAPE = (7, 3, 11)
HERE = Path(__file__).name


class Asking(complaints.Net):
    """Does something with what the first layer gives, in every step."""

    def __init__(self, ask):
        super().__init__()
        self.ask = ask

    def step(self, x):
        spikes = self.lif1(self.fc1(x))
        self.ask(spikes, self.fc1.weight)
        return self.lif2(self.fc2(spikes))


def told(net, step=None, shape=SHAPE):
    model = TorchModel(net, "tbf", Training(step=step))
    return list(wait_findings(model, inputs(shape)[0]))


def fill(spikes, weight):
    other = spikes.clone()
    other[spikes > 0] = 2 * other[spikes > 0]


ASKS = {
    # what is asked for, as it is told: the call
    "a number or a truth value": [
        lambda spikes, weight: spikes.sum().item(),
        lambda spikes, weight: bool(spikes.any()),
        lambda spikes, weight: float(weight.norm()),
        lambda spikes, weight: float(spikes.detach().cpu().sum()),
    ],
    ".cpu()": [lambda spikes, weight: spikes.detach().cpu()],
    ".numpy()": [lambda spikes, weight: spikes.detach().numpy()],
    ".tolist()": [lambda spikes, weight: spikes[0].tolist()],
    "nonzero": [lambda spikes, weight: spikes.nonzero()],
    "a boolean index": [lambda spikes, weight: spikes[spikes > 0], fill],
}


@pytest.mark.parametrize(
    ("what", "ask"), [(what, ask) for what, asks in ASKS.items() for ask in asks]
)
def test_what_every_step_asks_for_is_told_with_its_line(what, ask):
    (finding,) = told(Asking(ask))
    times = 7 * (2 if ask is fill else 1)
    line = inspect.getsourcelines(ask)[1] + 2 * (ask is fill)
    assert (finding.severity, finding.module) == ("costly", "the model")
    assert finding.sentence.startswith(
        f"asks for values of tensors {times} times in 7 time steps ({what} in {HERE}:{line}): on a "
        "GPU each waits for all work before it"
    )


def host_alone(spikes, weight):
    """Numbers that no GPU computes."""
    for t in torch.arange(2):
        _ = spikes[t]
    _ = torch.rand(1).item() + float(torch.tensor(0.5))


def filled(spikes, weight):
    spikes.clone()[spikes > 0] = 0.0


@pytest.mark.parametrize(
    "ask", [host_alone, filled, lambda spikes, weight: torch.where(spikes > 0, spikes, 0)]
)
def test_what_needs_no_value_of_a_gpu_is_not_told(ask):
    assert told(Asking(ask)) == []


def trained(net, x):
    optimizer = torch.optim.Adam(net.parameters())
    net(x).mean().backward()
    optimizer.step()


def counted(net, x):
    for one in x:
        net(one[None]).mean().backward()
        with torch.no_grad():
            net.fc1.weight -= net.fc1.weight.grad
        _ = net.fc1.weight.grad.norm().item()


def test_the_modules_of_a_line_or_the_step_are_named():
    (finding,) = told(complaints.Checked())
    assert finding.module == "lif1, lif2" and " 14 times in 7 time steps " in finding.sentence
    (finding,) = told(complaints.Net(), counted)
    assert finding.module == "counted" and " 7 times in 7 time steps " in finding.sentence


class AtEnd(complaints.Net):
    def forward(self, x):
        spikes = super().forward(x)
        return spikes / max(spikes.sum().item(), 1.0)


def test_a_value_once_a_step_is_not_told():
    assert told(AtEnd()) == []


@pytest.mark.slow
def test_what_an_optimizer_asks_for_is_not_told():
    """Adam reads its count of each parameter on the host: here 4 of them."""
    assert told(complaints.Net(), trained, (3, 3, 11)) == []


def test_a_line_of_a_framework_is_to_know(monkeypatch):
    monkeypatch.setattr("snnbench.worker.waits.is_installed", lambda file: True)
    (finding,) = told(Asking(lambda spikes, weight: spikes.sum().item()))
    assert finding.severity == "to know"


def test_a_step_that_raises_tells_what_it_asked_for_until_then():
    class Ends(Asking):
        def forward(self, x):
            super().forward(x)
            raise ValueError("no end")

    (finding,) = told(Ends(lambda spikes, weight: spikes.sum().item()))
    assert " 7 times " in finding.sentence


def test_parameters_stay_as_they_are():
    net = complaints.Net()
    before = nn.utils.parameters_to_vector(net.parameters()).clone()
    told(net, counted)
    assert torch.equal(nn.utils.parameters_to_vector(net.parameters()), before)
