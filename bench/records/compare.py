"""Two result sets → what became worse or better. Statuses, proofs and memory always; times only where they can be compared."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from snnbench.adapters.base.case import PHASES, full_name

from .. import units
from ..mistakes import ConfigError
from ..status import STATUSES
from .rows import Row, comparison_group, grouped

SAME_MACHINE, OTHER_MACHINE = 1.03, 3.0
"""Factors by which a step time may differ: measured on one machine, and as its share of what all take on each of two."""
MORE_MEMORY = 1.25
COARSE_BYTES = 4 * 2**20
"""Host memory is counted in pages and comes from heaps: less than this is no difference."""


@dataclass(frozen=True)
class Finding:
    """One case: `what` was `base` and is `new`. `verdict` is worse, better or ambiguous (beyond the factor, but not surely)."""

    case: str
    what: str
    base: str
    new: str
    verdict: str


@dataclass
class Comparison:
    """`cases` are in both sets, `timed` of them have step times in both, which are compared absolute or relative (`times`)."""

    cases: int = 0
    timed: int = 0
    times: str = "absolute"
    findings: list[Finding] = field(default_factory=list)

    def any(self, verdict: str) -> bool:
        return any(finding.verdict == verdict for finding in self.findings)


def compare(base: list[Row], new: list[Row], factor: float | None = None, relative: bool = False) -> Comparison:
    """Cases are joined by their id. `factor` overrides the one of SAME_MACHINE or OTHER_MACHINE. Raises ConfigError. On the same
    machine step times are compared as they are. Between machines, or if `relative` is set, only ratios within each run are: a
    step time over the geometric mean of all step times that both runs have in its comparison group."""
    same_machine = not relative and _machines(base) == _machines(new)
    for rows, name in ((base, "the first set"), (new, "the second set")):
        if not same_machine and len(_machines(rows)) > 1:
            raise ConfigError(f"{name} is of several machines: compare sets of one machine, or of the same ones")
    by_key = {_key(row, same_machine): row for row in new}
    pairs = [(row, by_key[key]) for row in base if (key := _key(row, same_machine)) in by_key]
    comparison = Comparison(len(pairs), times="absolute" if same_machine else "relative")
    missing = [row for row in base if _key(row, same_machine) not in by_key]
    comparison.findings += [_finding(row, "case", row.status, "missing", "worse") for row in missing]
    for old, now in pairs:
        comparison.findings += [*_endings(old, now), *_memory(old, now)]
    timed = [(old, now) for old, now in pairs if old.rankable and now.rankable]
    changes = [((old, now), *_change(old, now)) for old, now in timed] if same_machine else _relative_changes(timed)
    comparison.timed = len(changes)
    limit = factor or (SAME_MACHINE if same_machine else OTHER_MACHINE)
    for (old, now), change, reach in changes:
        middle, low, high = np.exp([change, change - reach, change + reach])
        if not 1 / limit <= middle <= limit:
            verdict = "ambiguous" if low <= 1 <= high else "worse" if middle > 1 else "better"
            what = "step" if same_machine else "step, relative to the others"
            text = f"×{middle:.2f} ({low:.2f} to {high:.2f}), {_step_time(now)}"
            comparison.findings.append(_finding(old, what, _step_time(old), text, verdict))
    return comparison


def _machines(rows: list[Row]) -> set[str]:
    return {row.first.machine["hash"] for row in rows}


def _key(row: Row, same_machine: bool) -> tuple[str, str]:
    return (row.first.case_id, row.first.machine["hash"] if same_machine else "")


def _finding(row: Row, what: str, base: str, new: str, verdict: str) -> Finding:
    return Finding(full_name(row.case), what, base, new, verdict)


def _step_time(row: Row) -> str:
    return units.seconds(row.estimates["step"].seconds)


def _endings(old: Row, now: Row) -> Iterator[Finding]:
    if old.status != now.status:
        worse = STATUSES.index(now.status) > STATUSES.index(old.status)
        ending = now.status + (f": {now.reason}" if now.reason else "")
        yield _finding(old, "status", old.status, ending, "worse" if worse else "better")
    elif old.proved != now.proved and not now.case.native:
        words = {True: "proved", False: "not proved"}
        yield _finding(old, "proof", words[old.proved], words[now.proved], "better" if now.proved else "worse")
    elif old.rankable and not now.rankable:  # ended and proved as before, and has lost its step time
        yield _finding(old, "step", _step_time(old), "no time", "worse")


def _memory(old: Row, now: Row) -> Iterator[Finding]:
    if old.first.memory_meaning != now.first.memory_meaning:
        return
    for phase in PHASES:
        was, is_now = (row.first.memory.get(phase, {}).get("peak_bytes") for row in (old, now))
        if was is None or is_now is None or abs(was - is_now) < COARSE_BYTES:
            continue
        if max(was, is_now) > MORE_MEMORY * min(was, is_now):
            verdict = "worse" if is_now > was else "better"
            yield _finding(old, f"memory of {phase}", units.size(was), units.size(is_now), verdict)


def _change(old: Row, now: Row) -> tuple[float, float]:
    """The log ratio of two step times, and how far its 95 % interval reaches; without the interval of both it has no end."""
    times = [row.estimates["step"] for row in (old, now)]
    reaches = [np.log(time.high / time.seconds) if time.high else np.inf for time in times]
    return float(np.log(times[1].seconds / times[0].seconds)), float(np.hypot(reaches[0], reaches[1]))


def _relative_changes(pairs: list[tuple[Row, Row]]) -> list[tuple[tuple[Row, Row], float, float]]:
    """The same for step times over the geometric mean of their group; groups of one have no ratios."""
    changes: list[tuple[tuple[Row, Row], float, float]] = []
    for group in grouped(pairs, lambda pair: comparison_group(pair[0])[1:]).values():
        if len(group) > 1:
            found = [_change(old, now) for old, now in group]
            common = float(np.mean([change for change, _ in found]))
            changes += [(pair, change - common, reach) for pair, (change, reach) in zip(group, found, strict=True)]
    return changes
