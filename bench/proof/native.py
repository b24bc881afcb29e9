"""Proves native neurons, which have no oracle: spikes come out, time is the right axis, and
gradients follow it."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.contract import Program, Unsupported
from ..core.result import Gradients
from ..core.status import declared, lacks_room
from .judge import WROTE_OVER, CallVerdict, JudgedCall, form_findings, wrote_over
from .problem import Problem, places

LEAST_RATE, MOST_DOUBLINGS = 0.02, 8


def with_firing_input(program: Program, problem: Problem) -> tuple[Problem, float]:
    """Returns `problem` on 2^k times its inputs, and 2^k, for the smallest k ≤ 8 with 2 spikes
    in 100 steps of a neuron. Each framework scales currents in its own way, and a silent neuron
    shows nothing. Raises Unsupported if there is no such k."""
    for k in range(MOST_DOUBLINGS + 1):
        stronger = on_stronger_input(problem, 2.0**k)
        result = program.forward(program.put_input(stronger.input))
        program.wait(result)
        rate = program.spikes(result)[problem.last].mean()
        if not rate < LEAST_RATE:  # NaN is for the judge to name
            return stronger, 2.0**k
    raise Unsupported(
        f"unsuitable problem: fires at {rate:.1%} even on {2**MOST_DOUBLINGS} times the input"
    )


def on_stronger_input(problem: Problem, factor: float) -> Problem:
    scale = np.float32(factor)
    return replace(problem, input=scale * problem.input, other_input=scale * problem.other_input)


def judge_native(
    program: Program, problem: Problem, tolerance: float, backward: bool = True
) -> CallVerdict:
    """Judges a call, another with other input, and the first again. The output must be spikes.
    Gradients must exist, flow backward in time, stay within their batch item, and repeat to a
    relative L2 distance of `tolerance`: no state may survive a call, and one that moves no spike
    still moves surrogates."""
    verdict = CallVerdict(wrong_decisions=None, distance=None)
    x, other = program.put_input(problem.input), program.put_input(problem.other_input)
    result = program.forward(x)
    program.wait(result)
    spikes = program.spikes(result)
    verdict.firing_rate = float(spikes[problem.last].mean())
    verdict.findings += form_findings(problem, JudgedCall(problem.input, spikes))
    if verdict.findings or not backward:
        return verdict
    half = max(1, len(problem.upstream) // 2)
    early = problem.upstream.copy()
    early[half:], early[:, 1:] = 0, 0
    of_early, of_whole = (
        program.put_upstream(array, result) for array in (early, problem.upstream)
    )
    seen = []
    for again, upstream in ((None, of_early), (other, of_whole), (x, of_early)):
        if again is not None:
            result = program.forward(again)
            program.wait(result)
        program.release()
        gradients, failed = ask_gradients(program, result, upstream)
        if gradients is None:
            verdict.findings = [failed or "no gradients"]
            return verdict
        seen.append(gradients)
    if wrote_over(problem.input, program.input_after(x)):
        verdict.findings.append(WROTE_OVER)
    else:
        verdict.findings = list(_faults(problem, seen[0], seen[2], half, tolerance))
    return verdict


def _faults(
    problem: Problem, first: Gradients, again: Gradients, half: int, tolerance: float
) -> Iterator[str]:
    """Yields faults of the gradients of item 0's spikes before step `half`, from two equal
    calls."""
    names, shapes = places(problem.network), problem.network.parameters
    pairs = [
        (
            f"{key} of {names[node]}".removesuffix(" of "),
            first.parameters[node][key],
            again.parameters[node][key],
        )
        for key in ("weight", "bias")
        for node in shapes
        if key in shapes[node]
    ]
    if problem.input_grad:
        pairs.append(("input", first.input, again.input))
    wrong = [finding for pair in pairs if (finding := _fault(*pair, tolerance))]
    yield from wrong
    if not wrong and first.input is not None:
        if first.input[half:].any():
            yield "looks ahead: earlier spikes have a gradient by later input"
        if first.input[:, 1:].any():
            yield (
                "batch items influence each other: "
                "spikes of one have a gradient by the input of others"
            )


def _fault(
    name: str, given: np.ndarray | None, repeated: np.ndarray | None, tolerance: float
) -> str | None:
    if given is None or repeated is None:
        return f"the gradient of the {name} is missing"
    if not (np.isfinite(given).all() and np.isfinite(repeated).all()):
        return f"the gradient of the {name} holds NaN or infinity"
    if not given.any():
        return f"the gradient of the {name} is zero"
    if np.linalg.norm(repeated - given) > tolerance * np.linalg.norm(given):
        return (
            f"the same call gave another gradient of the {name} when repeated: "
            "state leaks between calls"
        )
    return None


def ask_gradients(
    program: Program, result: Any, upstream: Any
) -> tuple[Gradients | None, str | None]:
    """Returns (gradients, None), or (None, reason): a wrong forward is named before the failure
    of its backward."""
    try:
        done = program.backward(result, upstream)
        program.wait(done)
        return program.gradients(done), None
    except Exception as error:
        if lacks_room(error) or declared(error):
            raise
        return None, f"backward fails: {type(error).__name__}: {error}"
