"""Holds the last timed call of a phase against the oracle: what was timed must still be right."""

from typing import Any

import numpy as np

from snnbench.adapters.base.case import Native
from snnbench.adapters.base.contract import Program

from ..measure.phases import Phase
from .judge import Call, judge
from .limits import LimitsByNode
from .problem import Problem

MOST_FLIPPED = 0.05
"""Of an inference only the last neuron's spikes are seen; they, and those of native neurons, may differ this much from
forward's."""


def recheck(
    program: Program, problem: Problem, forward: Phase, name: str, result: Any, index: int, limits: LimitsByNode
) -> dict[str, str]:
    """Event fields `status` and `reason` if the last output of the phase `name`, on input number `index`, is wrong, else none.
    That of a native neuron, for which there is no oracle, must be what an untimed call gives."""
    spikes, network = program.spikes(result), problem.network
    native = isinstance(network.node(problem.last).options["neuron"], Native)
    if native or set(network.neurons) - spikes.keys():
        reason = _unlike_forward(program, forward, result, index, problem.last)
    else:
        layers_apart = problem.rows is not None and len(spikes) > 1
        gradients = program.gradients(result) if name == "backward" and not layers_apart else None
        x = (problem.input, problem.other_input)[index % 2]
        reason = "; ".join(judge(problem, Call(x, spikes, program.output(result), gradients), limits).findings)
    return {"status": "check_failed", "reason": f"last timed output: {reason}"} if reason else {}


def _unlike_forward(program: Program, forward: Phase, result: Any, index: int, last: str) -> str | None:
    """Why spikes of the last neuron, or the output, are not those of an untimed forward on input number `index`."""
    again = forward.call(forward.prepare(index))
    program.wait(again)
    flipped = float((program.spikes(again)[last] != program.spikes(result)[last]).mean())
    if flipped > MOST_FLIPPED:
        return f"{flipped:.1%} of the spikes differ from forward's"
    output, expected = program.output(result), program.output(again)
    if np.linalg.norm(output - expected) > np.sqrt(MOST_FLIPPED) * np.linalg.norm(expected):
        return "the output differs from forward's"
    return None
