"""A fault of a bundle, all the kinds of it, and which faults follow from one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

KINDS = {
    "form": "the file is no bundle, or a line is not spelled as snnbench spells it",
    "size": "it is larger, or has more records, than a bundle may",
    "content": "its lines, the first one among them, are not those whose hash the first line has",
    "counts": "the first line counts other records, statuses or machines than there are",
    "schema": "a field of a record is unknown, missing or of the wrong kind",
    "private": "a text has a path or an address in it, or a field that stays at home",
    "case id": "a record's case id is not that of its case",
    "done key": "a record's key is not that of its versions, adapter, machine and settings",
    "machine": "a machine's hash is not that of its facts, or the case ran on a device that it does not have",
    "version": "a framework's version is not the one among its packages, or snnbench's is none",
    "status": "a record's status is not the worst of its parts, or a failure has a reason that only a success can lack",
    "verdict": "a proof, or a stage of one, is said to have passed and did not by its own findings",
    "tolerance": "a number of the proof is beyond its limit, and passed all the same",
    "stages": "the proof does not have the stages and sizes that its case is proved in",
    "unproved": "there are times without a proof in front of them",
    "statistics": "a median or a quartile is not that of the calls that it is said to summarise",
    "samples": "calls are missing, or so many are alike that no clock measured them",
    "elapsed": "calls took longer than the time that passed for all of them",
    "unfilled": "calls fill so little of their slots, by the harness's clock, that they took longer than is told",
    "overlap": "two slots were timed at once, or one before the one that came before it",
    "floor": "a time is below the hardware's least and was not refused, or that least was lowered or left out",
    "memory": "a call used more memory beyond its arguments than at its peak, or less than these take",
    "moment": "a record began in the future, or its block before the block in front of it",
    "blocks": "a case that was to be timed in several blocks has not all of them, or left without being shown to be slow",
    "missing": "a case of the plan, or else of the experiment's grid, has no record, and others of its comparison have one",
    "unplanned": "a record is of a case that was not planned",
    "twice": "a case has two records of one block",
    "copied": "two records have the same calls, to the nanosecond",
    "time": "a claimed time, interval or ratio is not that of the records",
    "rank": "a claimed rank is not that of the records",
}
"""Each with what it means; docs/community.md has the list."""


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
