"""Compares spikes, output and gradients of a framework with the oracle and states each difference
in words."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import inf, isfinite
from typing import NamedTuple

import numpy as np

from ..common.units import counted, small_share
from ..core.case import Native
from ..core.contract import Statistics
from ..core.network import INPUT
from ..core.result import Gradients
from . import oracle
from .layers import Value, comparable
from .limits import Limits, LimitsByNode
from .noise import NONE, Deviation, Noise, decision_noise, noise_of, scale_of
from .problem import Problem, is_single_layer, places
from .recurrence import from_threshold, jumps, spec_of
from .rounding import SHORT, last_bit
from .training import loss_and_gradient

Slack = dict[tuple[str, str], float]
"""L2 errors of gradients that are allowed in addition to the limits, by node and parameter."""
MOST_SLACK = 0.3
"""Largest slack relative to its gradient: a halved or missing gradient is always wrong."""
AT_REST: Statistics = defaultdict(lambda: {"mean": np.zeros(()), "variance": np.ones(())})
"""Running statistics of all norms before training."""
SCALED = 0.05
"""Relative noise beyond which the scale of a gradient is judged by itself: noise has no
direction."""
AXES = {3: "(T, B, N)", 5: "(T, B, C, H, W)"}


@dataclass
class JudgedCall:
    """Results of a framework for the input x (T, B, *features): spikes by neuron and, if they are
    judged, the others. `statistics` are the running statistics before and after the call; `slack`
    is that of gradients which were read from rounded parameters or depend on rounding, and that of
    running statistics, relative to these; `left` is the input after the call."""

    x: np.ndarray
    spikes: dict[str, np.ndarray]
    output: np.ndarray | None = None
    gradients: Gradients | None = None
    statistics: tuple[Statistics, Statistics] | None = None
    slack: Slack = field(default_factory=dict)
    left: np.ndarray | None = None


@dataclass
class CallVerdict:
    """Findings are reasons to reject, in words; none means the same network. `errors` are the
    largest of gradients over all nodes, by parameter. `wrong_decisions`, a share, and their
    `distance` from a threshold are None without an oracle, and of values that cannot be judged.
    `allowed` are limits of all these where rounding widens them."""

    findings: list[str] = field(default_factory=list)
    wrong_decisions: float | None = 0.0
    distance: float | None = 0.0
    errors: dict[str, float] = field(default_factory=dict)
    allowed: dict[str, float] = field(default_factory=dict)
    firing_rate: float | None = None

    @property
    def passed(self) -> bool:
        return not self.findings

    @property
    def grad_error(self) -> float | None:
        return max(self.errors.values(), default=None)


class Compared(NamedTuple):
    """A verdict, with the oracle's run on the spikes of the call, None if its shapes are wrong, and
    the oracle's gradients, None if none were judged."""

    verdict: CallVerdict
    run: oracle.Run | None = None
    expected: oracle.Expected | None = None


def judge(problem: Problem, call: JudgedCall, limits: LimitsByNode) -> CallVerdict:
    """Compares one call with the oracle forced on its spikes, after a check of all shapes.
    Gradients are judged only if everything else is right."""
    return compare(problem, call, limits).verdict


def compare(problem: Problem, call: JudgedCall, limits: LimitsByNode) -> Compared:
    """Judges a call, and returns the oracle's run and gradients with the verdict."""
    verdict = CallVerdict(
        firing_rate=float(call.spikes[problem.last].mean()) if problem.last in call.spikes else None
    )
    verdict.findings += form_findings(problem, call)
    if verdict.findings:
        verdict.wrong_decisions = verdict.distance = None
        return Compared(verdict)
    network, expected = problem.network, None

    def judge_neuron(result: oracle.Run, neuron: str) -> None:
        _judge_decisions(verdict, problem, result, neuron, limits[neuron])

    result = oracle.forward(
        network, problem.parameters, call.x, call.spikes, on_neuron=judge_neuron
    )
    verdict.findings += _values(problem, call, result, limits)
    if verdict.passed and call.gradients is not None:
        expected = oracle.backward(network, result, upstream_of(problem, result))
        call = replace(call, slack=_slack_of_decays(result, call, limits))
        _judge_gradients(verdict, problem, call, expected, limits)
        if verdict.findings:
            verdict.findings.clear()
            verdict.errors.clear()
            slack = slack_at_edges(problem, call, limits) or call.slack
            call = replace(call, slack=slack)
            noise = noise_of(
                network,
                problem.parameters,
                call.x,
                call.spikes,
                lambda run: upstream_of(problem, run),
                expected,
                problem.precision,
            )
            _judge_gradients(verdict, problem, call, expected, limits, noise)
    if verdict.passed and problem.loss and call.gradients is not None:
        verdict.findings += _wrong_loss(
            problem, call.gradients, result, limits[network.output.name].gradient
        )
    return Compared(verdict, result, expected)


