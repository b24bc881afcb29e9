"""What a worker does for the judge, which is another process: it calls methods that the judge names, and hands over what they
give. What it says of the outcome itself counts for nothing."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

from ..common.texts import cut
from ..core.case import Case
from ..core.complete import whole
from ..core.contract import ACROSS, Adapter, FixedPoint, Program
from ..core.result import BY_HARNESS, Answer
from ..workloads import workload_of
from .author import from_author
from .channel import Channel
from .handover import Reference, decode, encode
from .lacks import lack
from .no_room import NoRoom

DONE = {"start", "prepare", "load", "wait", "release", "roll_parameters"}
KEPT = {"program", "put_input", "put_upstream", "forward", "backward", "step", "inference", "put"}
HANDED_OVER = {
    "next_batch",
    "fixed_point",
    "spikes",
    "output",
    "gradients",
    "statistics",
    "features",
}
"""Methods that the judge may call: those whose result nobody wants, those whose result stays here, and those whose result it
judges."""
LONGEST_TEXT = 4000
"""Of an error that is told to the judge."""


class ProvedAdapter:
    """An adapter as the judge drives it: networks are made here, of their cases, and threads are those of this process."""

    def __init__(self, adapter: Adapter, threads: int):
        self.adapter, self.threads = adapter, threads

    def fixed_point(self, case: Case) -> FixedPoint | None:
        return self.adapter.fixed_point(case)

    def prepare(self, case: Case) -> None:
        self.adapter.prepare(case, self.threads)

    def program(self, case: Case) -> Program:
        return cast(Program, whole(self.adapter.program(case, workload_of(case).network(case))))


class Serving:
    """Serves the judge over `channel`; `folder` is where arrays are exchanged, `reference` names the adapter, `version` is
    `NAME@VERSION` if one was asked for. `traceback` is that
    of the last call that raised."""

    def __init__(self, channel: Channel, folder: Path, reference: str, version: str | None = None):
        self.channel, self.folder, self.reference, self.version = (
            channel,
            folder,
            reference,
            version,
        )
        self.traceback: str | None = None

    def until_judged(self, request: dict[str, Any], **given: Any) -> bool:
        """Ask to be judged, and carry out calls on what is `given`, by names that the judge knows, until it is through. Whether
        all was right."""
        objects, self.traceback = dict(given), None
        self.channel.answer(request)
        while "call" in (order := self.channel.order()):
            for name in order["dropped"]:
                objects.pop(name, None)
            self.channel.answer(self._carried_out(order, objects))
        return bool(order["right"])

    def told(self, program: Program, result: Any, phase: str) -> dict[str, Any]:
        """What the judge is told of the last call of a phase. It is read at once: what is not there now was not there in time."""
        return self.handed_over(
            lambda: answer_of(program, result, phase in ("backward", "optimizer", "step"))
        )

    def handed_over(self, read: Callable[[], Any]) -> dict[str, Any]:
        """What `read` gives, or what it raises, for the judge."""
        try:
            return {"answer": encode(read(), self.folder)}
        except NoRoom:
            raise
        except BaseException as error:  # an adapter may raise SystemExit too
            return {"raised": self._raised(error)}

    def _raised(self, error: BaseException) -> list[str]:
        """Kind and text of an error, for the judge."""
        error = lack(error, self.version)
        self.traceback = from_author(error, self.reference)
        contract = (kind for kind in ACROSS if isinstance(error, kind))
        return [next(contract, type(error)).__name__, cut(str(error), LONGEST_TEXT)]

    def _carried_out(self, order: dict[str, Any], objects: dict[str, Any]) -> dict[str, Any]:
        """The result of a call as JSON, or the kind and the text of what it raised."""
        owner, method, name = order["call"]
        try:
            if method not in DONE | KEPT | HANDED_OVER:
                raise ValueError(f"{method} is not called for the judge")
            decoded = (decode(argument, self.folder) for argument in order["arguments"])
            arguments = [
                objects[one.name] if isinstance(one, Reference) else one for one in decoded
            ]
            own = (
                partial(getattr(Program, method), objects[owner])
                if method in BY_HARNESS
                else getattr(objects[owner], method)
            )
            result = own(*arguments)
            if method in KEPT:
                objects[name] = result
            return {"value": encode(result, self.folder) if method in HANDED_OVER else None}
        except NoRoom:
            raise
        except BaseException as error:  # an adapter may raise SystemExit too
            return {"raised": self._raised(error)}


def answer_of(program: Program, result: Any, backward: bool) -> Answer:
    """A result as the harness reads it, the gradients that it holds if a backward was asked for. Nothing of the program's own is
    called before all arrays are read."""
    spikes, output, statistics = (
        getattr(Program, name)(program, result) for name in ("spikes", "output", "statistics")
    )
    return Answer(
        spikes, output, Program.gradients(program, result) if backward else None, statistics
    )
