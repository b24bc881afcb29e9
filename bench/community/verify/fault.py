"""A fault of a bundle, all the kinds of it, and which faults follow from one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

KINDS = {
    "form": "the file is no bundle, or a line is not in snnbench's spelling",
    "size": "it is larger, or has more records, than a bundle may",
    "content": "the lines do not match the hash in the first line",
    "counts": "the first line counts other records, statuses or machines than the file has",
    "schema": "a field of a record is unknown, missing or of the wrong kind",
    "private": "a text contains a path or an address, or a field that is never exported",
    "case id": "a record's case id is not that of its case",
    "done key": "a record's key is not that of its versions, adapter, machine and settings",
    "machine": (
        "a machine's hash is not that of its facts, or the case ran on a device that the "
        "machine lacks"
    ),
    "version": (
        "a framework's version is not that of its packages, or snnbench's version is invalid"
    ),
    "status": (
        "a record's status is not the worst of its parts, or a failure has the reason of a success"
    ),
    "verdict": "a proof or a stage is marked as passed against its own findings",
    "tolerance": "a number of the proof exceeds its limit, and the proof passed",
    "stages": "the proof lacks stages or sizes that its case requires",
    "unproved": "there are times without a proof before them",
    "statistics": "a median or a quartile is not that of the calls",
    "samples": "calls are missing, or more are equal than a clock can produce",
    "elapsed": "calls took longer than the time that passed for all of them",
    "unfilled": (
        "calls fill too little of their slots by the harness's clock: they took longer than stated"
    ),
    "overlap": "two slots were timed at once, or one before its predecessor",
    "floor": (
        "a time below the hardware's floor was not refused, or the floor was lowered or left out"
    ),
    "memory": "a call used more memory beyond its arguments than its peak, or less than these take",
    "moment": "a record began in the future, or its block before the previous block",
    "blocks": "a case lacks blocks, or stopped early without being shown to be slow",
    "missing": (
        "a planned case, or one of the experiment's grid, has no record, and others of its "
        "comparison have one"
    ),
    "unplanned": "a record's case was not planned",
    "twice": "a case has two records of one block",
    "copied": "two records have the same calls, to the nanosecond",
    "time": "a stated time, interval or ratio is not that of the records",
    "rank": "a stated rank is not that of the records",
}
"""Kinds of faults with their meanings; docs/community.md has the same list."""

PLAIN = ("machine", "version")
"""Kinds whose sentences name what was changed, and not what no longer fits it."""


@dataclass(frozen=True)
class Fault:
    """`kind` is one of KINDS, `where` the case or the line that it is about, `text` what is wrong and what would be right.
    Faults of one `cause`, such as a machine that records share, follow from it; empty: from nothing else."""

    kind: str
    where: str
    text: str
    cause: str = ""

    def __str__(self) -> str:
        return (
            f"{self.kind}: {self.where}: {self.text}" if self.where else f"{self.kind}: {self.text}"
        )


MACHINES = "machine"
"""Cause of what is said of the machines of all records."""


def cause_of(name: str, values: Mapping[str, Any]) -> str:
    """What faults about something that records share have in common, by the field's name and its values."""
    known = {
        "machine": ("hash",),
        "adapter": ("name", "version"),
        "environment": ("hash",),
        "measure": (),
    }[name]
    return " ".join([name, *(str(values.get(key)) for key in known)])


def folded(faults: Sequence[Fault]) -> list[tuple[Fault, int]]:
    """Faults, each with how many follow from it: of one cause the plainest stands for all. Those with most come first."""
    caused: dict[str, list[Fault]] = {}
    for number, fault in enumerate(faults):
        caused.setdefault(fault.cause or f"{number}", []).append(fault)
    known = [cause for cause in caused if cause.startswith(f"{MACHINES} ")]
    if MACHINES in caused and known:
        caused[known[0]] += caused.pop(MACHINES)
    told = [
        (min(same, key=lambda fault: fault.kind not in PLAIN), len(same) - 1)
        for same in caused.values()
    ]
    return sorted(told, key=lambda one: -one[1])
