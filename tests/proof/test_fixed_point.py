"""A construction in fixed point is held to what it states: to the exact one first, then to its own units, at most to bf16."""

from dataclasses import replace

import numpy as np
import pytest
from faults.faulty.numpy_network import NumpyNetwork, NumpyProgram

from snnbench.adapters import Case, FixedPoint, Unsupported
from snnbench.proof.judge import limits
from snnbench.proof.problem import calibrate, proved
from snnbench.proof.stages import limits_of, prove

STATED = FixedPoint("default", 1 / 64, -2.0, 127 / 64, 0.0, 0.0, 0.0)
CASE = Case("rounding", "rounded", neurons=31, time_steps=41, batch=3)


class RoundingProgram(NumpyProgram):
    def load(self, weights, biases):
        if self.case.construction == "rounded":
            weights = [np.clip(np.round(weight * 64) / 64, -2, 127 / 64).astype(np.float32) for weight in weights]
        super().load(weights, biases)


class Rounding(NumpyNetwork):
    name = "rounding"
    constructions = ("default", "rounded")
    stated = STATED

    def fixed_point(self, case):
        return self.stated if case.construction == "rounded" else None

    def program(self, case):
        return RoundingProgram(case)


def proof_of(adapter):
    return prove(adapter, CASE, calibrate(proved(CASE)), sleep=lambda _: None)


def test_what_is_stated_is_proved():
    proof = proof_of(Rounding())
    assert proof.passed, proof.reason
    assert [stage.case.construction for stage in proof.stages] == ["default", "rounded", "rounded", "rounded"]
    assert proof.stages[-1].verdict.grad_error < 1e-6


@pytest.mark.parametrize("stated", [None, replace(STATED, weight_step=1 / 48)])
def test_what_is_not_stated_is_rejected(stated):
    adapter = Rounding()
    adapter.stated = stated
    assert not proof_of(adapter).passed


@pytest.mark.parametrize("stated", [replace(STATED, most_weight=0.05), replace(STATED, weight_step=1.0)])
def test_no_statement_makes_it_another_network(stated):
    adapter = Rounding()
    adapter.stated = stated
    with pytest.raises(Unsupported, match=r"would change the weights of this problem by \d+%"):
        proof_of(adapter)


def test_the_exact_construction_must_pass_first():
    adapter = Rounding()
    adapter.stated = replace(STATED, exact="rounded", decisions=1.0, distance=1.0, gradient=1.0)
    adapter.fixed_point = lambda case: adapter.stated if case == CASE else None
    proof = proof_of(adapter)
    assert not proof.passed
    assert proof.stages[-1].name == "small problem, rounded, spikes"


def test_nothing_may_state_more_than_bf16_is_allowed():
    stated = replace(STATED, decisions=1.0, distance=5.0, gradient=3.0)
    assert limits_of(CASE, stated) == limits("bf16", CASE.neuron, 31, 41, 3)
