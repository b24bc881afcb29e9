"""Native neurons: what a framework's own tutorial gives, shown to have the right time axis,
never ranked."""

import os
import sys
import tomllib

import pytest
from support.networks import workload_of
from support.paths import WRONG
from support.proofs import loaded, proof_of, refusal_of

from snnbench.adapters import registry
from snnbench.core.case import NATIVE, Case
from snnbench.core.contract import Unsupported
from snnbench.kernels.spec import NEURONS
from snnbench.proof.native import with_firing_input
from snnbench.proof.problem import problem_id
from snnbench.proof.stages import UNSTEADY
from snnbench.proof.time_axis import time_axis

FAULTS = tomllib.loads((WRONG / "faults.toml").read_text())["natives"]
STAGES = ["small problem, {}, time axis", "small problem, {}, gradients", "own size, {}"]


@pytest.fixture(autouse=True)
def surroundings(monkeypatch):
    """As in a worker: no samna; and one thread, for these problems are too small for more."""
    monkeypatch.setitem(sys.modules, "samna", None)
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0}, raising=False)


def case_of(name, **changes):
    return Case(name, **{"neuron": NATIVE, "time_steps": 31, "batch": 5, "neurons": 61, **changes})


def planted(reference, **changes):
    adapter = registry.load(f"{WRONG / reference}")
    case = case_of(adapter.name, **changes)
    assert refusal_of(adapter, case) is None
    return proof_of(adapter, case)


# -- the proof -------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_native_is_rejected_and_its_fault_named(fault):
    proof = planted(fault)
    assert not proof.passed
    assert FAULTS[fault] in proof.reason, proof.reason


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"layers": 2},
        {"workload": "lif", "bias": False},
        {"input_grad": False},
        {"time_steps": 1},
    ],
)
def test_a_right_native_passes_every_stage_without_an_oracle(changes):
    proof = planted("natives.py:Right", **changes)
    assert proof.passed, proof.reason
    assert [stage.name for stage in proof.stages] == [name.format("fp32") for name in STAGES]
    assert all(stage.verdict.firing_rate >= 0.02 for stage in proof.stages)
    assert [stage.verdict.wrong_decisions for stage in proof.stages[1:]] == [None, None]
    assert not any(stage.verdict.errors for stage in proof.stages)


def test_one_that_never_fires_shows_nothing():
    with pytest.raises(
        Unsupported, match=r"unsuitable problem: fires at 0\.0% even on 256 times the input"
    ):
        planted("natives.py:Silent")


@pytest.mark.parametrize("precision", ["bf16", "fp16", "amp-bf16"])
def test_what_rounding_hides_from_spikes_gradients_show(precision):
    assert planted("natives.py:Right", precision=precision).passed
    assert (
        "looks ahead: earlier spikes have a gradient"
        in planted("natives.py:LooksAheadALittle", precision=precision).reason
    )


class Unsteady:
    """A program that changes some of its spikes in every call, as sums in no fixed order do."""

    def __init__(self, program, changed):
        self.program, self.changed, self.calls = program, changed, 0

    def __getattr__(self, name):
        return getattr(self.program, name)

    def spikes(self, result):
        spikes = self.program.spikes(result)
        here = slice(self.calls * self.changed, (self.calls + 1) * self.changed)
        self.calls += 1
        flat = spikes["neuron1"].reshape(-1)
        flat[here] = 1 - flat[here]
        return spikes


@pytest.mark.parametrize(("changed", "passed"), [(2, True), (60, False)])
def test_a_thousandth_may_differ_only_where_a_repeated_call_does(changed, passed):
    adapter = registry.load(f"{WRONG / 'natives.py'}:Right")
    case = case_of(adapter.name)
    program, problem = loaded(adapter, workload_of(case).small_case(case))
    problem, _ = with_firing_input(program, problem)
    assert time_axis(program, problem).passed
    assert time_axis(Unsteady(program, changed), problem, UNSTEADY).passed == passed
    assert not time_axis(Unsteady(program, changed), problem).passed, (
        "where there is an oracle every bit counts"
    )


def test_weights_are_those_of_soft():
    assert problem_id(case_of("any")) == problem_id(case_of("any", neuron=NEURONS["soft"]))
    assert problem_id(case_of("any")) != problem_id(case_of("any", neuron=NEURONS["hard"]))
