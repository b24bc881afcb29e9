"""What a call hands out, and how the harness reads it: by itself, so that nothing can be computed when it is asked for."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from .cuda_queue import CudaQueue
from .network import INPUT
from .rolling import rolled
from .sharded import Gathered

Array = np.ndarray[Any, np.dtype[Any]]
Named = dict[str, dict[str, Any]]
"""Arrays by node and name."""


@dataclass(kw_only=True)
class Result:
    """Arrays of the framework, plain ones, which exist once the call has been waited for.

    `borders`: spikes (T, B, *features) by neuron, of all for a forward, of those that an inference hands out, the last at least;
    `output`: the value of the network's last node. After a backward `gradients` of the parameters and `input_gradient` (None:
    there is none); after a step `input_gradient`, and the parameters as they are then, `updated`. `running`: mean and variance
    (C,) of every norm after the call. `loss` is what was differentiated, where a case has a loss, and `states` are those of its
    optimizer after a step, by the names in `training`, node and name.
    """

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
    """Gradients of one call as float32 arrays: of the parameters by node and name, of the input (T, B, *features). A gradient
    that the program should have given and did not is None; so is the input's where the case asks for none. After a step there are
    the parameters that it left instead of their gradients, `updated`, and the optimizer's `states`. `loss` is a number (), None
    in a case without."""

    parameters: dict[str, dict[str, Array | None]]
    input: Array | None
    updated: dict[str, dict[str, Array | None]] | None = None
    states: dict[str, dict[str, dict[str, Array | None]]] = field(default_factory=dict)
    loss: Array | None = None


@dataclass
class Answer:
    """A result as it was read, float32. `statistics` are running ones."""

    spikes: dict[str, Array]
    output: Array
    gradients: Gradients | None
    statistics: dict[str, dict[str, Array]]


_HELD = vars(Result)["__dict__"]
"""Gives what an object holds, and asks nothing of its class."""


def held(result: Any, name: str) -> Any:
    """A field of a Result with all its arrays as float32 copies. Raises TypeError for anything that could compute them now."""
    if not issubclass(type(result), Result):
        raise TypeError(
            f"a call must hand out a Result of plain arrays, not a {type(result).__name__}, which may compute them later"
        )
    return _copied(dict.get(_HELD.__get__(result), name))


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
    if kind is Gathered:  # each part of it was there before the call came back
        gathered: Array | None = value.read()
        return gathered
    if jax and kind is jax.ArrayImpl:
        return np.array(value, np.float32)
    raise TypeError(
        f"a result must be a plain array of NumPy, torch or JAX, not a {kind.__name__}, which may compute its values later"
    )


def settled(result: Any) -> None:
    """Return once everything that a result holds is computed, on every device."""
    if jax := sys.modules.get("jax"):
        jax.block_until_ready(getattr(result, "__dict__", result))
    if (torch := sys.modules.get("torch")) and torch.cuda.is_initialized():
        torch.cuda.synchronize(getattr(getattr(result, "output", None), "device", None))


BY_HARNESS = ("wait", "spikes", "output", "gradients", "statistics", "roll_input", "device_queue")


POWERS = {"first": 1, "second": 2}
"""Of the scale of a parameter, by which its optimizer's states are divided."""
OWN = "the harness reads the arrays of a Result and changes inputs by itself"


class ReadByHarness(Protocol):
    """What is no program's own: waiting for results, reading them, and what comes right before a timed call. A class that defines
    it raises TypeError."""

    device_clock: str = "process"
    """What tells the device's seconds of a call: `events` (CUDA events of torch) or `process` (CPU time of this process, all
    threads)."""

    fixed_memory: Mapping[str, Any] = {}
    """Where calls read `x` and `upstream`, as a CUDA graph does: the harness writes them there, outside the clock. A call that is
    given other memory copies it. Empty where calls read what they are given."""

    scales: dict[str, float] = {}
    """The factors that are folded into parameters, by node, and into the input."""

    shapes: dict[str, dict[str, tuple[int, ...]]] = {}
    """Of the network's parameters, where those of the framework have others."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if own := [name for name in BY_HARNESS if name in vars(cls)]:
            raise TypeError(f"{cls.__name__} must not define `{own[0]}`: {OWN}")

    def wait(self, result: Any) -> None:
        """Return once everything in `result` is computed."""
        settled(result)

    def roll_input(self, buffer: Any, given: Any, turn: int) -> Any:
        """An input on the device: `given`, from `put_input`, with the same numbers in another place; see `rolling.rolled`."""
        return rolled(given, turn, buffer)

    def device_queue(self) -> CudaQueue | None:
        """The queue of a device with events; None: calls are timed by the CPU time of the process."""
        return CudaQueue(getattr(self, "device", None)) if self.device_clock == "events" else None

    def spikes(self, result: Any) -> dict[str, Array]:
        """Spikes as new float32 arrays (T, B, *features) by neuron."""
        return dict(held(result, "borders"))

    def output(self, result: Any) -> Array:
        """The value of the network's last node as a new float32 array."""
        output: Array | None = held(result, "output")
        if output is None:
            raise TypeError("a call must hand out the value of the network's last node")
        return output

    def statistics(self, result: Any) -> dict[str, dict[str, Array]]:
        """Running `mean` and `variance` (C,) of every norm after a call, by node, as new float32 arrays."""
        return dict(held(result, "running"))

    def gradients(self, result: Any) -> Gradients:
        """What `backward` or `step` gave, as new arrays, scale factors undone."""
        given, by_input, updated = (
            held(result, name) for name in ("gradients", "input_gradient", "updated")
        )
        scales, shapes = self.scales, self.shapes

        def own(named: dict[str, Any], power: int) -> dict[str, dict[str, Array | None]]:
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

        states = {kind: own(named, POWERS[kind]) for kind, named in held(result, "states").items()}
        moved = None if updated is None else own(updated, -1)
        return Gradients(
            own(given, 1), scaled(by_input, INPUT, 1), moved, states, held(result, "loss")
        )
