"""The result of a call, and how the harness reads it: without a method of the adapter, so that
nothing can be computed on reading."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from .cuda_queue import CudaQueue
from .network import INPUT
from .rolling import rolled
from .sharded import Gathered, Spread

Array = np.ndarray[Any, np.dtype[Any]]
Named = dict[str, dict[str, Any]]
"""Arrays by node and name."""


@dataclass(kw_only=True)
class Result:
    """Plain arrays of the framework, which exist once the call has been waited for.

    `borders`: spikes (T, B, *features) by neuron, of all after a forward, of at least the last
    after an inference; `output`: the value of the network's last node. After a backward:
    `gradients` of the parameters and `input_gradient`, or None; after a step: `input_gradient` and
    the new parameters, `updated`. `running`: mean and variance (C,) of every norm after the call.
    `loss`: the differentiated loss, if the case has one; `states`: those of its optimizer after a
    step, by the names in `training`, node and name."""

    borders: dict[str, Any]
    output: Any
    gradients: Named = field(default_factory=dict)
    input_gradient: Any = None
    updated: Named | None = None
    running: Named = field(default_factory=dict)
    loss: Any = None
    states: dict[str, Named] = field(default_factory=dict)


@dataclass
class Gradients:
    """Gradients of one call as float32 arrays: of the parameters by node and name, of the input (T,
    B, *features). A missing gradient is None. After a step `updated` has the new parameters instead
    of their gradients, and `states` those of the optimizer. `loss` is a number (), or None."""

    parameters: dict[str, dict[str, Array | None]]
    input: Array | None
    updated: dict[str, dict[str, Array | None]] | None = None
    states: dict[str, dict[str, dict[str, Array | None]]] = field(default_factory=dict)
    loss: Array | None = None


@dataclass
class Answer:
    """A result as read, in float32. `statistics` are running ones; `input` is the input after the
    call, None if it lies on several ranks."""

    spikes: dict[str, Array]
    output: Array
    gradients: Gradients | None
    statistics: dict[str, dict[str, Array]]
    input: Array | None = None


_DICT = vars(Result)["__dict__"]
"""Reads the attributes of an object past any override in its class."""


def held(result: Any, name: str) -> Any:
    """Returns a field of a Result with float32 copies of its arrays. Raises TypeError for objects
    that could compute them on reading."""
    if not issubclass(type(result), Result):
        raise TypeError(
            f"a call must hand out a Result of plain arrays, not a {type(result).__name__}, "
            "which may compute them later"
        )
    return _copied(dict.get(_DICT.__get__(result), name))


def _copied(value: Any) -> Any:
    if type(value) is dict:
        return {key: _copied(item) for key, item in value.items()}
    return None if value is None else _array(value)


def _array(value: Any) -> Array | None:
    kind, torch, jax = type(value), sys.modules.get("torch"), sys.modules.get("jax._src.array")
    if kind is np.ndarray and not value.dtype.hasobject:
        return np.array(value, np.float32)
    if (
        torch
        and kind in (torch.Tensor, torch.nn.Parameter)
        and torch.Tensor.device.__get__(value).type in ("cpu", "cuda")
    ):
        copy: Array = torch.Tensor.to(
            torch.Tensor.detach(value), "cpu", torch.float32, copy=True
        ).numpy()
        return copy
    if kind is Gathered:  # its parts existed before the call returned
        gathered: Array | None = value.read()
        return gathered
    if jax and kind is jax.ArrayImpl:
        return np.array(value, np.float32)
    raise TypeError(
        f"a result must be a plain array of NumPy, torch or JAX, not a {kind.__name__}, "
        "which may compute its values later"
    )


def settled(result: Any) -> None:
    """Returns once all of a result is computed, on every device."""
    if jax := sys.modules.get("jax"):
        jax.block_until_ready(getattr(result, "__dict__", result))
    if (torch := sys.modules.get("torch")) and torch.cuda.is_initialized():
        torch.cuda.synchronize(getattr(getattr(result, "output", None), "device", None))


BY_HARNESS = (
    *("wait", "spikes", "output", "gradients", "statistics"),
    *("input_after", "roll_input", "device_queue"),
)
READ_BY_HARNESS = "the harness reads the arrays of a Result and changes inputs by itself"
POWERS = {"first": 1, "second": 2}
"""Powers of a parameter's scale that its optimizer's states are divided by."""


class ReadByHarness(Protocol):
    """Methods that no program may define: waiting for results, reading them, and the preparation of
    a timed call. A class that defines one raises TypeError."""

    device_clock: str = "process"
    """The clock of the device: `events` (CUDA events of torch) or `process` (CPU time of this
    process, all threads)."""

    fixed_memory: Mapping[str, Any] = {}
    """The memory from which a CUDA graph reads `x` and `upstream`: the harness writes them there,
    outside the clock; a call copies from other memory. Empty if calls read their arguments."""

    scales: dict[str, float] = {}
    """Factors that are folded into parameters, by node, and into the input."""

    shapes: dict[str, dict[str, tuple[int, ...]]] = {}
    """Shapes of the network's parameters that differ from those of the framework."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if forbidden := [name for name in BY_HARNESS if name in vars(cls)]:
            raise TypeError(f"{cls.__name__} must not define `{forbidden[0]}`: {READ_BY_HARNESS}")

    def wait(self, result: Any) -> None:
        """Returns once everything in `result` is computed."""
        settled(result)

    def roll_input(self, buffer: Any, source: Any, turn: int) -> Any:
        """Returns `source`, an input from `put_input`, rolled by `rolling.rolled`."""
        return rolled(source, turn, buffer)

    def device_queue(self) -> CudaQueue | None:
        """Returns the queue of a device with events; None: calls take CPU time of the process."""
        return CudaQueue(getattr(self, "device", None)) if self.device_clock == "events" else None

    def spikes(self, result: Any) -> dict[str, Array]:
        """Returns spikes as new float32 arrays (T, B, *features) by neuron."""
        return dict(held(result, "borders"))

    def output(self, result: Any) -> Array:
        """Returns the value of the network's last node as a new float32 array."""
        output: Array | None = held(result, "output")
        if output is None:
            raise TypeError("a call must hand out the value of the network's last node")
        return output

    def statistics(self, result: Any) -> dict[str, dict[str, Array]]:
        """Returns running `mean` and `variance` (C,) of every norm as new arrays, by node."""
        return dict(held(result, "running"))

    def input_after(self, x: Any) -> Array | None:
        """Returns an input from `put_input`, as calls on it left it, as a new float32 array (T, B,
        *features), its scale factor undone; None if it lies on several ranks."""
        if type(x) is Spread or (array := _array(x)) is None:
            return None
        return array / np.float32(self.scales.get(INPUT, 1.0))

    def gradients(self, result: Any) -> Gradients:
        """Returns gradients of `backward` or `step` as new arrays, scale factors undone."""
        parameters, by_input, updated = (
            held(result, name) for name in ("gradients", "input_gradient", "updated")
        )
        scales, shapes = self.scales, self.shapes

        def unscaled(named: dict[str, Any], power: int) -> dict[str, dict[str, Array | None]]:
            return {
                node: {name: scaled(array, node, power, name) for name, array in of.items()}
                for node, of in named.items()
            }

        def scaled(array: Array | None, node: str, power: int, name: str = "") -> Array | None:
            if array is None:
                return None
            return (array * np.float32(scales.get(node, 1.0) ** power)).reshape(
                shapes.get(node, {}).get(name, array.shape)
            )

        return Gradients(
            unscaled(parameters, 1),
            scaled(by_input, INPUT, 1),
            None if updated is None else unscaled(updated, -1),
            {kind: unscaled(named, POWERS[kind]) for kind, named in held(result, "states").items()},
            held(result, "loss"),
        )
