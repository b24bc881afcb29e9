"""What a record says of its times, against its own calls, the time that passed, and the hardware."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np

from ...core.case import DATA, SPIKES
from ...measure.floor import ALLOWED, shortest
from ...measure.slots import MOST_SAMPLES
from ...measure.work import mandatory
from ...records.record import Record, Slot
from ...workloads import workload_of
from .fault import Fault

NANOSECOND = 2e-9
"""Seconds that rounding may move a median or quartile."""
FEWEST, LEAST_SHARE = 16, 0.05
"""Of so many kept calls at least this share lies above the medians and below: seen were 20 to 72 %."""
MOST_ALIKE = 0.2
"""Share of a phase's kept calls, of a microsecond or more, that may have taken the same time to the nanosecond."""
WRONG_CLOCK = timedelta(days=1)
LEAST_FLOOR = 1 / 50
"""Of a floor by the record's own ceilings: the machine's best rates ever were up to 14 times as high."""


def least_seconds(slot: Slot) -> float:
    """What the calls of a slot took at least: where not every call is kept, half of them the median, a quarter the quartile."""
    return (
        sum(slot.samples)
        if slot.calls <= MOST_SAMPLES
        else slot.calls * (slot.wall / 2 + slot.low / 4)
    )


def times(record: Record, where: str, now: datetime) -> Iterator[Fault]:
    """What is wrong with the slots of a record, its duration and its floors. `now` is the time of the one who verifies."""
    if datetime.fromisoformat(record.started_at) > now + WRONG_CLOCK:
        yield Fault("moment", where, f"started_at = {record.started_at!r}: that is in the future")
    total = 0.0
    for phase, part in record.parts.items():
        if not (part.timing and len(part.timing.slots)):
            continue
        place, before = f"{where}, {phase}", -np.inf
        for number, slot in enumerate(part.timing.slots):
            yield from _slot(slot, f"{place}, slot {number + 1}")
            if slot.began <= before:
                yield Fault(
                    "overlap",
                    f"{place}, slot {number + 1}",
                    "it began before the slot in front of it had ended",
                )
            before = slot.began + least_seconds(slot)
            total += least_seconds(slot)
        yield from _balance(part.timing.slots, place)
        yield from _alike(
            [sample for slot in part.timing.slots for sample in slot.samples if sample >= 1e-6],
            place,
        )
        yield from _floor(record, phase, place)
    if total > record.duration_s:
        yield Fault(
            "elapsed",
            where,
            f"its calls took {total:.3g} s at least, and its process lived for {record.duration_s:.3g} s",
        )
    yield from _memory(record, where)


def _memory(record: Record, where: str) -> Iterator[Fault]:
    """Beyond `extra_bytes` a peak holds input and output, of elements that take a byte at least."""
    case = record.typed_case
    border = 2 * case.time_steps * case.batch * (case.neurons or 0) // (case.ranks or 1)
    for phase, weighed in record.memory.items():
        peak, extra = weighed.get("peak_bytes"), weighed.get("extra_bytes")
        if peak is None or extra is None:
            continue
        if extra > peak:
            yield Fault(
                "memory",
                f"{where}, {phase}",
                f"extra_bytes = {extra}: is more than peak_bytes = {peak}",
            )
        elif phase != "optimizer" and peak - extra < border:
            told = f"peak_bytes = {peak} beside extra_bytes = {extra}"
            yield Fault(
                "memory",
                f"{where}, {phase}",
                f"{told}: input and output alone take {border} at least",
            )


def _slot(slot: Slot, where: str) -> Iterator[Fault]:
    samples, most = slot.samples, min(slot.calls, MOST_SAMPLES)
    if len(samples) != most:
        yield Fault("samples", where, f"has {len(samples)} of {slot.calls} calls, and not {most}")
    elif not slot.low <= slot.wall <= slot.high:
        yield Fault(
            "statistics", where, f"its median, {slot.wall:.9f} s, is not between its quartiles"
        )
    elif slot.calls <= MOST_SAMPLES:
        for name, given, right in zip(
            ("low", "wall", "high"), _of(slot), np.quantile(samples, [0.25, 0.5, 0.75]), strict=True
        ):
            if abs(given - right) > NANOSECOND:
                yield Fault(
                    "statistics",
                    where,
                    f"{name} = {given:.9f}: that of its {slot.calls} calls is {right:.9f}",
                )
    if slot.elapsed is not None and least_seconds(slot) > slot.elapsed:
        yield Fault(
            "elapsed",
            where,
            f"its calls took {least_seconds(slot):.3g} s at least, and {slot.elapsed:.3g} s passed",
        )


