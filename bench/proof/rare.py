"""Judges calls on inputs that no draw gives: silence, single spikes and ones everywhere, with small
and large upstream gradients.

Shortcuts for few or for no events are right on every drawn input, because all its steps, items and
features have some spikes and none has many. Gradients that are clipped or dropped are right where
the upstream gradient is near 1.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from ..core.contract import Program, Statistics
from .diagnosis.diagnose import name_fault
from .judge import CallVerdict, JudgedCall, judge
from .judgeable import unjudgeable_gradient
from .limits import LimitsByNode
from .native import ask_gradients
from .problem import Problem, half_silent

SPARSE, DENSE, SINGLE = (
    "on an input with silent steps and items",
    "on an input of ones in two of three steps",
    "on an input with one spike in all",
)
EXPONENTS = {SPARSE: -10, DENSE: 10, SINGLE: 0}
"""Exponents of the powers of two, which change no digit, that multiply the upstream gradient of a
case without a loss."""


def rare_inputs(x: np.ndarray) -> dict[str, np.ndarray]:
    """Returns three inputs like x (T, B, *features), by words for them.

    In the first, the second half of the neurons or channels is silent, the first and the last
    step, and a third of the steps between them, at the end of which item 0 has one spike; item 1 is
    silent, and item 2 has one spike. In the second all values are spikes in two of three steps. The
    third has one spike.
    """
    steps, items = x.shape[:2]
    size = np.float32(np.median(np.abs(x[x != 0]))) if x.any() else np.float32(1)
    third, middle = steps // 3, int(np.prod(x.shape[2:])) // 2
    sparse, dense, single = half_silent(x), x.copy(), np.zeros_like(x)
    sparse[[0, *range(third, 2 * third), -1]] = 0
    sparse[:, 1:3] = 0
    for item in {0, min(2, items - 1)}:
        sparse[max(0, 2 * third - 1), item].flat[middle] = size
    dense[np.arange(steps) % 3 != 2] = size
    single[steps // 2, items // 2].flat[middle] = size
    return {SPARSE: sparse, DENSE: dense, SINGLE: single}


def judge_rare(
    program: Program,
    problem: Problem,
    limits: LimitsByNode,
    together: bool,
    statistics: Statistics,
) -> CallVerdict:
    """Judges a call on each of the rare inputs; before them norms have the running `statistics`.

    Gradients of the single spike are not judged: potentials far from every threshold may have
    smaller ones than float32 numbers. Nor are those of ones in a network with norms: the weight
    before a norm has the sum of gradients that the norm has freed of their mean. Nor are wrong
    ones where no right ones can be told, see `judgeable.py`.

    `together`: the calls run before the first backward, which must not use what a later call has
    overwritten.
    """
    has_norm = any(node.kind == "norm" for node in problem.network.nodes)
    without_gradients = (SINGLE, DENSE) if has_norm else (SINGLE,)
    verdict, calls, pending = CallVerdict(), list[tuple[Problem, str, JudgedCall]](), list[Any]()

    def differentiate() -> None:
        for rare, call, result in pending:
            program.release()
            upstream = program.put_upstream(rare.upstream, result)
            call.gradients, failed = ask_gradients(program, result, upstream)
            if failed:
                verdict.findings.append(failed)
        pending.clear()

    for words, x in rare_inputs(problem.other_input).items():
        rare = replace(problem, input=x)
        if problem.loss is None:
            rare.upstream = np.float32(2.0 ** EXPONENTS[words]) * problem.upstream
        result = program.forward(program.put_input(x))
        program.wait(result)
        before, statistics = statistics, program.statistics(result)
        call = JudgedCall(
            x, program.spikes(result), program.output(result), statistics=(before, statistics)
        )
        calls.append((rare, words, call))
        if words not in without_gradients:
            pending.append((rare, call, result))
        if not together:
            differentiate()
    differentiate()
    for rare, words, call in calls:
        findings = judge(rare, call, limits).findings
        if findings and call.gradients and unjudgeable_gradient(rare):
            call.gradients = None
            findings = judge(rare, call, limits).findings
        if findings:
            fault = name_fault(rare, call, limits)
            if problem.loss is None and any("gradient" in each for each in findings):
                findings.append(
                    f"its upstream gradient is the drawn one times 2^{EXPONENTS[words]}"
                )
            verdict.findings = [
                f"{words}: {each}" for each in [*([fault] if fault else []), *findings]
            ]
            break
    return verdict
