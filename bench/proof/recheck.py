"""Holds the last timed call of a phase against the oracle: what was timed must still be right, its gradients too."""

from typing import Any

import numpy as np

from snnbench.adapters.base.case import Native
from snnbench.adapters.base.contract import Program

from ..measure.phases import Phases
from .judge import Call, judge
from .limits import LimitsByNode
from .problem import Problem, drawn

MOST_FLIPPED = 0.05
"""Of an inference only the last neuron's spikes are seen; they, and those of native neurons, may differ this much from
forward's."""


def recheck(program: Program, problem: Problem, phases: Phases, name: str, result: Any, limits: LimitsByNode) -> dict[str, str]:
    """Event fields `status` and `reason` if the result of the phase's last call is wrong, else none. That of a native neuron,
    for which there is no oracle, must be what an untimed call gives."""
    spikes, network = program.spikes(result), problem.network
    native = isinstance(network.node(problem.last).options["neuron"], Native)
    if native or set(network.neurons) - spikes.keys():
        reason = _unlike_forward(program, phases, result, problem.last)
    else:
        gradients = program.gradients(result) if name in ("backward", "step") else None
        timed = drawn(problem, phases.draw)
        reason = "; ".join(judge(timed, Call(timed.input, spikes, program.output(result), gradients), limits).findings)
    return {"status": "check_failed", "reason": f"last timed call: {reason}"} if reason else {}


def _unlike_forward(program: Program, phases: Phases, result: Any, last: str) -> str | None:
    """Why spikes of the last neuron, or the output, are not those of an untimed forward on the same values."""
    spikes, output = program.spikes(result)[last], program.output(result)
    again = program.forward(phases.put(phases.draw))
    program.wait(again)
    flipped = float((program.spikes(again)[last] != spikes).mean())
    if flipped > MOST_FLIPPED:
        return f"{flipped:.1%} of the spikes differ from forward's"
    expected = program.output(again)
    if np.linalg.norm(output - expected) > np.sqrt(MOST_FLIPPED) * np.linalg.norm(expected):
        return "the output differs from forward's"
    return None
