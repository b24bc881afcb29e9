"""Compares cases by disturbed slots, with two clocks: another program changes the wall time of a
slot, but hardly the CPU time of the process that was timed."""

from collections.abc import Mapping, Sequence

import numpy as np

from .contrasts import LogRatio, compared
from .pairing import Cases, contrasts

LEAST = np.log(1.1)
"""Smaller log ratios decide nothing: programs that share a cache or a core's two threads also
change CPU times a little."""

Pair = tuple[int, int]


def by_both_clocks(cases: Cases, phase: str, pairs: Sequence[Pair]) -> dict[Pair, LogRatio]:
    """Returns the log ratios of pairs of `cases`, first over second, with intervals that hold for
    wall and CPU time.

    On several cores the CPU time says less: one process may use all of them where another uses
    one, so that the wall times on a quiet machine may differ by that factor from the CPU times.
    The interval is wider by it, and the estimate nearer to 0. Pairs without a CPU time, or with
    fewer than two blocks, are left out.
    """
    cores = [record.cores(phase) for records in cases for record in records if record.timing(phase)]
    if not cores or None in cores:
        return {}
    slack = np.log(max(filter(None, cores)))
    tables = [contrasts(cases, phase, disturbed=True, clock=clock) for clock in ("wall", "device")]
    walls, cpus = (compared([values[pair] for pair in pairs]) for values in tables)
    return {
        pair: _joined(wall, cpu, float(slack))
        for pair, wall, cpu in zip(pairs, walls, cpus, strict=True)
        if np.isfinite([wall.high, cpu.high]).all()
    }


def _joined(wall: LogRatio, cpu: LogRatio, slack: float) -> LogRatio:
    sign = 1.0 if wall.estimate > 0 else -1.0
    cautious = sign * max(min(sign * wall.estimate, sign * cpu.estimate - slack), 0.0)
    low, high = min(wall.low, cpu.low - slack), max(wall.high, cpu.high + slack)
    return LogRatio(cautious, low, high, cpu.p, max(wall.variance, cpu.variance))


def slower_by_both_clocks(
    ratios: Mapping[Pair, LogRatio], level: float, beyond: float = 0.0
) -> set[Pair]:
    """Returns the pairs (slower, faster) of `by_both_clocks` with a Holm-adjusted p of at most
    `level` by CPU time, an interval without 0 and `beyond`, and a difference of at least LEAST."""
    return {
        pair if ratio.estimate > 0 else pair[::-1]
        for pair, ratio in ratios.items()
        if ratio.p <= level
        and abs(ratio.estimate) >= LEAST
        and max(ratio.low, -ratio.high) > beyond
    }
