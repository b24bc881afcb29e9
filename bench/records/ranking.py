"""Block contrasts → published times with intervals, ratios to the fastest, and intervals of ranks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ..core.result import Array
from .contrasts import Comparison, compared, means, medians, rank_intervals, surely_slower
from .pairing import Cases, contrasts, levels, rough_ratios
from .record import Record


@dataclass(frozen=True)
class Estimate:
    """The published time in seconds: the geometric mean over blocks of a block's median, with its 95 % interval in this run. With
    one block there is no interval."""

    seconds: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Standing:
    """Where a case stands among those of its comparison group."""

    place: int
    """Among the times as they were measured: 1 is the fastest."""
    best: int
    worst: int
    """The ranks that it may have: so many are surely faster, and surely slower."""
    ratio: float
    """Its step time over that of the fastest."""
    low: float | None = None
    high: float | None = None
    p: float | None = None
    """The ratio's 95 % interval, and Holm's p that it is 1; None for the fastest itself, and with fewer than two blocks. Of a
    case that left because it was shown to be slow, `low` is the bound that was shown."""
    slower: tuple[int, ...] = ()
    """Cases of the group that are surely slower, by their numbers."""
    note: str = ""
    """Why nothing of the group could be decided."""

    @property
    def tied(self) -> bool:
        """Not shown to be slower than the fastest, and not alone in that."""
        return self.best == 1 < self.worst


def estimates(cases: Cases, phase: str) -> list[Estimate | None]:
    """The time of each case of a comparison group; None for one that has no slots of the phase. Variances are drawn together
    over the group. Where every block was disturbed all slots count, and there is no interval."""
    found: list[Estimate | None] = []
    for records, shown in zip(cases, compared(list(levels(cases, phase))), strict=True):
        if np.isfinite(shown.estimate):
            middle, low, high = shown.ratio
            known = np.isfinite(shown.high)
            found.append(Estimate(middle, low if known else None, high if known else None))
        else:
            seconds = [
                wall
                for record in records
                if (timing := record.timing(phase))
                for wall in timing.column("wall")
            ]
            found.append(Estimate(float(np.median(seconds)), None, None) if seconds else None)
    return found


def standings(groups: Sequence[Cases], seconds: Sequence[Sequence[float]]) -> list[list[Standing]]:
    """The standing of each case of each comparison group, by contrasts of the step; `seconds` are their step times. Ratios of all
    groups to their fastest are one family, and so are all pairs of one group for its ranks."""
    tables = [contrasts(cases, "step") for cases in groups]
    log_ratios = [
        _log_ratios(cases, table, np.log(times))
        for cases, table, times in zip(groups, tables, seconds, strict=True)
    ]
    orders = [_order(own, np.log(times)) for own, times in zip(log_ratios, seconds, strict=True)]
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
        _standings(cases, table, order, own, [next(ratios) for _ in order[1:]])
        for cases, table, order, own in zip(groups, tables, orders, log_ratios, strict=True)
    ]


def contrasts_with_the_best(records: Iterable[Record]) -> list[Array]:
    """The block contrasts of the step of every case of a comparison group with its best, from the records of all of them."""
    by_case: dict[str, list[Record]] = {}
    for record in records:
        if record.timing("step"):
            by_case.setdefault(record.case_id, []).append(record)
    cases = list(by_case.values())
    if len(cases) < 2:
        return []
    table = contrasts(cases, "step")
    logs = medians(levels(cases, "step"))
    best, *others = _order(_log_ratios(cases, table, logs), logs)
    return [table[case, best] for case in others]


def _log_ratios(cases: Cases, table: Array, logs: Array) -> Array:
    """Mean log ratios (cases, cases): of the contrasts in `table`; of disturbed slots too where no block has one, and of their
    own `logs` where no block has both."""
    found = means(table)
    if np.isnan(found).any():
        rough = rough_ratios(cases, "step")
        found = np.where(
            np.isfinite(found),
            found,
            np.where(np.isfinite(rough), rough, logs[:, None] - logs[None, :]),
        )
    return found


def _order(ratios: Array, logs: Array) -> list[int]:
    """The cases by their mean log ratio to the fastest, which comes first; `logs` say with which the search begins."""
    first = int(np.argmin(logs))
    for _ in range(3):  # by ratios to the first another one may be faster
        if ratios[first, first] <= ratios[:, first].min():
            break
        first = int(np.argmin(ratios[:, first]))
    return sorted(range(len(ratios)), key=lambda case: (case != first, ratios[case, first]))


def _standings(
    cases: Cases, table: Array, order: list[int], log_ratios: Array, ratios: list[Comparison]
) -> list[Standing]:
    """Standings in the order of `cases`; `order` is by speed, and `ratios` are those of all but the first of it. Nobody is surely
    slower than the first whose ratio's interval holds 1: the two are of different families, and may disagree."""
    pairs = {
        (first, second): table[first, second]
        for first, second in combinations(range(len(cases)), 2)
    }
    bounds = {
        case: bound
        for case, records in enumerate(cases)
        if (bound := max(one.beyond or 0.0 for one in records))
    }
    below = {order[0]: 1.0} | {
        case: shown.ratio[2] for case, shown in zip(order[1:], ratios, strict=True)
    }
    left = {
        (case, other)
        for case, bound in bounds.items()
        for other in below
        if other not in bounds and below[other] < bound
    }
    undecided = {
        (case, order[0]) for case, shown in zip(order[1:], ratios, strict=True) if not shown.low > 0
    }
    known = {*surely_slower(pairs)} - undecided | left
    ranks = rank_intervals(len(cases), sorted(known))
    stayed = [case for case in range(len(cases)) if case not in bounds]
    note = _note(
        [cases[case] for case in stayed], [table[pair] for pair in combinations(stayed, 2)]
    )
    found = {}
    for place, case in enumerate(order, start=1):
        ratio, low, high, p = 1.0, None, None, None
        if place > 1:
            shown = ratios[place - 2]
            ratio = float(np.exp(log_ratios[case, order[0]]))
            if np.isfinite(shown.high):
                (_, low, high), p = shown.ratio, shown.p
            elif case in bounds and order[0] not in bounds:
                low = bounds[case]
        losers = tuple(loser for loser in order if (loser, case) in known)
        found[case] = Standing(place, *ranks[case], ratio, low, high, p, losers, note)
    return [found[case] for case in range(len(cases))]


def _note(cases: Cases, contrasts: list[Array]) -> str:
    """Why nothing could be decided: no contrast has two blocks."""
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
