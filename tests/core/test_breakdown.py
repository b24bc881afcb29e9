"""Steps taken apart: marks in their order, allocations by their kinds, on known networks and known
tensors."""

from itertools import count

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.networks import WIDEST
from support.proofs import loaded

from snnbench.adapters import registry
from snnbench.adapters.base import torch_breakdown
from snnbench.adapters.base.torch_breakdown import Allocation, Stages, at_peak
from snnbench.core.breakdown import KINDS, STAGES, stage_of
from snnbench.core.case import Case

SIZES = {
    "width": 4,
    "image": 9,
    "classes": 7,
    "norm": True,
    "layers": None,
    "neurons": None,
    "bias": None,
}
CIFAR = Case(
    "torch", workload="cifar-small", neuron=WIDEST, time_steps=5, batch=3, input="images", loss="cross-entropy", optimizer="adam",
    **SIZES,
)  # fmt: skip
MIB = 1 << 20


def stepped(case):
    """(program, input, labels), every state of the optimizer there."""
    program, problem = loaded(registry.load(registry.FRAMEWORKS[case.framework]), case)
    x = program.put_input(problem.input)
    labels = program.put_upstream(problem.upstream, program.forward(x))
    program.step(x, labels)
    return program, x, labels


def test_every_moment_of_a_step_belongs_to_one_stage():
    program, x, labels = stepped(CIFAR)
    clock = count()
    program.clock = lambda: next(clock)
    stages = Stages(program)
    found = stages.step(x, labels)
    assert sum(found.values()) == next(clock) - 1, "marks follow each other without a gap"
    names = [name for name, _ in stages.marks]
    forward = (
        ["conv", "norm", "neuron"] * 3
        + ["other layers"]
        + ["linear", "norm", "neuron"] * 2
        + ["other layers", "linear"]
    )
    assert names[1 : 1 + len(forward)] == forward
    behind = names[1 + len(forward) :]
    assert behind == ["linear", "loss", *reversed(forward[1:]), "conv", "optimizer"]


def test_what_is_computed_as_one_stays_one():
    program, x, labels = stepped(Case(**{**vars(CIFAR), "framework": "fused"}))
    found = Stages(program).step(x, labels)
    assert set(found) == {
        "conv, norm and neuron",
        "linear, norm and neuron",
        "linear",
        "other layers",
        "loss",
        "optimizer",
    }
    assert stage_of(("linear", "neuron")) == "linear and neuron"
    assert stage_of(("conv", "linear", "neuron")) == "neuron"


@pytest.mark.parametrize("framework", ["torch", "fused", "norse"])
def test_a_breakdown_leaves_parameters_and_states_as_they_were(framework, tmp_path):
    program, x, labels = stepped(Case(**{**vars(CIFAR), "framework": framework}))
    program.roll_parameters(17)
    before = [leaf.detach().clone() for leaf in program.leaves]
    told = program.breakdown(x, labels, str(tmp_path / "trace.json"))
    assert all(torch.equal(leaf, old) for leaf, old in zip(program.leaves, before, strict=True))
    assert not any(
        state.any()
        for named in program.trainer.states().values()
        for own in named.values()
        for state in own.values()
    )
    assert {*told.seconds} <= {*STAGES} and {*told.bytes} <= {*KINDS} and told.step_s > 0
    assert (tmp_path / "trace.json").read_text(encoding="utf-8").lstrip().startswith("{")


def test_memory_of_known_tensors():
    """A linear of 4 MiB: as much of gradients, twice as much of Adam's states, and spikes and
    potentials of 1000 neurons."""
    case = Case(
        "torch",
        neuron=WIDEST,
        neurons=1024,
        time_steps=16,
        batch=16,
        loss="spike-count",
        optimizer="adam",
        input_grad=False,
    )
    program, x, labels = stepped(case)
    found = torch_breakdown.breakdown(program, x, labels, None, staged=False).bytes
    weights = 4 * (1024 * 1024 + 1024)
    assert found["parameters"] == weights
    assert found["optimizer"] == pytest.approx(2 * weights, rel=1e-3)
    assert found["gradients"] + found["workspace"] >= weights
    assert found["feature maps"] >= 2 * x.nbytes, "currents and spikes at least"


@given(
    st.lists(
        st.tuples(st.integers(1, 50), st.integers(0, 30), st.integers(1, 30)),
        min_size=1,
        max_size=20,
    )
)
def test_the_peak_is_the_most_that_is_in_use(blocks):
    allocations = [
        Allocation(address, size, start, start + length)
        for address, (size, start, length) in enumerate(blocks)
    ]
    most = max(
        sum(a.bytes for a in allocations if a.start <= moment < a.end) for moment in range(61)
    )
    found = at_peak(allocations, [20, 40], {a.address for a in allocations[::2]})
    assert sum(found.values()) == most


def test_kinds_at_the_peak():
    kept, gradient, other = (
        Allocation(1, 8 * MIB, 0, 30),
        Allocation(2, 4 * MIB, 21, 50),
        Allocation(3, 2 * MIB, 22, 25),
    )
    gone = Allocation(4, 5 * MIB, 1, 5)
    found = at_peak([kept, gradient, other, gone], [20, 40], {2})
    assert found == {"feature maps": 8 * MIB, "gradients": 4 * MIB, "workspace": 2 * MIB}
