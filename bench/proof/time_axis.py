"""Finds the time axis by changing input early and late."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.case import Native
from ..core.contract import Program
from . import oracle
from .judge import WROTE_OVER, CallVerdict, wrote_over
from .problem import Problem, in_inference

LEAST_CHANGED = 3
"""Least changed spikes that show a reaction."""
PROBES = 8
"""Most changed inputs that are tried for a reaction: small outputs and short memories change few
spikes."""
Call = Callable[[np.ndarray], np.ndarray]
"""A forward from an input (T, B, *features) to the last neuron's spikes."""


def time_axis(
    program: Program, problem: Problem, unsteady: float = 0.0, lasting: bool = False
) -> CallVerdict:
    """Judges six inferences: another input, the input, repeated, changed late, changed early,
    repeated. If these change too few spikes, others follow. A later input may change earlier spikes
    in a network that looks ahead.

    The last neuron's spikes must be equal to the bit where the changed input may have no effect. A
    share of up to `unsteady` may differ, but only if a repeated call differs too, as with sums in
    no fixed order. Norms use their running statistics, so that they mix neither steps nor items.
    `lasting`: results must survive later calls, as in all modes but those that replay a graph on
    the same memory.
    """
    verdict = CallVerdict()
    x, other = problem.input, problem.other_input
    half, future, past = len(x) // 2, _changed_late(problem, 0)[0], _changed_early(problem, 0)[0]

    def call(array: np.ndarray) -> np.ndarray:
        result = program.inference(given := program.put_input(array))
        program.wait(result)
        results.append(result)
        if WROTE_OVER not in verdict.findings and wrote_over(array, program.input_after(given)):
            verdict.findings.append(WROTE_OVER)
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
        changed = int(np.count_nonzero(first_spikes != second_spikes))
        return changed <= allowed * first_spikes.size

    if not (same(again, y) and same(last, y)):
        verdict.findings.append(
            "the same input gave other spikes when repeated: state leaks between calls"
        )
        return verdict  # the other calls show nothing then
    if not (same(y_future[:, 1:], y[:, 1:]) and same(y_past[:, -1], y[:, -1])):
        verdict.findings.append(
            "batch items influence each other (is the batch axis scanned as time?)"
        )
    if not (problem.network.looks_ahead or same(y_future[:half], y[:half])):
        verdict.findings.append("looks ahead: a later input changes earlier spikes")
    if not (verdict.findings or _changes(call, y, y_future, problem, _changed_late)):
        verdict.findings.append("does not react to its input")
    if not (verdict.findings or _changes(call, y, y_past, problem, _changed_early)):
        verdict.findings.append(
            "has no memory: earlier input does not change later spikes "
            "(a single step fed a whole sequence?)"
        )
    return verdict


def _changed_late(problem: Problem, probe: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns an input with another end of item 0, and a mask (T, B) of the steps of that end."""
    x, steps = problem.input.copy(), np.zeros(problem.input.shape[:2], bool)
    steps[len(x) // 2 ** (1 + probe) :, 0] = True
    x[steps] = np.roll(problem.other_input, probe, axis=0)[steps]
    return x, steps


def _changed_early(problem: Problem, probe: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns an input with other steps in all items but the last, and a mask (T, B) of the steps
    behind them that keep their input: first the second half, then every second step, because
    neurons with a short memory remember one step."""
    x, steps = problem.input.copy(), np.zeros(problem.input.shape[:2], bool)
    others = steps.copy()
    if probe:
        others[probe % 2 :: 2, :-1], steps[1 + probe % 2 :: 2, :-1] = True, True
    else:
        others[: len(x) // 2, :-1], steps[len(x) // 2 :, :-1] = True, True
    x[others] = np.roll(problem.other_input, probe, axis=0)[others]
    return x, steps


def _changes(
    call: Call,
    y: np.ndarray,
    first: np.ndarray,
    problem: Problem,
    change: Callable[[Problem, int], tuple[np.ndarray, np.ndarray]],
) -> bool:
    """Tells if changed inputs change enough of the spikes `y` in the steps that `change` gives;
    `first` are the spikes on the first of these inputs. Of a neuron with an oracle no more than
    half of the changes are asked for that the oracle shows."""
    seen = 0
    for probe in range(PROBES):
        x, steps = change(problem, probe)
        seen += int(np.count_nonzero(((call(x) if probe else first) != y)[steps]))
        if seen >= LEAST_CHANGED:
            return True
    if isinstance(problem.network.node(problem.last).options["neuron"], Native):
        return False
    exact = in_inference(problem)

    def right(array: np.ndarray) -> np.ndarray:
        return oracle.forward(exact.network, exact.parameters, array).spikes[problem.last]

    unchanged, expected = right(problem.input), 0
    for probe in range(PROBES):
        x, steps = change(problem, probe)
        expected += int(np.count_nonzero((right(x) != unchanged)[steps]))
    return seen >= min(LEAST_CHANGED, expected // 2)
