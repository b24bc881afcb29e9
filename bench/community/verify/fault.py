"""Faults of a bundle: their kinds, and the folding of faults that have one cause."""

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
        "a machine's hash is not that of its facts, or the case ran on a device that the machine "
        "lacks"
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
    "samples": "calls are missing",
    "elapsed": "calls took longer than the time that passed for all of them",
    "overlap": "two slots were timed at once, or one before its predecessor",
    "floor": (
        "a time below the hardware's floor was not refused, or the floor was lowered or left out"
    ),
    "moment": "a record began in the future, or its block before the previous block",
    "blocks": "a case lacks blocks, or stopped early without being shown to be slow",
    "missing": (
        "a planned case, or one of the experiment's grid, has no record, and others of its "
        "comparison have one"
    ),
    "unplanned": "a record's case was not planned",
    "twice": "a case has two records of one block",
    "time": "a stated time, interval or ratio is not that of the records",
    "rank": "a stated rank is not that of the records",
}
"""Kinds of faults with their meanings; docs/community.md has the same list."""

DIRECT = ("machine", "version")
"""Kinds with sentences that name the change itself instead of its consequences."""
MACHINES = "machine"
"""Cause of faults about the machines of all records."""


@dataclass(frozen=True)
class Fault:
    """One fault: `kind` is one of KINDS, `where` a case or a line, `text` the error and the right
    value.

    Faults with the same non-empty `cause`, such as a machine that records share, follow from it.
    """

    kind: str
    where: str
    text: str
    cause: str = ""

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.kind, self.where, self.text)))


def cause_of(name: str, values: Mapping[str, Any]) -> str:
    """Returns the cause of all faults about one value that records share, such as a machine."""
    keys = {
        "machine": ("hash",),
        "adapter": ("name", "version"),
        "environment": ("hash",),
        "measure": (),
    }[name]
    return " ".join([name, *(str(values.get(key)) for key in keys)])


def folded(faults: Sequence[Fault]) -> list[tuple[Fault, int]]:
    """Returns one fault for each cause, with the number of further faults; the largest number
    first."""
    caused: dict[str, list[Fault]] = {}
    for number, fault in enumerate(faults):
        caused.setdefault(fault.cause or f"{number}", []).append(fault)
    machines = [cause for cause in caused if cause.startswith(f"{MACHINES} ")]
    if MACHINES in caused and machines:
        caused[machines[0]] += caused.pop(MACHINES)
    representatives = [
        (min(same, key=lambda fault: fault.kind not in DIRECT), len(same) - 1)
        for same in caused.values()
    ]
    return sorted(representatives, key=lambda fault_and_count: -fault_and_count[1])
