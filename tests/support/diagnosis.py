"""What a framework with a fault would give in a network of one layer, and what the proof calls
it."""

import numpy as np

from snnbench.core.case import Case
from snnbench.core.result import Gradients
from snnbench.proof import oracle
from snnbench.proof.diagnosis.diagnose import diagnose
from snnbench.proof.judge import JudgedCall, judge
from snnbench.proof.limits import limits_of
from snnbench.proof.recurrence import run, run_backward

CASE = Case("any", neurons=97, time_steps=37, batch=3)


def currents_of(problem):
    """Currents (T, B, N) of a network of one layer."""
    run = oracle.forward(problem.network, problem.parameters, problem.input)
    return run.values[problem.network.node(problem.last).inputs[0]]


def right_spec(problem):
    return problem.network.node(problem.last).options["neuron"]


def spikes_of(problem, spec=None, change=lambda currents: currents):
    """Spikes of a framework with another neuron, or with changed currents."""
    return run(spec or right_spec(problem), change(currents_of(problem)))[1].astype(np.float32)


def gradients_of(
    problem, spikes, spec=None, change=lambda currents: currents, pull=lambda gradient: gradient
):
    spec = spec or right_spec(problem)
    v, _ = run(spec, change(currents_of(problem)), spikes)
    by_current = pull(run_backward(spec, v, spikes, problem.upstream.astype(np.float64))).astype(
        np.float32
    )
    if not problem.parameters:
        return Gradients({}, by_current)
    weight = np.tensordot(by_current, problem.input, axes=([0, 1], [0, 1]))
    own = {"weight": weight, "bias": by_current.sum(axis=(0, 1))}
    return Gradients({"linear1": own}, by_current @ problem.parameters["linear1"]["weight"])


def called(problem, case, spikes, gradients=None):
    spikes = spikes if isinstance(spikes, dict) else {problem.last: spikes}
    return (
        problem,
        JudgedCall(problem.input, spikes, gradients=gradients),
        limits_of(case, problem.network),
    )


def named(problem, case, spikes, gradients=None):
    """The diagnosis of a call that the judge rejects."""
    given = called(problem, case, spikes, gradients)
    assert not judge(*given).passed
    return diagnose(*given)
