"""Answers in a few sentences, on one comparison group and on a whole report: the fastest case, its
margin, its memory, and how sure that is."""

from collections import Counter
from collections.abc import Callable, Sequence

from ..common import units
from ..common.texts import cut
from ..records.rows import Row, grouped
from .columns.metric import Entry
from .table import Table
from .words import FLAGS

OURS = ("fused", "frames")
"""This project's own frameworks: its kernels and its data loading."""
MOST_OF_A_REASON = 160
NOTHING = "Nothing is ranked: no case was proved and timed."
NATIVE = "Nothing is ranked: each framework's own neuron is another network."
MOST_NAMES = 4
Group = list[Entry]
"""Ranked cases of one comparison group, the fastest first."""


def answer(rows: Sequence[Row]) -> list[str]:
    """Returns sentences on the ranked cases and on the missing ones with their reasons."""
    ranked = sorted(
        (row for row in rows if row.standing),
        key=lambda row: row.standing.place if row.standing else 0,
    )
    if not ranked:
        return ["No answer: nothing could be ranked; the table says why.", *_missing(rows)]
    best, *others = ranked
    level = [row for row in others if is_level(row)]
    stopped = [row for row in others if row.first.beyond]
    later = [row for row in others if row not in level and row not in stopped]
    return [
        fastest(best, level),
        *(f"{_name(row)} takes {_ratio(row)} times as long, with {_memory(row)}." for row in later),
        *_stopped(stopped),
        *_leanest(best, others),
        _sure(best, level, len(others)),
        *_missing(rows),
    ]


def _name(row: Row) -> str:
    return row.case.framework_variant


def is_level(row: Row) -> bool:
    """Returns whether the case is not shown to be slower than the best of its group."""
    return row.standing is not None and row.standing.best == 1


def fastest(
    best: Row, level: Sequence[Row], name: Callable[[Row], str] = _name, most: int | None = None
) -> str:
    """Returns the sentence on the fastest case, or on a tie with the `level` ones, of which `most`
    are named."""
    time = best.estimates["step"]
    between = (
        f" ({units.seconds_between(time.low, time.high)})"
        if time.low is not None and time.high is not None
        else ""
    )
    word = "an epoch" if best.case.delivers_data else "a step"
    figures = (
        f"{units.seconds(time.seconds)} "
        f"{word}{between}{'' if best.case.delivers_data else f', with {_memory(best)}'}"
    )
    if not level:
        return f"The fastest is {name(best)}: {figures}."
    rivals = [f"{name(row)} ({_ratio(row)} times as long)" for row in level[:most]]
    more = [f"{len(level) - len(rivals)} more"] if len(level) > len(rivals) else []
    return (
        f"Not decided: {name(best)} took {figures}, and is not shown to be faster than "
        f"{', '.join([*rivals, *more])}."
    )


def _ratio(row: Row) -> str:
    standing = row.standing
    assert standing is not None
    return units.ratio(standing.ratio, standing.low, standing.high, sign="")


def _memory(row: Row) -> str:
    size = row.most_memory("peak")
    return "unknown memory" if size is None else f"{units.size(size)} of memory"


def _stopped(rows: Sequence[Row]) -> list[str]:
    bounds = sorted({row.first.beyond for row in rows if row.first.beyond})
    named = {
        bound: ", ".join(_name(row) for row in rows if row.first.beyond == bound)
        for bound in bounds
    }
    return [
        f"Shown to take more than {bound:g} times as long, and timed no more: {names}."
        for bound, names in named.items()
    ]


def _leanest(best: Row, others: Sequence[Row]) -> list[str]:
    """Returns a sentence on a case with less memory than the fastest, by the same meaning of
    memory."""
    alike = [row for row in others if row.first.memory_meaning == best.first.memory_meaning]
    sizes = [(size, row) for row in alike if (size := row.most_memory("peak")) is not None]
    least = min(sizes, key=lambda size_and_row: size_and_row[0], default=None)
    own_size = best.most_memory("peak")
    if least is None or own_size is None or least[0] >= own_size:
        return []
    return [f"The least memory is {_name(least[1])}'s: {units.size(least[0])}."]


def _sure(best: Row, level: Sequence[Row], others: int) -> str:
    assert best.standing is not None
    if not others:
        return "How sure: there is no other case to compare it with."
    if best.standing.note:
        return f"How sure: not at all ({best.standing.note})."
    flags = list(dict.fromkeys(flag for row in (best, *level) for flag in row.quality))
    doubts = f"; to be doubted: {', '.join(FLAGS[flag][0] for flag in flags)}" if flags else ""
    blocks = f"{len(best.records)} sets of fresh processes"
    return (
        f"How sure: 95 % intervals over {blocks}; of twenty such tables one may hold a wrong "
        f"verdict{doubts}."
    )


def _missing(rows: Sequence[Row]) -> list[str]:
    """Returns sentences on unranked cases; unsupported ones are only named."""
    failed = [row for row in rows if row.status not in ("ok", "unsupported")]
    cannot = [row for row in rows if row.status == "unsupported"]
    sentences = [f"Missing: {'; '.join(map(_failure, failed))}."] if failed else []
    return sentences + (
        [f"Unsupported by {', '.join(map(_name, cannot))}; the table says why."] if cannot else []
    )


def _failure(row: Row) -> str:
    record = next(record for record in row.records if record.status == row.status)
    load, cores = record.monitor.get("load_average"), record.machine.get("usable_threads")
    busy = (
        f", at a load of {load:.1f} on {cores} cores"
        if row.status == "timeout" and load is not None and cores
        else ""
    )
    return (
        f"{_name(row)} ({row.status}: "
        f"{cut(row.reason or 'no reason is known', MOST_OF_A_REASON)}{busy})"
    )


