"""Nodes other than neurons in float64, and their gradients. Values are (T, B, *features).

Each kind is a function of a node's options, its float64 parameters by name and its input values. It
returns the node's value and the `Pull` of gradients back through it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

Arrays = Mapping[str, np.ndarray]
Options = Mapping[str, Any]


@dataclass(frozen=True)
class LazyProduct:
    """A matrix product left (…, M) · right (M, K) that need not be multiplied out."""

    left: np.ndarray
    right: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.left.shape[:-1], self.right.shape[1])

    def whole(self) -> np.ndarray:
        return np.tensordot(self.left, self.right, axes=1)

    def times(self, vectors: np.ndarray) -> np.ndarray:
        """The product with `vectors` (K, P): cheap where P is small."""
        vectors = vectors.astype(self.right.dtype)
        return np.tensordot(self.left, self.right @ vectors, axes=1)


Value = np.ndarray | LazyProduct
WIDE, PROJECTIONS = 2**21, 16
"""Entries from which on a product is compared by projections, and the number of these."""


def comparable(actual: Value, expected: Value) -> tuple[np.ndarray, np.ndarray]:
    """Returns both; of wide products their products with random vectors, to which every entry
    contributes (Freivalds 1977) and which keep the L2 norm of a difference on average."""
    if not isinstance(expected, LazyProduct):
        assert isinstance(actual, np.ndarray)
        return actual, expected
    if prod(expected.shape) <= WIDE:
        whole = actual.whole() if isinstance(actual, LazyProduct) else actual
        return whole, expected.whole()
    scale, random = np.sqrt(PROJECTIONS), np.random.default_rng()
    vectors = random.standard_normal((expected.shape[-1], PROJECTIONS)) / scale
    if isinstance(actual, LazyProduct):
        return actual.times(vectors), expected.times(vectors)
    return actual.astype(np.float64) @ vectors, expected.times(vectors)


Gradient = Mapping[str, Value]
Passed = Value | tuple[Value, ...]
Pull = Callable[[np.ndarray], tuple[Gradient, Passed]]
"""Maps the gradient of a node's value to those of its parameters by name, and to that of its
input, or of each."""


MOST_VALUES = 2**22
"""Most values of the items that are computed at once: temporary arrays are no larger."""


def parts(x: np.ndarray) -> list[slice]:
    """Returns the items of x (T, B, …) in parts of up to MOST_VALUES values, one item at least."""
    count = max(1, MOST_VALUES * x.shape[1] // max(1, x.size))
    return [slice(first, first + count) for first in range(0, x.shape[1], count)]


def by_items(
    layer: Callable[[Options, Arrays, np.ndarray], tuple[np.ndarray, Pull]],
) -> Callable[[Options, Arrays, np.ndarray], tuple[np.ndarray, Pull]]:
    """Computes a layer without parameters, which does not couple items, in parts of items."""

    def in_parts(options: Options, parameters: Arrays, x: np.ndarray) -> tuple[np.ndarray, Pull]:
        def pull(gradient: np.ndarray) -> tuple[Gradient, np.ndarray]:
            by_x = np.empty_like(x)
            for items in parts(x):
                pull_part = layer(options, parameters, x[:, items])[1]
                by_x[:, items] = pull_part(gradient[:, items])[1]
            return {}, by_x

        values = [layer(options, parameters, x[:, items])[0] for items in parts(x)]
        return values[0] if len(values) == 1 else np.concatenate(values, axis=1), pull

    return in_parts


def windows(x: np.ndarray, options: Options, outside: float = 0.0) -> np.ndarray:
    """Returns the square windows of x (T, B, C, H, W): (T, B, C, H', W', kernel, kernel), with
    `outside` beyond the edge."""
    kernel, stride, padding = options["kernel"], options["stride"], options["padding"]
    sides = [(0, 0)] * 3 + [(padding, padding)] * 2
    padded = np.pad(x, sides, constant_values=outside) if padding else x
    return np.lib.stride_tricks.sliding_window_view(padded, (kernel, kernel), axis=(3, 4))[
        ..., ::stride, ::stride, :, :
    ]


def summed_windows(gradient: np.ndarray, shape: tuple[int, ...], options: Options) -> np.ndarray:
    """Returns the gradient of x, of that shape (T, B, C, H, W), from the gradient of its
    windows: each entry goes back to its pixel."""
    *outer, height, width = shape
    kernel, stride, padding = options["kernel"], options["stride"], options["padding"]
    padded = np.zeros((*outer, height + 2 * padding, width + 2 * padding), gradient.dtype)
    rows, columns = gradient.shape[3:5]
    for i in range(kernel):
        for j in range(kernel):
            padded[..., i : i + stride * rows : stride, j : j + stride * columns : stride] += (
                gradient[..., i, j]
            )
    return padded[..., padding : padding + height, padding : padding + width]


def _linear(options: Options, parameters: Arrays, x: np.ndarray) -> tuple[np.ndarray, Pull]:
    weight = parameters["weight"]

    def pull(gradient: np.ndarray) -> tuple[Gradient, Value]:
        by_weight = LazyProduct(
            gradient.reshape(-1, gradient.shape[2]).T, x.reshape(-1, x.shape[2])
        )
        return {"weight": by_weight, "bias": gradient.sum(axis=(0, 1))}, LazyProduct(
            gradient, weight
        )

    value = np.tensordot(x, weight, axes=(2, 1))
    value += parameters.get("bias", 0)
    return value, pull


MOST_WINDOWS = 2**23
"""Most entries of windows multiplied at once: a product copies them."""


def _conv(options: Options, parameters: Arrays, x: np.ndarray) -> tuple[np.ndarray, Pull]:
    if (count := options.get("groups", 1)) > 1:
        return _grouped(options, parameters, x, count)
    weight, items = parameters["weight"], x.reshape(-1, 1, *x.shape[2:])
    seen = windows(items, options)
    part = max(1, MOST_WINDOWS // prod(seen.shape[2:]))
    parts = [slice(first, first + part) for first in range(0, len(seen), part)]
    value = np.empty((len(seen), 1, len(weight), *seen.shape[3:5]), x.dtype)
    for some in parts:
        value[some] = np.moveaxis(
            np.tensordot(seen[some], weight, axes=([2, 5, 6], [1, 2, 3])), 4, 2
        )

    def pull(gradient: np.ndarray) -> tuple[Gradient, np.ndarray]:
        by_weight, by_x, rows = (
            np.zeros_like(weight),
            np.empty_like(items),
            gradient.reshape(value.shape),
        )
        for some in parts:
            by_weight += np.tensordot(rows[some], seen[some], axes=([0, 1, 3, 4], [0, 1, 3, 4]))
            by_window = np.moveaxis(np.tensordot(rows[some], weight, axes=(2, 0)), 4, 2)
            by_x[some] = summed_windows(by_window, items[some].shape, options)
        return {"weight": by_weight, "bias": gradient.sum(axis=(0, 1, 3, 4))}, by_x.reshape(x.shape)

    if "bias" in parameters:
        value += parameters["bias"][:, None, None]
    return value.reshape(*x.shape[:2], *value.shape[2:]), pull


def _grouped(
    options: Options, parameters: Arrays, x: np.ndarray, count: int
) -> tuple[np.ndarray, Pull]:
    """Computes every group of channels as a convolution of its own."""
    weights = np.split(parameters["weight"], count)
    biases = np.split(parameters["bias"], count) if "bias" in parameters else [None] * count
    values, pulls = zip(
        *(
            _conv(
                {**options, "groups": 1},
                {"weight": w} if b is None else {"weight": w, "bias": b},
                part,
            )
            for w, b, part in zip(weights, biases, np.split(x, count, axis=2), strict=True)
        ),
        strict=True,
    )

    def pull(gradient: np.ndarray) -> tuple[Gradient, np.ndarray]:
        parts = [
            pull_group(part)
            for pull_group, part in zip(pulls, np.split(gradient, count, axis=2), strict=True)
        ]
        by_parameter = {key: np.concatenate([own[key] for own, _ in parts]) for key in parts[0][0]}
        return by_parameter, np.concatenate([by_x for _, by_x in parts], axis=2)

    return np.concatenate(values, axis=2), pull


def _norm(options: Options, parameters: Arrays, x: np.ndarray) -> tuple[np.ndarray, Pull]:
    """Normalises by the batch; by running statistics if `parameters` hold `mean` and `variance`:
    an inference, which has no gradients."""
    axes = (0, 1, *range(3, x.ndim))
    by_channel = {
        name: array.reshape(-1, *(1,) * (x.ndim - 3)) for name, array in parameters.items()
    }
    weight, bias = by_channel["weight"], by_channel["bias"]
    if "mean" in by_channel:
        mean, variance = by_channel["mean"], by_channel["variance"]
    else:
        mean, squares, count = _moments(x)
        variance = squares / count
    deviation = np.sqrt(variance + options["epsilon"])
    value = np.empty_like(x)
    for items in parts(x):
        value[:, items] = (x[:, items] - mean) / deviation * weight + bias

    def pull(gradient: np.ndarray) -> tuple[Gradient, np.ndarray]:
        by_weight, by_x = np.zeros_like(mean), np.empty_like(x)
        for items in parts(x):
            normal = (x[:, items] - mean) / deviation
            by_weight += (gradient[:, items] * normal).sum(axis=axes, keepdims=True)
        along_mean = gradient.mean(axis=axes, keepdims=True)
        along_spread = by_weight * (mean.size / x.size)
        for items in parts(x):
            normal = (x[:, items] - mean) / deviation
            apart = gradient[:, items] - along_mean - normal * along_spread
            by_x[:, items] = weight / deviation * apart
        return {"weight": by_weight.ravel(), "bias": gradient.sum(axis=axes)}, by_x

    return value, pull


def _moments(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Returns mean and sum of squared deviations by channel, with the axes of x, and the number of
    values of a channel."""
    axes = (0, 1, *range(3, x.ndim))
    mean = x.mean(axis=axes, keepdims=True)
    squares = np.zeros_like(mean)
    for items in parts(x):
        squares += np.square(x[:, items] - mean).sum(axis=axes, keepdims=True)
    return mean, squares, x.size // mean.size


