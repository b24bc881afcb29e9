"""Finds the time axis by changing input early and late."""

from typing import Any

import numpy as np

from ..core.contract import Program
from .judge import CallVerdict
from .problem import Problem

LEAST_CHANGED = 3
"""Least changed spikes that show a reaction."""


def time_axis(
    program: Program, problem: Problem, unsteady: float = 0.0, lasting: bool = False
) -> CallVerdict:
    """Judges six inferences: another input, the input, repeated, changed late, changed early,
    repeated.

    The last neuron's spikes must be equal to the bit where the changed input may have no effect. A
    share of up to `unsteady` may differ, but only if a repeated call differs too, as with sums in
    no fixed order. Norms use their running statistics, so that they mix neither steps nor items.
    `lasting`: results must survive later calls, as in all modes but those that replay a graph on
    the same memory.
    """
    verdict = CallVerdict()
    x, other = problem.input, problem.other_input
    half = len(x) // 2
    future, past = x.copy(), x.copy()
    future[half:, 0] = other[half:, 0]
    past[:half, :-1] = other[:half, :-1]

    def call(array: np.ndarray) -> np.ndarray:
        result = program.inference(program.put_input(array))
        program.wait(result)
        results.append(result)
        return program.spikes(result)[problem.last]

    program.prepare_inference(problem.statistics)
    results: list[Any] = []
    first = call(other)
    y, again, y_future, y_past, last = call(x), call(x), call(future), call(past), call(x)
    verdict.firing_rate = float(y.mean())
    if lasting and not np.array_equal(program.spikes(results[0])[problem.last], first):
        verdict.findings.append("later calls write over the spikes that an earlier one handed out")
    allowed = 0.0 if np.array_equal(again, y) and np.array_equal(last, y) else unsteady

    def same(first_spikes: np.ndarray, second_spikes: np.ndarray) -> bool:
        return float((first_spikes != second_spikes).mean()) <= allowed

    if not (same(again, y) and same(last, y)):
        verdict.findings.append(
            "the same input gave other spikes when repeated: state leaks between calls"
        )
        return verdict  # the other calls show nothing then
    if not (same(y_future[:, 1:], y[:, 1:]) and same(y_past[:, -1], y[:, -1])):
        verdict.findings.append(
            "batch items influence each other (is the batch axis scanned as time?)"
        )
    if not same(y_future[:half], y[:half]):
        verdict.findings.append("looks ahead: a later input changes earlier spikes")
    if np.count_nonzero(y_future[half:, 0] != y[half:, 0]) < LEAST_CHANGED:
        verdict.findings.append("does not react to its input")
    if np.count_nonzero(y_past[half:, :-1] != y[half:, :-1]) < LEAST_CHANGED:
        verdict.findings.append(
            "has no memory: earlier input does not change later spikes "
            "(a single step fed a whole sequence?)"
        )
    return verdict
