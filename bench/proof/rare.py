"""Judges calls on inputs and parameters that no draw gives: silence, single spikes and ones
everywhere, with small and large upstream gradients; learned decays far from their start, and counts
at their bound.

Shortcuts for few or for no events are right on every drawn input, because all its steps, items and
features have some spikes and none has many. Gradients that are clipped or dropped are right where
the upstream gradient is near 1.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from snnbench.kernels.spec import NeuronSpec, parameter_of_decay

from ..core.contract import Parameters, Program, Statistics
from .diagnosis.diagnose import name_fault
from .judge import AT_REST, CallVerdict, JudgedCall, judge
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

ALIKE = 1e-3
"""Slack for running statistics of a norm on ones: a mean of many equal values gathers the rounding
errors of its sum, and what lies behind the first norm is a small difference of such means."""


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
        if words == DENSE:
            call.slack = {(name, key): ALIKE for name in statistics for key in statistics[name]}
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


MOST_COUNTED = 64
"""Bound of counts up to which a potential beyond it is exact enough for every decision."""
BEYOND, APART = 1.25, 7
"""Factor on the bound of counts for a bias, and the number of neurons of which one has it."""


def rare_parameters(problem: Problem) -> Iterator[tuple[str, Parameters]]:
    """Yields parameters that the neurons of a problem have not at their start, with words for
    them: learned decays half-way to 1 and to 0, and in a network of one neuron with bounded counts
    biases beyond the bound."""
    neurons = {
        name: problem.network.node(name).options["neuron"] for name in problem.network.neurons
    }
    if any(spec.learned_decay for spec in neurons.values()):
        for rise in (1, 0):
            yield "with other learned decays", _with_decays(problem, neurons, rise)
    (name, spec), *others = neurons.items()
    bias = problem.parameters.get(problem.network.node(name).inputs[0], {}).get("bias")
    if not others and bias is not None and 1 < spec.max_spikes <= MOST_COUNTED:
        raised = bias.copy()
        raised[::APART] += np.float32(BEYOND * spec.max_spikes * spec.threshold)
        before = problem.network.node(name).inputs[0]
        node = {**problem.parameters[before], "bias": raised}
        yield "with potentials beyond the most spikes", {**problem.parameters, before: node}


def _with_decays(problem: Problem, neurons: dict[str, NeuronSpec], rise: int) -> Parameters:
    """Returns the parameters with every learned decay half-way to `rise`."""
    return problem.parameters | {
        name: {
            **problem.parameters[name],
            "decay": np.full_like(
                problem.parameters[name]["decay"],
                parameter_of_decay(replace(spec, decay=(spec.decay + rise) / 2)),
            ),
        }
        for name, spec in neurons.items()
        if spec.learned_decay
    }


def judge_rare_parameters(program: Program, problem: Problem, limits: LimitsByNode) -> CallVerdict:
    """Judges a call with each of the rare parameters; `program` then has those of the problem
    again."""
    verdict = CallVerdict()
    for words, parameters in rare_parameters(problem):
        rare = replace(problem, parameters=parameters)
        program.load(parameters)
        result = program.forward(program.put_input(rare.input))
        program.wait(result)
        call = JudgedCall(
            rare.input,
            program.spikes(result),
            program.output(result),
            statistics=(AT_REST, program.statistics(result)),
        )
        upstream = program.put_upstream(rare.upstream, result)
        program.release()
        call.gradients, failed = ask_gradients(program, result, upstream)
        findings = [failed] if failed else judge(rare, call, limits).findings
        if findings and call.gradients and unjudgeable_gradient(rare):
            call.gradients = None
            findings = judge(rare, call, limits).findings
        verdict.findings += [f"{words}: {each}" for each in findings]
        if findings:
            break
    program.load(problem.parameters)
    return verdict
