"""The head of the report: what was measured, and plain sentences on how far it can be trusted."""

from collections import Counter, defaultdict
from statistics import median

from ... import units
from ...machine.facts import machine_label
from ...records.rows import Row
from ..coverage import KINDS, Conditions

PROMISED_OVERHEAD_S = 0.5
REFUSED = ("check_failed", "implausible")
FLAGS = {
    "few_samples": ("few samples", "fewer than 7 samples in one of the rounds"),
    "not_converged": (
        "not converged",
        "the time budget, which a round's phases share, was spent before the interval was as narrow as asked",
    ),
    "drift": ("drift", "the step time changed by more than 5 % while it was measured"),
    "phases_disagree": (
        "phases disagree",
        "a step took surely less than its own forward or backward: the machine changed, or a whole step compiles better",
    ),
    "outliers": ("outliers", "more than 10 % of the samples lie far outside the others; they are counted, never dropped"),
    "shared_cpu": ("shared CPU", "other programs used more than a quarter of a core meanwhile"),
    "throttled": ("throttled", "the GPU slowed itself down meanwhile, by heat or its power limit"),
}
"""A short and a long text for each flag of `Row.quality`."""
CLOCKS = {"process": "CPU time of the process, all threads", "events": "CUDA events on the device"}


def header(rows: list[Row], conditions: Conditions) -> dict:
    records = [record for row in rows for record in row.records]
    counts = Counter(row.status for row in rows)
    return {
        "newest": _date(max((record.started_at for record in records), default="")),
        "oldest": _date(min((record.started_at for record in records), default="")),
        "machines": [machine_label(machine) for machine in conditions.machines.values()],
        "versions": sorted({record.snnbench for record in records}),
        "cases": len(rows),
        "groups": len(conditions.groups),
        "counts": [(status, KINDS[status], counts[status]) for status in KINDS if counts[status]],
    }


def _date(text: str) -> str:
    return text.replace("T", " ").replace("+00:00", " UTC")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def trust(
    rows: list[Row], conditions: Conditions, columns: dict[int, dict], unreadable: list[str], missing: list[str]
) -> list[dict]:
    """Sentences, each `good`, a `note` or a reason to `doubt`, with the rows that it is about."""
    ranked = [row for row in rows if row.rankable]
    names = conditions.name
    sentences = []

    def say(kind, text, items=()):
        sentences.append({"kind": kind, "text": text, "rows": list(items)})

    proof = (
        "Every ranked row was first proved to compute the same network as the float64 oracle: decisions and gradients agree "
        "within the limits of its precision."
    )
    say("good" if ranked else "doubt", f"{len(ranked)} of {_count(len(rows), 'case')} ranked. {proof if ranked else ''}".strip())
    if natives := [row for row in rows if row.sound and row.case.native]:
        told = "each framework's own neuron, proved to have the right time axis and held against no oracle"
        say(
            "note",
            f"{_count(len(natives), 'native case')} in tables of their own, never ranked: {told}.",
            map(names, natives),
        )
    refused = {status: [row for row in rows if row.status == status] for status in REFUSED}
    if failed := refused["check_failed"]:
        say("doubt", f"{_count(len(failed), 'case')} refused because the proof failed (check_failed).", map(names, failed))
    if fast := refused["implausible"]:
        say("doubt", f"{_count(len(fast), 'case')} refused as faster than the hardware allows (implausible).", map(names, fast))
    if ranked and not any(refused.values()):
        say("good", "Nothing was refused: no proof failed, and no time is implausibly far below the hardware's floor.")
    flags = defaultdict(list)
    for row in ranked:
        for flag in columns[id(row)]["quality"].split():
            flags[flag].append(row)
    for flag, members in flags.items():
        word, told = FLAGS.get(flag, (flag, flag))
        share = f"{len(members)} of {_count(len(ranked), 'ranked row')}"
        say(
            "doubt" if len(members) > len(ranked) / 2 else "note",
            f"{word[0].upper()}{word[1:]} ({share}): {told}.",
            map(names, members),
        )
    if ranked and not flags:
        say("good", "No ranked row is flagged as unstable.")
    rounds = sorted({len(row.records) for row in ranked})
    if rounds == [1]:
        say("doubt", "One round only: the intervals do not show how much one process differs from the next.")
    elif rounds:
        counts = " or ".join(map(str, rounds))
        say("good", f"{counts} rounds for each ranked row, each a fresh process, interleaved with those of the other rows.")
    clocks = sorted({columns[id(row)]["device_clock"] or "" for row in ranked} - {""})
    if clocks:
        told = "; ".join(CLOCKS.get(clock, clock) for clock in clocks)
        say("note", f"Times are host wall time until every result is ready. The device clock that explains them: {told}.")
    if len(conditions.machines) > 1:
        say("note", f"{len(conditions.machines)} machines: their times are never ranked together.")
    for kind, text in _overhead(rows):
        say(kind, text)
    if unreadable:
        say("doubt", f"Left out: {_count(len(unreadable), 'file')} that could not be read.", unreadable)
    if missing:
        told = "the run was interrupted, or a part of it is elsewhere"
        say("doubt", f"Missing: {_count(len(missing), 'planned case')} without a record: {told}.", missing)
    return sentences


def _overhead(rows: list[Row]) -> list[tuple[str, str]]:
    records = [record for row in rows for record in row.records]
    spent = [record.overhead_s for record in records if record.overhead_s is not None]
    empty = [record.monitor["null_s"] for record in records if record.monitor.get("null_s") is not None]
    parts = []
    if spent:
        kept = max(spent) < PROMISED_OVERHEAD_S
        middle, most, promised = map(units.seconds, (median(spent), max(spent), PROMISED_OVERHEAD_S))
        parts = [
            f"Outside import, build, proof and measurement snnbench itself took {middle} (median) and at most {most} per case "
            f"and round, {'less' if kept else 'more'} than the {promised} that it promises; no time contains it."
        ]
    if empty:
        parts.append(f"Starting a process that does nothing takes {units.seconds(median(empty))}, counted nowhere either.")
    return [("doubt" if spent and not kept else "note", " ".join(parts))] if parts else []