def statistics(x: np.ndarray) -> dict[str, np.ndarray]:
    """Returns mean and unbiased variance by channel of a norm's input, as its running statistics
    use them."""
    mean, squares, count = _moments(x)
    return {"mean": mean.ravel(), "variance": squares.ravel() / (count - 1)}


@by_items
def _max_pool(options: Options, parameters: Arrays, x: np.ndarray) -> tuple[np.ndarray, Pull]:
    seen = windows(x, options, outside=-np.inf)

    def pull(gradient: np.ndarray) -> tuple[Gradient, np.ndarray]:
        by_x = np.empty_like(x)
        for t, step in enumerate(seen):
            # Of equal values, argmax takes the first in row-major order.
            largest = step.reshape(*step.shape[:4], -1).argmax(axis=-1)[..., None]
            by_window = np.zeros((*step.shape[:4], options["kernel"] ** 2), x.dtype)
            np.put_along_axis(by_window, largest, gradient[t, ..., None], axis=-1)
            by_x[t : t + 1] = summed_windows(
                by_window.reshape(1, *step.shape), (1, *x.shape[1:]), options
            )
        return {}, by_x

    return seen.max(axis=(5, 6)), pull


@by_items
def _avg_pool(options: Options, parameters: Arrays, x: np.ndarray) -> tuple[np.ndarray, Pull]:
    seen = windows(x, options)

    def pull(gradient: np.ndarray) -> tuple[Gradient, np.ndarray]:
        share = gradient[..., None, None] / options["kernel"] ** 2
        return {}, summed_windows(np.broadcast_to(share, seen.shape), x.shape, options)

    return seen.mean(axis=(5, 6)), pull


