"""Checks of a record's times against its calls, the elapsed time and the hardware's floor."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np

from ...core.case import SPIKES
from ...measure.floor import ALLOWED, shortest
from ...measure.slots import MOST_SAMPLES
from ...measure.work import mandatory
from ...records.record import Record, Slot
from ...workloads import workload_of
from .fault import Fault

NANOSECOND = 2e-9
"""Seconds by which rounding may move a median or quartile."""
WRONG_CLOCK = timedelta(days=1)
LEAST_FLOOR = 1 / 50
"""Share of a floor by the record's own ceilings: the machine's best rates were up to 14 times
higher."""


def least_seconds(slot: Slot) -> float:
    """Returns a lower bound of a slot's calls: their sum, or one from median and quartile if not
    all are kept."""
    if slot.calls <= MOST_SAMPLES:
        return sum(slot.samples)
    return slot.calls * (slot.wall / 2 + slot.low / 4)


def times(record: Record, where: str, now: datetime) -> Iterator[Fault]:
    """Yields the faults of a record's slots, duration and floors; `now` is the time of
    verification."""
    if datetime.fromisoformat(record.started_at) > now + WRONG_CLOCK:
        yield Fault("moment", where, f"started_at = {record.started_at!r}: that is in the future")
    total = 0.0
    for phase, part in record.parts.items():
        if not (part.timing and len(part.timing.slots)):
            continue
        place, before = f"{where}, {phase}", -np.inf
        for number, slot in enumerate(part.timing.slots):
            slot_place = f"{place}, slot {number + 1}"
            yield from _slot(slot, slot_place)
            if slot.began <= before:
                yield Fault("overlap", slot_place, "it began before the previous slot had ended")
            before = slot.began + least_seconds(slot)
            total += least_seconds(slot)
        yield from _floor(record, phase, place)
    if total > record.duration_s:
        text = (
            f"its calls took {total:.3g} s at least, and its process lived for "
            f"{record.duration_s:.3g} s"
        )
        yield Fault("elapsed", where, text)


def _slot(slot: Slot, where: str) -> Iterator[Fault]:
    samples, most = slot.samples, min(slot.calls, MOST_SAMPLES)
    if len(samples) != most:
        yield Fault("samples", where, f"has {len(samples)} of {slot.calls} calls, and not {most}")
    elif not slot.low <= slot.wall <= slot.high:
        text = f"its median, {slot.wall:.9f} s, is not between its quartiles"
        yield Fault("statistics", where, text)
    elif slot.calls <= MOST_SAMPLES:
        stated = {"low": slot.low, "wall": slot.wall, "high": slot.high}
        right = np.quantile(samples, [0.25, 0.5, 0.75])
        for (name, seconds), computed in zip(stated.items(), right, strict=True):
            if abs(seconds - computed) > NANOSECOND:
                text = f"{name} = {seconds:.9f}: that of its {slot.calls} calls is {computed:.9f}"
                yield Fault("statistics", where, text)
    if slot.elapsed is not None and least_seconds(slot) > slot.elapsed:
        text = (
            f"its calls took {least_seconds(slot):.3g} s at least, and {slot.elapsed:.3g} s passed"
        )
        yield Fault("elapsed", where, text)


def _floor(record: Record, phase: str, where: str) -> Iterator[Fault]:
    case, part = record.typed_case, record.parts[phase]
    if part.timing is None or record.status != "ok" or case.delivers_data:
        return
    if part.floor_s is None:
        yield Fault("floor", where, "it has times and no floor_s, the hardware's least")
        return
    slots: list[dict[str, Any]] = [slot.model_dump(by_alias=True) for slot in part.timing.slots]
    seconds, allowed = shortest(slots, part.timing.device_clock), ALLOWED[case.device_type]
    if seconds < allowed * part.floor_s:
        text = (
            f"{seconds:.3e} s is below {allowed:g} of its floor of {part.floor_s:.3e} s: that is "
            "implausible"
        )
        yield Fault("floor", where, text)
    rates = record.ceilings
    if case.native or not rates.get("bytes_per_s"):
        return
    network, density = workload_of(case).network(case), 0.0 if case.input in SPIKES else 1.0
    work = mandatory(case, network, phase, density)
    computed = max(
        work.bytes / (rates["bytes_per_s"] or np.inf),
        work.flops / (rates.get("flops_per_s") or np.inf),
    )
    undisturbed = [slot for slot in part.timing.slots if not slot.disturbed]
    if part.floor_s < LEAST_FLOOR * computed and undisturbed:  # a busy machine's ceilings are low
        text = (
            f"floor_s = {part.floor_s:.3e}: its own ceilings give {computed:.3e} s, and no "
            "machine is 50 times faster"
        )
        yield Fault("floor", where, text)


def overlaps(records: Sequence[Record]) -> Iterator[Fault]:
    """Yields a fault for each live set with overlapping slots: they are timed in turns, on one
    clock."""
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
                text = f"a slot of it was timed while one of {second} was: they are timed in turns"
                yield Fault("overlap", first, text)
                break
