"""Every variant that is ready on a CPU, and four neurons with a current each that tell right
constants from wrong ones."""

import functools
from importlib.util import find_spec

import numpy as np
import pytest
from support.expected import adapter_of, on_jax
from support.networks import network_of
from support.proofs import refusal_of

from snnbench.adapters import TorchAdapter, registry
from snnbench.core.case import Case
from snnbench.runner.variants import twins

BELOW, ABOVE, THRICE, TWICE = range(4)
CURRENTS = np.zeros((3, 1, 4), np.float32)
CURRENTS[0, 0] = 0.999, 1.001, 3.5, 0.6
CURRENTS[1, 0, TWICE] = 0.6
"""(T, B, N). Just below the threshold and just above it once; above three times the threshold;
and 0.6 twice, of which the second crosses the threshold if, and only if, the first is still
remembered."""


def _ready() -> dict[str, Case]:
    """Every variant in eager mode that has a neuron here, with the first that it has."""
    ready = {}
    for name in registry.FRAMEWORKS:
        adapter = adapter_of(name)
        if any(find_spec(module.partition(".")[0]) is None for module in adapter.requires):
            continue
        for construction in adapter.constructions:
            sizes = {"neurons": 4, "time_steps": 3, "batch": 1, "input": "dense"}
            cases = [Case(name, construction, neuron=spec, **sizes) for spec in twins().values()]
            if accepted := [case for case in cases if refusal_of(adapter, case) is None]:
                ready[accepted[0].framework_variant] = accepted[0]
    return ready


READY = _ready()
TORCH = [
    name for name, case in READY.items() if isinstance(adapter_of(case.framework), TorchAdapter)
]
JAX = [name for name, case in READY.items() if on_jax(case.framework)]
every_variant = pytest.mark.parametrize("name", READY)


def program_of(case):
    """Its network with weights that hand the inputs on as they are."""
    adapter_of(case.framework).prepare(case, 1)
    program = adapter_of(case.framework).program(case, network_of(case))
    program.load(
        {
            "linear1": {
                "weight": np.eye(case.neurons, dtype=np.float32),
                "bias": np.zeros(case.neurons, np.float32),
            }
        }
    )
    return program


@functools.cache
def answers(name):
    """(T, N) spikes of the four neurons, in a first call and in a second."""
    program = program_of(READY[name])
    x = program.put_input(CURRENTS)
    return [program.spikes(program.inference(x))["neuron1"][:, 0] for _ in range(2)]


def changed(name, **changes):
    """The variant's case with its neuron and other sizes."""
    case = READY[name]
    return Case(case.framework, case.construction, neuron=case.neuron, **changes)
