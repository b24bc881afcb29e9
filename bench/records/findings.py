"""Finds changes between two rows besides times: the status, the proof, a lost time, the memory."""

from collections.abc import Iterator
from dataclasses import dataclass

from ..common import units
from ..core.case import PHASES, full_name
from ..core.status import STATUSES
from .rows import Row

MORE_MEMORY = 1.25
COARSE_BYTES = 4 * 2**20
"""Smallest difference that counts: memory comes in pages and from heaps."""
MEMORY = {"peak_bytes": "memory of", "kept_bytes": "memory kept by"}


@dataclass(frozen=True)
class Finding:
    """A change of a case: `what` was `base` and is `new`. `verdict` is worse or better."""

    case: str
    what: str
    base: str
    new: str
    verdict: str


def findings(old: Row, now: Row) -> list[Finding]:
    """Returns the differences between two rows; the second is judged."""
    return [*_endings(old, now), *_memory(old, now)]


def _endings(old: Row, now: Row) -> Iterator[Finding]:
    """Yields a change of the status, or of the proof, or a lost time. Without the record of
    the first block, which holds the proof, only the status is compared."""
    name = full_name(old.case)
    if old.status != now.status:
        worse = STATUSES.index(now.status) > STATUSES.index(old.status)
        ending = now.status + (f": {now.reason}" if now.reason else "")
        yield Finding(name, "status", old.status, ending, "worse" if worse else "better")
    elif old.first.block or now.first.block:
        return
    elif old.proved != now.proved and not now.case.native:
        words = {True: "proved", False: "not proved"}
        verdict = "better" if now.proved else "worse"
        yield Finding(name, "proof", words[old.proved], words[now.proved], verdict)
    elif old.rankable and not now.rankable:  # as before, but without its time
        was = units.seconds(old.estimates[old.ranked].seconds)
        yield Finding(name, old.ranked, was, "no time", "worse")


def _memory(old: Row, now: Row) -> Iterator[Finding]:
    if old.first.memory_meaning != now.first.memory_meaning:
        return
    for phase in PHASES:
        for kind, words in MEMORY.items():
            was, is_now = (row.first.memory.get(phase, {}).get(kind) for row in (old, now))
            if was is None or is_now is None or abs(was - is_now) < COARSE_BYTES:
                continue
            if max(was, is_now) > MORE_MEMORY * min(was, is_now):
                verdict = "worse" if is_now > was else "better"
                sizes = units.size(was), units.size(is_now)
                yield Finding(full_name(old.case), f"{words} {phase}", *sizes, verdict)
