"""Many records in little memory: what they have in common is there once, slots are columns of numbers, and what no table shows
of every case stays in the file."""

import gc
import marshal
import sys
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import isnan, nan
from operator import attrgetter
from typing import Any, overload

from pydantic import BaseModel

from .record import Part, Record, Slot

TABLED = ("in_pass", "began", "wall", "enqueue", "device", "device_warm")
NUMBERS = (*TABLED, "calls", "low", "high", "elapsed")
WHOLE = ("in_pass", "calls")
SHOWN_SECONDS = ("import", "build", "first_call")
"""Parts whose duration stands in tables, of the first block."""


@contextmanager
def uncollected() -> Iterator[None]:
    """While many objects are made that stay, looking again and again for garbage among them takes longer than making them."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
            gc.freeze()


_DISTURBED: dict[tuple[str | None, ...], tuple[str | None, ...]] = {}
"""What slots that were disturbed alike have in common."""


class Slots(Sequence[Slot]):
    """Slots of a phase in about fifty bytes each. `column` is fast; a slot itself is made when it is asked for, and only of
    `detailed` ones."""

    __slots__ = ("_disturbed", "_names", "_numbers", "_samples")

    def __init__(self, slots: Sequence[Slot], detailed: bool):
        self._names = NUMBERS if detailed else TABLED
        values = [value for name in self._names for value in map(attrgetter(name), slots)]
        self._numbers = array("d", [nan if value is None else value for value in values])
        disturbed = tuple(slot.disturbed for slot in slots)
        self._disturbed = _DISTURBED.setdefault(disturbed, disturbed)
        self._samples = tuple(array("d", slot.samples) for slot in slots) if detailed else ()

    def column(self, name: str) -> Sequence[Any]:
        """One value of every slot: numbers are floats, an unknown one NaN; samples only of detailed ones."""
        if name in ("disturbed", "samples"):
            return self._disturbed if name == "disturbed" else self._samples
        at, count = self._names.index(name), len(self)
        return self._numbers[at * count : (at + 1) * count]

    def __len__(self) -> int:
        return len(self._disturbed)

    @overload
    def __getitem__(self, at: int) -> Slot: ...
    @overload
    def __getitem__(self, at: slice) -> list[Slot]: ...
    def __getitem__(self, at: int | slice) -> Slot | list[Slot]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        place = range(len(self))[at]
        values: dict[str, Any] = {name: self.column(name)[place] for name in NUMBERS}
        values |= {name: int(values[name]) for name in WHOLE}
        values |= {
            name: None for name in ("device", "device_warm", "elapsed") if isnan(values[name])
        }
        return Slot.model_construct(
            **values, samples=list(self._samples[place]), disturbed=self._disturbed[place]
        )


class Shelf:
    """Makes records small, one after the other. Of `detailed` ones single calls, watched frequencies and every stage of the proof
    stay."""

    def __init__(self) -> None:
        self._texts: dict[str | None, str | None] = {}
        self._known: dict[bytes, Any] = {}
        self._parts: dict[tuple[str | float | None, ...], Part] = {}

    def compact(self, record: Record, detailed: bool) -> None:
        """In place, so that tables say the same of it."""
        values = vars(record)
        for name in ("case", "adapter", "environment", "machine", "measure", "warnings"):
            values[name] = self._one(values[name])
        for name in (
            "snnbench",
            "git_commit",
            "set",
            "live_set",
            "done_key",
            "started_at",
            "case_id",
            "status",
            "reason",
            "memory_meaning",
        ):
            values[name] = self._texts.setdefault(values[name], values[name])
        values["parts"] = {
            sys.intern(name): self._part(name, part, record.block)
            for name, part in record.parts.items()
        }
        for part in record.parts.values():
            if part.timing:
                vars(part.timing)["slots"] = Slots(part.timing.slots, detailed)
        if not detailed:
            record.monitor.pop("watched", None)
            record.monitor["canary"] = array("d", filter(None, record.monitor.get("canary") or ()))
            if record.proof and record.proof["passed"]:
                record.proof["stages"] = record.proof["stages"][-1:]
        _forget_fields(record)

    def _one(self, value: Any) -> Any:
        """An equal value that is there already, or this."""
        return self._known.setdefault(marshal.dumps(value, 2), value)

    def _part(self, name: str, part: Part, block: int) -> Part:
        """Parts that say no more than how they ended are there once; where the first block's duration is shown, it stays."""
        _forget_fields(part)
        if part.timing:
            _forget_fields(part.timing)
            return part
        if not block and name in SHOWN_SECONDS:
            return part
        vars(part)["seconds"] = None
        return self._parts.setdefault((part.status, part.reason, part.floor_s), part)


_NO_FIELDS: set[str] = set()


def _forget_fields(model: BaseModel) -> None:
    """What pydantic keeps of each object for an option of `model_dump` that nobody uses. Its own way to set it is slow."""
    object.__setattr__(model, "__pydantic_fields_set__", _NO_FIELDS)
