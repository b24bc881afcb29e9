"""Compares the last timed call of a phase, and its gradients, with the oracle."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..common.units import small_share
from ..core.case import Native
from ..core.contract import LEARNING_RATE, Program
from ..core.result import Answer, Gradients
from ..measure.phases import Draw, Phases
from . import oracle
from .diagnosis.diagnose import name_fault
from .judge import AT_REST, JudgedCall, Slack, form_findings, judge
from .limits import LimitsByNode
from .problem import Problem, drawn, in_inference
from .recurrence import from_threshold, spec_of
from .rounding import last_bit
from .stages import STILL_CHANGED, unsettled
from .training import gradients_of_states, wrong_update

MOST_FLIPPED = 0.01
"""Largest share of decisions that may differ because they follow from others that rounding may
turn."""
NEARER = 4
"""A framework's inference may use this part of the oracle's limits: it is nearer to its own
evaluation. At N = 1024 with three layers all frameworks gave the same bits in every format;
compiled ones in bf16 gave other spikes in 0.006 %."""


@dataclass
class Timed:
    """The last timed call of a phase `name` in a precision: its draw, its result, and the
    numbers read from it."""

    name: str
    precision: str
    draw: Draw
    result: Any
    answer: Answer


def recheck(
    program: Program,
    problem: Problem,
    phases: Phases,
    last: Timed,
    limits: LimitsByNode,
    sleep: Callable[[float], None] = time.sleep,
) -> dict[str, str]:
    """Returns the event fields `status` and `reason` if the last timed call is wrong, else none.
    A native neuron, which has no oracle, is compared with an untimed call. No method of the
    program is called before the verdict."""
    timed, given, name = drawn(problem, last.draw), last.answer.spikes, last.name
    before = AT_REST
    if name == "inference":
        timed, before = in_inference(timed), timed.statistics
    graded = name in ("backward", "optimizer", "step")
    gradients, slack = (
        _gradients(timed, last.answer.gradients, last.precision) if graded else (None, {})
    )
    statistics = before, last.answer.statistics
    output, left = last.answer.output, last.answer.input
    call = JudgedCall(timed.input, given, output, gradients, statistics, slack, left)
    native = isinstance(problem.network.node(problem.last).options["neuron"], Native)
    if native or (name == "inference" and set(problem.network.neurons) - given.keys()):
        untimed = _untimed(program, phases, timed, last, backward=gradients is not None)
        hidden = {
            neuron: spikes for neuron, spikes in untimed.spikes.items() if neuron != problem.last
        }
        call = replace(call, spikes={**hidden, **given})  # an inference returns the last ones alone
        findings = [*(_unlike_untimed if native else judge_inference)(timed, call, untimed, limits)]
    else:
        findings = judge(timed, call, limits).findings
        if (
            not findings
            and problem.optimizer
            and name in ("optimizer", "step")
            and last.answer.gradients
        ):
            findings = [
                *wrong_update(
                    problem.optimizer, last.precision, timed.parameters, last.answer.gradients
                )
            ]
    if not findings:
        return {}
    program.release()  # the program could finish postponed work here
    words = unsettled(program, last.result, given, sleep)
    if not words and not native:
        words = _late_gradients(program, last) or name_fault(timed, call, limits)
    return {
        "status": "check_failed",
        "reason": f"last timed call: {'; '.join([*([words] if words else []), *findings])}",
    }


def _late_gradients(program: Program, last: Timed) -> str | None:
    """Returns a sentence if gradients or parameters have changed since they were read."""
    if (then := last.answer.gradients) is None:
        return None
    now = program.gradients(last.result)
    for what, before, after in (
        ("parameters", then.updated or {}, now.updated or {}),
        ("gradients", then.parameters, now.parameters),
        ("gradients", {"x": {"": then.input}}, {"x": {"": now.input}}),
    ):
        for node, arrays in before.items():
            for key, array in arrays.items():
                later = after.get(node, {}).get(key)
                if array is None or later is None:
                    continue
                if not np.array_equal(array, later, equal_nan=True):
                    return f"the {what} {STILL_CHANGED}"
    return None


def _gradients(
    timed: Problem, given: Gradients | None, precision: str
) -> tuple[Gradients | None, Slack]:
    """Returns gradients of the parameters, after a step from its optimizer's states or its
    update, and the differences that rounded parameters hide in an update."""
    if given is None or given.updated is None:
        return given, {}
    if timed.optimizer:
        return replace(given, parameters=gradients_of_states(timed.optimizer, given)), {}
    rate = np.float32(LEARNING_RATE)
    slack = {
        (node, key): last_bit(precision) / LEARNING_RATE * float(np.linalg.norm(array))
        for node, own in given.updated.items()
        for key, array in own.items()
        if array is not None
    }
    from_update = {
        node: {
            key: None if array is None else (timed.parameters[node][key] - array) / rate
            for key, array in own.items()
        }
        for node, own in given.updated.items()
    }
    return replace(given, parameters=from_update), slack


def _untimed(
    program: Program, phases: Phases, timed: Problem, last: Timed, backward: bool
) -> JudgedCall:
    """Runs a forward, or the evaluation of an inference, and a backward if asked for, on the values
    of the last timed call."""
    x = phases.put(last.draw, last.name)
    result = program.evaluate(x) if last.name == "inference" else program.forward(x)
    program.wait(result)
    call = JudgedCall(timed.input, program.spikes(result), program.output(result))
    if backward:
        done = phases.backward(result)
        program.wait(done)
        call.gradients = program.gradients(done)
    return call


def unlike_unweighed(
    problem: Problem, weighed: Timed, unweighed: Answer, limits: LimitsByNode
) -> list[str]:
    """Returns differences between a call of a phase while memory was weighed, which need not hand
    out hidden spikes, and the answer of another on the same values. Hidden spikes that neither
    hands out, as in an inference, count as equal."""
    timed = drawn(problem, weighed.draw)
    hidden = {
        name: unweighed.spikes.get(name, np.broadcast_to(np.float32(0), timed.shape(name)))
        for name in problem.network.neurons
        if name != problem.last
    }

    def call(answer: Answer) -> JudgedCall:
        gradients, _ = _gradients(timed, answer.gradients, weighed.precision)
        spikes = hidden | answer.spikes
        return JudgedCall(timed.input, spikes, answer.output, gradients, left=answer.input)

    return [*_unlike_untimed(timed, call(weighed.answer), call(unweighed), limits)]


def _unlike_untimed(
    problem: Problem, call: JudgedCall, untimed: JudgedCall, limits: LimitsByNode
) -> Iterator[str]:
    """Yields differences between a timed and an untimed call of native neurons. In every
    framework only the rounding of gradients differed; spikes that rounding turned move gradients
    by their root."""
    if findings := [*form_findings(problem, call)]:
        yield from findings
        return
    limit = limits[problem.last]
    flipped = max(
        float((untimed.spikes[neuron] != spikes).mean()) for neuron, spikes in call.spikes.items()
    )
    if flipped > min(MOST_FLIPPED, 10 * limit.decisions):
        yield f"{small_share(flipped)} of the spikes differ from those of an untimed call"
    pairs = [("output", call.output, untimed.output)]
    if call.gradients is not None and untimed.gradients is not None:
        own, expected = call.gradients.parameters, untimed.gradients.parameters
        pairs += [
            (f"gradient of the {key}", own[node][key], right)
            for node in expected
            for key, right in expected[node].items()
        ]
        pairs += [("gradient of the input", call.gradients.input, untimed.gradients.input)]
    for name, given, right in pairs:
        if given is None or right is None:
            if right is not None:
                yield f"the {name} is missing"
        elif not np.linalg.norm(given - right) <= (
            limit.gradient + 3 * np.sqrt(flipped)
        ) * np.linalg.norm(right):
            yield f"the {name} differs from that of an untimed call"


def judge_inference(
    problem: Problem, call: JudgedCall, evaluated: JudgedCall, limits: LimitsByNode
) -> list[str]:
    """Returns faults of an inference with the hidden spikes of the untimed evaluation, which
    is judged too: frameworks make the same decisions in both, to the bit unless they are
    compiled for a short format."""
    if findings := judge(problem, evaluated, limits).findings:
        return [f"an untimed inference on the same values: {'; '.join(findings)}"]
    if findings := [*form_findings(problem, call)]:
        return findings
    if not judge(problem, call, limits).findings:
        return []
    findings = judge(problem, call, _after_other_decisions(problem, limits)).findings
    return [f"behind the hidden spikes of an untimed inference {finding}" for finding in findings]


def _after_other_decisions(problem: Problem, limits: LimitsByNode) -> LimitsByNode:
    """Returns limits of the last neuron and of the output for hidden decisions that differ from
    the evaluation's: twice the change if every decision near a threshold is inverted."""
    network, parameters, x, last = problem.network, problem.parameters, problem.input, problem.last
    near, spikes = dict[str, float](), dict[str, np.ndarray]()

    def record_free(free: oracle.Run, neuron: str) -> None:
        distance = from_threshold(
            spec_of(network.node(neuron).options["neuron"]), free.potentials[neuron]
        )
        most = float(np.quantile(distance, limits[neuron].decisions / NEARER))
        near[neuron], spikes[neuron] = (
            min(limits[neuron].distance / NEARER, most),
            free.spikes[neuron].astype(np.uint8),
        )

    oracle.forward(network, parameters, x, on_neuron=record_free)
    other = oracle.forward(network, parameters, x, contrary=near)
    seen = oracle.forward(network, parameters, x, {**spikes, last: other.spikes[last]})
    wrong, own = seen.expected[last] != seen.spikes[last], limits[last]
    worst = from_threshold(
        spec_of(network.node(last).options["neuron"]), seen.potentials[last]
    ).max(where=wrong, initial=0.0)
    share = min(MOST_FLIPPED, own.decisions + 2 * float(wrong.mean()))
    widened = {
        **limits,
        last: replace(own, decisions=share, distance=own.distance + 2 * float(worst)),
    }
    output = network.output.name
    given, expected = other.values[output], seen.values[output]
    apart = float(np.linalg.norm(given - expected)) / max(float(np.linalg.norm(expected)), 1e-300)
    return {
        **widened,
        output: replace(widened[output], gradient=widened[output].gradient + 2 * apart),
    }
