"""Compares the parameters after real training steps with float64, with all that an
optimizer carries over."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np

from ..core.contract import LEARNING_RATE, Parameters, Program
from ..core.result import Gradients
from . import oracle
from .diagnosis.training import step_fault
from .judge import (
    AT_REST,
    MOST_SLACK,
    CallVerdict,
    JudgedCall,
    compare,
    slack_at_edges,
    upstream_of,
)
from .limits import LimitsByNode
from .noise import noise_of
from .problem import Problem, half_silent
from .rounding import last_bit
from .training import (
    Descent,
    States,
    gradients_of_states,
    wrong_update,
    wrong_without_gradient,
)

STEPS, PLAIN_STEPS = 5, 2
"""Numbers of steps. From the third on half of the features are silent: gradients that shrink show
what an optimizer keeps of larger ones."""
DRAWN = 2
"""Number of steps on drawn inputs, behind which an optimizer's states survive an inference."""
MOVED = 0.02
"""Largest relative L2 movement of a parameter by a plain step that is judged: after large ones the
neurons would all be silent or fire at every step."""
LEAST_GRADIENT = 1e-6
"""Gradient that every drawn step must exceed where parameters are compared: Adam's first step is
the sign of a gradient."""
WIDENED = 10
"""Factor on the limit of one gradient for the movement of all steps: Adam divides a small
gradient by itself."""

STEEP = 5.0
"""Slope of a surrogate above which the limit of a movement grows with it: where a potential is
rounded, σ' changes by up to 2·slope times as much."""

By = dict[str, dict[str, np.ndarray]]


def judge_plain_steps(
    program: Program, problem: Problem, gradients: By, limits: LimitsByNode
) -> CallVerdict:
    """Judges two steps of plain gradient descent in a row, with an upstream gradient that moves
    parameters by no more than MOVED; `gradients` are those of the problem's own one."""
    wide = _exact(gradients)  # squares of large gradients are more than float32 holds
    ratios = [
        float(np.linalg.norm(wide[node][name])) / max(float(np.linalg.norm(array)), 1e-30)
        for node, named in problem.parameters.items()
        for name, array in named.items()
    ]
    factor = np.float32(2.0 ** np.floor(np.log2(MOVED / (LEARNING_RATE * max(*ratios, 1e-30)))))
    return judge_steps(
        program, replace(problem, upstream=factor * problem.upstream), limits, PLAIN_STEPS
    )


