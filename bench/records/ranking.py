"""Computes published times, ratios to the fastest and rank intervals from block contrasts (see
`contrasts.py`)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ..core.result import Array
from .contrasts import (
    CROWDED,
    FAMILYWISE_ERROR,
    FIRST_LOOK,
    LAST_LOOK,
    LogRatio,
    blocks_to_decide,
    compared,
    nanmean,
    nanmedian,
    rank_intervals,
    surely_slower,
)
from .disturbed import by_both_clocks, slower_by_both_clocks
from .leaving import in_passes, is_beyond
from .pairing import Cases, contrasts, levels, rough_ratios
from .quality import is_crowded
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
    """Best possible rank: 1 + the number of surely faster cases."""
    worst: int
    """Worst possible rank: the size of the group − the number of surely slower cases."""
    ratio: float
    """Its time over that of the fastest."""
    low: float | None = None
    high: float | None = None
    p: float | None = None
    """The ratio's 95 % interval, and the Holm-adjusted p-value of the hypothesis that it is 1.

    None for the fastest, and with fewer than two common blocks. After an early stop without an
    interval, `low` is the factor that was shown to be exceeded.
    """
    slower: tuple[int, ...] = ()
    """Indices of cases in the group that are surely slower."""
    by_clocks: bool = False
    """True if the interval is of disturbed slots, too, by wall and CPU time (`by_both_clocks`)."""
    note: str = ""
    """The reason why no rank of the group is decided; empty otherwise."""

    @property
    def tied(self) -> bool:
        """True if it may be the fastest, and others may too."""
        return self.best == 1 < self.worst


def estimates(cases: Cases, phase: str) -> list[Estimate | None]:
    """Returns the time of each case of a comparison group; None if it has no slots of the phase.

    Each variance is shrunk towards those of the group's other cases (`moderated`). If every block
    was disturbed, all slots count, and there is no interval.
    """
    result: list[Estimate | None] = []
    for records, comparison in zip(cases, compared(list(levels(cases, phase))), strict=True):
        if np.isfinite(comparison.estimate):
            middle, low, high = comparison.ratio
            known = np.isfinite(comparison.high)
            result.append(Estimate(middle, low if known else None, high if known else None))
        else:
            timings = filter(None, (record.timing(phase) for record in records))
            seconds = [wall for timing in timings for wall in timing.column("wall")]
            result.append(Estimate(float(np.median(seconds)), None, None) if seconds else None)
    return result


def standings(groups: Sequence[Cases], seconds: Sequence[Sequence[float]]) -> list[list[Standing]]:
    """Returns the standing of each case of each comparison group, by contrasts of the phase that
    ranks them, which all cases of a group share.

    `seconds` are their times. Holm's correction covers the ratios of all groups together, but
    the rank tests of each group separately.
    """
    tables = [contrasts(cases, _ranked(cases)) for cases in groups]
    log_ratios = [
        _log_ratios(cases, table, np.log(times))
        for cases, table, times in zip(groups, tables, seconds, strict=True)
    ]
    orders = [
        _order(case_logs, np.log(times))
        for case_logs, times in zip(log_ratios, seconds, strict=True)
    ]
    with_fastest = [
        table[case, order[0]]
        for table, order in zip(tables, orders, strict=True)
        for case in order[1:]
    ]
    ratios = iter(compared(with_fastest))
    return [
        _standings(cases, table, order, case_logs, [next(ratios) for _ in order[1:]])
        for cases, table, order, case_logs in zip(groups, tables, orders, log_ratios, strict=True)
    ]


def contrasts_with_fastest(records: Iterable[Record]) -> list[Array]:
    """Returns the block contrasts of the ranked phase between each other case of a group and its
    fastest, without cases that both clocks show to be slower though slots were disturbed."""
    by_case: dict[str, list[Record]] = {}
    for record in records:
        if record.timing(record.ranked):
            by_case.setdefault(record.case_id, []).append(record)
    cases = list(by_case.values())
    if len(cases) < 2:
        return []
    phase = _ranked(cases)
    table = contrasts(cases, phase)
    logs = nanmedian(levels(cases, phase))
    fastest, *others = _order(_log_ratios(cases, table, logs), logs)
    by_clocks = by_both_clocks(cases, phase, _disturbed_pairs(table, fastest))
    decided = slower_by_both_clocks(by_clocks, FIRST_LOOK)
    return [table[case, fastest] for case in others if (case, fastest) not in decided]


def _log_ratios(cases: Cases, table: Array, logs: Array) -> Array:
    """Returns mean log ratios (cases, cases) of the contrasts in `table`.

    Falls back to disturbed slots if no block has a contrast, and to the difference of `logs` if the
    cases share no block.
    """
    result = nanmean(table)
    if np.isnan(result).any():
        rough = rough_ratios(cases, _ranked(cases))
        result = np.where(
            np.isfinite(result),
            result,
            np.where(np.isfinite(rough), rough, logs[:, None] - logs[None, :]),
        )
    return result


def _order(ratios: Array, logs: Array) -> list[int]:
    """Returns the cases from the fastest, sorted by their log ratio to it.

    The search for the fastest begins with the smallest of `logs`.
    """
    first = int(np.argmin(logs))
    for _ in range(3):  # the case with the smallest time need not be the fastest by ratios
        if ratios[first, first] <= ratios[:, first].min():
            break
        first = int(np.argmin(ratios[:, first]))
    return sorted(range(len(ratios)), key=lambda case: (case != first, ratios[case, first]))


def _standings(
    cases: Cases, table: Array, order: list[int], log_ratios: Array, ratios: list[LogRatio]
) -> list[Standing]:
    """Returns standings in the order of `cases`.

    `order`: cases from the fastest; `ratios`: those of `order[1:]` to the fastest.
    """
    fastest, *others = order
    comparisons = dict(zip(others, ratios, strict=True))
    stop_factors = {
        case: factor
        for case, records in enumerate(cases)
        if (factor := max(each.beyond or 0.0 for each in records))
    }
    level, beyond = _level(cases), CROWDED if is_crowded(cases) else 0.0
    slower = _slower_pairs(table, fastest, comparisons, level, beyond)
    by_clocks = by_both_clocks(cases, _ranked(cases), _disturbed_pairs(table, fastest))
    slower_though_disturbed = slower_by_both_clocks(by_clocks, level, beyond)
    comparisons |= {case: ratio for (case, other), ratio in by_clocks.items() if other == fastest}
    slower |= slower_though_disturbed
    slower |= _slower_by_early_stop(fastest, comparisons, stop_factors)
    open_pairs = [
        pair for pair in _disturbed_pairs(table, fastest) if by_clocks.keys().isdisjoint({pair})
    ]
    shown = _shown_by_passes(cases, open_pairs)
    slower |= shown.keys()
    ranks = rank_intervals(len(cases), sorted(slower))
    not_stopped = [case for case in range(len(cases)) if case not in stop_factors]
    pairwise = [table[pair] for pair in combinations(not_stopped, 2)]
    note = (
        ""
        if slower_though_disturbed or shown
        else _note([cases[case] for case in not_stopped], pairwise)
    )
    exceeded = {} if fastest in stop_factors else stop_factors
    exceeded |= {case: factor for (case, other), factor in shown.items() if other == fastest}
    return [
        Standing(
            order.index(case) + 1,
            *ranks[case],
            float(np.exp(log_ratios[case, fastest])),
            *_interval(comparisons.get(case), exceeded.get(case)),
            slower=tuple(other for other in order if (other, case) in slower),
            by_clocks=(case, fastest) in by_clocks,
            note=note,
        )
        for case in range(len(cases))
    ]


def _ranked(cases: Cases) -> str:
    """Returns the phase that ranks the cases of a group."""
    return cases[0][0].ranked


def _level(cases: Cases) -> float:
    """Returns the level of the rank tests: LAST_LOOK if the run could add blocks."""
    measures = [records[0].measure for records in cases]
    added = any(each.get("most_blocks", 0) > each.get("blocks", 0) for each in measures)
    return LAST_LOOK if added else FAMILYWISE_ERROR


def _slower_pairs(
    table: Array,
    fastest: int,
    comparisons: Mapping[int, LogRatio],
    level: float,
    beyond: float,
) -> set[tuple[int, int]]:
    """Returns the pairs (slower, faster) that the contrasts in `table` show to differ by more than
    `beyond`.

    No case with an interval that contains this or 1 is surely slower than the fastest. The
    intervals and the ranks come from separately corrected tests, which could disagree; the interval
    wins.
    """
    pairs = combinations(range(len(table)), 2)
    undecided = {
        (case, fastest) for case, comparison in comparisons.items() if not comparison.low > beyond
    }
    return {*surely_slower({pair: table[pair] for pair in pairs}, level, beyond)} - undecided


def _disturbed_pairs(table: Array, fastest: int) -> list[tuple[int, int]]:
    """Returns the pairs without contrasts of two blocks, the fastest second."""
    pairs = (
        (second, first) if first == fastest else (first, second)
        for first, second in combinations(range(len(table)), 2)
    )
    return [pair for pair in pairs if np.isfinite(table[pair]).sum() < 2]


def _slower_by_early_stop(
    fastest: int, comparisons: Mapping[int, LogRatio], stop_factors: Mapping[int, float]
) -> set[tuple[int, int]]:
    """Returns the pairs (slower, faster) of a case that stopped early, as slower than `factor`
    times the fastest, and a case with a ratio to the fastest that is surely below that factor."""
    upper_ratios = {fastest: 1.0} | {
        case: comparison.ratio[2] for case, comparison in comparisons.items()
    }
    return {
        (case, other)
        for case, factor in stop_factors.items()
        for other, upper in upper_ratios.items()
        if other not in stop_factors and upper < factor
    }


def _shown_by_passes(
    cases: Cases, pairs: Iterable[tuple[int, int]]
) -> dict[tuple[int, int], float]:
    """Returns the pairs (slower, faster) that the passes of one block show to differ by more than
    the factor of early stops, with that factor. Runs without early stops have none."""
    return {
        ordered: factor
        for pair in pairs
        for ordered in (pair, pair[::-1])
        if (factor := _passes_show(*(cases[case] for case in ordered)))
    }


def _passes_show(slow: Sequence[Record], fast: Sequence[Record]) -> float:
    """Returns the factor by which a case is shown to be slower than another, 0 if it is not."""
    for first in slow:
        for second in fast:
            timings = first.timing(first.ranked), second.timing(first.ranked)
            factor = first.measure.get("leave_beyond") or first.beyond or second.beyond
            if not (factor and first.live_set and first.live_set == second.live_set):
                continue
            passes = in_passes(
                (member, slot)
                for member, timing in enumerate(timings)
                if timing
                for slot in timing.slots
            )
            if is_beyond(list(passes.values()), 0, 1, factor, first.cores(first.ranked)):
                return float(factor)
    return 0.0


def _interval(
    comparison: LogRatio | None, exceeded: float | None
) -> tuple[float | None, float | None, float | None]:
    """Returns (low, high, p) of a ratio to the fastest; without an interval, `low` is the factor
    that an early stop showed to be `exceeded`."""
    if comparison and np.isfinite(comparison.high):
        _, low, high = comparison.ratio
        return low, high, comparison.p
    return exceeded, None, None


def _note(cases: Cases, pairwise: list[Array]) -> str:
    """Returns the reason why no rank is decided: no pair has contrasts of two blocks."""
    if not pairwise or any(np.isfinite(values).sum() > 1 for values in pairwise):
        return ""
    timed = [
        (record.set, record.block)
        for records in cases
        for record in records
        if record.timing(record.ranked)
    ]
    if len({*timed}) == 1:
        return "one block"
    together = len({*timed}) < len(timed)
    return "too many disturbed slots" if together else "not measured together"


def blocks_to_decide_ranks(records: Sequence[Record], blocks: int, most_blocks: int) -> int:
    """Returns the number of blocks, greater than `blocks`, that detects a difference of 5 % from
    the fastest; 0 if every comparison is decided."""
    not_stopped = [record for record in records if not record.beyond]
    wanted = blocks_to_decide(contrasts_with_fastest(not_stopped), most_blocks)
    return max(wanted, blocks + 1) if wanted else 0