def report_answer(table: Table) -> list[str]:
    """Returns sentences on the ranked steps of each precision, the most important first.

    With one group: `The fastest is fused (ours): 1.08 ms a step (1.07–1.09), with 2 MiB of memory.`
    """
    groups = [ranked for _, group in table.comparison_groups() if (ranked := _ranked(group))]
    if not groups:
        return [
            NATIVE if any(entry.native and entry.row.sound for entry in table.entries) else NOTHING
        ]
    sentences = []
    kinds = grouped(
        groups, lambda group: (group[0].row.case.precision, group[0].row.case.delivers_data)
    )
    several = len({precision for precision, _ in kinds}) > 1
    for (precision, delivers), of_kind in kinds.items():
        sentences += _of_kind(
            of_kind,
            "over an epoch" if delivers else "at a step",
            f"{precision}: " if several else "",
        )
    return sentences


def _ranked(group: Sequence[Entry]) -> Group:
    standing = [(entry.row.standing.place, entry) for entry in group if entry.row.standing]
    return [entry for _, entry in sorted(standing, key=lambda place_and_entry: place_and_entry[0])]


def _of_kind(groups: list[Group], when: str, before: str) -> list[str]:
    if len(groups) == 1:
        return [before + text for text in _of_group(groups[0], when)]
    decided = [group for group in groups if _decided(group)]
    sentences = [f"{before}{_counted(groups, decided, f'fastest {when}')}.{_margins(decided)}"]
    if not decided and (
        level := Counter(
            _marked_name(entry.row) for group in groups for entry in group if is_level(entry.row)
        )
    ):
        named = [f"{name} in {number}" for name, number in level.most_common(MOST_NAMES)]
        named += [f"{len(level) - MOST_NAMES} more"] if len(level) > MOST_NAMES else []
        sentences.append(f"{before}Not shown to be slower than the first: {', '.join(named)}.")
    others = [
        rest for group in groups if (rest := [entry for entry in group if not _ours(entry.row)])
    ]
    if others and any(_ours(group[0].row) for group in decided):
        clear = [group for group in others if _beats_all(group)]
        sentences.append(f"{before}{_counted(others, clear, 'fastest of the others')}.")
    return sentences


def _ours(row: Row) -> bool:
    return row.case.framework.partition(" ")[0] in OURS


def _marked_name(row: Row) -> str:
    return _name(row) + " (ours)" * _ours(row)


def _decided(group: Group) -> bool:
    """Returns whether the first case is shown to be faster than all others."""
    return len(group) > 1 and not any(is_level(entry.row) for entry in group[1:])


def _beats_all(group: Group) -> bool:
    """Returns the same for cases that are not a whole group."""
    return len(group) > 1 and {entry.variant for entry in group[1:]} <= {
        *group[0].row.surely_slower
    }


def _of_group(group: Group, when: str) -> list[str]:
    first = group[0].row
    if len(group) == 1:
        time = units.seconds(group[0].values["step_s"])
        return [f"{_marked_name(first)} alone is ranked {when}: {time}."]
    level = [entry.row for entry in group[1:] if is_level(entry.row)]
    slower = [entry for entry in group[1:] if not is_level(entry.row)]
    behind = (
        f" {_marked_name(slower[0].row)}, the next, takes {_times(slower[0])} its time."
        if slower
        else ""
    )
    note = first.standing.note if first.standing else ""
    return [
        fastest(first, level, _marked_name, MOST_NAMES)
        + behind
        + (f" Nothing is decided here ({note})." if note else "")
    ]


def _times(entry: Entry) -> str:
    ratio, low, high = (entry.values[name] for name in ("ratio", "ratio_low", "ratio_high"))
    return units.ratio(ratio, low, high, sign=" times")


def _counted(groups: list[Group], decided: list[Group], what: str) -> str:
    """Returns `fused (ours) is fastest in 5 of 8 conditions, jax in 1; in 1 it is not decided`."""
    total, alone = len(groups), sum(len(group) == 1 for group in groups)
    undecided = total - len(decided) - alone
    rest = [f"in {undecided} it is not decided{_notes(groups)}"] if undecided else []
    rest += [f"in {alone} only one case is ranked"] if alone else []
    if not decided:
        nowhere = "in either condition" if total == 2 else f"in any of {total} conditions"
        return "; ".join(
            [f"The {what} is not decided {nowhere}{_notes(groups)}", *rest[bool(undecided) :]]
        )
    (name, count), *others = Counter(_marked_name(group[0].row) for group in decided).most_common()
    where = f"{count} of {total}" if count < total else "both" if total == 2 else f"all {total}"
    first = f"{name} is {what} in {where} conditions"
    named = [f"{other} in {number}" for other, number in others[:MOST_NAMES]]
    remaining = sum(number for _, number in others[MOST_NAMES:])
    named += [f"{len(others) - MOST_NAMES} more in {remaining}"] if remaining else []
    return "; ".join([", ".join([first, *named]), *rest])


def _notes(groups: list[Group]) -> str:
    """Returns the known reasons of undecided groups."""
    notes = dict.fromkeys(
        note
        for group in groups
        if (note := group[0].row.standing.note if group[0].row.standing else "")
    )
    return f" ({'; '.join(notes)})" if notes else ""


def _margins(decided: list[Group]) -> str:
    """Returns how far the second case is behind in decided groups."""
    ratios = sorted(
        {units.ratio(group[1].values["ratio"], sign="") for group in decided}, key=float
    )
    return (
        f" The next takes {' to '.join([ratios[0], *ratios[1:][-1:]])} times its time."
        if ratios
        else ""
    )