def upstream_of(problem: Problem, result: oracle.Run) -> np.ndarray:
    """Returns the gradient of the loss by the output of a run."""
    if problem.loss is None:
        return problem.upstream
    return loss_and_gradient(
        problem.loss, result.values[problem.network.output.name], problem.upstream
    )[1]


def _slack_of_decays(result: oracle.Run, call: JudgedCall, limits: LimitsByNode) -> Slack:
    """Returns the slack of a call and that of learned decays. The gradient of a decay is one sum
    over all neurons with terms that cancel, and its error is relative to the norm of the terms."""
    decays = {
        (name, "decay"): limits[name].gradient * spread for name, spread in result.spread.items()
    }
    return {
        place: decays.get(place, 0.0) + call.slack.get(place, 0.0)
        for place in {*decays, *call.slack}
    }


def slack_at_edges(problem: Problem, call: JudgedCall, limits: LimitsByNode) -> Slack:
    """Returns the slack of a call and that at the edges of surrogates that end abruptly, and of
    nearly equal maxima over time; nothing without these, and in short formats: their noise has it.
    If a potential is as near to an edge as wrong decisions may be to a threshold, rounding decides
    whether the gradient passes, and of nearly equal maxima which has it: the slack is the
    difference between gradients with wider and with narrower windows."""
    network, ways = problem.network, []
    abrupt = {
        name: limits[name].distance
        for name in network.neurons
        if jumps(spec_of(network.node(name).options["neuron"]))
    }
    abrupt |= {
        node.name: limits[node.name].gradient for node in network.nodes if node.kind == "max_time"
    }
    for side in (1, -1) if abrupt and problem.precision not in SHORT else ():
        wider = {name: side * width for name, width in abrupt.items()}
        result = oracle.forward(network, problem.parameters, call.x, call.spikes, wider=wider)
        by_parameters, by_input = oracle.backward(network, result, upstream_of(problem, result))
        ways.append({**by_parameters, INPUT: {"input": by_input}})
    between = {
        (node, key): float(np.linalg.norm(oracle.whole(value) - oracle.whole(ways[1][node][key])))
        for node, named in (ways[0] if ways else {}).items()
        for key, value in named.items()
    }
    return {place: size + call.slack.get(place, 0.0) for place, size in between.items()}


def _wrong_loss(
    problem: Problem, actual: Gradients, result: oracle.Run, limit: float
) -> Iterator[str]:
    assert problem.loss is not None
    expected, _ = loss_and_gradient(
        problem.loss, result.values[problem.network.output.name], problem.upstream
    )
    if actual.loss is None or not np.isfinite(actual.loss).all():
        yield "the loss is missing" if actual.loss is None else "the loss is not finite"
    elif not abs(float(actual.loss) - expected) <= limit * max(expected, 1.0):
        yield f"the loss is {float(actual.loss):.6g}, not {expected:.6g}"


def form_findings(problem: Problem, call: JudgedCall) -> Iterator[str]:
    """Yields reasons why spikes or output cannot be judged: missing, of another shape, no counts
    of spikes, or from an input that has changed. A native neuron may fire any number of spikes in
    a step."""
    if wrote_over(call.x, call.left):
        yield WROTE_OVER
    network, names = problem.network, places(problem.network)
    for neuron in network.neurons:
        suffix = f" of {names[neuron]}" if names[neuron] else ""
        shape, spec = problem.shape(neuron), network.node(neuron).options["neuron"]
        if neuron not in call.spikes:
            yield f"spikes{suffix} are missing"
        elif (spikes := call.spikes[neuron]).shape != shape:
            yield f"spikes{suffix} have shape {spikes.shape}, not {AXES[len(shape)]} = {shape}"
        elif finding := _not_spikes(
            spikes, np.inf if isinstance(spec, Native) else spec.max_spikes
        ):
            yield f"spikes{suffix} {finding}"
    if call.output is not None and call.output.shape != (
        shape := problem.shape(network.output.name)
    ):
        suffix = f", of {network.output.name}," if names[network.output.name] else ""
        yield f"the output{suffix} has shape {call.output.shape}, not {AXES[len(shape)]} = {shape}"


WROTE_OVER = "the call writes over its input, which a later call may need"


def wrote_over(x: np.ndarray, left: np.ndarray | None) -> bool:
    """Tells if a call on the input x has left another one; a scale factor is undone inexactly."""
    return left is not None and not np.allclose(left, x, rtol=1e-5, atol=1e-6)


