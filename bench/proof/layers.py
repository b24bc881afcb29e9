"""What the nodes without time compute in float64, and their gradients. Values are (M, *features), M = T·B rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = Mapping[str, np.ndarray]
Options = Mapping[str, Any]


def windows(x: np.ndarray, kernel: int, stride: int, padding: int, outside: float = 0.0) -> np.ndarray:
    """The square windows of x (M, C, H, W): (M, H', W', C, kernel, kernel), `outside` where they reach over the edge."""
    sides = ((0, 0), (0, 0), (padding, padding), (padding, padding))
    padded = np.pad(x, sides, constant_values=outside) if padding else x
    view = np.lib.stride_tricks.sliding_window_view(padded, (kernel, kernel), axis=(2, 3))
    return view[:, :, ::stride, ::stride].transpose(0, 2, 3, 1, 4, 5)


def summed_windows(gradient: np.ndarray, shape: tuple[int, ...], kernel: int, stride: int, padding: int) -> np.ndarray:
    """The gradient of x, of that shape (M, C, H, W), for the gradient of its windows: each entry goes back to its pixel."""
    count, channels, height, width = shape
    padded = np.zeros((count, channels, height + 2 * padding, width + 2 * padding))
    rows, columns = gradient.shape[1:3]
    for i in range(kernel):
        for j in range(kernel):
            part = gradient[:, :, :, :, i, j].transpose(0, 3, 1, 2)
            padded[:, :, i : i + stride * rows : stride, j : j + stride * columns : stride] += part
    return padded[:, :, padding : padding + height, padding : padding + width]


@dataclass(frozen=True)
class Layer:
    """One kind of node. `options` are the node's, `parameters` float64 arrays by name.

    `forward(options, parameters, x)` gives the value. `backward(options, parameters, x, gradient of the value)` gives the
    gradients of the parameters by name, and that of x.
    """

    forward: Callable[[Options, Arrays, np.ndarray], np.ndarray]
    backward: Callable[[Options, Arrays, np.ndarray, np.ndarray], tuple[dict[str, np.ndarray], np.ndarray]]


# -- linear and conv --------------------------------------------------------------------------------------------


def _linear(options: Options, parameters: Arrays, x: np.ndarray) -> np.ndarray:
    return x @ parameters["weight"].T + parameters.get("bias", 0)


def _linear_backward(options: Options, parameters: Arrays, x: np.ndarray, gradient: np.ndarray) -> tuple[dict, np.ndarray]:
    return {"weight": gradient.T @ x, "bias": gradient.sum(axis=0)}, gradient @ parameters["weight"]


def _sizes(options: Options) -> tuple[int, int, int]:
    return options["kernel"], options["stride"], options["padding"]


def _conv(options: Options, parameters: Arrays, x: np.ndarray) -> np.ndarray:
    weight = parameters["weight"]
    seen = windows(x, *_sizes(options))
    values = seen.reshape(*seen.shape[:3], -1) @ weight.reshape(len(weight), -1).T
    return (values + parameters.get("bias", 0)).transpose(0, 3, 1, 2)


def _conv_backward(options: Options, parameters: Arrays, x: np.ndarray, gradient: np.ndarray) -> tuple[dict, np.ndarray]:
    weight = parameters["weight"]
    seen = windows(x, *_sizes(options))
    by_pixel = gradient.transpose(0, 2, 3, 1)
    by_weight = np.tensordot(by_pixel, seen, axes=([0, 1, 2], [0, 1, 2]))
    by_window = np.tensordot(by_pixel, weight, axes=(3, 0))
    return {"weight": by_weight, "bias": by_pixel.sum(axis=(0, 1, 2))}, summed_windows(by_window, x.shape, *_sizes(options))


# -- norm -------------------------------------------------------------------------------------------------------


def _normalised(options: Options, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """(x with mean 0 and variance 1 by channel, its standard deviation, the axes that are averaged over)."""
    axes = (0, *range(2, x.ndim))
    deviation = np.sqrt(x.var(axis=axes, keepdims=True) + options["epsilon"])
    return (x - x.mean(axis=axes, keepdims=True)) / deviation, deviation, axes


def _by_channel(parameter: np.ndarray, x: np.ndarray) -> np.ndarray:
    return parameter.reshape(-1, *(1,) * (x.ndim - 2))


def _norm(options: Options, parameters: Arrays, x: np.ndarray) -> np.ndarray:
    normal, _, _ = _normalised(options, x)
    return normal * _by_channel(parameters["weight"], x) + _by_channel(parameters["bias"], x)


def _norm_backward(options: Options, parameters: Arrays, x: np.ndarray, gradient: np.ndarray) -> tuple[dict, np.ndarray]:
    normal, deviation, axes = _normalised(options, x)
    by_parameter = {"weight": (gradient * normal).sum(axis=axes), "bias": gradient.sum(axis=axes)}
    along_mean = gradient.mean(axis=axes, keepdims=True)
    along_spread = normal * (gradient * normal).mean(axis=axes, keepdims=True)
    return by_parameter, _by_channel(parameters["weight"], x) / deviation * (gradient - along_mean - along_spread)


def statistics(x: np.ndarray) -> dict[str, np.ndarray]:
    """Mean and unbiased variance by channel of what a norm reads, as its running statistics take them in."""
    axes = (0, *range(2, x.ndim))
    return {"mean": x.mean(axis=axes), "variance": x.var(axis=axes, ddof=1)}


# -- pools and flatten ------------------------------------------------------------------------------------------


def _max_pool(options: Options, parameters: Arrays, x: np.ndarray) -> np.ndarray:
    return windows(x, *_sizes(options), outside=-np.inf).max(axis=(-2, -1)).transpose(0, 3, 1, 2)


def _max_pool_backward(options: Options, parameters: Arrays, x: np.ndarray, gradient: np.ndarray) -> tuple[dict, np.ndarray]:
    """Of equal values the first in row-major order has the gradient: that is `argmax`'s choice."""
    seen = windows(x, *_sizes(options), outside=-np.inf)
    largest = seen.reshape(*seen.shape[:4], -1).argmax(axis=-1)[..., None]
    by_window = np.zeros((*seen.shape[:4], options["kernel"] ** 2))
    np.put_along_axis(by_window, largest, gradient.transpose(0, 2, 3, 1)[..., None], axis=-1)
    return {}, summed_windows(by_window.reshape(seen.shape), x.shape, *_sizes(options))


def _avg_pool(options: Options, parameters: Arrays, x: np.ndarray) -> np.ndarray:
    return windows(x, *_sizes(options)).mean(axis=(-2, -1)).transpose(0, 3, 1, 2)


def _avg_pool_backward(options: Options, parameters: Arrays, x: np.ndarray, gradient: np.ndarray) -> tuple[dict, np.ndarray]:
    kernel, stride, padding = _sizes(options)
    share = gradient.transpose(0, 2, 3, 1)[..., None, None] / kernel**2
    return {}, summed_windows(np.broadcast_to(share, (*share.shape[:4], kernel, kernel)), x.shape, kernel, stride, padding)


LAYERS = {
    "linear": Layer(_linear, _linear_backward),
    "conv": Layer(_conv, _conv_backward),
    "norm": Layer(_norm, _norm_backward),
    "max_pool": Layer(_max_pool, _max_pool_backward),
    "avg_pool": Layer(_avg_pool, _avg_pool_backward),
    "flatten": Layer(lambda options, parameters, x: x.reshape(len(x), -1), lambda o, p, x, g: ({}, g.reshape(x.shape))),
}
"""The nodes that read one node and treat every row alike (a norm: all rows together)."""