def judge_steps(
    program: Program, problem: Problem, limits: LimitsByNode, steps: int = STEPS
) -> CallVerdict:
    """Trains for a few steps from rest. Judges the gradients of the first, decisions and loss of
    each on the float64 parameters, the parameters after each, and running statistics after the
    first. With an optimizer an inference follows the second step, so that the third shows what it
    leaves behind, and a step from rest behind them all shows what moves a weight without a
    gradient."""
    result = program.forward(program.put_input(problem.input))
    program.wait(result)
    start, seen, ways = _exact(problem.parameters), list[By](), _limits_of_ways(problem, limits)
    right = Descent(problem.optimizer, _exact(problem.parameters), LEARNING_RATE)
    drawn = [*_inputs(problem)]
    before, verdict, calls = problem.parameters, CallVerdict(), list[tuple[Problem, JudgedCall]]()
    earlier: States | None = None
    program.roll_parameters(0)
    for index, x in enumerate(drawn[:steps]):
        given = replace(problem, parameters=right.parameters, input=x)
        if index and problem.loss:
            given.upstream = _other_labels(problem, index - 1)
        call, answer = _stepped(program, x, program.put_upstream(given.upstream, result))
        if index:  # a weight without a gradient may have moved, and with it a norm's mean
            call.statistics = None
        if problem.optimizer and not index:
            call.gradients = replace(
                answer, parameters=gradients_of_states(problem.optimizer, answer), updated=None
            )
        verdict, run, expected = compare(given, call, limits)
        if run is None:
            verdict.findings = [*_in_step(index, steps, verdict.findings)]
            break
        expected = expected or oracle.backward(given.network, run, upstream_of(given, run))
        seen.append(_whole(expected[0]))
        right.step(seen[-1])
        if verdict.passed and problem.optimizer:
            verdict.findings += _wrong_update(problem, run, before, answer, earlier, index + 1)
        calls.append((given, call))
        updated = answer.updated or {}
        if verdict.passed and [*wrong_way(start, right.parameters, updated, seen, ways)]:
            ways = _with_noise(ways, limits, calls, seen)
            verdict.findings += wrong_way(start, right.parameters, updated, seen, ways)
            if index and problem.optimizer is None:
                own_start = replace(given, parameters=before)
                verdict.findings[:] = _wrong_from(own_start, call, updated, ways)
        if not verdict.passed:
            verdict.findings = [*_in_step(index, steps, verdict.findings)]
            if words := _fault(problem.optimizer, start, answer.updated or {}, seen, ways):
                verdict.findings.insert(0, words)
            break
        before, earlier = cast(Parameters, answer.updated), answer.states
        if problem.optimizer and index == DRAWN - 1:
            program.prepare_inference(None)
            program.wait(program.evaluate(program.put_input(x)))
    if verdict.passed and problem.optimizer:
        program.roll_parameters(0)
        given = replace(problem, input=drawn[-1])
        upstream = program.put_upstream(given.upstream, result)
        call, answer = _stepped(program, given.input, upstream)
        verdict, run, _ = compare(given, call, limits)
        if verdict.passed and run is not None:
            verdict.findings += _wrong_update(problem, run, problem.parameters, answer)
    return verdict


def _in_step(index: int, steps: int, findings: list[str]) -> Iterator[str]:
    for finding in findings:
        yield f"step {index + 1} of {steps}: {finding}"


def _inputs(problem: Problem) -> Iterator[np.ndarray]:
    """Yields the inputs of STEPS steps; of the last ones half of the neurons or channels are
    silent."""
    drawn = problem.input, problem.other_input
    for index in range(STEPS):
        x = drawn[index % len(drawn)]
        yield half_silent(x) if index >= DRAWN else x


def _other_labels(problem: Problem, number: int) -> np.ndarray:
    """Returns the labels (B,) of step `number` behind the first: from the last class and class 0
    on, one after the other, because a loss may leave out a class that the drawn labels lack."""
    items, classes = len(problem.upstream), problem.network.shapes[problem.network.output.name][0]
    return (np.arange(items) + number * items - 1) % classes


def _stepped(program: Program, x: np.ndarray, upstream: Any) -> tuple[JudgedCall, Gradients]:
    """Returns the call of a step, with running statistics as if it was the first, and its
    gradients."""
    result = program.step(given := program.put_input(x), upstream)
    program.wait(result)
    statistics = AT_REST, program.statistics(result)
    call = JudgedCall(x, program.spikes(result), program.output(result), statistics=statistics)
    call.left = program.input_after(given)
    return call, program.gradients(result)


def _wrong_update(
    problem: Problem,
    run: oracle.Run,
    before: Parameters,
    given: Gradients,
    earlier: States | None = None,
    steps: int = 1,
) -> Iterator[str]:
    """Yields faults of an update that its states show, those of weights that read silent neurons or
    channels last."""
    assert problem.optimizer is not None
    findings = [*wrong_update(problem.optimizer, "fp32", before, given, earlier, steps)]
    yield from findings
    values = {
        node.name: run.values[node.inputs[0]]
        for node in problem.network.nodes
        if node.kind in ("linear", "conv") and not findings
    }
    silent = {
        name: ~np.asarray(value.any(axis=(0, 1, *range(3, value.ndim))))
        for name, value in values.items()
    }
    yield from wrong_without_gradient(problem.optimizer, before, given, earlier, silent)


