"""Turns block contrasts into published times, ratios to the fastest, and intervals of ranks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ..core.result import Array
from .contrasts import (
    LogRatio,
    blocks_to_decide,
    compared,
    nanmean,
    nanmedian,
    rank_intervals,
    surely_slower,
)
from .pairing import Cases, contrasts, levels, rough_ratios
from .record import Record


@dataclass(frozen=True)
class Estimate:
    """The published time in seconds: the geometric mean over blocks of a block's median, with
    its 95 % interval in this run. One block has no interval."""

    seconds: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Standing:
    """The place of a case in its comparison group."""

    place: int
    """Place by measured times; 1 is the fastest."""
    best: int
    worst: int
    """`best` and `worst` rank that it may have, by the cases that are surely faster and slower."""
    ratio: float
    """Its step time over that of the fastest."""
    low: float | None = None
    high: float | None = None
    p: float | None = None
    """The ratio's 95 % interval, and Holm's p that it is 1. None for the fastest itself, and
    with fewer than two blocks. After early stopping, `low` is the shown bound."""
    slower: tuple[int, ...] = ()
    """Indices of cases in the group that are surely slower."""
    note: str = ""
    """The reason why nothing in the group could be decided."""

    @property
    def tied(self) -> bool:
        """True if it may be the fastest, and others may too."""
        return self.best == 1 < self.worst


def estimates(cases: Cases, phase: str) -> list[Estimate | None]:
    """Returns the time of each case of a comparison group; None if it has no slots of the phase.

    Variances are shrunk over the group. If every block was disturbed, all slots count, and there is
    no interval.
    """
    result: list[Estimate | None] = []
    for records, comparison in zip(cases, compared(list(levels(cases, phase))), strict=True):
        if np.isfinite(comparison.estimate):
            middle, low, high = comparison.ratio
            known = np.isfinite(comparison.high)
            result.append(Estimate(middle, low if known else None, high if known else None))
        else:
            seconds = [
                wall
                for record in records
                if (timing := record.timing(phase))
                for wall in timing.column("wall")
            ]
            result.append(Estimate(float(np.median(seconds)), None, None) if seconds else None)
    return result


def standings(groups: Sequence[Cases], seconds: Sequence[Sequence[float]]) -> list[list[Standing]]:
    """Returns the standing of each case of each comparison group, by contrasts of the step.

    `seconds` are their step times. Ratios of all groups to their fastest are one family; for ranks,
    all pairs of a group are one.
    """
    tables = [contrasts(cases, "step") for cases in groups]
    log_ratios = [
        _log_ratios(cases, table, np.log(times))
        for cases, table, times in zip(groups, tables, seconds, strict=True)
    ]
    orders = [
        _order(case_logs, np.log(times))
        for case_logs, times in zip(log_ratios, seconds, strict=True)
    ]
    ratios = iter(
        compared(
            [
                table[case, order[0]]
                for table, order in zip(tables, orders, strict=True)
                for case in order[1:]
            ]
        )
    )
    return [
        _standings(cases, table, order, case_logs, [next(ratios) for _ in order[1:]])
        for cases, table, order, case_logs in zip(groups, tables, orders, log_ratios, strict=True)
    ]


def contrasts_with_the_best(records: Iterable[Record]) -> list[Array]:
    """Returns the step's block contrasts of every case of a group with its best, from all
    records."""
    by_case: dict[str, list[Record]] = {}
    for record in records:
        if record.timing("step"):
            by_case.setdefault(record.case_id, []).append(record)
    cases = list(by_case.values())
    if len(cases) < 2:
        return []
    table = contrasts(cases, "step")
    logs = nanmedian(levels(cases, "step"))
    best, *others = _order(_log_ratios(cases, table, logs), logs)
    return [table[case, best] for case in others]


def _log_ratios(cases: Cases, table: Array, logs: Array) -> Array:
    """Returns mean log ratios (cases, cases) of the contrasts in `table`.

    Disturbed slots count if no block has a contrast, and the cases' `logs` if no block has both
    cases.
    """
    result = nanmean(table)
    if np.isnan(result).any():
        rough = rough_ratios(cases, "step")
        result = np.where(
            np.isfinite(result),
            result,
            np.where(np.isfinite(rough), rough, logs[:, None] - logs[None, :]),
        )
    return result


def _order(ratios: Array, logs: Array) -> list[int]:
    """Returns the cases by their log ratio to the fastest, which comes first; `logs` start the
    search."""
    first = int(np.argmin(logs))
    for _ in range(3):  # by ratios to the first another one may be faster
        if ratios[first, first] <= ratios[:, first].min():
            break
        first = int(np.argmin(ratios[:, first]))
    return sorted(range(len(ratios)), key=lambda case: (case != first, ratios[case, first]))


def _standings(
    cases: Cases, table: Array, order: list[int], log_ratios: Array, ratios: list[LogRatio]
) -> list[Standing]:
    """Returns standings in the order of `cases`; `order` is by speed, `ratios` are those after the
    first.

    A case whose interval holds 1 is never surely slower than the first: ratios and ranks are
    different families, and may disagree.
    """
    pairs = {
        (first, second): table[first, second]
        for first, second in combinations(range(len(cases)), 2)
    }
    bounds = {
        case: bound
        for case, records in enumerate(cases)
        if (bound := max(each.beyond or 0.0 for each in records))
    }
    below = {order[0]: 1.0} | {
        case: comparison.ratio[2] for case, comparison in zip(order[1:], ratios, strict=True)
    }
    stopped = {
        (case, other)
        for case, bound in bounds.items()
        for other in below
        if other not in bounds and below[other] < bound
    }
    undecided = {
        (case, order[0])
        for case, comparison in zip(order[1:], ratios, strict=True)
        if not comparison.low > 0
    }
    known = {*surely_slower(pairs)} - undecided | stopped
    ranks = rank_intervals(len(cases), sorted(known))
    stayed = [case for case in range(len(cases)) if case not in bounds]
    note = _note(
        [cases[case] for case in stayed], [table[pair] for pair in combinations(stayed, 2)]
    )
    result = {}
    for place, case in enumerate(order, start=1):
        ratio, low, high, p = 1.0, None, None, None
        if place > 1:
            comparison = ratios[place - 2]
            ratio = float(np.exp(log_ratios[case, order[0]]))
            if np.isfinite(comparison.high):
                (_, low, high), p = comparison.ratio, comparison.p
            elif case in bounds and order[0] not in bounds:
                low = bounds[case]
        losers = tuple(loser for loser in order if (loser, case) in known)
        result[case] = Standing(place, *ranks[case], ratio, low, high, p, losers, note)
    return [result[case] for case in range(len(cases))]


def _note(cases: Cases, contrasts: list[Array]) -> str:
    """Returns the reason why nothing could be decided: no contrast has two blocks."""
    if not contrasts or any(np.isfinite(values).sum() > 1 for values in contrasts):
        return ""
    timed = [
        (record.set, record.block)
        for records in cases
        for record in records
        if record.timing("step")
    ]
    if len({*timed}) == 1:
        return "one block: not ranked finely"
    together = len({*timed}) < len(timed)
    return (
        f"{'too many disturbed slots' if together else 'not measured together'}: not ranked finely"
    )


def blocks_for_certainty(records: Sequence[Record], blocks: int, most_blocks: int) -> int:
    """Returns how many blocks, more than `blocks`, would show a difference of 5 % from the fastest;
    0 if no comparison is open."""
    contrasts = contrasts_with_the_best(record for record in records if not record.beyond)
    wanted = blocks_to_decide(contrasts, most_blocks)
    return max(wanted, blocks + 1) if wanted else 0
