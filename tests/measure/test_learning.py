"""Real training: frameworks that are proved learn alike, and wrong steps do not."""

from dataclasses import replace
from functools import partial
from itertools import count

import pytest
import torch
from support.networks import WIDEST
from support.paths import WRONG
from support.proofs import loaded
from support.slow import representatives

from snnbench.adapters import registry
from snnbench.core.case import Case
from snnbench.kernels.spec import NEURONS
from snnbench.measure.learning import NEW, STEPS, learned
from snnbench.workloads import workload_of
from snnbench.workloads.task import batch_of

SIZES = {"layers": None, "bias": None, "classes": 10, "batch": 16, "time_steps": 10}
MLP = Case(
    "torch",
    workload="mnist-mlp",
    neuron=NEURONS["hard"],
    neurons=97,
    image=19,
    loss="spike-count",
    optimizer="adam",
    **SIZES,
)
CIFAR = Case(
    "torch", workload="cifar-small", neuron=NEURONS["hard"], neurons=None, width=8, image=16, norm=True, loss="cross-entropy",
    optimizer="sgd", **SIZES,
)  # fmt: skip
FRAMEWORKS = ("torch", "snntorch", "spikingjelly", "sinabs", "fused", "jax", "spyx")
"""Norse's hard reset is attached."""


def curve(case, reference=None, **clock):
    adapter = registry.load(reference or registry.FRAMEWORKS[case.framework])
    case = replace(case, framework=adapter.name)
    adapter.prepare(case, 1)
    program, _ = loaded(adapter, case)
    return program, learned(
        program, partial(batch_of, case, workload_of(case).network(case)), **clock
    )


@pytest.mark.frameworks
@pytest.mark.parametrize(
    "case", representatives([MLP, CIFAR], []), ids=["mnist-mlp adam", "cifar-small sgd"]
)
def test_frameworks_learn_the_task_and_their_curves_lie_on_each_other(case):
    curves = {name: curve(replace(case, framework=name))[1] for name in FRAMEWORKS}
    first = curves["torch"]["loss"]
    assert len(first) == STEPS
    for name, told in curves.items():
        apart = [
            abs(own - other) / first[0] for own, other in zip(told["loss"], first, strict=True)
        ]
        assert max(apart[:10]) < 1e-5 and max(apart) < 0.02, name
        assert told["accuracy"] > 0.95, name


@pytest.mark.parametrize("fault", ["LossByStep", "StatesLost", "AccumulatedTwice", "AnotherRate"])
def test_a_wrong_step_learns_otherwise(fault):
    case = replace(MLP, optimizer="sgd")  # twice the gradient is the same to Adam
    right, wrong = curve(case)[1]["loss"], curve(case, f"{WRONG}/steps.py:{fault}")[1]["loss"]
    assert (
        max(abs(own - other) for own, other in zip(wrong[:10], right, strict=False))
        > 1e-3 * right[0]
    )


def test_a_slow_program_learns_for_fewer_steps_and_parameters_are_as_before():
    ticks = count(step=20)
    program, told = curve(replace(MLP, neuron=WIDEST), clock=lambda: next(ticks))
    assert len(told["loss"]) == 2 and 0 <= told["accuracy"] <= 1
    assert round(told["accuracy"] * MLP.batch * NEW, 6) % 1 == 0
    assert all(
        torch.equal(leaf, kept) for leaf, kept in zip(program.leaves, program.loaded, strict=True)
    )
