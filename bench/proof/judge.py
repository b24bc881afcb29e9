"""Judges numbers of a framework: the verdict has the reasons why they are not those of the same
network."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from ..common.units import counted, small_share
from ..core.case import Native
from ..core.network import INPUT, Network
from ..core.result import Gradients
from . import oracle
from .layers import LazyProduct, Value
from .limits import Limits, LimitsByNode
from .problem import Problem, places
from .recurrence import ABRUPT, from_threshold, spec_of
from .training import loss_and_gradient

Statistics = dict[str, dict[str, np.ndarray]]
Unseen = dict[tuple[str, str], float]
"""L2 errors that are allowed besides the limits, by node and name of a parameter."""
MOST_UNSEEN = 0.3
"""Largest share of a gradient that may be unseen: half a gradient and none at all are always
wrong."""
AXES = {3: "(T, B, N)", 5: "(T, B, C, H, W)"}


@dataclass
class JudgedCall:
    """Numbers of a framework for the input x (T, B, *features): spikes by neuron and, where they
    are judged, the rest. `statistics` are the running statistics before and after the call;
    `unseen` are allowed differences of gradients, because they were read from rounded parameters
    or rounding decides about them."""

    x: np.ndarray
    spikes: dict[str, np.ndarray]
    output: np.ndarray | None = None
    gradients: Gradients | None = None
    statistics: tuple[Statistics, Statistics] | None = None
    unseen: Unseen = field(default_factory=dict)


@dataclass
class CallVerdict:
    """Findings are reasons to reject, in words; none means the same network. Errors of gradients
    are the largest over nodes. Decisions without an oracle are None."""

    findings: list[str] = field(default_factory=list)
    wrong_decisions: float | None = 0.0
    distance: float | None = 0.0
    errors: dict[str, float] = field(default_factory=dict)
    firing_rate: float | None = None

    @property
    def passed(self) -> bool:
        return not self.findings

    @property
    def grad_error(self) -> float | None:
        return max(self.errors.values(), default=None)


def judge(problem: Problem, call: JudgedCall, limits: LimitsByNode) -> CallVerdict:
    """Compares one call with the oracle forced on its spikes, after a check of all shapes.
    Gradients are judged where all else is right."""
    verdict = CallVerdict(
        firing_rate=float(call.spikes[problem.last].mean()) if problem.last in call.spikes else None
    )
    verdict.findings += unreadable(problem, call)
    if verdict.findings:
        return verdict
    network = problem.network

    def seen(result: oracle.Run, neuron: str) -> None:
        _decisions(verdict, network, result, neuron, limits[neuron])

    result = oracle.forward(network, problem.parameters, call.x, call.spikes, seen=seen)
    verdict.findings += _values(problem, call, result, limits)
    if verdict.passed and call.gradients is not None:
        expected = oracle.backward(network, result, upstream_of(problem, result))
        call = replace(call, unseen=_of_sums(result, call, limits))
        _gradients(verdict, problem, call, expected, limits)
        if verdict.findings and (unseen := _at_edges(problem, call, limits)):
            verdict.findings.clear()
            verdict.errors.clear()
            _gradients(verdict, problem, replace(call, unseen=unseen), expected, limits)
    if verdict.passed and problem.loss and call.gradients is not None:
        verdict.findings += _wrong_loss(
            problem, call.gradients, result, limits[network.output.name].gradient
        )
    return verdict


def upstream_of(problem: Problem, result: oracle.Run) -> np.ndarray:
    """Returns the gradient of the loss by the output of a run."""
    if problem.loss is None:
        return problem.upstream
    return loss_and_gradient(
        problem.loss, result.values[problem.network.output.name], problem.upstream
    )[1]


def _of_sums(result: oracle.Run, call: JudgedCall, limits: LimitsByNode) -> Unseen:
    """Adds the rounding of gradients that are one sum over all neurons to a call's `unseen`: its
    terms cancel, and are as exact as other gradients."""
    sums = {
        (name, "decay"): limits[name].gradient * spread for name, spread in result.spread.items()
    }
    return {
        place: sums.get(place, 0.0) + call.unseen.get(place, 0.0) for place in {*sums, *call.unseen}
    }


def _at_edges(problem: Problem, call: JudgedCall, limits: LimitsByNode) -> Unseen:
    """Adds differences of gradients at a surrogate's jump to a call's `unseen`: rounding decides
    if they pass a potential that is as near to a jump as wrong decisions may be to a threshold."""
    network, ways = problem.network, []
    abrupt = [
        name
        for name in network.neurons
        if spec_of(network.node(name).options["neuron"]).surrogate == ABRUPT
    ]
    for side in (1, -1) if abrupt else ():
        wider = {name: side * limits[name].distance for name in abrupt}
        result = oracle.forward(network, problem.parameters, call.x, call.spikes, wider=wider)
        by_parameters, by_input = oracle.backward(network, result, upstream_of(problem, result))
        ways.append({**by_parameters, INPUT: {"input": by_input}})
    between = {
        (node, key): float(np.linalg.norm(oracle.whole(value) - oracle.whole(ways[1][node][key])))
        for node, named in (ways[0] if ways else {}).items()
        for key, value in named.items()
    }
    return {place: size + call.unseen.get(place, 0.0) for place, size in between.items()}


def _wrong_loss(
    problem: Problem, given: Gradients, result: oracle.Run, limit: float
) -> Iterator[str]:
    assert problem.loss is not None
    right, _ = loss_and_gradient(
        problem.loss, result.values[problem.network.output.name], problem.upstream
    )
    if given.loss is None or not np.isfinite(given.loss).all():
        yield "the loss is missing" if given.loss is None else "the loss is not finite"
    elif not abs(float(given.loss) - right) <= limit * max(right, 1.0):
        yield f"the loss is {float(given.loss):.6g}, not {right:.6g}"


def unreadable(problem: Problem, call: JudgedCall) -> Iterator[str]:
    """Returns reasons why spikes or output cannot be judged at all: missing, of another shape,
    or no spikes. Native neurons may fire any count."""
    network, names = problem.network, places(problem.network)
    for neuron in network.neurons:
        where = f" of {names[neuron]}" if names[neuron] else ""
        shape, spec = problem.shape(neuron), network.node(neuron).options["neuron"]
        if neuron not in call.spikes:
            yield f"spikes{where} are missing"
        elif (spikes := call.spikes[neuron]).shape != shape:
            yield f"spikes{where} have shape {spikes.shape}, not {AXES[len(shape)]} = {shape}"
        elif finding := _not_spikes(
            spikes, np.inf if isinstance(spec, Native) else spec.max_spikes
        ):
            yield f"spikes{where} {finding}"
    if call.output is not None and call.output.shape != (
        shape := problem.shape(network.output.name)
    ):
        of = f", of {network.output.name}," if names[network.output.name] else ""
        yield f"the output{of} has shape {call.output.shape}, not {AXES[len(shape)]} = {shape}"


def _not_spikes(values: np.ndarray, most: float) -> str | None:
    """Returns the reason why an output (T, B, *features) holds no spikes, up to `most` a step,
    or None."""
    if not np.isfinite(values).all():
        return "hold NaN or infinity"
    if not np.array_equal(values, np.round(values)):
        return "are not whole numbers"
    if values.min() < 0 or values.max() > most:
        span = f"{values.min():g} and {values.max() + 0.0:g}"
        return f"lie between {span}, not 0 and {most} (several spikes a step?)"
    return None


def _decisions(
    verdict: CallVerdict, network: Network, result: oracle.Run, neuron: str, limit: Limits
) -> None:
    v, expected, spikes = result.potentials[neuron], result.expected[neuron], result.spikes[neuron]
    spec, name = spec_of(network.node(neuron).options["neuron"]), places(network)[neuron]
    wrong = spikes != expected
    share = float(wrong.mean())
    verdict.wrong_decisions = max(verdict.wrong_decisions or 0.0, share)
    if not share:
        return
    distance = from_threshold(spec, v)
    worst = float(distance[wrong].max())
    verdict.distance = max(verdict.distance or 0.0, worst)
    if share <= limit.decisions and worst <= limit.distance:
        return
    place = tuple(
        np.argwhere(wrong & (distance > limit.distance) if worst > limit.distance else wrong)[0]
    )
    step, item, *feature = (int(index) for index in place)
    # The node before the neuron may have the fault.
    behind = f", behind {network.node(neuron).inputs[0]}," if name == neuron else ""
    where = f" in {name}{behind}" if name else ""
    verdict.findings.append(
        f"{small_share(share)} of the decisions{where} are wrong, "
        f"up to {worst:.1e} from the threshold (allowed {small_share(limit.decisions)}, "
        f"up to {limit.distance:.1e}), the first at step {step}, item {item}, "
        f"neuron {feature[0] if len(feature) == 1 else tuple(feature)}: "
        f"v = {v[place]:.6f} calls for {_spikes(expected[place])}, "
        f"the framework gave {spikes[place]:.0f}"
    )


def _spikes(count: float) -> str:
    return counted(round(count), "spike")


def _values(
    problem: Problem, call: JudgedCall, result: oracle.Run, limits: LimitsByNode
) -> Iterator[str]:
    """Yields faults of an output that is not spikes, and of the running statistics of norms."""
    network, output = problem.network, problem.network.output
    if call.output is not None and (output.kind != "neuron" or output.options["potentials"]):
        _, words = _difference(
            call.output, result.values[output.name], limits[output.name].gradient
        )
        if words:
            yield f"the output, of {output.name}, {words}"
    if call.statistics is None:
        return
    before, after = call.statistics
    for name, batch in result.statistics.items():
        momentum, limit = network.node(name).options["momentum"], limits[name].gradient
        for key, value in batch.items():
            given = after.get(name, {}).get(key)
            if given is None or given.shape != value.shape:
                yield f"the running {key} of {name} is missing" + (
                    "" if given is None else f": its shape is {given.shape}"
                )
                continue
            right = (1 - momentum) * before[name][key].astype(np.float64) + momentum * value
            _, words = _difference(given, right, limit)
            if words:
                yield f"the running {key} of {name} {words}"


WIDE, PROJECTIONS = 2**21, 16
"""Entries from which on a gradient is compared by projections, and the number of these."""

MOST_NAMED = 3
"""Most wrong gradients that are named: those nearest to the output, where the fault is."""


def _gradients(
    verdict: CallVerdict,
    problem: Problem,
    call: JudgedCall,
    expected: oracle.Expected,
    limits: LimitsByNode,
) -> None:
    assert call.gradients is not None
    given, (by_parameters, of_input) = call.gradients, expected
    names, findings = places(problem.network), []
    for node, arrays in by_parameters.items():
        where = f" of {names[node]}" if names[node] else ""
        for key, right in arrays.items():
            limit = limits[node].bias_gradient if key == "bias" else limits[node].gradient
            name = "recurrent weight" if key == "recurrent" else key
            array, unseen = (
                given.parameters.get(node, {}).get(key),
                call.unseen.get((node, key), 0.0),
            )
            findings.append(_compare(verdict, key, f"{name}{where}", array, right, limit, unseen))
    if given.input is None and problem.input_grad:
        verdict.errors["input"] = 1.0
        findings.append("the gradient of the input is missing")
    elif given.input is not None:
        unseen = call.unseen.get((INPUT, "input"), 0.0)
        findings.append(
            _compare(
                verdict, "input", "input", given.input, of_input, limits[INPUT].gradient, unseen
            )
        )
    wrong = [finding for finding in findings if finding]
    if any(names[node] == node for node in names) and len(wrong) > MOST_NAMED:
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
    given: np.ndarray | None,
    expected: Value,
    limit: float,
    unseen: float = 0.0,
) -> str | None:
    """Returns the fault of a gradient, or None, and adds its error to the verdict. An L2 error
    of `unseen` is allowed."""
    if given is None:
        verdict.errors[key] = 1.0
        return f"the gradient of the {name} is missing"
    if given.shape != expected.shape:
        return f"the gradient of the {name} has shape {given.shape}, not {expected.shape}"
    if isinstance(expected, LazyProduct):
        given, expected = _seen(given, expected)
    if unseen and (size := float(np.linalg.norm(expected))):
        limit += min(unseen / size, MOST_UNSEEN)
    error, words = _difference(given, expected, limit)
    verdict.errors[key] = max(verdict.errors.get(key, 0.0), error)
    return f"the gradient of the {name} {words}" if words else None


def _seen(given: np.ndarray, expected: LazyProduct) -> tuple[np.ndarray, np.ndarray]:
    """Returns both gradients as they are compared: a wide one by its products with random
    vectors, to which every entry contributes (Freivalds 1977). On average the projections keep
    the L2 norm of a difference."""
    if given.size <= WIDE:
        return given, expected.whole()
    vectors = np.random.default_rng().standard_normal((given.shape[-1], PROJECTIONS)) / np.sqrt(
        PROJECTIONS
    )
    return given.astype(np.float64) @ vectors, expected.times(vectors)


def _difference(given: np.ndarray, expected: np.ndarray, limit: float) -> tuple[float, str | None]:
    """Returns the relative L2 error, and words if it is above `limit`."""
    size = max(float(np.linalg.norm(expected)), 1e-300)
    error = float(np.linalg.norm(given.astype(np.float64) - expected) / size)
    if error <= limit:  # NaN is an error too
        return error, None
    if not np.isfinite(given).all():
        return error, "is not finite"
    factor = float(np.vdot(given, expected) / max(np.vdot(expected, expected), 1e-300))
    same = np.linalg.norm(given - factor * expected) <= limit * size
    words = (
        "is zero"
        if not given.any()
        else f"is {factor:.6g} times the right one"
        if same
        else f"is off by {error:.1e}"
    )
    return error, f"{words} (relative L2, allowed {limit:.1e})"
