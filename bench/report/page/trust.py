"""The head of the report: what was measured, and sentences on how far it can be trusted."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import median
from typing import Any

from ...common import units
from ...common.units import counted
from ...machine.facts import machine_label
from ...records.quality import FEWEST_BLOCKS
from ...records.rows import Row, grouped
from ..columns.metric import Entry
from ..table import Table
from ..words import FLAGS, KINDS, REFUSED, reason_of

PROMISED_OVERHEAD_S = 0.5
CLOCKS = {"process": "CPU time of the process, all threads", "events": "CUDA events on the device"}


def header(table: Table, missing: Sequence[str] = ()) -> dict[str, Any]:
    """Returns what was measured, when, where and with which version; `missing` are planned cases
    without a record."""
    rows = table.rows
    records = [record for row in rows for record in row.records]
    counts = Counter(row.status for row in rows)
    return {
        "newest": date(max((record.started_at for record in records), default="")),
        "oldest": date(min((record.started_at for record in records), default="")),
        "machines": [machine_label(machine) for machine in table.conditions.machines.values()],
        "versions": sorted({record.snnbench for record in records}),
        "cases": len(rows) + len(missing),
        "without": len(missing),
        "groups": len(table.conditions.groups),
        "counts": [(status, KINDS[status], counts[status]) for status in KINDS if counts[status]],
    }


def date(text: str) -> str:
    return text.replace("T", " ").replace("+00:00", " UTC")


def trust(table: Table, unreadable: Sequence[str], missing: Sequence[str]) -> list[dict[str, Any]]:
    """Returns sentences, each `good`, a `note` or a `doubt`, with the names of their rows and a
    doubt's `brief` form."""
    rows, conditions = table.rows, table.conditions
    ranked_entries = [entry for entry in table.entries if entry.row.rankable]
    ranked = [entry.row for entry in ranked_entries]
    names = conditions.name
    sentences: list[dict[str, Any]] = []

    def say(kind: str, text: str, items: Iterable[str] = (), brief: str = "") -> None:
        sentences.append({"kind": kind, "text": text, "rows": list(items), "brief": brief})

    text = " ".join(
        [f"{len(ranked)} of {counted(len(rows) + len(missing), 'case')} ranked.", *_proofs(ranked)]
    )
    natives = [row for row in rows if row.sound and row.case.native]
    say("good" if ranked else "note" if natives else "doubt", text, brief="nothing is ranked")
    if natives:
        proved = (
            "each framework's own neuron, proved to have the right time axis, without an oracle"
        )
        count = counted(len(natives), "native case")
        text = f"{count} in tables of their own, never ranked: {proved}."
        say("note", text, map(names, natives))
    reasons = {
        "check_failed": "because the proof failed",
        "implausible": "because a time cannot be true",
    }
    for status in REFUSED:
        if refused := [row for row in rows if row.status == status]:
            same = {reason_of(row) for row in refused}
            why = f"{reasons[status]} ({status}){f': {same.pop()}' if len(same) == 1 else ''}"
            items = [f"{names(row)}: {reason_of(row)}" for row in refused]
            text = f"{counted(len(refused), 'case')} refused {why}."
            say("doubt", text, items, f"{len(refused)} {status}")
    if ranked and not any(row.status in REFUSED for row in rows):
        say("good", "Nothing was refused: no proof failed, and no time is one that cannot be true.")
    flags: dict[str, list[Row]] = defaultdict(list)
    for entry in ranked_entries:
        for flag in entry.values["quality"].split():
            if flag != "disturbed" or not entry.row.unclean:
                flags[flag].append(entry.row)
    for flag, members in flags.items():
        word, meaning = FLAGS[flag]
        share = f"{len(members)} of {counted(len(ranked), 'ranked row')}"
        kind = "doubt" if len(members) >= len(ranked) / 2 else "note"
        say(kind, f"{word[0].upper()}{word[1:]} ({share}): {meaning}.", map(names, members), word)
    disturbed = grouped((row for row in ranked if row.unclean), lambda row: row.unclean)
    for why, unclean in disturbed.items():
        text = (
            f"{counted(len(unclean), 'ranked row')} with {why}; such a time has no interval, and "
            "decides a rank only where the CPU times of several blocks, or most passes at a factor "
            "of an early stop, agree with it."
        )
        say("doubt", text, map(names, unclean), why.partition(":")[0])
    if ranked and not flags and not disturbed:
        say("good", "No ranked row is flagged as unstable.")
    for sentence in _blocks(ranked_entries, table.timed, names):
        say(*sentence)
    clocks = sorted({entry.values["device_clock"] or "" for entry in ranked_entries} - {""})
    if clocks:
        words = "; ".join(CLOCKS.get(clock, clock) for clock in clocks)
        wall = "Times are host wall time until every result is ready."
        say("note", f"{wall} The device clock that explains them: {words}.")
    if len(conditions.machines) > 1:
        say("note", f"{len(conditions.machines)} machines: their times are never ranked together.")
    if overhead := _overhead(rows):
        say(*overhead)
    if unreadable:
        text = f"Left out: {counted(len(unreadable), 'file')} that could not be read."
        say("doubt", text, unreadable, "files that could not be read")
    if missing:
        why = "the run was interrupted, or a part of it is elsewhere"
        text = f"Missing: {counted(len(missing), 'planned case')} without a record: {why}."
        say("doubt", text, missing, f"{len(missing)} without a record")
    return sentences


