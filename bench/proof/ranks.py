"""Compares the results of several ranks with those of one rank on the same numbers."""

from collections.abc import Iterator

import numpy as np

from ..common.units import small_share
from ..core.case import Case
from ..core.contract import Program
from ..core.result import Gradients
from ..core.sharded import parts
from .judge import CallVerdict
from .limits import LimitsByNode
from .problem import Problem
from .training import loss_and_gradient

SAME_LOSS = 1e-5
"""Largest relative error of a loss that is recognised."""


def against_one_rank(
    together: Program, alone: Program, problem: Problem, limits: LimitsByNode, case: Case
) -> CallVerdict:
    """Judges a forward and a backward of both programs of `case`, which have the problem's
    parameters. Raises OtherNetwork if ranks differ in what they must share."""
    (spikes, output, own), (expected, _, right) = (
        _called(program, problem) for program in (together, alone)
    )
    flipped = {name: float((spikes[name] != expected[name]).mean()) for name in expected}
    findings = [
        f"{small_share(share)} of the decisions in {name} are not those of one rank"
        for name, share in flipped.items()
        if share > limits[name].decisions
    ]
    errors = dict(_errors(own, right))
    limit = max(each.gradient for each in limits.values()) + 3 * float(
        np.sqrt(max(flipped.values()))
    )
    for place, error in errors.items():
        if not error <= limit:
            findings.append(
                f"the gradient of the {place} is {error:.1e} from one rank's, more than {limit:.1e}"
            )
    words = (
        _named(problem, output, own.loss, case.ranks)
        if case.parallel == "data"
        else _cut(own, right, case.ranks, limit)
    )
    if findings and words:
        findings.insert(0, words)
    return CallVerdict(findings, None, None, errors)


def _called(
    program: Program, problem: Problem
) -> tuple[dict[str, np.ndarray], np.ndarray, Gradients]:
    result = program.forward(program.put_input(problem.input))
    program.wait(result)
    spikes, output = program.spikes(result), program.output(result)
    program.statistics(result)
    done = program.backward(result, program.put_upstream(problem.upstream, result))
    program.wait(done)
    return spikes, output, program.gradients(done)


def _errors(own: Gradients, right: Gradients) -> Iterator[tuple[str, float]]:
    """Yields relative L2 errors of gradients by name; infinite where one is missing."""
    pairs = [
        (f"{name} of {node}", own.parameters[node][name], array)
        for node, of in right.parameters.items()
        for name, array in of.items()
    ]
    for place, given, expected in [*pairs, ("input", own.input, right.input)]:
        if expected is not None:
            apart = np.inf if given is None else float(np.linalg.norm(given - expected))
            yield place, apart / max(float(np.linalg.norm(expected)), 1e-300)


def _named(problem: Problem, output: np.ndarray, loss: np.ndarray | None, ranks: int) -> str | None:
    """Names the loss of the ranks, if it is made of their means instead of the mean over all
    items."""
    if problem.loss is None or loss is None or problem.upstream.ndim != 1:
        return None
    shares = parts(len(problem.upstream), ranks)
    means = [
        loss_and_gradient(problem.loss, output[:, part], problem.upstream[part])[0]
        for part in shares
    ]
    right, _ = loss_and_gradient(problem.loss, output, problem.upstream)
    for words, value in {"mean": float(np.mean(means)), "sum": float(np.sum(means))}.items():
        if np.isclose(float(loss), value, rtol=SAME_LOSS) and not np.isclose(
            right, value, rtol=SAME_LOSS
        ):
            return (
                f"the loss is the {words} of the ranks' means, not the mean of all items: "
                "parts have other sizes"
            )
    return None


def _cut(own: Gradients, right: Gradients, ranks: int, limit: float) -> str | None:
    """Names gradients that end at the border of a rank: right in the steps of the last rank and
    wrong in those before."""
    if own.input is None or right.input is None:
        return None
    *before, last = parts(len(right.input), ranks)
    apart, size = own.input - right.input, right.input
    behind, across = (
        float(np.linalg.norm(apart[part]) / np.linalg.norm(size[part]))
        for part in (last, before[-1])
    )
    if behind <= limit < across:
        return "no gradient goes back over the cut between two ranks: the state is detached there"
    return None