def _not_spikes(values: np.ndarray, most: float) -> str | None:
    """Returns the reason why values are not counts of spikes up to `most`, or None."""
    if not np.isfinite(values).all():
        return "hold NaN or infinity"
    if not np.array_equal(values, np.round(values)):
        divided = most < np.inf and np.allclose(most * values, np.round(most * values), 0, 1e-5)
        return "are not whole numbers" + f": they are counts divided by {most:g}" * divided
    if values.min() < 0 or values.max() > most:
        span = f"{values.min():g} and {values.max() + 0.0:g}"
        return f"lie between {span}, not 0 and {most} (several spikes a step?)"
    return None


def _judge_decisions(
    verdict: CallVerdict, problem: Problem, result: oracle.Run, neuron: str, limit: Limits
) -> None:
    """Adds the wrong decisions of a neuron to the verdict, with a finding if they are too many or
    too far from a threshold. In short formats what rounding does to this neuron widens both limits.
    Potentials that the format cannot tell from the threshold may be decided either way: in few
    neurons they repeat."""
    network, node = problem.network, problem.network.node(neuron)
    spec = spec_of(node.options["neuron"])
    wrong = np.flatnonzero(result.spikes[neuron] != result.expected[neuron])
    v = result.potentials[neuron]
    distance = from_threshold(spec, v.flat[wrong])
    if problem.precision in SHORT:
        apart = distance > last_bit(SHORT[problem.precision]) * spec.threshold
        wrong, distance = wrong[apart], distance[apart]
    share = len(wrong) / v.size
    verdict.wrong_decisions = max(verdict.wrong_decisions or 0.0, share)
    if not share:
        return
    worst = float(distance.max())
    verdict.distance = max(verdict.distance or 0.0, worst)
    if share <= limit.decisions and worst <= limit.distance:
        return
    most_share, most = limit.decisions, np.full_like(distance, limit.distance)
    if problem.precision in SHORT:
        turned, moved = decision_noise(problem.parameters, result, node, problem.precision)
        most_share, most = max(most_share, turned), np.maximum(most, moved.flat[wrong])
    far = distance > most
    if share <= most_share and not far.any():
        for key, wider in {"wrong_decisions": most_share, "distance": most.max()}.items():
            verdict.allowed[key] = max(verdict.allowed.get(key, 0.0), float(wider))
        return
    # The node before the neuron may have the fault.
    suffix = f" in {neuron}, behind {node.inputs[0]}," if places(network)[neuron] else ""
    named = far if far.any() else np.ones_like(far)
    farthest = np.where(named, distance, -1).argmax()
    verdict.findings.append(
        f"{small_share(share)} of the decisions{suffix} are wrong, "
        f"up to {distance[farthest]:.1e} from the threshold (allowed "
        f"{small_share(most_share)}, up to {most[farthest]:.1e}), "
        f"the first at {_decision(result, neuron, wrong[named][0])}"
    )


def _decision(result: oracle.Run, neuron: str, index: int) -> str:
    """Describes the decision of a neuron at a flat index."""
    place = np.unravel_index(index, result.potentials[neuron].shape)
    step, item, *feature = (int(each) for each in place)
    v, expected = result.potentials[neuron][place], result.expected[neuron][place]
    return (
        f"step {step}, item {item}, neuron {feature[0] if len(feature) == 1 else tuple(feature)}: "
        f"v = {v:.6f} calls for {_spikes(expected)}, "
        f"the framework gave {result.spikes[neuron][place]:.0f}"
    )


def _spikes(count: float) -> str:
    return counted(round(count), "spike")


def _values(
    problem: Problem, call: JudgedCall, result: oracle.Run, limits: LimitsByNode
) -> Iterator[str]:
    """Yields findings on an output that is not spikes, and on the running statistics of norms.
    Whole numbers are equal to the bit."""
    network, output = problem.network, problem.network.output
    if call.output is not None and (output.kind != "neuron" or output.options["potentials"]):
        exact = problem.precision == "fp32" and network.is_whole(output.name)
        limit = 0.0 if exact else limits[output.name].gradient
        _, fault = _difference(call.output, result.values[output.name], limit)
        if fault:
            yield f"the output, of {output.name}, {fault}"
    if call.statistics is None:
        return
    before, after = call.statistics
    yield from moved_in_inference(problem, before, after)
    for name, batch in result.statistics.items():
        momentum, limit = network.node(name).options["momentum"], limits[name].gradient
        for key, value in batch.items():
            actual = after.get(name, {}).get(key)
            if actual is None or actual.shape != value.shape:
                yield f"the running {key} of {name} is missing" + (
                    "" if actual is None else f": its shape is {actual.shape}"
                )
                continue
            expected = (1 - momentum) * before[name][key].astype(np.float64) + momentum * value
            _, fault = _difference(actual, expected, limit + call.slack.get((name, key), 0.0))
            if fault:
                yield f"the running {key} of {name} {fault}"


