"""Faults of a node's backward, tried where all values are right and gradients are not."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from math import isqrt

import numpy as np

from snnbench.kernels.spec import SURROGATES

from ...core.contract import Parameters
from ...core.network import INPUT, Network, Node
from ...core.result import Gradients
from .. import oracle
from ..layers import Gradient, Passed, Pull, softmax, summed_windows, windows
from ..limits import LimitsByNode
from ..problem import Problem
from ..recurrence import run_backward, spec_of
from .values import sentence

Pulls = dict[str, Pull]
"""Pulls by the words for their fault."""
CUTS = (1, 5, 8, 10, 16, 20, 25, 32, 50, 64, 100, 128)
"""Lengths of segments between which no gradient of a recurrent neuron may pass."""
BETTER = 0.5
"""Share of the right network's misfit that a fault may leave, so that noise is not named."""
NO_MEMORY = 1e-30
"""A decay that passes nothing on."""
PARTS: dict[str, Callable[[np.ndarray], tuple[slice, ...]]] = {
    "the first half of the batch": lambda g: np.s_[:, : g.shape[1] // 2],
    "the last half of the batch": lambda g: np.s_[:, g.shape[1] // 2 :],
    "the first batch item": lambda g: np.s_[:, :1],
    "the last batch item": lambda g: np.s_[:, -1:],
    "the first step": lambda g: (np.s_[:1],),
    "the last step": lambda g: (np.s_[-1:],),
    "all steps but the first": lambda g: (np.s_[1:],),
    "all steps but the last": lambda g: (np.s_[:-1],),
}


def best_pull(
    problem: Problem, given: Gradients, run: oracle.Run, limits: LimitsByNode
) -> str | None:
    """Names the fault of one node, or of all of its kind, that explains every gradient in
    `given`. The nodes nearest to the wrong gradients come first."""
    network = problem.network
    before = _misfits(oracle.backward(network, run, problem.upstream), given, limits)
    if not (wrong := {node for node, misfit in before.items() if misfit > 1}):
        return None
    sources = {node.name: _sources(network, node.name) for node in network.nodes}
    near = [node for node in network.nodes if wrong <= sources[node.name] | {node.name}]
    kinds = {
        kind: [node for node in network.nodes if node.kind == kind]
        for kind in {node.kind for node in near}
    }
    for alike in [
        *([node] for node in near),
        *(nodes for nodes in kinds.values() if len(nodes) > 1),
    ]:
        faults = [_faults(problem.parameters, run, node) for node in alike]
        for words in faults[0]:
            if all(words in own for own in faults):
                pulls = {
                    **run.pulls,
                    **{node.name: own[words] for node, own in zip(alike, faults, strict=True)},
                }
                expected = oracle.backward(network, replace(run, pulls=pulls), problem.upstream)
                after = _misfits(expected, given, limits)
                if max(after.values()) <= 1 and all(
                    after[node] <= BETTER * before[node] for node in wrong
                ):
                    return sentence(alike, words)
    return None


def _misfits(expected: oracle.Expected, given: Gradients, limits: LimitsByNode) -> dict[str, float]:
    """Returns how far gradients are from the expected ones, as multiples of the limit: the largest
    of each node, INPUT among them. A missing one is zero."""
    by_parameter, of_input = expected
    pairs = [
        (node, given.parameters[node].get(name), right)
        for node, own in by_parameter.items()
        for name, right in own.items()
    ]
    pairs += [(INPUT, given.input, of_input)] if given.input is not None else []
    misfits = dict[str, float]()
    for node, array, value in pairs:
        right = oracle.whole(value)
        apart = float(np.linalg.norm((0.0 if array is None else array) - right))
        allowed = limits[node].gradient * float(np.linalg.norm(right))
        misfit = apart / allowed if allowed else np.inf if apart else 0.0
        misfits[node] = max(misfits.get(node, 0.0), np.nan_to_num(misfit, nan=np.inf))
    return misfits


def _sources(network: Network, name: str) -> set[str]:
    """Returns all nodes that the value of a node depends on."""
    names, ways = set[str](), [name]
    while ways:
        before = () if (at := ways.pop()) == INPUT else network.node(at).inputs
        ways += [each for each in before if each not in names]
        names |= {*before}
    return names


def _faults(parameters: Parameters, run: oracle.Run, node: Node) -> Pulls:
    """Returns the faults of a node's kind, of its parameters, and of any node."""
    right = run.pulls[node.name]
    faults = dict(_of_kind(parameters, run, node))
    for name in parameters.get(node.name, {}):
        faults |= {f"{words} of its {name}": pull for words, pull in _of_parameter(right, name)}
    for index in range(len(node.inputs)):
        faults[f"lets no gradient pass to {{{index}}}"] = _passing(
            right, index, lambda gradient: 0 * gradient
        )
        faults[f"passes the gradient of {{{index}}} on twice"] = _passing(
            right, index, lambda gradient: 2 * gradient
        )
        faults[f"passes the gradient of {{{index}}} on one step late"] = _passing(
            right, index, _late
        )
    return faults


def _late(gradient: np.ndarray) -> np.ndarray:
    return np.concatenate([gradient[1:], np.zeros_like(gradient[:1])])


def _passing(right: Pull, index: int, change: Callable[[np.ndarray], np.ndarray]) -> Pull:
    """Returns `right`, with the gradient of input number `index` changed."""

    def pull(gradient: np.ndarray) -> tuple[Gradient, tuple[np.ndarray, ...]]:
        own, passed = right(gradient)
        parts = [
            oracle.whole(part) for part in (passed if isinstance(passed, tuple) else (passed,))
        ]
        parts[index] = change(parts[index])
        return own, tuple(parts)

    return pull


def _of_parameter(right: Pull, name: str) -> Iterator[tuple[str, Pull]]:
    """Yields faults of the gradient of one parameter alone."""

    def summed(part: Callable[[np.ndarray], tuple[slice, ...]]) -> Pull:
        def pull(gradient: np.ndarray) -> tuple[Gradient, Passed]:
            some = np.zeros_like(gradient)
            some[part(gradient)] = gradient[part(gradient)]
            own, passed = right(gradient)
            return {**own, name: right(some)[0][name]}, passed

        return pull

    def changed(change: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Pull:
        def pull(gradient: np.ndarray) -> tuple[Gradient, Passed]:
            own, passed = right(gradient)
            return {**own, name: change(oracle.whole(own[name]), gradient)}, passed

        return pull

    yield "hands out no gradient", changed(lambda own, gradient: 0 * own)
    yield "turns the sign of the gradient", changed(lambda own, gradient: -own)
    yield (
        "takes the mean over the batch in the gradient",
        changed(lambda own, gradient: own / gradient.shape[1]),
    )
    yield (
        "takes the mean over time in the gradient",
        changed(lambda own, gradient: own / gradient.shape[0]),
    )
    for words, part in PARTS.items():
        yield f"sums {words} only in the gradient", summed(part)


def _of_kind(parameters: Parameters, run: oracle.Run, node: Node) -> Iterator[tuple[str, Pull]]:
    right, x = run.pulls[node.name], run.values[node.inputs[0]]
    if node.kind == "norm":
        axes = (0, 1, *range(3, x.ndim))
        weight = oracle.exact(parameters, node)["weight"].reshape(-1, *(1,) * (x.ndim - 3))
        deviation = np.sqrt(x.var(axis=axes, keepdims=True) + node.options["epsilon"])
        normal = (x - x.mean(axis=axes, keepdims=True)) / deviation
        for words, by_mean, by_spread in (
            ("mean and variance", 0, 0),
            ("mean", 0, 1),
            ("variance", 1, 0),
        ):

            def detached(
                gradient: np.ndarray, by_mean: int = by_mean, by_spread: int = by_spread
            ) -> tuple[Gradient, np.ndarray]:
                along = by_mean * gradient.mean(axis=axes, keepdims=True)
                along = along + by_spread * normal * (gradient * normal).mean(
                    axis=axes, keepdims=True
                )
                return right(gradient)[0], weight / deviation * (gradient - along)

            yield f"lets no gradient pass its {words}", detached
    elif node.kind == "max_pool":
        seen = windows(x, node.options, outside=-np.inf)
        most = (seen == seen.max(axis=(5, 6), keepdims=True)).astype(np.float64)
        flipped = most[..., ::-1, ::-1].reshape(*most.shape[:5], -1)
        last = (np.arange(flipped.shape[-1]) == flipped.argmax(axis=-1)[..., None]).reshape(
            most.shape
        )[..., ::-1, ::-1]
        even = np.ones(most.shape) / most[0, 0, 0, 0, 0].size
        for words, shares in (
            ("gives the last of equal values the gradient", last),
            (
                "gives equal values equal parts of the gradient",
                most / most.sum(axis=(5, 6), keepdims=True),
            ),
            ("gives all equal values the whole gradient", most),
            ("spreads the gradient over the whole window", even),
        ):
            yield words, _by_window(node, x.shape, shares)
    elif node.kind == "product" and (scale := node.options["scale"]) != 1:
        yield "does not multiply the gradient by its scale", lambda g: right(g / scale)
    elif node.kind == "multiply":
        yield from _of_repeated(right, run, node)
    elif node.kind == "sum":
        count = x.shape[2 + node.options["axis"]]
        yield "divides the gradient by the length of its axis", lambda g: right(g / count)
    elif node.kind == "mean_time":
        yield "does not divide the gradient by T", lambda g: ({}, np.broadcast_to(g, x.shape))
        yield (
            "gives the last step alone the gradient",
            lambda g: ({}, np.concatenate([np.zeros_like(x[:-1]), g])),
        )
    elif node.kind == "max_time":
        yield from _of_maximum(x)
    elif node.kind == "last_time":
        yield (
            "gives every step the gradient",
            lambda g: ({}, np.broadcast_to(g, x.shape)),
        )
    elif node.kind == "softmax_sum":
        yield "lets no gradient pass its normalisation", lambda g: ({}, softmax(x) * g)
    elif node.kind == "vote":
        group = node.options["group"]
        yield (
            "does not divide the gradient by its group",
            lambda g: ({}, np.repeat(g, group, axis=-1)),
        )
    elif node.kind == "integrator":
        gain = 1 - node.options["decay"] if node.options["normal"] else 1.0
        yield "lets no gradient pass from step to step", lambda g: ({}, gain * g)
        if node.options["normal"]:
            yield (
                "does not multiply the gradient by 1 - decay",
                lambda g: ({}, oracle.whole(right(g)[1]) / gain),  # type: ignore[arg-type]
            )
    elif node.kind == "neuron":
        yield from _of_neuron(parameters, run, node)


def _of_repeated(right: Pull, run: oracle.Run, node: Node) -> Iterator[tuple[str, Pull]]:
    """Yields a multiplication with other gradients of a factor that is repeated along an axis."""
    shape = run.values[node.name].shape
    for index, name in enumerate(node.inputs):
        axes = [i for i, n in enumerate(run.values[name].shape) if n < shape[i]]
        if axes:
            first = tuple(slice(1) if i in axes else slice(None) for i in range(len(shape)))
            yield (
                f"takes the first of the gradients of {{{index}}}, not their sum",
                _of_first(right, index, first),
            )


def _of_first(right: Pull, index: int, first: tuple[slice, ...]) -> Pull:
    def pull(gradient: np.ndarray) -> tuple[Gradient, Passed]:
        some = np.zeros_like(gradient)
        some[first] = gradient[first]
        (own, passed), (_, from_first) = right(gradient), right(some)
        assert isinstance(passed, tuple) and isinstance(from_first, tuple)
        return own, tuple(from_first[i] if i == index else part for i, part in enumerate(passed))

    return pull


def _of_maximum(x: np.ndarray) -> Iterator[tuple[str, Pull]]:
    """Yields the maximum over time with other shares of its gradient."""
    most = (x == x.max(axis=0)).astype(x.dtype)
    last = np.zeros_like(x)
    np.put_along_axis(last, len(x) - 1 - most[::-1].argmax(axis=0)[None], 1, axis=0)
    for words, shares in (
        ("gives the last of equal maxima the gradient", last),
        ("gives equal maxima equal parts of the gradient", most / most.sum(axis=0)),
        ("gives all equal maxima the whole gradient", most),
        ("gives all steps equal parts of the gradient", np.full_like(x, 1 / len(x))),
    ):
        yield words, lambda g, shares=shares: ({}, g * shares)  # type: ignore[misc]


def _by_window(node: Node, shape: tuple[int, ...], shares: np.ndarray) -> Pull:
    return lambda g: ({}, summed_windows(g[..., None, None] * shares, shape, node.options))


def _of_neuron(parameters: Parameters, run: oracle.Run, node: Node) -> Iterator[tuple[str, Pull]]:
    """Yields the neuron with other equations in its backward alone."""
    spec, own = spec_of(node.options["neuron"]), oracle.exact(parameters, node)
    v, s, recurrent = run.potentials[node.name], run.spikes[node.name], own.get("recurrent")

    def by(
        back: np.ndarray | None = recurrent,
        slope: np.ndarray | None = None,
        cut: int = len(v),
        **changes: object,
    ) -> Pull:
        other = replace(spec, **changes)  # type: ignore[arg-type]  # fields of the spec by name

        def part(gradient: np.ndarray, at: slice) -> np.ndarray:
            potentials, of_part = node.options["potentials"], slope if slope is None else slope[at]
            return run_backward(other, v[at], s[at], gradient[at], back, potentials, of_part)

        def pull(gradient: np.ndarray) -> tuple[Mapping[str, np.ndarray], np.ndarray]:
            parts = (slice(first, first + cut) for first in range(0, len(v), cut))
            g = np.concatenate([part(gradient, at) for at in parts])
            return {} if recurrent is None else {
                "recurrent": np.tensordot(g[1:], s[:-1], axes=([0, 1], [0, 1]))
            }, g

        return pull

    if recurrent is not None:
        yield "lets no gradient pass its recurrence", by(None)
        yield "takes its recurrent weight transposed in the backward", by(recurrent.T)
        for steps in sorted({isqrt(len(v)), *CUTS}) if spec.adaptation is None else ():
            if steps < len(v):
                yield f"lets no gradient pass back every {steps} steps", by(cut=steps)
    attached = "attached" if spec.detach_reset else "detached"
    yield f"has its reset {attached} in the backward", by(detach_reset=not spec.detach_reset)
    if spec.decay:
        yield "lets no gradient pass from step to step", by(decay=NO_MEMORY)
    if spec.current_decay is not None:
        yield "lets no gradient pass its synaptic current", by(current_decay=None)
    for words, least in (
        (
            ("lets gradients pass above its highest count", 0.0),
            ("lets gradients pass at every potential", -np.inf),
        )
        if spec.rounding is not None
        else ()
    ):
        yield words, by(slope=(v >= least) / spec.threshold)
    for surrogate in SURROGATES if spec.rounding is None else ():
        if surrogate != spec.surrogate:
            yield f"has the surrogate {surrogate}, not {spec.surrogate}", by(surrogate=surrogate)
