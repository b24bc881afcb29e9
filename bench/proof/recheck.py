"""Holds the last timed call of a phase against the oracle: what was timed must still be right."""

import numpy as np

from .judge import Limits, judge
from .problem import Problem

MOST_FLIPPED = 0.05
"""Of a stack's inference only the last layer's spikes are seen; they, and those of native neurons, may differ this much from
forward's."""


def recheck(
    program, problem: Problem, parts: dict, name: str, result, x: np.ndarray, limit: Limits, native: bool = False
) -> dict:
    """Event fields `status` and `reason` if the last output is wrong, else none. That of a native neuron, for which there is
    no oracle, must be what an untimed call gives."""
    borders = program.spikes(result)
    if native or len(borders) < max(1, len(problem.weights)):
        return _like_forward(program, parts, borders[-1], x, problem)
    stack_too_wide = problem.rows is not None and len(problem.weights) > 1
    gradients = program.gradients(result) if name == "backward" and not stack_too_wide else None
    verdict = judge(problem, x, borders, gradients, limit)
    if not verdict.passed:
        return {"status": "check_failed", "reason": f"last timed output: {'; '.join(verdict.findings)}"}
    return {}


def _like_forward(program, parts, spikes, x, problem) -> dict:
    forward = parts["forward"]
    again = forward.call(forward.prepare(0 if x is problem.input else 1))
    program.wait(again)
    flipped = float((program.spikes(again)[-1] != spikes).mean())
    if flipped > MOST_FLIPPED:
        return {"status": "check_failed", "reason": f"last timed output: {flipped:.1%} of the spikes differ from forward's"}
    return {}