def _proofs(ranked: Sequence[Row]) -> list[str]:
    """Returns sentences on the proofs of the ranked rows, apart for networks and deliveries."""
    sentences = []
    if any(not row.case.delivers_data for row in ranked):
        sentences.append(
            "Every ranked row was first proved to compute the same network as the float64 oracle: "
            "decisions and gradients agree within the limits of its precision."
        )
    if any(row.case.delivers_data for row in ranked):
        subject = "delivery of data" if sentences else "row"
        sentences.append(
            f"Every ranked {subject} was first proved: its frames and labels equal tonic's, "
            "element by element."
        )
    return sentences


def caveats(table: Table, sentences: Sequence[dict[str, Any]], missing: Sequence[str] = ()) -> str:
    """Returns all doubts in one line; `missing` cases count as planned."""
    ranked = sum(row.rankable for row in table.rows)
    doubts = [sentence["brief"] for sentence in sentences if sentence["kind"] == "doubt"]
    why = (
        f"{counted(len(doubts), 'reason')} to doubt: {', '.join(doubts)}"
        if doubts
        else "no reason to doubt was found"
    )
    planned = len(table.rows) + len(missing)
    return f"{ranked} of {counted(planned, 'case')} ranked, each proved first; {why}"


def _blocks(
    ranked: list[Entry], timed: str, name: Callable[[Row], str]
) -> Iterator[tuple[Any, ...]]:
    """Returns a sentence on blocks, passes, their distances and the disturbed slots of the ranked
    rows."""
    if not ranked:
        return
    rows = [entry.row for entry in ranked]
    counts = sorted({entry.values["blocks"] for entry in ranked})
    if counts == [1]:
        unknown = "how much one process, or one minute, differs from the next is unknown"
        text = f"One block only: {unknown}. No rank is decided."
        yield "doubt", text, [], "one block only"
    else:
        blocks = f"{' or '.join(map(str, counts))} blocks"
        text = f"{blocks} for each ranked row, each of fresh processes."
        yield "good" if counts[0] >= FEWEST_BLOCKS else "note", text
    apart = [row for row in rows if any(record.live_set is None for record in row.records)]
    if apart:
        text = (
            "timed one after the other, not in turns: minutes between two cases are a part of "
            "their ratio"
        )
        kind = "doubt" if len(apart) > len(rows) / 2 else "note"
        text = f"{counted(len(apart), 'ranked row')} {text}."
        yield kind, text, [*map(name, apart)], "timed one after the other"
    else:
        cancels = "what slows the machine for all cancels out"
        yield "good", f"All rows of a group were alive at once and timed in turns: {cancels}."
    slots = sum(entry.values["slots"] for entry in ranked)
    disturbed = sum(
        round(entry.values["slots"] * entry.values["disturbed_share"]) for entry in ranked
    )
    if disturbed:
        text = (
            f"{disturbed} of {counted(slots, 'slot')} of the {timed} were disturbed, by other "
            "programs or a slowed device"
        )
        counting = " but where a row has too few others" if any(row.unclean for row in rows) else ""
        yield "note", f"{text}; they do not count{counting}."
    if undecided := [row for row in rows if row.standing and row.standing.note]:
        notes = dict.fromkeys(row.standing.note for row in undecided if row.standing)
        count = counted(len(undecided), "row")
        text = f"{count} in groups without a decided rank ({'; '.join(notes)})."
        yield "doubt", text, [*map(name, undecided)], "ranks that are not decided"


def _overhead(rows: list[Row]) -> tuple[Any, ...] | None:
    records = [record for row in rows for record in row.records]
    spent = [record.overhead_s for record in records if record.overhead_s is not None]
    empty = [null_s for record in records if (null_s := record.monitor.get("null_s")) is not None]
    parts, promise_held = [], max(spent, default=0.0) < PROMISED_OVERHEAD_S
    if spent:
        middle, promised = units.seconds(median(spent)), units.seconds(PROMISED_OVERHEAD_S)
        most = units.most_seconds(max(spent))
        parts.append(
            f"Outside import, build, proof and measurement snnbench itself took {middle} (median) "
            f"and at most {most} per case and block, {'less' if promise_held else 'more'} than "
            f"the {promised} that it promises; no time contains it."
        )
    if empty:
        parts.append(
            f"Starting a process that does nothing takes {units.seconds(median(empty))}, counted "
            "nowhere either."
        )
    kind = "note" if promise_held else "doubt"
    return (kind, " ".join(parts), [], "overhead of snnbench itself") if parts else None
