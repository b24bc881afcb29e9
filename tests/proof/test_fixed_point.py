"""A construction in fixed point is held to what it states: to the exact one first, then to its
own units, at most to bf16."""

from dataclasses import replace

import numpy as np
import pytest
from faults.faulty.numpy_network import NumpyNetwork, NumpyProgram
from support.networks import network_of
from support.proofs import proof_of

from snnbench.adapters import Case, FixedPoint, Unsupported
from snnbench.proof.limits import limits, limits_of

STATED = FixedPoint("default", 1 / 64, -2.0, 127 / 64, 0.0, 0.0, 0.0)
CASE = Case("rounding", "rounded", neurons=31, time_steps=41, batch=3)


class RoundingProgram(NumpyProgram):
    def load(self, parameters):
        if self.case.construction == "rounded":
            held = lambda weight: np.clip(np.round(weight * 64) / 64, -2, 127 / 64).astype(
                np.float32
            )
            parameters = {
                name: {**own, "weight": held(own["weight"])} for name, own in parameters.items()
            }
        super().load(parameters)


class Rounding(NumpyNetwork):
    name = "rounding"
    constructions = {"default": set(), "rounded": set()}
    stated = STATED

    def fixed_point(self, case):
        return self.stated if case.construction == "rounded" else None

    def program(self, case, network):
        return RoundingProgram(case, network)


def test_what_is_stated_is_proved():
    proof = proof_of(Rounding(), CASE)
    assert proof.passed, proof.reason
    assert [stage.case.construction for stage in proof.stages] == [
        "default",
        "rounded",
        "rounded",
        "rounded",
        "rounded",
    ]
    assert proof.stages[-1].verdict.grad_error < 1e-6


@pytest.mark.parametrize("stated", [None, replace(STATED, weight_step=1 / 48)])
def test_what_is_not_stated_is_rejected(stated):
    adapter = Rounding()
    adapter.stated = stated
    assert not proof_of(adapter, CASE).passed


@pytest.mark.parametrize(
    "stated", [replace(STATED, most_weight=0.05), replace(STATED, weight_step=1.0)]
)
def test_no_statement_makes_it_another_network(stated):
    adapter = Rounding()
    adapter.stated = stated
    with pytest.raises(Unsupported, match=r"would change the weights of this problem by \d+%"):
        proof_of(adapter, CASE)


def test_the_exact_construction_must_pass_first():
    adapter = Rounding()
    adapter.stated = replace(STATED, exact="rounded", decisions=1.0, distance=1.0, gradient=1.0)
    adapter.fixed_point = lambda case: adapter.stated if case == CASE else None
    proof = proof_of(adapter, CASE)
    assert not proof.passed
    assert proof.stages[-1].name == "small problem, rounded, spikes"


def test_nothing_may_state_more_than_bf16_is_allowed():
    stated = replace(STATED, decisions=1.0, distance=5.0, gradient=3.0)
    assert set(limits_of(CASE, network_of(CASE), stated).values()) == {
        limits("bf16", CASE.neuron, 31, 123, 41)
    }
