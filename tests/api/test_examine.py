"""`snnbench.examine` and `snnbench.same`: modules of a notebook, in its process."""

import sys

import numpy as np
import pytest
import torch
from support.paths import FAULTS
from torch import nn

import snnbench as own
from snnbench.kernels import LIF, NeuronSpec

COMPLAINTS = FAULTS / "models" / "complaints.py"
SHAPE = (17, 3, 11)


def net(**changes):
    torch.manual_seed(3)
    spec = NeuronSpec(**{"reset": "soft", "decay": 0.9, **changes})
    return nn.Sequential(nn.Linear(11, 13), LIF(spec))


def test_a_module_is_examined_and_stays_as_it_was():
    model = net()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    examined = own.examine(model, SHAPE)
    assert examined and examined.status == "ok", examined
    assert [neuron["verdict"] for neuron in examined.neurons] == ["proved"]
    assert repr(examined).startswith("1: snnbench's LIF: soft, attached, decay 0.9")
    assert torch.equal(torch.rand(3), expected), "random numbers of the notebook go on"
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(one.grad is None for one in model.parameters())


def test_the_input_of_a_user_is_the_one_that_is_examined():
    class Picky(nn.Module):
        def __init__(self):
            super().__init__()
            self.net, self.seen = net(), []

        def forward(self, x):
            assert x.shape == (3, 17, 11) and x.max() == 7
            return self.net(x.transpose(0, 1))

    x = torch.zeros(3, 17, 11)
    x[:, 4:9, 2] = 7
    assert own.examine(Picky(), x, axes="btf")
    assert own.same(Picky(), Picky(), x.numpy(), axes="btf")


def test_a_fault_makes_it_false():
    class Mixes(nn.Sequential):
        def forward(self, x):
            return super().forward(x - x.mean(1, keepdim=True))

    examined = own.examine(Mixes(*net()), SHAPE)
    assert not examined and examined.is_wrong
    assert "wrong · 1 gives spikes that depend on other items of the batch" in repr(examined)


def test_same_is_an_assertion_with_a_sentence():
    assert own.same(net(), net(), SHAPE)
    different = own.same(net(), net(decay=0.5), SHAPE)
    assert not different and repr(different).startswith("they differ: spikes of 1 differ from step")
    failed = own.same(net(), nn.Linear(12, 13), SHAPE)
    assert not failed and (failed.status, failed.reason.startswith("the second raises")) == (
        "build_error",
        True,
    )


@pytest.mark.slow
def test_a_file_is_examined_in_a_process_of_its_own():
    assert not own.examine(f"{COMPLAINTS}:Three", SHAPE)
    assert own.same(f"{COMPLAINTS}:Net", f"{COMPLAINTS}:Net", SHAPE)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: own.examine(7, SHAPE), "a model of type int: must be a torch.nn.Module, or"),
        (lambda: own.examine(net(), (17, 3)), r"input=\(17, 3\): must be time steps, batch and"),
        (lambda: own.examine(net(), np.zeros((0, 3, 11))), "input: has the sizes 0 × 3 × 11: must"),
        (lambda: own.examine(net(), SHAPE, axes="tb"), "axes='tb': must be one of tbf, btf, bf"),
        (lambda: own.examine("nowhere.py:net", SHAPE), "nowhere.py:net: must be a file and"),
        (lambda: own.same(net(), "a.py:b", SHAPE), "a model of type str: must be a torch.nn"),
    ],
)
def test_a_mistake_is_one_sentence(call, words):
    with pytest.raises(own.ConfigError, match=words):
        call()


def test_a_module_that_holds_a_graph_cannot_be_copied():
    model = net()
    model.state = model[0].weight * 2
    with pytest.raises(own.ConfigError, match=r"Sequential cannot be copied: .* reset its state"):
        own.examine(model, SHAPE)


@pytest.mark.slow
def test_a_copy_is_reset_as_its_original_and_may_have_a_copy_of_its_own(monkeypatch):
    """snnTorch resets the neurons that were constructed; Sinabs cannot copy its recurrent ones."""
    monkeypatch.setitem(sys.modules, "samna", None)
    monkeypatch.syspath_prepend(str(FAULTS / "models"))
    import right

    examined = own.examine(right.SnnTorchHidden(), SHAPE, quick=True)
    assert examined and "from one call to the next" not in repr(examined), examined
    assert own.examine(right.sinabs_recurrent(), SHAPE, axes="btf", quick=True)
