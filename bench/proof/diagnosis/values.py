"""Faults of a node's value, or of every node of its kind, tried where a later decision is wrong."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...core.contract import Statistics
from ...core.network import INPUT, OF_TWO, Network, Node
from .. import oracle
from ..layers import LAYERS, Arrays, integrated, softmax
from ..recurrence import after_reset, risen, spec_of

Compute = Callable[..., np.ndarray]
"""Maps the input values of a node to its value."""
Faults = dict[str, Compute]
"""Functions by the words for their fault."""
AXES = {
    "by its time step alone": (1, 3, 4),
    "by pixel": (0, 1),
    "by item alone": (0, 3, 4),
    "over the channels": (0, 1, 2, 3, 4),
}
"""Axes of (T, B, C, H, W) over which a norm may average instead."""


def best_fault(
    network: Network,
    run: oracle.Run,
    target: str,
    before: Statistics | None,
    misfit: Callable[[np.ndarray], float],
) -> str | None:
    """Names the fault that best explains the currents of neuron `target`, or the output
    `target`: its `misfit` is 1 or less. All neurons before it are right. `before` are the norms'
    running statistics before the call."""
    node = network.node(target)
    end = node.inputs[0] if node.kind == "neuron" else target
    inner = between(network, end)
    earlier = (
        {*network.neurons[: network.neurons.index(target)]}
        if node.kind == "neuron"
        else {*network.neurons}
    )
    right = {
        each.name for neuron in earlier for each in between(network, network.node(neuron).inputs[0])
    }
    suspects = [each for each in inner if each.name not in right]
    faults = {each.name: _faults(network, run, each, before) for each in suspects}
    tried = [
        (sentence([each], words), {each.name: wrong})
        for each in suspects
        for words, wrong in faults[each.name].items()
    ]
    for kind in dict.fromkeys(each.kind for each in suspects):
        alike = [each for each in suspects if each.kind == kind]
        faults_of_kind = [faults[each.name] for each in alike]
        shared = (
            [
                words
                for words in faults_of_kind[0]
                if all(words in others for others in faults_of_kind)
            ]
            if len(alike) > 1
            else []
        )
        tried += [
            (
                sentence(alike, words),
                {n.name: wrong[words] for n, wrong in zip(alike, faults_of_kind, strict=True)},
            )
            for words in shared
        ]
    fits = [
        (misfit(_changed(network, run, inner, end, changed)), words) for words, changed in tried
    ]
    if node.kind == "neuron":
        currents = run.values[end]
        others = {
            name: run.values[name]
            for name in _before(network, end)
            if run.values[name].shape == currents.shape
        }
        fits += [
            (misfit(value), f"{target} reads {name}, not {end}") for name, value in others.items()
        ]
        fits += [
            (misfit(currents + value), f"{name} is added in front of {target}")
            for name, value in others.items()
        ]
        fits.append((misfit(_late(currents)), f"{target} reads {end} one step late"))
    lowest, words = min(fits, key=lambda pair: pair[0], default=(np.inf, ""))
    return words if lowest <= 1 else None


def sentence(nodes: list[Node], words: str) -> str:
    """Returns the sentence about one node, or about each of several; {0} and {1} in `words` are
    its inputs."""
    if len(nodes) == 1:
        return f"{nodes[0].name} {words.format(*nodes[0].inputs)}"
    names = ", ".join(node.name for node in nodes)
    return f"each of {names} {words.format('its first input', 'its second input')}"


def _before(network: Network, name: str) -> list[str]:
    """Returns INPUT and the nodes before one."""
    names = [INPUT, *(node.name for node in network.nodes)]
    return names[: names.index(name)]


def between(network: Network, end: str) -> list[Node]:
    """Returns the nodes between neurons, or the input, and `end`, in their order, with neurons
    that output potentials."""
    names, ways = set[str](), [end]
    while ways:
        if (name := ways.pop()) == INPUT or (
            network.node(name).kind == "neuron" and not network.node(name).options["potentials"]
        ):
            continue
        names.add(name)
        if network.node(name).kind != "neuron":
            ways += network.node(name).inputs
    return [node for node in network.nodes if node.name in names]


def _changed(
    network: Network, run: oracle.Run, inner: list[Node], end: str, changed: dict[str, Compute]
) -> np.ndarray:
    """Returns the value of `end` with `changed` functions of nodes."""
    values: dict[str, np.ndarray] = {}
    for node in inner:
        if node.name in changed or values.keys() & {*node.inputs}:
            compute = changed.get(node.name) or _right(run, node)
            values[node.name] = compute(
                *(values.get(name, run.values[name]) for name in node.inputs)
            )
    return values.get(end, run.values[end])


def _right(
    run: oracle.Run, node: Node, options: dict[str, Any] = {}, **parameters: np.ndarray
) -> Compute:
    """Returns the function of a node, with other options and parameters if they are set."""
    own = {**oracle.exact(run.parameters, node), **parameters}
    return lambda *inputs: LAYERS[node.kind]({**node.options, **options}, own, *inputs)[0]


def _faults(network: Network, run: oracle.Run, node: Node, before: Statistics | None) -> Faults:
    """Returns the faults of a node's kind, then those of any node."""
    if node.kind == "neuron":
        return _of_neuron(run, node)
    right, own, shape = (
        _right(run, node),
        oracle.exact(run.parameters, node),
        run.values[node.name].shape,
    )
    faults = _OF_KIND.get(node.kind, lambda run, node: {})(run, node)
    if node.kind == "norm" and before is not None and node.name in before:
        mean, variance = (before[node.name][key].astype(np.float64) for key in ("mean", "variance"))
        faults["normalises by its running statistics, as in eval mode"] = _norm(
            own, node, mean, variance
        )
    for other, arrays in run.parameters.items():
        if (
            other != node.name
            and own
            and {k: a.shape for k, a in arrays.items()} == {k: a.shape for k, a in own.items()}
        ):
            faults[f"has the parameters of {other}"] = _right(
                run, node, {}, **oracle.exact(run.parameters, network.node(other))
            )
    for index, name in enumerate(node.inputs):
        if run.values[name].shape == shape and node.kind not in OF_TWO:
            faults["is left out"] = lambda x: x
        for other in _before(network, node.name):
            if (
                other not in node.inputs
                and (value := run.values[other]).shape == run.values[name].shape
            ):
                faults[f"reads {other}, not {{{index}}}"] = lambda *xs, i=index, v=value: right(
                    *xs[:i], v, *xs[i + 1 :]
                )
        faults[f"reads {{{index}}} one step late"] = lambda *xs, i=index: right(
            *xs[:i], _late(xs[i]), *xs[i + 1 :]
        )
    return faults