def _of(slot: Slot) -> tuple[float, float, float]:
    return slot.low, slot.wall, slot.high


def _balance(slots: Sequence[Slot], where: str) -> Iterator[Fault]:
    """Of slots with more calls than are kept, these lie above the median as often as below it."""
    pairs = [
        (sample, slot.wall)
        for slot in slots
        if slot.calls > MOST_SAMPLES
        for sample in slot.samples
    ]
    below = sum(sample < wall for sample, wall in pairs)
    if len(pairs) >= FEWEST and not LEAST_SHARE <= below / len(pairs) <= 1 - LEAST_SHARE:
        side = "below" if below > len(pairs) / 2 else "above"
        yield Fault(
            "statistics",
            where,
            f"of {len(pairs)} kept calls {max(below, len(pairs) - below)} are {side} their slots' medians",
        )


def _alike(calls: Sequence[float], where: str) -> Iterator[Fault]:
    if len(calls) >= FEWEST:
        ((seconds, count),) = Counter(calls).most_common(1)
        if count > MOST_ALIKE * len(calls):
            yield Fault(
                "samples", where, f"{count} of {len(calls)} calls took exactly {seconds:.9f} s"
            )


def _floor(record: Record, phase: str, where: str) -> Iterator[Fault]:
    case, part = record.typed_case, record.parts[phase]
    if part.timing is None or record.status != "ok" or case.workload == DATA:
        return
    if part.floor_s is None:
        yield Fault("floor", where, "it has times and no floor_s, the hardware's least")
        return
    slots: list[dict[str, Any]] = [slot.model_dump(by_alias=True) for slot in part.timing.slots]
    seconds, allowed = shortest(slots, part.timing.device_clock), ALLOWED[case.device.split(":")[0]]
    if seconds < allowed * part.floor_s:
        yield Fault(
            "floor",
            where,
            f"{seconds:.3e} s is below {allowed:g} of its floor of {part.floor_s:.3e} s: that is implausible",
        )
    rates = record.ceilings
    if case.native or not rates.get("bytes_per_s"):
        return
    work = mandatory(
        case, workload_of(case).network(case), phase, 0.0 if case.input in SPIKES else 1.0
    )
    own = max(
        work.bytes / (rates["bytes_per_s"] or np.inf),
        work.flops / (rates.get("flops_per_s") or np.inf),
    )
    undisturbed = [slot for slot in part.timing.slots if not slot.disturbed]
    if part.floor_s < LEAST_FLOOR * own and undisturbed:  # ceilings of a busy machine are too low
        yield Fault(
            "floor",
            where,
            f"floor_s = {part.floor_s:.3e}: its own ceilings give {own:.3e} s, and no machine is 50 times faster",
        )


def started_together(records: Sequence[Record]) -> Iterator[Fault]:
    """Slots of one live set that overlap: they are timed in turns, on one clock."""
    sets: dict[tuple[str, int, str], list[tuple[float, float, str]]] = {}
    for record in records:
        if record.live_set:
            for part in record.parts.values():
                for slot in part.timing.slots if part.timing else ():
                    spans = sets.setdefault((record.set, record.block, record.live_set), [])
                    spans.append((slot.began, slot.began + least_seconds(slot), record.case_id))
    for spans in sets.values():
        spans.sort()
        for (_, ended, first), (began, _, second) in pairwise(spans):
            if began < ended and first != second:
                yield Fault(
                    "overlap",
                    first,
                    f"a slot of it was timed while one of {second} was: they are timed in turns",
                )
                break
