"""What is timed is judged: spikes and gradients of every phase, on values that no adapter could foresee."""

import tomllib
from random import Random

import pytest
from support.expected import adapter_of
from support.networks import network_of
from support.paths import WRONG
from support.proofs import loaded

from snnbench.adapters import registry
from snnbench.adapters.base.case import PHASES, Case
from snnbench.kernels.spec import NEURONS
from snnbench.measure.phases import Phases
from snnbench.proof.limits import limits_of
from snnbench.proof.recheck import recheck

TIMED = tomllib.loads((WRONG / "faults.toml").read_text())["timed"]
ODD = {"neurons": 97, "time_steps": 37, "batch": 3}


def rechecked(adapter, case, name, calls=41):
    """How the recheck of a phase ends after so many calls."""
    program, problem = loaded(adapter, case)
    result = program.forward(program.put_input(problem.input))
    inputs = [program.put_input(problem.input), program.put_input(problem.other_input)]
    phases = Phases(program, inputs, program.put_upstream(problem.upstream, result), Random(5))
    phase = phases.by_name[name]
    for index in range(calls):
        result = phase.call(phase.prepare(index))
        program.wait(result)
    return recheck(program, problem, phases, name, result, limits_of(case, network_of(case))).get("reason", "")


@pytest.mark.parametrize("fault", TIMED)
def test_what_is_wrong_in_timed_calls_alone_is_named(fault):
    adapter = registry.load(f"{WRONG / 'timed.py'}:{fault}")
    phase, words = TIMED[fault].split(": ", 1)
    try:
        reason = rechecked(adapter, Case(adapter.name, **ODD), phase)
    except TypeError as error:
        reason = str(error)
    assert words in reason


@pytest.mark.parametrize("framework", ["norse", "rockpool-jax", "snntorch", "sinabs", "spikingjelly", "spyx"])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_right_steps_pass_however_parameters_are_scaled(framework, precision):
    case, adapter = Case(framework, precision=precision, layers=2, **ODD), adapter_of(framework)
    if not adapter.refuses(case, network_of(case)):
        assert rechecked(adapter, case, "step", calls=2) == ""


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("neuron", ["soft", "hard-straight"])
@pytest.mark.parametrize("framework", ["torch", "jax", "fused"])
def test_right_calls_pass(framework, neuron, phase):
    for more in ({}, {"bias": False, "input_grad": False}, {"precision": "bf16"}, {"layers": 3}, {"workload": "lif"}):
        case = Case(framework, neuron=NEURONS[neuron], **ODD, **more)
        adapter = adapter_of(framework)
        if not adapter.refuses(case, network_of(case)):
            assert rechecked(adapter, case, phase, calls=2) == "", more