def _late(x: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros_like(x[:1]), x[:-1]])


def _norm(
    own: Arrays, node: Node, mean: Any, variance: Any, epsilon: float | None = None
) -> Compute:
    """Returns a norm with these statistics: arrays by channel, or functions of its input."""

    def compute(x: np.ndarray) -> np.ndarray:
        by_channel = (-1, *(1,) * (x.ndim - 3))
        m, v = (
            each(x) if callable(each) else each.reshape(by_channel) for each in (mean, variance)
        )
        normal = (x - m) / np.sqrt(v + (node.options["epsilon"] if epsilon is None else epsilon))
        return normal * own["weight"].reshape(by_channel) + own["bias"].reshape(by_channel)

    return compute


def _of_norm(run: oracle.Run, node: Node) -> Faults:
    own, shape = oracle.exact(run.parameters, node), run.values[node.name].shape
    usual = (0, 1, *range(3, len(shape)))

    def over(axes: tuple[int, ...], **how: Any) -> Compute:
        axes, unbiased = tuple(axis for axis in axes if axis < len(shape)), how.get("unbiased", 0)
        mean, variance = (
            (lambda x: x.mean(axis=axes, keepdims=True)),
            (lambda x: x.var(axis=axes, keepdims=True, ddof=unbiased)),
        )
        return _norm(own, node, mean, variance, how.get("epsilon"))

    def with_epsilon(epsilon: float) -> Compute:
        if "mean" in own:
            return _norm(own, node, own["mean"], own["variance"], epsilon)
        return over(usual, epsilon=epsilon)

    faults = {f"normalises {words}": over(axes) for words, axes in AXES.items()}
    if "mean" in own:
        faults["normalises by the statistics of the batch, as in training mode"] = over(usual)
    else:
        faults["divides by the unbiased variance"] = over(usual, unbiased=1)
    for epsilon in (1e-3, 1e-4, 1e-6, 1e-8, 0.0):
        faults[f"has an epsilon of {epsilon:g}, not {node.options['epsilon']:g}"] = with_epsilon(
            epsilon
        )
    faults["leaves out its shift"] = _right(run, node, bias=0 * own["bias"])
    faults["leaves out its scale"] = _right(run, node, weight=0 * own["weight"] + 1)
    return faults


