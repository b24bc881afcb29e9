"""A program that several ranks compute together, driven by worker and judge like any other."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any

import numpy as np
import torch

from snnbench.core.case import Case
from snnbench.core.contract import MemoryProbe, OtherNetwork, Parameters, Program, Statistics
from snnbench.core.network import Network, Shape
from snnbench.core.result import Array, Result
from snnbench.core.sharded import AXIS, Gathered, Spread, parts

from ..base.torch_program import DTYPES
from .pool import Ranks

ALIKE = ("gradients", "updated", "states", "running")
"""Fields of a result that are bitwise equal in all ranks; of the others each rank has its part."""
NUMBERS = count()


class RankedResult(Result):
    """A result of all ranks, which drop theirs when this one is deleted."""

    number: int
    ranks: Ranks

    def __del__(self) -> None:
        self.ranks.dropped.append(("results", self.number))


class RankedProgram(Program):
    """The program of a case with ranks. It computes nothing itself."""

    device_clock = "ranks"

    def __init__(self, ranks: Ranks, case: Case, network: Network) -> None:
        self.ranks, self.case, self.network, self.number = ranks, case, network, next(NUMBERS)
        (self.scales, *_) = ranks.ask("program", self.number, case, network)
        self.shapes = network.parameters
        self.fields: dict[str, dict[str, Any]] = {}
        self.output_is_whole = (
            case.parallel == "time" and network.steps(network.output.name, 2) == 1
        )

    def __del__(self) -> None:
        self.ranks.dropped.append(("programs", self.number))

    def _of_all(self, method: str, *arguments: Any) -> list[Any]:
        return self.ranks.ask("do", self.number, method, *arguments)

    def _parts(self, array: Array, axis: int | None) -> list[Array]:
        """Returns every rank's part along a shared axis; without an axis each has the whole."""
        if axis is None:
            return [array] * self.case.ranks
        before: tuple[slice, ...] = (slice(None),) * axis
        return [
            np.ascontiguousarray(array[(*before, part)])
            for part in parts(array.shape[axis], self.case.ranks)
        ]

    # -- data

    def load(self, parameters: Parameters) -> None:
        self._of_all("load", parameters)

    def roll_parameters(self, turn: int) -> None:
        self._of_all("roll_parameters", turn)

    def prepare_inference(self, statistics: Statistics | None) -> None:
        self._of_all("prepare_inference", statistics)

    def release(self) -> None:
        self._of_all("release")

    def put_input(self, array: Array) -> Spread:
        return self._spread("put_input", (), AXIS[self.case.parallel], None, array)

    def put_upstream(self, array: Array, result: RankedResult) -> Spread:
        axis: int | None = AXIS[self.case.parallel] if self.case.loss is None else 0
        if self.case.parallel == "time" and (self.case.loss or self.output_is_whole):
            axis = None
        return self._spread("put_upstream", (result.number,), axis, None, array)

    def _spread(
        self, method: str, of: tuple[int, ...], axis: int | None, like: int | None, array: Array
    ) -> Spread:
        key = next(NUMBERS)

        def send(array: Array, like: int | None = None) -> None:
            if axis is None and self.case.loss is None:
                # All ranks have the same output; each takes its share of the gradient.
                array = array / np.float32(self.case.ranks)
            each = [(part,) for part in self._parts(array, axis)]
            self.ranks.ask(method, self.number, key, like, *of, each=each)

        send(array, like)
        again = partial(self._spread, method, of, axis, key)
        return Spread(key, array, send, again, partial(self.ranks.dropped.append, ("arrays", key)))

    # -- calls

    def forward(self, x: Any) -> RankedResult:
        return self._call("forward", None, x)

    def inference(self, x: Any) -> RankedResult:
        return self._call("inference", None, x)

    def evaluate(self, x: Any) -> RankedResult:
        return self._call("evaluate", None, x)

    def step(self, x: Any, upstream: Any) -> RankedResult:
        return self._call("step", None, x, upstream)

    def backward(self, result: RankedResult, upstream: Any) -> RankedResult:
        return self._call("backward", result, upstream)

    def optimize(self, result: RankedResult) -> RankedResult:
        return self._call("optimize", result)

    def features(self, x: Any) -> dict[str, Shape]:
        shapes: dict[str, Shape] = self.ranks.ask("features", self.number, x.key)[0]
        return shapes

    def _call(self, method: str, of: RankedResult | None, *arrays: Any) -> RankedResult:
        number = next(NUMBERS)
        keys = [array.key for array in arrays]
        self.ranks.ask("call", self.number, method, number, of and of.number, *keys)
        key = method if self.holds_borders else f"{method} alone"
        if key not in self.fields:
            self.fields[key] = self.ranks.ask("shape", number)[0]
        values = {
            name: self._gathered(number, (name,), value) for name, value in self.fields[key].items()
        }
        result = RankedResult(**values)
        result.number, result.ranks = number, self.ranks
        return result

    def _gathered(self, number: int, path: tuple[str, ...], form: Any) -> Any:
        if isinstance(form, dict):
            return {
                name: self._gathered(number, (*path, name), item) for name, item in form.items()
            }
        return None if form is None else Gathered(partial(self._read, number, path))

    # -- reading

    def _read(self, number: int, path: tuple[str, ...]) -> Array | None:
        """Returns an array of all ranks. Raises OtherNetwork if it should be alike in all, and is
        not."""
        alike = path[0] in ALIKE or (path[0] == "output" and self.output_is_whole)
        arrays = self.ranks.ask(
            "read", number, path, each=[(not rank or not alike,) for rank in range(self.case.ranks)]
        )
        if alike:
            return self._same(path, arrays)
        if any(part is None for part in arrays):
            return None
        if path[0] == "loss":
            return np.asarray(sum(arrays), np.float32)
        return np.concatenate(arrays, AXIS[self.case.parallel])

    def _same(self, path: tuple[str, ...], arrays: list[Any]) -> Array | None:
        from hashlib import sha256

        first: Array | None = arrays[0]
        digest = None if first is None else sha256(first.tobytes()).hexdigest()
        for rank, other in enumerate(arrays[1:], 1):
            if other != digest:
                node, name = ("the network", "output") if path[0] == "output" else path[-2:]
                sentences = {
                    "running": (
                        f"the running {name} of {node} is of its own items, not of those of all "
                        "ranks"
                    ),
                    "gradients": (
                        f"the gradient of the {name} of {node} is not that of rank 0: it was not "
                        "reduced over all ranks"
                    ),
                }
                message = sentences.get(path[0], f"the {name} of {node} is not that of rank 0")
                raise OtherNetwork(f"rank {rank} of {self.case.ranks}: {message}")
        return first

    # -- sizes, memory

    @property
    def holds_borders(self) -> bool:
        return self._holds

    @holds_borders.setter
    def holds_borders(self, holds: bool) -> None:
        self._holds = holds
        self.ranks.ask("holds_borders", self.number, holds)

    _holds = True

    def argument_bytes(self) -> int:
        return mean(self._of_all("argument_bytes"))

    def result_bytes(self, result: RankedResult) -> int:
        return mean(self.ranks.ask("of_result", self.number, "result_bytes", result.number))

    def facts(self, result: RankedResult) -> dict[str, Any]:
        facts: list[dict[str, Any]] = self.ranks.ask(
            "of_result", self.number, "facts", result.number
        )
        return facts[0]

    def distributed(self, parameters: Parameters, array: Array, upstream: Array) -> dict[str, Any]:
        """Returns facts about the ranks, measured outside the clock in a step of their own: see
        `snnbench.schema.reported`."""
        x = self.put_input(array)
        back = self.put_upstream(upstream, self.forward(x))
        self.ranks.ask("waited", self.number)
        self.release()
        self.backward(self.forward(x), back)
        waits = self.ranks.ask("waited", self.number)
        used = [
            known | {"wait_s": wait}
            for known, wait in zip(self.ranks.ask("used"), waits, strict=True)
        ]
        facts: dict[str, Any] = {
            "launcher": "torch.distributed.elastic",
            "backend": "gloo",
            "ranks": used,
        }
        if self.case.parallel == "time":
            facts["terms"] = (
                self.ranks.ask("between", self.case, self.network)[0]
                | self.ranks.ask("alone", self.case, self.network, parameters, array, upstream)[0]
            )
            facts["terms"]["layers"] = len(self.network.neurons)
        return facts

    def cpu_seconds(self) -> float:
        return float(sum(self.ranks.ask("cpu_seconds")))

    def memory_probe(self) -> MemoryProbe | None:
        meaning, *_ = self.ranks.ask("probe")
        return OfRanks(self.ranks, meaning) if meaning else None

    def matmul(self, rows: int, inner: int, columns: int, dtype: str) -> Callable[[], object]:
        form = DTYPES[dtype]
        left, right = torch.ones(rows, inner, dtype=form), torch.ones(inner, columns, dtype=form)
        out = torch.empty(rows, columns, dtype=form)
        return lambda: torch.mm(left, right, out=out)

    def copy(self, count: int) -> Callable[[], object]:
        source, target = torch.zeros(count), torch.empty(count)
        return lambda: target.copy_(source)


class OfRanks:
    """The memory of one rank: the mean over all, each at its own peak."""

    def __init__(self, ranks: Ranks, meaning: str) -> None:
        self.ranks, self.meaning, self.before = ranks, f"{meaning}, of one rank", 0

    @contextmanager
    def returned(self) -> Iterator[Callable[[], None]]:
        self.ranks.ask("weigh", True)
        yield self._fill
        self.ranks.ask("weigh", False)

    def _ask(self, method: str) -> list[Any]:
        return self.ranks.ask("ask_memory", method)

    def _fill(self) -> None:
        self._ask("fill")

    def reset(self) -> None:
        self.before = mean(before for before, _ in self._ask("reset"))

    def in_use(self) -> int:
        return mean(self._ask("in_use"))

    def peak(self) -> tuple[int, int, None]:
        peaks = self._ask("peak")
        return mean(before for before, _, _ in peaks), mean(peak for _, peak, _ in peaks), None


def mean(values: Iterable[int]) -> int:
    each = list(values)
    return sum(each) // len(each)