def _flatten(options: Options, parameters: Arrays, x: np.ndarray) -> tuple[np.ndarray, Pull]:
    return x.reshape(*x.shape[:2], -1), lambda gradient: ({}, gradient.reshape(x.shape))


def _reshape(options: Options, parameters: Arrays, x: np.ndarray) -> tuple[np.ndarray, Pull]:
    value = x.reshape(*x.shape[:2], *options["shape"])
    return value, lambda gradient: ({}, gradient.reshape(x.shape))


def _add(
    options: Options, parameters: Arrays, x: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, Pull]:
    return x + y, lambda gradient: ({}, (gradient, gradient))


def _multiply(
    options: Options, parameters: Arrays, x: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, Pull]:
    return x * y, lambda gradient: (
        {},
        (_summed_to(x.shape, gradient * y), _summed_to(y.shape, gradient * x)),
    )


def _summed_to(shape: tuple[int, ...], gradient: np.ndarray) -> np.ndarray:
    """Returns the gradient of a value of that shape that was repeated along axes of 1."""
    repeated = tuple(i for i, n in enumerate(shape) if n < gradient.shape[i])
    return gradient.sum(axis=repeated, keepdims=True) if repeated else gradient


def _product(
    options: Options, parameters: Arrays, x: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, Pull]:
    scale, left, right = (options[name] for name in ("scale", "left", "right"))
    a, b = x.swapaxes(3, 4) if left else x, y.swapaxes(3, 4) if right else y

    def pull(gradient: np.ndarray) -> tuple[Gradient, Passed]:
        by_a = scale * (gradient @ b.swapaxes(3, 4))
        by_b = scale * (a.swapaxes(3, 4) @ gradient)
        return {}, (by_a.swapaxes(3, 4) if left else by_a, by_b.swapaxes(3, 4) if right else by_b)

    return scale * (a @ b), pull


