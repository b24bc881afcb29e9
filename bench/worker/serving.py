"""A worker's service for the judge, another process: it calls methods that the judge names.

It passes their results on; its own view of the outcome does not count.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

from ..common.texts import cut
from ..core.case import Case
from ..core.complete import whole
from ..core.contract import CONTRACT_ERRORS, Adapter, FixedPoint, Program
from ..core.result import BY_HARNESS, Answer
from ..core.text_limits import LONGEST_FOR_JUDGE
from ..measure.phases import Phases
from ..workloads import workload_of
from .channel import Channel
from .failures import from_author, lack
from .handover import Reference, decode, encode
from .sandbox import HarnessDiskFull

WITHOUT_RESULT = {
    "start",
    "prepare",
    "load",
    "wait",
    "release",
    "roll_parameters",
    "prepare_inference",
}
RESULT_STAYS = {
    "program",
    "put_input",
    "put_upstream",
    "forward",
    "backward",
    "step",
    "inference",
    "evaluate",
    "put",
}
RESULT_JUDGED = {
    "next_batch",
    "is_unchanged",
    "fixed_point",
    "spikes",
    "output",
    "gradients",
    "statistics",
    "input_after",
    "features",
}
"""Methods that the judge may call: without a result, with a result that stays in the worker, and
with a result that is judged."""


class ProvedAdapter:
    """An adapter as the judge drives it: networks are made here, from their cases."""

    def __init__(self, adapter: Adapter, threads: int):
        self.adapter, self.threads = adapter, threads

    def fixed_point(self, case: Case) -> FixedPoint | None:
        return self.adapter.fixed_point(case)

    def prepare(self, case: Case) -> None:
        self.adapter.prepare(case, self.threads)

    def program(self, case: Case) -> Program:
        return cast(Program, whole(self.adapter.program(case, workload_of(case).network(case))))


class Serving:
    """Serves the judge over `channel`.

    Arrays are exchanged in `folder`. `reference` names the adapter, `version` is `NAME@VERSION` if
    the config asks for one. `traceback` is that of the last call that raised. `taken` is the answer
    of a timed call, or the error of reading it, until the judge asks for it.
    """

    def __init__(self, channel: Channel, folder: Path, reference: str, version: str | None = None):
        self.channel, self.folder = channel, folder
        self.reference, self.version = reference, version
        self.traceback: str | None = None
        self.taken: Any = None

    def until_judged(self, request: dict[str, Any], **objects: Any) -> bool:
        """Asks to be judged and serves calls on `objects`; returns whether the verdict is right."""
        self.traceback = None
        self.channel.answer(request)
        while "call" in (order := self.channel.order()):
            for name in order["dropped"]:
                objects.pop(name, None)
            self.channel.answer(self._carried_out(order, objects))
        return bool(order["right"])

    def take(self, read: Callable[[], Any]) -> None:
        """Reads a result at once: an array that is missing now was not computed in time."""
        try:
            self.taken = read()
        except BaseException as error:  # an adapter may raise SystemExit too
            self.taken = error

    def handed_over(self) -> dict[str, Any]:
        """Returns what was taken, for the judge, and drops it."""
        taken, self.taken = self.taken, None
        try:
            if isinstance(taken, BaseException):
                raise taken
            return {"answer": encode(taken, self.folder)}
        except HarnessDiskFull:
            raise
        except BaseException as error:
            return {"raised": self._raised(error)}

    def _raised(self, error: BaseException) -> list[str]:
        """Returns kind and text of an error."""
        error = lack(error, self.version)
        self.traceback = from_author(error, self.reference)
        contract = (kind for kind in CONTRACT_ERRORS if isinstance(error, kind))
        return [next(contract, type(error)).__name__, cut(str(error), LONGEST_FOR_JUDGE)]

    def _carried_out(self, order: dict[str, Any], objects: dict[str, Any]) -> dict[str, Any]:
        """Returns the result of a call as JSON, or the kind and text of its error."""
        owner, method, name = order["call"]
        try:
            if method not in WITHOUT_RESULT | RESULT_STAYS | RESULT_JUDGED:
                raise ValueError(f"{method} is not called for the judge")
            decoded = (decode(argument, self.folder) for argument in order["arguments"])
            arguments = [
                objects[each.name] if isinstance(each, Reference) else each for each in decoded
            ]
            call = (
                partial(getattr(Program, method), objects[owner])
                if method in BY_HARNESS
                else getattr(objects[owner], method)
            )
            result = call(*arguments)
            if method in RESULT_STAYS:
                objects[name] = result
            return {"value": encode(result, self.folder) if method in RESULT_JUDGED else None}
        except HarnessDiskFull:
            raise
        except BaseException as error:  # an adapter may raise SystemExit too
            return {"raised": self._raised(error)}


def answer_of(program: Program, result: Any, phase: str, phases: Phases) -> Answer:
    """Reads the result of a phase, with its gradients if the phase has a backward pass, and the
    input of the last prepared call.

    No method of the adapter runs before all arrays are read.
    """
    backward = phase in ("backward", "optimizer", "step")
    spikes, output, statistics = (
        getattr(Program, name)(program, result) for name in ("spikes", "output", "statistics")
    )
    gradients = Program.gradients(program, result) if backward else None
    x = Program.input_after(program, phases.buffer)
    return Answer(spikes, output, gradients, statistics, x)
