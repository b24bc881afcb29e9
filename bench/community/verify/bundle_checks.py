"""Checks a bundle as a whole: plan, blocks, early stops, and whether its results follow from its
records."""

from collections.abc import Iterator, Sequence
from math import isclose, prod
from typing import Any

from ...core.case import PHASES, full_name
from ...core.variant import VARIANT_FIELDS
from ...experiment.config import Experiment
from ...experiment.grid import AXES, excludes, points
from ...records.leaving import beyond, in_passes
from ...records.record import Record
from ...records.rows import grouped, rows_of
from ..bundle import Bundle, results_of
from .fault import Fault

MEASURE_TABLE = "measure"
"""The table of an experiment that does not affect which cases it has."""
MOST_POINTS = 20_000
"""Limit of a grid's size: a forged grid of millions would take hours."""
TOLERANCE = 1e-4
"""Relative tolerance of claimed numbers: other versions of libraries round differently."""
NUMBERS = (*(f"{phase}_s" for phase in PHASES), "low_s", "high_s", "ratio")
RANKS = ("rank_low", "rank_high")


def bundle_faults(bundle: Bundle) -> Iterator[Fault]:
    """Yields the faults of a bundle's records and results taken together."""
    yield from _plan(bundle)
    yield from _blocks(bundle.records)
    yield from _early_stops(bundle.records)
    yield from _claims(bundle)


def planned_of(bundle: Bundle) -> dict[str, str]:
    """Returns the names of the planned cases by id; without a plan, those of the experiment's
    grid."""
    return bundle.planned or spanned_by(bundle)


def spanned_by(bundle: Bundle) -> dict[str, str]:
    """Returns the names, by id, of all grid points combined with all variants that occur in the
    records.

    The result is empty without an experiment that this version understands.
    """
    if not bundle.experiment:
        return {}
    try:
        return _spanned(bundle)
    except Exception:
        # The experiment is damaged or of another version: the records are checked without a plan.
        return {}


def _spanned(bundle: Bundle) -> dict[str, str]:
    values = {name: value for name, value in bundle.experiment.items() if name != MEASURE_TABLE}
    experiment = Experiment.model_validate(values)
    if (
        sum(prod(len(getattr(grid, axis) or [""]) for axis in AXES) for grid in experiment.grids)
        > MOST_POINTS
    ):
        return {}
    recorded = [record.typed_case for record in bundle.records]
    variants = dict.fromkeys((case.variant, case.delivers_data) for case in recorded)
    cases = (
        point.computed_by(variant)
        for point in points(experiment, sorted({case.device for case in recorded}))
        for variant, data in variants
        if data == point.delivers_data
    )
    of_variants = [
        entry for entry in experiment.exclude if not entry.keys().isdisjoint(VARIANT_FIELDS)
    ]
    return {
        case.id: full_name(case)
        for case in cases
        if not any(excludes(entry, case) for entry in of_variants)
    }


def _plan(bundle: Bundle) -> Iterator[Fault]:
    text = "was planned and has no record, although other cases of its comparison have one"
    for name in unrecorded_beside_others(bundle):
        yield Fault("missing", name, text)
    spanned = spanned_by(bundle)
    for case_id, record in {record.case_id: record for record in bundle.records}.items():
        if bundle.planned and case_id not in bundle.planned:
            text = "has a record and was not planned"
        elif spanned and case_id not in spanned:
            text = "has a record, but is not in the experiment's grid"
        else:
            continue
        yield Fault("unplanned", full_name(record.typed_case), text)


def unrecorded(bundle: Bundle) -> list[str]:
    """Returns the names of planned cases without a record."""
    recorded = {record.case_id for record in bundle.records}
    return [name for case_id, name in planned_of(bundle).items() if case_id not in recorded]


def unrecorded_beside_others(bundle: Bundle) -> list[str]:
    """Returns the names of planned cases without a record in comparisons that have one.

    A shard has all cases of a comparison or none.
    """
    comparisons = {_comparison(full_name(record.typed_case)) for record in bundle.records}
    return [name for name in unrecorded(bundle) if _comparison(name) in comparisons]


def _comparison(name: str) -> str:
    """Returns a case's full name without the framework's variant: equal for all cases of a
    comparison."""
    return name.partition(" ")[2]