def _sum(options: Options, parameters: Arrays, x: np.ndarray) -> tuple[np.ndarray, Pull]:
    value = x.sum(axis=2 + options["axis"], keepdims=True)
    return value, lambda gradient: ({}, np.broadcast_to(gradient, x.shape))


def _mean_time(options: Options, parameters: Arrays, x: np.ndarray) -> tuple[np.ndarray, Pull]:
    return x.mean(axis=0, keepdims=True), lambda gradient: (
        {},
        np.broadcast_to(gradient / len(x), x.shape),
    )


def _mix_time(options: Options, parameters: Arrays, x: np.ndarray) -> tuple[np.ndarray, Pull]:
    weight, order = parameters["weight"], options["order"]
    late = np.subtract.outer(np.arange(len(x)), np.arange(len(x)))
    seen = np.ones_like(late, bool) if order is None else (late >= 0) & (late < order)
    taps = np.where(seen, (order or 0) - 1 - late, 0)
    matrix = np.where(seen, weight[taps] if options["sliding"] else weight, 0)
    bias = parameters["bias"].reshape(-1, *(1,) * (x.ndim - 1))

    def pull(gradient: np.ndarray) -> tuple[Gradient, np.ndarray]:
        others = tuple(range(1, x.ndim))
        by_matrix = np.where(seen, np.tensordot(gradient, x, axes=(others, others)), 0)
        by_bias = gradient.sum(axis=others)[:, None]
        if options["sliding"]:
            by_tap = np.zeros_like(weight)
            np.add.at(by_tap, taps[seen], by_matrix[seen])
            by_matrix, by_bias = by_tap, by_bias.sum(axis=0)
        return {"weight": by_matrix, "bias": by_bias}, np.tensordot(matrix.T, gradient, axes=1)

    return np.tensordot(matrix, x, axes=1) + bias, pull


def _delayed(options: Options, parameters: Arrays, x: np.ndarray) -> tuple[np.ndarray, Pull]:
    weight, delay, variance = parameters["weight"], parameters["delay"], options["sigma"] ** 2
    steps, most = len(x), options["most"]
    apart = np.arange(most) - delay[..., None]
    spread = np.exp(-(apart**2) / (2 * variance))
    total = spread.sum(axis=-1, keepdims=True) + 1e-7
    shares = spread / total
    kernel = weight[..., None] * shares

    def pull(gradient: np.ndarray) -> tuple[Gradient, np.ndarray]:
        by_kernel, by_x = np.zeros_like(kernel), np.zeros_like(x)
        for d in range(min(most, steps)):
            late, early = gradient[d:], x[: steps - d]
            by_kernel[..., d] = np.tensordot(late, early, axes=([0, 1], [0, 1]))
            by_x[: steps - d] += late @ kernel[..., d]
        by_shares = by_kernel * weight[..., None]
        by_spread = (by_shares - (by_shares * shares).sum(axis=-1, keepdims=True)) / total
        return {
            "weight": (by_kernel * shares).sum(axis=-1),
            "delay": (by_spread * spread * apart).sum(axis=-1) / variance,
        }, by_x

    value = np.zeros((*x.shape[:2], len(weight)), x.dtype)
    for d in range(min(most, steps)):
        value[d:] += x[: steps - d] @ kernel[..., d].T
    return value, pull


