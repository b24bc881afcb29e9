"""What the records of a bundle say together: that nothing was left out, nothing copied, and that claims are what they give."""

from collections.abc import Iterator, Mapping, Sequence
from math import isclose
from typing import Any

from ...core.case import full_name
from ...records.leaving import beyond
from ...records.record import Record
from ...records.rows import grouped, rows_of
from ..bundle import Bundle, results_of
from .fault import Fault
from .spanned import planned_of, spanned_by

FEWEST = 5
"""Calls that are no accident when two records share them all."""
CLOSE = 1e-4
"""Relative difference of a claimed number that another library's rounding may make."""
NUMBERS, RANKS = ("step_s", "low_s", "high_s", "ratio"), ("rank_low", "rank_high")


def whole(bundle: Bundle) -> Iterator[Fault]:
    """What is wrong with the records and the claims of a bundle together."""
    yield from _plan(bundle)
    yield from _blocks(bundle.records)
    yield from _left(bundle.records)
    yield from (fault for _, _, fault in copied({"": bundle.records}))
    yield from _claims(bundle)


def _plan(bundle: Bundle) -> Iterator[Fault]:
    for name in left_out_beside_others(bundle):
        yield Fault("missing", name, "was planned and has no record, beside others that have one")
    spanned = spanned_by(bundle)
    for case, record in {record.case_id: record for record in bundle.records}.items():
        if bundle.planned and case not in bundle.planned:
            yield Fault(
                "unplanned", full_name(record.typed_case), "has a record and was not planned"
            )
        elif spanned and case not in spanned:
            yield Fault(
                "unplanned",
                full_name(record.typed_case),
                "has a record, and its experiment's grid does not span it",
            )


def left_out(bundle: Bundle) -> list[str]:
    """Names of planned cases without a record. Of a shard all cases of a comparison are there, or none."""
    there = {record.case_id for record in bundle.records}
    return [name for case, name in planned_of(bundle).items() if case not in there]


def left_out_beside_others(bundle: Bundle) -> list[str]:
    """Those of them whose comparison has a record."""
    groups = {_group(full_name(record.typed_case)) for record in bundle.records}
    return [name for name in left_out(bundle) if _group(name) in groups]


def _group(name: str) -> str:
    """The full name of a case without the framework's variant: what all cases of a comparison share."""
    return name.partition(" ")[2]


def _blocks(records: Sequence[Record]) -> Iterator[Fault]:
    """Every case that was to be timed, went well in its first block and did not leave has all blocks, each once, in the order of
    time."""
    for same in grouped(
        records, lambda record: (record.set, record.case_id, record.done_key)
    ).values():
        name, numbers = full_name(same[0].typed_case), [record.block for record in same]
        if len(set(numbers)) < len(numbers):
            yield Fault("twice", name, f"has {len(numbers)} records of {len(set(numbers))} blocks")
            continue
        if lacking := lacking_blocks(same):
            count = first_of(same).measure["blocks"]
            yield Fault(
                "blocks",
                name,
                f"has no block {lacking[0] + 1} of {count}: run it to the end, none may be left out",
            )
        started = [record.started_at for record in sorted(same, key=lambda record: record.block)]
        if started != sorted(started):
            yield Fault("moment", name, "a later block began before an earlier one")


def first_of(same: Sequence[Record]) -> Record:
    """The record of a case's first block."""
    return min(same, key=lambda record: record.block)


def lacking_blocks(same: Sequence[Record]) -> list[int]:
    """Blocks that the records of one case should be of, and are not."""
    first, numbers = first_of(same), [record.block for record in same]
    wanted = range(
        1 if first.is_last or not first.measure.get("timed", True) else first.measure["blocks"]
    )
    return [number for number in wanted if number not in numbers]


def _left(records: Sequence[Record]) -> Iterator[Fault]:
    """Who left was shown to be slow by its passes, beside all that were alive in the last of them."""
    passes: dict[Any, dict[int, dict[int, dict[str, Any]]]] = {}
    steps = [step.slots if (step := record.timing("step")) else [] for record in records]
    for number, (record, slots) in enumerate(zip(records, steps, strict=True)):
        for slot in slots:
            known = {
                "low": slot.low,
                "wall": slot.wall,
                "high": slot.high,
                "disturbed": slot.disturbed,
            }
            passes.setdefault((record.set, record.block, record.live_set), {}).setdefault(
                slot.in_pass, {}
            )[number] = known
    for number, (record, slots) in enumerate(zip(records, steps, strict=True)):
        if bound := record.beyond:
            together = passes.get((record.set, record.block, record.live_set), {})
            own = [together[slot.in_pass] for slot in slots]
            if bound != record.measure.get("leave_beyond") or number not in beyond(own, bound):
                what = (
                    f"left as {bound:g} times as slow as the fastest, which its passes do not show"
                )
                yield Fault(
                    "blocks", f"{full_name(record.typed_case)}, block {record.block + 1}", what
                )


def copied(bundles: Mapping[str, Sequence[Record]]) -> Iterator[tuple[str, str, Fault]]:
    """Records with the same calls of a phase: the bundle of the later one, that of the first, and the fault."""
    seen: dict[tuple[float, ...], tuple[str, Record]] = {}
    for bundle, records in bundles.items():
        for record in records:
            for phase, part in record.parts.items():
                calls = tuple(
                    sample
                    for slot in (part.timing.slots if part.timing else ())
                    for sample in slot.samples
                )
                if len(calls) < FEWEST:
                    continue
                other, first = seen.setdefault(calls, (bundle, record))
                if first is not record:
                    where = f"{full_name(record.typed_case)}, block {record.block + 1}, {phase}"
                    whose = (
                        f"{full_name(first.typed_case)}, block {first.block + 1}"
                        + f", in {other}" * (other != bundle)
                    )
                    yield (
                        bundle,
                        other,
                        Fault("copied", where, f"has the calls of {whose}, to the nanosecond"),
                    )


def _claims(bundle: Bundle) -> Iterator[Fault]:
    right = {
        (one["case_id"], one["variant"], one["set"]): one
        for one in results_of(rows_of(list(bundle.records)))
    }
    claimed = {
        (one.get("case_id", ""), one.get("variant", ""), one.get("set", "")): one
        for one in bundle.results
    }
    names = {record.case_id: full_name(record.typed_case) for record in bundle.records}
    for key in {**right, **claimed}:
        where = names.get(key[0], key[0])
        if key not in claimed or key not in right:
            yield Fault(
                "time",
                where,
                "has a time and no result that says so"
                if key in right
                else "a result that no record has",
            )
            continue
        for name in (*NUMBERS, *RANKS):
            own, said = right[key].get(name), claimed[key].get(name)
            if own is None or said is None:
                wrong = own is not said
            else:
                wrong = not isclose(own, said, rel_tol=CLOSE) if name in NUMBERS else own != said
            if wrong:
                yield Fault(
                    "rank" if name in RANKS else "time",
                    where,
                    f"{name} = {said}: the records give {own}",
                )
