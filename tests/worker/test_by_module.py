"""Time, memory and gradients of a user's model by module and by time step."""

import sys

import numpy as np
import pytest
import torch
from support.paths import FAULTS
from torch import nn

from snnbench.adapters.base.torch_by_module import OUTSIDE, by_module, gradients_over_time
from snnbench.adapters.base.torch_model import TorchModel, neurons_of, units_of
from snnbench.worker.models import inputs

sys.path.append(str(FAULTS / "models"))
import complaints

SHAPE = (37, 3, 11)


class Slow(nn.Module):
    def forward(self, x):
        for _ in range(300):
            x = torch.sin(x)
        return x


def seen_of(model, x):
    model.restore()
    with model.watched(*x.shape[:2]) as seen:
        model(model.put(x))
    return seen


def test_bytes_are_kept_by_the_module_that_saves_them():
    x, _ = inputs(SHAPE)
    parts = by_module(TorchModel(nn.Sequential(nn.Linear(11, 13), nn.Sigmoid()), "tbf"), x, "01")
    kept = {one.module: one.kept_bytes for one in parts}
    assert kept == {"0": 4 * 37 * 3 * 11, "1": 4 * 37 * 3 * 13, OUTSIDE: 0}


def test_time_goes_where_it_is_spent_forward_and_backward():
    x, _ = inputs(SHAPE)
    model = TorchModel(nn.Sequential(nn.Linear(11, 13), Slow(), nn.Linear(13, 5)), "tbf")
    rounds = [by_module(model, x, "012") for _ in range(3)]  # one may be preempted
    for phase in ("forward_s", "backward_s"):
        first, slow, *others = (
            min(getattr(part, phase) for part in parts) for parts in zip(*rounds, strict=True)
        )
        assert slow > max(first, *others)


@pytest.mark.parametrize("name", ["Net", "BatchNorm"])
def test_a_loop_over_time_is_summed_and_its_gradient_is_that_of_each_step(name):
    x, _ = inputs(SHAPE)
    model = TorchModel(getattr(complaints, name)(), "tbf")
    seen = seen_of(model, x)
    neurons = neurons_of(model, seen)
    parts = by_module(model, x, [one.name for one in units_of(seen, neurons)])
    assert [one.module for one in parts] == ["fc1", "lif1", "fc2", "lif2", OUTSIDE]
    assert all(one.forward_s > 0 and one.backward_s > 0 for one in parts)
    gradients = gradients_over_time(model, x, neurons)
    assert {len(norms) for norms in gradients.values()} == {37}
    torch.manual_seed(5)  # as the random weights of the outputs' sum
    assert np.isclose(gradients["lif2"][-1], torch.randn(37, 3, 5)[-1].norm())
    assert gradients["lif1"].all()


def test_a_gradient_that_is_cut_is_zero_where_it_is_cut():
    x, _ = inputs(SHAPE)
    model = TorchModel(complaints.Cut(), "tbf")
    gradients = gradients_over_time(model, x, neurons_of(model, seen_of(model, x)))
    assert not gradients["lif1"].any() and gradients["lif2"].all()