def unfinished(bundle: Bundle) -> list[str]:
    """Returns what is missing, as phrases; empty for a finished run.

    A comparison without any record does not make a run unfinished: it may belong to another shard.
    """
    interrupted = sum(record.status == "interrupted" for record in bundle.records)
    incomplete = sum(bool(lacking_blocks(same)) for same in _by_case(bundle.records))
    if not (interrupted or incomplete or unrecorded_beside_others(bundle)):
        return []
    counted = {
        "planned cases have no record": len(unrecorded(bundle)),
        "records are of cases that were interrupted": interrupted,
        "cases lack a block": incomplete,
    }
    return [f"{count} {phrase}" for phrase, count in counted.items() if count]


def _by_case(records: Sequence[Record]) -> list[list[Record]]:
    return list(
        grouped(records, lambda record: (record.set, record.case_id, record.done_key)).values()
    )


def _blocks(records: Sequence[Record]) -> Iterator[Fault]:
    """Yields a fault for each case that lacks a block, has a block twice, or has blocks that did
    not start in order."""
    for same in _by_case(records):
        name, numbers = full_name(same[0].typed_case), [record.block for record in same]
        if len(set(numbers)) < len(numbers):
            yield Fault("twice", name, f"has {len(numbers)} records of {len(set(numbers))} blocks")
            continue
        if lacking := lacking_blocks(same):
            count = _first_block(same).measure["blocks"]
            text = (
                f"lacks block {lacking[0] + 1} of {count}: resume the run; all blocks must be "
                "included"
            )
            yield Fault("blocks", name, text)
        started = [record.started_at for record in sorted(same, key=lambda record: record.block)]
        if started != sorted(started):
            yield Fault("moment", name, "a later block began before an earlier one")


def _first_block(same: Sequence[Record]) -> Record:
    return min(same, key=lambda record: record.block)


def lacking_blocks(same: Sequence[Record]) -> list[int]:
    """Returns the numbers of the blocks that one case lacks."""
    first, numbers = _first_block(same), [record.block for record in same]
    once = first.is_last or not first.measure.get("timed", True)
    return [
        number for number in range(1 if once else first.measure["blocks"]) if number not in numbers
    ]


def _early_stops(records: Sequence[Record]) -> Iterator[Fault]:
    """Yields a fault for each early stop that the passes of its live set do not justify."""
    timed = [timing.slots if (timing := record.timing(record.ranked)) else [] for record in records]
    live_sets = grouped(range(len(records)), lambda number: _live_set(records[number]))
    passes = {
        name: in_passes((number, slot) for number in members for slot in timed[number])
        for name, members in live_sets.items()
    }
    for number, (record, slots) in enumerate(zip(records, timed, strict=True)):
        if bound := record.beyond:
            seen = [passes[_live_set(record)][slot.in_pass] for slot in slots]
            shown = beyond(seen, bound, record.cores(record.ranked))
            if bound != record.measure.get("leave_beyond") or number not in shown:
                where = f"{full_name(record.typed_case)}, block {record.block + 1}"
                text = (
                    f"was stopped early as more than {bound:g} times as slow as the fastest, but "
                    "its passes do not show that"
                )
                yield Fault("blocks", where, text)


def _live_set(record: Record) -> tuple[str, int, str | None]:
    return record.set, record.block, record.live_set


def _claims(bundle: Bundle) -> Iterator[Fault]:
    computed = _by_key(results_of(rows_of(list(bundle.records))))
    claimed = _by_key(bundle.results)
    names = {record.case_id: full_name(record.typed_case) for record in bundle.records}
    for key in {**computed, **claimed}:
        where = names.get(key[0], key[0])
        if key not in claimed:
            yield Fault("time", where, "has times in its records, but no result line")
        elif key not in computed:
            yield Fault("time", where, "has a result line, but no records")
        else:
            yield from _differences(computed[key], claimed[key], where)


def _by_key(results: Sequence[dict[str, Any]]) -> dict[tuple[str, ...], dict[str, Any]]:
    return {
        tuple(result.get(name, "") for name in ("case_id", "variant", "set")): result
        for result in results
    }


def _differences(computed: dict[str, Any], claimed: dict[str, Any], where: str) -> Iterator[Fault]:
    for name in (*NUMBERS, *RANKS):
        right, stated = computed.get(name), claimed.get(name)
        if right is None or stated is None:
            differs = right is not stated
        elif name in NUMBERS:
            differs = not isclose(right, stated, rel_tol=TOLERANCE)
        else:
            differs = right != stated
        if differs:
            kind = "rank" if name in RANKS else "time"
            yield Fault(kind, where, f"{name} = {stated}: the records give {right}")
