"""Flags reasons to trust a case's time less."""

from collections.abc import Sequence
from statistics import median, quantiles

import numpy as np

from ..common.stats import drift
from ..machine.monitor import slowed
from .pairing import Cases, levels
from .record import Record, Timing

FEWEST_BLOCKS = 3
MOST_DISTURBED = 0.2
"""Share of the slots."""
MOST_PREEMPTED = 0.05
"""Share of the wall time."""
MOST_CHANGE = 0.05
"""Relative change of a constant time over the passes of a block."""
MOST_UNSTEADY = 0.08
"""Relative change of the canary's time, one task of 30 ms in each pass. On a quiet shared
machine its quartiles within a block were up to 6.4 % apart (the set quickstart), and quiet
stretches minutes apart have a standard deviation of up to 2.6 %: of three, one in 13 differ by
more."""
MOST_FOREIGN_CORES = 0.25


def flags(records: Sequence[Record]) -> list[str]:
    """Returns the names of reasons to trust a case's time less, from its slots in all blocks."""
    blocks = [timing for record in records if (timing := record.timing(record.ranked))]
    monitors = [record.monitor for record in records]
    # Another remark names a row without any such block.
    clean = levels([records], records[0].ranked) if records else np.empty(0)
    counted = int(np.isfinite(clean).sum()) or len(blocks)
    raised = {
        "few_blocks": 0 < counted < FEWEST_BLOCKS,
        "disturbed": (disturbed_share(records) or 0.0) > MOST_DISTURBED,
        "preempted": _preempted(records) > MOST_PREEMPTED,
        "drift": bool(blocks) and abs(median(map(_drift, blocks))) > MOST_CHANGE,
        "shared_cpu": any(
            (monitor.get("foreign_cores") or 0) > MOST_FOREIGN_CORES for monitor in monitors
        ),
        "throttled": any(slowed(monitor.get("throttle_reasons", 0)) for monitor in monitors),
        "unsteady": _unsteady([monitor.get("canary") or [] for monitor in monitors]),
        "not_compiled": any(map(_is_not_compiled, records)),
    }
    return [flag for flag, is_raised in raised.items() if is_raised]


def _is_not_compiled(record: Record) -> bool:
    """True if one of our kernels ran in its torch spelling, though the case asks for another."""
    asked_for = record.typed_case.construction
    return record.facts.get("backend") == "reference" != asked_for


def is_crowded(cases: Cases) -> bool:
    """Returns whether other programs needed the cores of the workers in any block."""
    return any(
        _needs_cores(record)
        for records in cases
        for record in records
        if record.timing(record.ranked)
    )


def _needs_cores(record: Record) -> bool:
    """Returns whether other programs needed the cores of a record's worker; by the load where a
    killed worker took the CPU time of all workers with it."""
    cores = record.machine.get("usable_threads") or 1
    foreign = record.monitor.get("foreign_cores")
    if foreign is None:
        return (record.monitor.get("load_average") or 0.0) > cores
    return foreign > MOST_FOREIGN_CORES and foreign + (record.cores(record.ranked) or 1) > cores


def disturbed_share(records: Sequence[Record]) -> float | None:
    """Returns the share of the ranked phase's slots that were disturbed; None if there are
    none."""
    slots = [
        each
        for record in records
        if (timing := record.timing(record.ranked))
        for each in timing.column("disturbed")
    ]
    return sum(each is not None for each in slots) / len(slots) if slots else None


def _preempted(records: Sequence[Record]) -> float:
    """Returns the share of the wall time without a core; 0 if the clock is not the process's."""
    timings = [
        timing
        for record in records
        if (timing := record.timing(record.ranked)) and timing.device_clock == "process"
    ]
    walls, devices = (
        [seconds for timing in timings for seconds in timing.column(name)]
        for name in ("wall", "device")
    )
    wall = sum(walls)
    if not wall:
        return 0.0
    pairs = zip(walls, devices, strict=True)
    return float(sum(max(each - device, 0.0) for each, device in pairs) / wall)


def _drift(timing: Timing) -> float:
    columns = zip(*map(timing.column, ("wall", "began", "disturbed")), strict=True)
    sound = [(wall, began) for wall, began, disturbed in columns if not disturbed]
    return drift([wall for wall, _ in sound], [began for _, began in sound])


def _unsteady(canaries: Sequence[Sequence[float | None]]) -> bool:
    """Returns whether the canary's time changed within a block or from block to block."""
    blocks = [
        known for seconds in canaries if (known := [each for each in seconds if each is not None])
    ]
    quartiles = [quantiles(seconds, method="inclusive") for seconds in blocks if len(seconds) > 1]
    spread = max(((high - low) / middle for low, middle, high in quartiles), default=0.0)
    middles = [median(seconds) for seconds in blocks]
    return bool(blocks) and (
        spread > MOST_UNSTEADY or max(middles) > (1 + MOST_UNSTEADY) * min(middles)
    )
