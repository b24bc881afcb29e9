"""The process of one rank: it builds its part of every program, and makes its part of every
call."""

import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from snnbench.core.case import Case
from snnbench.core.contract import MemoryProbe
from snnbench.core.network import Network
from snnbench.core.sharded import Array

if TYPE_CHECKING:
    from .member import RankMember


@dataclass(frozen=True)
class Start:
    """The options with which ranks are started: their `count`, the reference of their adapter, the
    numbers of the cores that they share out, and the seconds of `patience` after which a missing
    rank is given up. `confine(parent)` limits the calling process; `probe` makes a probe of its
    memory, and `returned` is `measure.memory.freed_memory_returned`."""

    count: int
    reference: str
    cores: Sequence[int]
    patience: float
    confine: Callable[[int], None]
    probe: Callable[[], MemoryProbe | None]
    returned: Callable[[], AbstractContextManager[Callable[[], None]]]


def serve(start: Start, connections: list[Connection], rendezvous: str, parent: int) -> None:
    """Answers calls until there are none. `rendezvous` is where ranks find each other."""
    start.confine(parent)
    rank = int(os.environ["RANK"])
    for other, connection in enumerate(connections):
        if other != rank:
            connection.close()  # otherwise it would stay open after its own rank ends
    called, connection = Rank(start, rank, rendezvous), connections[rank]
    while True:
        try:
            question = connection.recv()
        except EOFError:
            return
        if question is None:
            called.end()
            return
        method, dropped, arguments = question
        for kind, number in dropped:
            getattr(called, kind).pop(number, None)
        try:
            answer = "returned", getattr(called, method)(*arguments)
        except BaseException as error:  # an adapter may raise SystemExit too
            answer = "raised", (type(error).__name__, " ".join(str(error).split()))
        connection.send(answer)


class Rank:
    """The methods that can be called on a rank. Programs, results and arrays have numbers, the same
    in all ranks."""

    def __init__(self, options: Start, rank: int, rendezvous: str) -> None:
        self.options, self.rank, self.rendezvous = options, rank, rendezvous
        self.programs: dict[int, RankMember] = {}
        self.results: dict[int, Any] = {}
        self.arrays: dict[int, Any] = {}
        self.weighing = ExitStack()

    def start(self) -> None:
        """Takes its share of the cores, meets the other ranks, and imports the adapter."""
        import torch.distributed as dist

        from .. import registry

        cores, count = self.options.cores, self.options.count
        first, end = (number * len(cores) // count for number in (self.rank, self.rank + 1))
        share = cores[first:end] or cores
        os.sched_setaffinity(0, share)
        self.threads = len(share)
        patience = timedelta(seconds=self.options.patience)
        dist.init_process_group(
            "gloo", init_method=self.rendezvous, rank=self.rank, world_size=count, timeout=patience
        )
        self.adapter = registry.load(self.options.reference)

    def end(self) -> None:
        import torch.distributed as dist

        self.weighing.close()
        if dist.is_initialized():
            dist.destroy_process_group()

    def prepare(self, case: Case) -> None:
        self.adapter.prepare(case, self.threads)

    def program(self, number: int, case: Case, network: Network) -> dict[str, float]:
        """Builds a rank's part of a program. Returns, by node, the factors that its adapter folds
        into parameters."""
        from .member import member_of

        self.programs[number] = member_of(self.adapter, case, network, self.rank)
        return dict(self.programs[number].program.scales)

    def do(self, number: int, method: str, *arguments: Any) -> Any:
        return getattr(self.programs[number].program, method)(*arguments)

    def put_input(self, number: int, key: int, like: int | None, array: Array) -> None:
        """Stores an input, or writes it over an existing one."""
        x = self.programs[number].program.put_input(array)
        if key in self.arrays:
            self.arrays[key].copy_(x)
        else:
            self.arrays[key] = x

    def put_upstream(self, number: int, key: int, like: int | None, of: int, array: Array) -> None:
        """Stores an upstream gradient of a result, writes it over an existing one, or into a new
        one like `like`."""
        import torch

        if like is not None:
            self.arrays[key] = torch.empty_like(self.arrays[like])
        if key in self.arrays:
            self.arrays[key].copy_(torch.from_numpy(array))
        else:
            self.arrays[key] = self.programs[number].program.put_upstream(array, self.results[of])

    def call(self, number: int, method: str, key: int, of: int | None, *arrays: int) -> None:
        """Calls a program with a result, if any, and arrays; returns when its result is
        computed."""
        from snnbench.core.result import settled

        member = self.programs[number]
        results = [] if of is None else [self.results[of]]
        result = getattr(member.program, method)(
            *results, *(self.arrays[array] for array in arrays)
        )
        settled(result)
        self.results[key] = result

    def shape(self, key: int) -> dict[str, Any]:
        """Returns the arrays of a result by field, as `call` stored it, with True in place of every
        array."""
        return {
            name: _form_of(value) for name, value in vars(self.results[key]).items() if name != "x"
        }

    def read(self, key: int, path: tuple[str, ...], whole: bool) -> Array | str | None:
        """Returns an array of a result as float32, or its hash alone where it is not `whole`: ranks
        that must be alike send the array once."""
        from snnbench.core.result import held

        value: Any = held(self.results[key], path[0])
        for name in path[1:]:
            value = value[name]
        array: Array | None = value
        return array if array is None or whole else hashlib.sha256(array.tobytes()).hexdigest()

    def of_result(self, number: int, method: str, key: int) -> Any:
        return getattr(self.programs[number].program, method)(self.results[key])

    def features(self, number: int, array: int) -> dict[str, tuple[int, ...]]:
        program = self.programs[number].program
        shapes: dict[str, tuple[int, ...]] = program.features(self.arrays[array])
        return shapes

    def holds_borders(self, number: int, holds: bool) -> None:
        self.programs[number].program.holds_borders = holds

    def cpu_seconds(self) -> float:
        import time

        return time.process_time()

    def used(self) -> dict[str, Any]:
        from .terms import peak_bytes

        return {"cores": self.threads, "host_peak_bytes": peak_bytes()}

    def waited(self, number: int) -> float | None:
        """Seconds of waiting for states since the last call; None where none are handed on."""
        return self.programs[number].waited()

    def between(self, case: Case, network: Network) -> dict[str, Any]:
        from .terms import between

        return between(self.rank, case, network)

    def alone(self, case: Case, network: Network, *arrays: Any) -> dict[str, Any] | None:
        """Returns the terms of rank 0, while the others idle."""
        from .terms import alone

        return alone(self.adapter, case, network, *arrays) if self.rank == 0 else None

    # -- memory

    def probe(self) -> str | None:
        """Makes a probe of the memory of this process. Returns the meaning of its figures, None
        without one."""
        self.memory = self.options.probe()
        return self.memory.meaning if self.memory else None

    def weigh(self, begin: bool) -> None:
        """Makes freed memory leave the process at once, until weighing ends."""
        self.weighing.close()
        if begin:
            self.fill: Callable[[], None] = self.weighing.enter_context(self.options.returned())

    def ask_memory(self, method: str) -> Any:
        if method == "fill":
            return self.fill()
        answer = getattr(self.memory, method)()
        return (self.memory.before, answer) if self.memory and method == "reset" else answer


def _form_of(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _form_of(item) for name, item in value.items()}
    return None if value is None else True