def _of_conv(run: oracle.Run, node: Node) -> Faults:
    own, options = oracle.exact(run.parameters, node), node.options
    weight, kernel, padding = own["weight"], options["kernel"], options["padding"]
    right, bare = _right(run, node), _right(run, node, {"padding": 0})

    def padded(first: int, last: int, **how: Any) -> Compute:
        return lambda x: bare(np.pad(x, [(0, 0)] * 3 + [(first, last)] * 2, **how))

    spread = np.zeros((*weight.shape[:2], 2 * kernel - 1, 2 * kernel - 1))
    spread[..., ::2, ::2] = weight
    faults: Faults = {}
    if kernel > 1:
        wider = {"kernel": 2 * kernel - 1, "padding": padding + kernel // 2}
        faults["flips its kernel: a convolution, not a cross-correlation"] = _right(
            run, node, weight=weight[..., ::-1, ::-1]
        )
        faults["exchanges rows and columns of its kernel"] = _right(
            run, node, weight=weight.swapaxes(2, 3)
        )
        faults["has a dilation of 2"] = _right(run, node, wider, weight=spread)
    if padding:
        for mode in ("edge", "reflect", "wrap"):
            faults[f"pads with `{mode}`, not with zeros"] = padded(padding, padding, mode=mode)
        faults["pads one pixel less at the beginning and one more at the end"] = padded(
            padding - 1, padding + 1
        )
    count = options["groups"]
    for groups in (2, 3, 4) if count == 1 else ():
        if len(weight) % groups == 0 and weight.shape[1] % groups == 0:
            blocks = np.kron(
                np.eye(groups), np.ones((len(weight) // groups, weight.shape[1] // groups))
            )
            faults[f"has {groups} groups"] = _right(
                run, node, weight=weight * blocks[..., None, None]
            )
    if count > 1:
        faults["takes every group's channels from all over its input"] = lambda x: right(
            _interleaved(x, (count, x.shape[2] // count, *x.shape[3:])).reshape(x.shape)
        )
    faults["reads its channels in reversed order"] = lambda x: right(x[:, :, ::-1])
    if len({*run.values[node.inputs[0]].shape[3:]}) == 1:
        faults["exchanges rows and columns of its image"] = lambda x: right(x.swapaxes(3, 4))
    return {**faults, **_of_bias(run, node)}


def _of_linear(run: oracle.Run, node: Node) -> Faults:
    weight, right = oracle.exact(run.parameters, node)["weight"], _right(run, node)
    faults: Faults = {"reads its inputs in reversed order": lambda x: right(x[..., ::-1])}
    if weight.shape[0] == weight.shape[1]:
        faults["has its weight transposed"] = _right(run, node, weight=weight.T)
    faults["hands out its outputs in reversed order"] = lambda x: right(x)[..., ::-1]
    return {**faults, **_of_bias(run, node)}


def _of_bias(run: oracle.Run, node: Node) -> Faults:
    if (bias := oracle.exact(run.parameters, node).get("bias")) is None:
        return {}
    return {
        "leaves out its bias": _right(run, node, bias=0 * bias),
        "adds its bias twice": _right(run, node, bias=2 * bias),
    }


def _of_pool(run: oracle.Run, node: Node) -> Faults:
    other = "avg_pool" if node.kind == "max_pool" else "max_pool"
    words = (
        "takes the mean, not the maximum"
        if other == "avg_pool"
        else "takes the maximum, not the mean"
    )
    return {words: lambda x: LAYERS[other](node.options, {}, x)[0]}


def _of_flatten(run: oracle.Run, node: Node) -> Faults:
    return {"takes channels last": lambda x: x.transpose(0, 1, 3, 4, 2).reshape(*x.shape[:2], -1)}


def _interleaved(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Returns x (T, B, …) in `shape`, the first two axes of which were taken in the other order."""
    first, second, *rest = shape
    return x.reshape(*x.shape[:2], second, first, *rest).swapaxes(2, 3)


def _of_reshape(run: oracle.Run, node: Node) -> Faults:
    shape, faults = node.options["shape"], Faults()
    if len(shape) == 3:
        faults["interleaves what it splits into its first two axes"] = lambda x: _interleaved(
            x, shape
        )
        faults["exchanges its last two axes"] = lambda x: x.reshape(
            *x.shape[:2], shape[0], shape[2], shape[1]
        ).swapaxes(3, 4)
    if run.values[node.inputs[0]].ndim == 5:
        faults["reads its first two axes interleaved"] = lambda x: x.swapaxes(2, 3).reshape(
            *x.shape[:2], *shape
        )
        faults["reads its last two axes exchanged"] = lambda x: x.swapaxes(3, 4).reshape(
            *x.shape[:2], *shape
        )
    return faults


def _of_multiply(run: oracle.Run, node: Node) -> Faults:
    return {
        "adds {0} and {1}": np.add,
        "leaves out {0}": lambda x, y: np.broadcast_to(y, np.broadcast_shapes(x.shape, y.shape)),
        "leaves out {1}": lambda x, y: np.broadcast_to(x, np.broadcast_shapes(x.shape, y.shape)),
    }


def _of_product(run: oracle.Run, node: Node) -> Faults:
    right, scale = _right(run, node), node.options["scale"]
    faults: Faults = {"takes a softmax of it": lambda x, y: softmax(right(x, y))}
    if scale != 1:
        faults["leaves out its scale"] = lambda x, y: right(x, y) / scale
        faults["multiplies by its scale twice"] = lambda x, y: scale * right(x, y)
    for index, side in enumerate(("left", "right")):
        rows, columns = run.values[node.inputs[index]].shape[3:]
        if rows == columns:
            has = not node.options[side]
            words = f"{'transposes' if has else 'does not transpose'} {{{index}}}"
            faults[words] = _right(run, node, {side: has})
    return faults


def _of_sum(run: oracle.Run, node: Node) -> Faults:
    axis = 2 + node.options["axis"]
    return {
        "takes the mean, not the sum": lambda x: x.mean(axis=axis, keepdims=True),
        "takes the maximum, not the sum": lambda x: x.max(axis=axis, keepdims=True),
        "leaves out the last of its axis": lambda x: (
            x.sum(axis=axis, keepdims=True) - np.take(x, [-1], axis=axis)
        ),
    }


def _of_add(run: oracle.Run, node: Node) -> Faults:
    return {
        "leaves out {0}": lambda x, y: y,
        "leaves out {1}": lambda x, y: x,
        "takes {1} off": np.subtract,
    }


OVER_TIME: dict[str, tuple[str, Compute]] = {
    "last_time": ("the last step", lambda x: x[-1:]),
    "first": ("the first step", lambda x: x[:1]),
    "mean_time": ("the mean over time", lambda x: x.mean(axis=0, keepdims=True)),
    "sum": ("the sum", lambda x: x.sum(axis=0, keepdims=True)),
    "max_time": ("the maximum over time", lambda x: x.max(axis=0, keepdims=True)),
    "softmax_sum": ("the sum of softmax", lambda x: softmax(x).sum(axis=0, keepdims=True)),
    "softmax_mean": ("the mean of softmax", lambda x: softmax(x).mean(axis=0, keepdims=True)),
    "softmax": ("softmax of the sum", lambda x: softmax(x.sum(axis=0, keepdims=True))),
}
"""What a node may make of all time steps, in words and as a function: by its kind, and others."""


def _of_time(run: oracle.Run, node: Node) -> Faults:
    right, whole = OVER_TIME[node.kind]
    faults = {
        f"takes {words}, not {right}": wrong
        for kind, (words, wrong) in OVER_TIME.items()
        if kind != node.kind and ("softmax" not in kind or run.values[node.name].ndim == 3)
    }
    if node.kind == "mean_time":
        faults["divides by T - 1"] = lambda x: x.sum(axis=0, keepdims=True) / max(len(x) - 1, 1)
    if len(run.values[node.inputs[0]]) > 1:
        faults["leaves out the first step"] = lambda x: whole(x[1:])
        faults["leaves out the last step"] = lambda x: whole(x[:-1])
    return faults


def _ahead(right: Compute, steps: int) -> Compute:
    """Returns a node over time that sees so many later steps, zeros behind the last."""
    return lambda x: right(np.concatenate([x, np.zeros((steps, *x.shape[1:]))]))[steps:]


def _of_mix(run: oracle.Run, node: Node) -> Faults:
    own, options = oracle.exact(run.parameters, node), node.options
    weight, order = own["weight"], options["order"]
    steps = len(run.values[node.name])
    faults: Faults = {}
    if options["sliding"]:
        faults["reads its weight in reversed order"] = _right(run, node, weight=weight[::-1])
        faults["looks ahead: it is centred on its step"] = _ahead(_right(run, node), order // 2)
    else:
        faults["has its weight transposed"] = _right(run, node, weight=weight.T)
        if order is None:
            faults["counts no later steps"] = _right(run, node, {"order": steps})
        else:
            faults["looks ahead: it counts later steps"] = _right(run, node, {"order": None})
            faults[f"counts all earlier steps, not {order}"] = _right(run, node, {"order": steps})
    return {**faults, **_of_bias(run, node)}


def _of_delayed(run: oracle.Run, node: Node) -> Faults:
    own, right = oracle.exact(run.parameters, node), _right(run, node)
    most, sigma = node.options["most"], node.options["sigma"]
    apart = np.arange(most) - own["delay"][..., None]
    total = np.exp(-((apart / sigma) ** 2) / 2).sum(axis=-1) + 1e-7
    faults: Faults = {
        "does not normalise its kernels": _right(run, node, weight=own["weight"] * total),
        "hears the next step: it looks ahead": _ahead(right, 1),
        "has the delays reversed": _right(run, node, delay=most - 1 - own["delay"]),
        "rounds its delays": _right(run, node, delay=np.round(own["delay"])),
        "has no delays": _right(run, node, delay=0 * own["delay"]),
    }
    for factor, words in ((0.5, "half"), (2.0, "twice")):
        faults[f"has {words} its sigma"] = _right(run, node, {"sigma": factor * sigma})
    return faults


def _of_integrator(run: oracle.Run, node: Node) -> Faults:
    decay, normal = node.options["decay"], node.options["normal"]
    right, gain = _right(run, node), 1 - decay if normal else 1.0
    other = "counts its input whole, not times" if normal else "multiplies its input by"
    faults: Faults = {
        f"{other} 1 - decay": _right(run, node, {"normal": not normal}),
        "decays its input too": lambda x: decay * right(x),
        "hands out spikes, not its potentials": lambda x: (right(x) >= 1).astype(x.dtype),
        "has no memory": lambda x: gain * x,
    }
    if decay < 1:
        faults["does not leak"] = lambda x: integrated(gain * x, 1.0)
    for words, after in (
        ("is reset to 0", lambda v: v * (v < 1)),
        ("is lowered by 1", lambda v: v - (v >= 1)),
    ):
        faults[f"{words} where it reaches 1"] = partial(_reset, decay, gain, after)
    return faults


def _reset(decay: float, gain: float, after: Compute, x: np.ndarray) -> np.ndarray:
    """Returns the potentials of an integrator that goes on from `after(v)`."""
    v = np.empty_like(x)
    for t, current in enumerate(x):
        v[t] = gain * current + (decay * after(v[t - 1]) if t else 0)
    return v


def _of_vote(run: oracle.Run, node: Node) -> Faults:
    group = node.options["group"]

    def groups(x: np.ndarray) -> np.ndarray:
        return x.reshape(*x.shape[:2], -1, group)

    return {
        "takes outputs that are a group apart, not neighbours": lambda x: x.reshape(
            *x.shape[:2], group, -1
        ).mean(axis=-2),
        "takes the sum, not the mean of its group": lambda x: groups(x).sum(axis=-1),
        "takes the maximum, not the mean of its group": lambda x: groups(x).max(axis=-1),
        "takes the first of its group": lambda x: groups(x)[..., 0],
    }


def _of_neuron(run: oracle.Run, node: Node) -> Faults:
    v, spikes = run.potentials[node.name], run.spikes[node.name]
    spec = spec_of(node.options["neuron"])
    after = after_reset(spec, v, spikes, risen(spec, spikes))
    return {
        "hands out its potentials after the reset": lambda x: after,
        "hands out its spikes": lambda x: spikes,
    }


_OF_KIND: dict[str, Callable[[oracle.Run, Node], Faults]] = {
    "norm": _of_norm,
    "conv": _of_conv,
    "linear": _of_linear,
    "max_pool": _of_pool,
    "avg_pool": _of_pool,
    "flatten": _of_flatten,
    "reshape": _of_reshape,
    "add": _of_add,
    "multiply": _of_multiply,
    "product": _of_product,
    "sum": _of_sum,
    "mix_time": _of_mix,
    "delayed": _of_delayed,
    "integrator": _of_integrator,
    "mean_time": _of_time,
    "max_time": _of_time,
    "softmax_sum": _of_time,
    "last_time": _of_time,
    "vote": _of_vote,
}
