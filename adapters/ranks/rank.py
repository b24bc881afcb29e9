"""The process of one rank: it builds its part of every program that it is told to, and calls it
when all are called."""

import hashlib
import os
from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from snnbench.core.case import Case
from snnbench.core.network import Network
from snnbench.core.sharded import Array

from .start import Start

if TYPE_CHECKING:
    from .member import Member


def serve(start: Start, connections: list[Connection], met: str, parent: int) -> None:
    """Answer questions until there are none. `met` is where ranks find each other."""
    start.confine(parent)
    rank = int(os.environ["RANK"])
    for other, connection in enumerate(connections):
        if other != rank:
            connection.close()  # else it would not end with its own rank
    own, connection = Rank(start, rank, met), connections[rank]
    while True:
        try:
            question = connection.recv()
        except EOFError:
            return
        if question is None:
            own.end()
            return
        method, dropped, arguments = question
        for kind, number in dropped:
            getattr(own, kind).pop(number, None)
        try:
            answer = "given", getattr(own, method)(*arguments)
        except BaseException as error:  # an adapter may raise SystemExit too
            answer = "raised", (type(error).__name__, " ".join(str(error).split()))
        connection.send(answer)


class Rank:
    """What is asked of a rank. Programs, results and arrays have numbers, the same in all ranks."""

    def __init__(self, start: Start, rank: int, met: str) -> None:
        self.given, self.rank, self.met = start, rank, met
        self.programs: dict[int, Member] = {}
        self.results: dict[int, Any] = {}
        self.arrays: dict[int, Any] = {}
        self.weighing = ExitStack()

    def start(self) -> None:
        """Take own cores, meet the others, and import the adapter."""
        import torch.distributed as dist

        from .. import registry

        cores, count = self.given.cores, self.given.count
        own = (
            cores[self.rank * len(cores) // count : (self.rank + 1) * len(cores) // count] or cores
        )
        os.sched_setaffinity(0, own)
        self.threads = len(own)
        patience = timedelta(seconds=self.given.patience)
        dist.init_process_group(
            "gloo", init_method=self.met, rank=self.rank, world_size=count, timeout=patience
        )
        self.adapter = registry.load(self.given.reference)

    def end(self) -> None:
        import torch.distributed as dist

        self.weighing.close()
        if dist.is_initialized():
            dist.destroy_process_group()

    def prepare(self, case: Case) -> None:
        self.adapter.prepare(case, self.threads)

    def program(self, number: int, case: Case, network: Network) -> dict[str, float]:
        """Build a rank's part of a program; the factors that its adapter folds into parameters, by
        node."""
        from .member import member_of

        self.programs[number] = member_of(self.adapter, case, network, self.rank)
        return dict(self.programs[number].program.scales)

    def do(self, number: int, method: str, *given: Any) -> Any:
        """A method of a program whose result is a plain value, or nobody's."""
        return getattr(self.programs[number].program, method)(*given)

    def put_input(self, number: int, key: int, like: int | None, array: Array) -> None:
        """Take an input, or write it over the one that is there."""
        made = self.programs[number].program.put_input(array)
        if key in self.arrays:
            self.arrays[key].copy_(made)
        else:
            self.arrays[key] = made

    def put_upstream(self, number: int, key: int, like: int | None, of: int, array: Array) -> None:
        """Take an upstream gradient of a result, or write it over the one that is there, or into
        one that is `like` another."""
        import torch

        if like is not None:
            self.arrays[key] = torch.empty_like(self.arrays[like])
        if key in self.arrays:
            self.arrays[key].copy_(torch.from_numpy(array))
        else:
            self.arrays[key] = self.programs[number].program.put_upstream(array, self.results[of])

    def call(self, number: int, method: str, key: int, of: int | None, *arrays: int) -> None:
        """A call of a program, its result computed when this returns: of arrays, or of a result and
        arrays."""
        from snnbench.core.result import settled

        member = self.programs[number]
        given = [self.arrays[array] for array in arrays]
        result = getattr(member.program, method)(
            *([] if of is None else [self.results[of]]), *given
        )
        settled(result)
        self.results[key] = result

    def shape(self, key: int) -> dict[str, Any]:
        """Which arrays a result has: by field what `call` gave, True in place of every array."""
        return {
            name: _there(value) for name, value in vars(self.results[key]).items() if name != "x"
        }

    def read(self, key: int, path: tuple[str, ...], whole: bool) -> Array | str | None:
        """An array of a result as float32; of what all ranks have alike all but one give its hash
        alone."""
        from snnbench.core.result import held

        value: Any = held(self.results[key], path[0])
        for name in path[1:]:
            value = value[name]
        array: Array | None = value
        return array if array is None or whole else hashlib.sha256(array.tobytes()).hexdigest()

    def of_result(self, number: int, method: str, key: int) -> Any:
        """What a program says of a result."""
        return getattr(self.programs[number].program, method)(self.results[key])

    def features(self, number: int, array: int) -> dict[str, tuple[int, ...]]:
        found: dict[str, tuple[int, ...]] = self.programs[number].program.features(
            self.arrays[array]
        )
        return found

    def holds_borders(self, number: int, holds: bool) -> None:
        self.programs[number].program.holds_borders = holds

    def cpu_seconds(self) -> float:
        import time

        return time.process_time()

    def used(self) -> dict[str, Any]:
        """What this rank has used."""
        from .terms import peak_bytes

        return {"cores": self.threads, "host_peak_bytes": peak_bytes()}

    def waited(self, number: int) -> float | None:
        """Seconds of waiting for states since this was asked last; None where none are handed
        on."""
        return self.programs[number].waited()

    def between(self, case: Case, network: Network) -> dict[str, Any]:
        from .terms import between

        return between(self.rank, case, network)

    def alone(self, case: Case, network: Network, *given: Any) -> dict[str, Any] | None:
        """Terms of rank 0, while the others do nothing."""
        from .terms import alone

        return alone(self.adapter, case, network, *given) if self.rank == 0 else None

    # -- memory
    # ----------------------------------------------------------------------------------------------

    def probe(self) -> str | None:
        """Make a probe of the memory of this process; what its figures mean, None if there can be
        none."""
        self.memory = self.given.probe()
        return self.memory.meaning if self.memory else None

    def weigh(self, begin: bool) -> None:
        """Have freed memory leave the process at once, until the end of weighing."""
        self.weighing.close()
        if begin:
            self.fill: Callable[[], None] = self.weighing.enter_context(self.given.returned())

    def ask_memory(self, method: str) -> Any:
        if method == "fill":
            return self.fill()
        asked = getattr(self.memory, method)()
        return (self.memory.before, asked) if self.memory and method == "reset" else asked


def _there(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _there(item) for name, item in value.items()}
    return None if value is None else True