def _limits_of_ways(problem: Problem, limits: LimitsByNode) -> LimitsByNode:
    """Returns the limits of the parameters' movements: those of gradients, wider behind steep
    surrogates."""
    specs = [problem.network.node(name).options["neuron"] for name in problem.network.neurons]
    factor = max([1.0, *(spec.slope / STEEP for spec in specs)])
    return {
        name: replace(limit, gradient=factor * limit.gradient) for name, limit in limits.items()
    }


def _wrong_from(
    problem: Problem, call: JudgedCall, updated: Any, ways: LimitsByNode
) -> Iterator[str]:
    """Yields faults of a plain step by its own start: what rounding did to the step before it moves
    the parameters, and behind a steep surrogate the gradients."""
    run = oracle.forward(problem.network, problem.parameters, problem.input, call.spikes)
    gradient = _whole(oracle.backward(problem.network, run, upstream_of(problem, run))[0])
    start, right = (
        _exact(problem.parameters),
        Descent(None, _exact(problem.parameters), LEARNING_RATE),
    )
    right.step(gradient)
    yield from wrong_way(start, right.parameters, updated, [gradient], ways)


def _with_noise(
    ways: LimitsByNode,
    limits: LimitsByNode,
    calls: list[tuple[Problem, JudgedCall]],
    gradients: list[By],
) -> LimitsByNode:
    """Returns the limits of movements with what rounding does to the gradients of these steps, up
    to MOST_SLACK of them."""
    more = dict.fromkeys(ways, 0.0)
    for (problem, call), right in zip(calls, gradients, strict=True):
        run = oracle.forward(problem.network, problem.parameters, problem.input, call.spikes)
        expected = oracle.backward(problem.network, run, upstream_of(problem, run))
        noise = noise_of(
            problem.network,
            problem.parameters,
            problem.input,
            call.spikes,
            partial(upstream_of, problem),
            expected,
        )
        slack = slack_at_edges(problem, call, limits)
        for node, named in right.items():
            for name, gradient in named.items():
                error = noise[node, name].error + slack.get((node, name), 0.0)
                size = max(float(np.linalg.norm(gradient)), 1e-300)
                more[node] = max(more[node], min(2 * error / size, MOST_SLACK))
    return {
        node: replace(limit, gradient=limit.gradient + more[node] / WIDENED)
        for node, limit in ways.items()
    }


def _fault(
    optimizer: str | None, start: By, given: Any, seen: list[By], limits: LimitsByNode
) -> str | None:
    """Names the known fault of a step that ended at the parameters `given`."""
    return step_fault(
        optimizer, start, seen, lambda way: not [*wrong_way(start, way, given, seen, limits)]
    )


def _exact(parameters: Parameters) -> By:
    return {
        node: {name: array.astype(np.float64) for name, array in named.items()}
        for node, named in parameters.items()
    }


def _whole(gradients: Any) -> By:
    return {
        node: {name: oracle.whole(value) for name, value in named.items()}
        for node, named in gradients.items()
    }


def wrong_way(
    start: By,
    right: By,
    given: Mapping[str, Mapping[str, np.ndarray | None]],
    seen: list[By],
    limits: LimitsByNode,
) -> Iterator[str]:
    """Yields faults of the parameters `given`, which began at `start` and should be `right`
    after steps along the gradients `seen`."""
    for node, named in right.items():
        for name, p in named.items():
            if (after := given.get(node, {}).get(name)) is None:
                yield f"the {name} of {node} is missing after the step"
                continue
            large = np.all(
                [np.abs(each[node][name]) > LEAST_GRADIENT for each in seen[:DRAWN]], axis=0
            )
            moved, apart = (
                float(np.linalg.norm((p - other)[large])) for other in (start[node][name], after)
            )
            rounding = 2 * len(seen) * last_bit("fp32") * float(np.linalg.norm(p[large]))
            if large.any() and not apart <= WIDENED * limits[node].gradient * moved + rounding:
                share = apart / max(moved, 1e-300)
                yield f"the {name} of {node} is off by {share:.1e} of its way from the start"