def _integrator(options: Options, parameters: Arrays, x: np.ndarray) -> tuple[np.ndarray, Pull]:
    """Rounds potentials by `rounded`, if the options have it."""
    decay, rounded = options["decay"], options.get("rounded", np.asarray)
    gain = 1 - decay if options["normal"] else 1.0

    def pull(gradient: np.ndarray) -> tuple[Gradient, np.ndarray]:
        return {}, gain * integrated(gradient[::-1], decay, rounded)[::-1]

    return integrated(gain * x, decay, rounded), pull


def integrated(
    x: np.ndarray, decay: float, rounded: Callable[[np.ndarray], np.ndarray] = np.asarray
) -> np.ndarray:
    """Returns v[t] = decay · v[t−1] + x[t] (T, …) from 0."""
    v = np.empty_like(x)
    for t, step in enumerate(x):
        v[t] = rounded(decay * v[t - 1] + step if t else step)
    return v


def _max_time(options: Options, parameters: Arrays, x: np.ndarray) -> tuple[np.ndarray, Pull]:
    """Gives the first maximum the gradient; with `within`, a share of the largest value, the last
    value that is no further below its maximum."""
    most, within = x.max(axis=0, keepdims=True), options.get("within", 0.0)
    if within > 0:
        near = x >= most - within * np.abs(x).max()
        at = len(x) - 1 - near[::-1].argmax(axis=0)[None]
    else:
        at = x.argmax(axis=0)[None]

    def pull(gradient: np.ndarray) -> tuple[Gradient, np.ndarray]:
        by_x = np.zeros_like(x)
        np.put_along_axis(by_x, at, gradient, axis=0)
        return {}, by_x

    return most, pull


def _softmax_sum(options: Options, parameters: Arrays, x: np.ndarray) -> tuple[np.ndarray, Pull]:
    p = softmax(x)

    def pull(gradient: np.ndarray) -> tuple[Gradient, np.ndarray]:
        return {}, p * (gradient - (p * gradient).sum(axis=-1, keepdims=True))

    return p.sum(axis=0, keepdims=True), pull


def softmax(x: np.ndarray) -> np.ndarray:
    """Returns softmax over the last axis."""
    p = np.exp(x - x.max(axis=-1, keepdims=True))
    shares: np.ndarray = p / p.sum(axis=-1, keepdims=True)
    return shares


def _last_time(options: Options, parameters: Arrays, x: np.ndarray) -> tuple[np.ndarray, Pull]:
    return x[-1:], lambda gradient: ({}, np.concatenate([np.zeros_like(x[:-1]), gradient]))


def _vote(options: Options, parameters: Arrays, x: np.ndarray) -> tuple[np.ndarray, Pull]:
    group = options["group"]
    value = x.reshape(*x.shape[:2], -1, group).mean(axis=-1)
    return value, lambda gradient: ({}, np.repeat(gradient / group, group, axis=-1))


LAYERS: dict[str, Callable[..., tuple[np.ndarray, Pull]]] = {
    "linear": _linear,
    "conv": _conv,
    "norm": _norm,
    "max_pool": _max_pool,
    "avg_pool": _avg_pool,
    "flatten": _flatten,
    "reshape": _reshape,
    "add": _add,
    "multiply": _multiply,
    "product": _product,
    "sum": _sum,
    "mix_time": _mix_time,
    "delayed": _delayed,
    "integrator": _integrator,
    "mean_time": _mean_time,
    "max_time": _max_time,
    "softmax_sum": _softmax_sum,
    "last_time": _last_time,
    "vote": _vote,
}
"""Every kind of node but the neuron."""