def moved_in_inference(problem: Problem, before: Statistics, after: Statistics) -> Iterator[str]:
    """Yields findings on norms that an inference reads and that are no longer as they were."""
    for name, arrays in problem.parameters.items():
        for key in ("mean", "variance"):
            kept = after.get(name, {}).get(key)
            if key in arrays and (kept is None or not np.array_equal(before[name][key], kept)):
                yield f"the running {key} of {name} does not stay as it was in an inference"


MOST_NAMED = 3
"""Most wrong gradients that are named, from the output on: a fault also spoils gradients before
it."""


def _judge_gradients(
    verdict: CallVerdict,
    problem: Problem,
    call: JudgedCall,
    expected: oracle.Expected,
    limits: LimitsByNode,
    noise: Noise | None = None,
) -> None:
    """Adds the errors of all gradients to the verdict, with findings on wrong ones. `noise` widens
    limits to what the precision can do."""
    assert call.gradients is not None
    actual, (by_parameters, by_input) = call.gradients, expected
    names, findings, noise = places(problem.network), [], noise or {}
    for node, arrays in by_parameters.items():
        suffix = f" of {names[node]}" if names[node] else ""
        for key, right in arrays.items():
            limit = limits[node].bias_gradient if key == "bias" else limits[node].gradient
            name = "recurrent weight" if key == "recurrent" else key
            array = actual.parameters.get(node, {}).get(key)
            extra = call.slack.get((node, key), 0.0), noise.get((node, key), NONE)
            findings.append(_compare(verdict, key, f"{name}{suffix}", array, right, limit, *extra))
    if actual.input is None and problem.input_grad:
        verdict.errors["input"] = 1.0
        findings.append("the gradient of the input is missing")
    elif actual.input is not None:
        limit, place = limits[INPUT].gradient, (INPUT, "input")
        extra = call.slack.get(place, 0.0), noise.get(place, NONE)
        findings.append(_compare(verdict, "input", "input", actual.input, by_input, limit, *extra))
    wrong = [finding for finding in findings if finding]
    if len(wrong) > MOST_NAMED and not is_single_layer(problem.network):
        more = len(wrong) - MOST_NAMED
        wrong = [
            *wrong[: -MOST_NAMED - 1 : -1],
            f"and {counted(more, 'more gradient')}",
        ]
    verdict.findings += wrong


def _compare(
    verdict: CallVerdict,
    key: str,
    name: str,
    actual: np.ndarray | None,
    expected: Value,
    limit: float,
    slack: float = 0.0,
    noise: Deviation = NONE,
) -> str | None:
    """Returns the finding on a gradient, or None, and adds its error to the verdict. `slack` widens
    the limit by up to MOST_SLACK, `noise` to its own size; beyond SCALED, the
    component along the right gradient may differ by its own noise only. A gradient of zeros may be
    missing, as that of a recurrent weight in a single step."""
    if actual is None and not oracle.whole(expected).any():
        return None
    if actual is None:
        verdict.errors[key] = 1.0
        return f"the gradient of the {name} is missing"
    if actual.shape != expected.shape:
        return f"the gradient of the {name} has shape {actual.shape}, not {expected.shape}"
    actual, expected = comparable(actual, expected)
    most_apart = inf  # of the factor along the right one from 1
    if size := float(np.linalg.norm(expected)):
        noise = noise if isfinite(noise.error) else NONE
        wider = limit + min(slack / size, MOST_SLACK)
        if noise.error / size > max(wider, SCALED):
            most_apart = max(wider, noise.scale)
        wider = max(wider, noise.error / size)
        if wider > limit:
            limit, verdict.allowed[key] = wider, max(verdict.allowed.get(key, 0.0), wider)
    error, fault = _difference(actual, expected, limit)
    verdict.errors[key] = max(verdict.errors.get(key, 0.0), error)
    scale = scale_of(actual, expected)
    if not fault and abs(scale - 1) > most_apart:
        fault = f"is {scale:.3g} times the right one, with noise (allowed 1 ± {most_apart:.1e})"
    return f"the gradient of the {name} {fault}" if fault else None


def _difference(actual: np.ndarray, expected: np.ndarray, limit: float) -> tuple[float, str | None]:
    """Returns the relative L2 error, and the fault in words if it is above `limit`."""
    size = max(float(np.linalg.norm(expected)), 1e-300)
    error = float(np.linalg.norm(actual.astype(np.float64) - expected) / size)
    if error <= limit:  # false for NaN
        return error, None
    if not np.isfinite(actual).all():
        return error, "is not finite"
    factor = scale_of(actual, expected)
    is_scaled = np.linalg.norm(actual - factor * expected) <= limit * size
    fault = (
        "is zero"
        if not actual.any()
        else f"is {factor:.6g} times the right one"
        if is_scaled
        else f"is off by {error:.1e}"
    )
    return error, f"{fault} (relative L2, allowed {limit:.1e})"
