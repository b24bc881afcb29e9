"""The answer of a report in a few sentences: the fastest framework, how sure that is, and the
fastest third-party one."""

from collections import Counter
from collections.abc import Sequence

from ...common import units
from ...records.rows import Row, grouped
from ..answer import OURS, fastest, is_level
from ..columns.metric import Entry
from ..table import Table

NOTHING = "Nothing is ranked: no case was proved and timed."
NATIVE = "Nothing is ranked: each framework's own neuron is another network."
MOST_NAMES = 4
Group = list[Entry]
"""Ranked cases of one comparison group, the fastest first."""


def answer(table: Table) -> list[str]:
    """Returns sentences on the ranked steps of each precision, the most important first.

    With one group: `The fastest is fused (ours): 1.08 ms a step (1.07–1.09), with 2 MiB of memory.`
    """
    groups = [ranked for _, group in table.comparison_groups() if (ranked := _ranked(group))]
    if not groups:
        return [
            NATIVE if any(entry.native and entry.row.sound for entry in table.entries) else NOTHING
        ]
    sentences = []
    kinds = grouped(groups, lambda group: (group[0].row.case.precision, group[0].row.delivers))
    several = len({precision for precision, _ in kinds}) > 1
    for (precision, delivers), of_kind in kinds.items():
        sentences += _of(
            of_kind,
            "over an epoch" if delivers else "at a step",
            f"{precision}: " if several else "",
        )
    return sentences


def _ranked(group: Sequence[Entry]) -> Group:
    standing = [(entry.row.standing.place, entry) for entry in group if entry.row.standing]
    return [entry for _, entry in sorted(standing, key=lambda place_and_entry: place_and_entry[0])]


def _of(groups: list[Group], when: str, before: str) -> list[str]:
    if len(groups) == 1:
        return [before + text for text in _one(groups[0], when)]
    decided = [group for group in groups if _decided(group)]
    sentences = [f"{before}{_counted(groups, decided, f'fastest {when}')}.{_margins(decided)}"]
    if not decided and (
        level := Counter(
            _name(entry.row) for group in groups for entry in group if is_level(entry.row)
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


def _name(row: Row) -> str:
    return f"{row.case.framework_variant} (ours)" if _ours(row) else row.case.framework_variant


def _decided(group: Group) -> bool:
    """Returns whether the first case is shown to be faster than all others."""
    return len(group) > 1 and not any(is_level(entry.row) for entry in group[1:])


def _beats_all(group: Group) -> bool:
    """Returns the same for cases that are not a whole group."""
    return len(group) > 1 and {entry.variant for entry in group[1:]} <= {
        *group[0].row.surely_slower
    }


def _one(group: Group, when: str) -> list[str]:
    first = group[0].row
    if len(group) == 1:
        return [
            f"{_name(first)} alone is ranked {when}: {units.seconds(group[0].values['step_s'])}."
        ]
    level = [entry.row for entry in group[1:] if is_level(entry.row)]
    slower = [entry for entry in group[1:] if not is_level(entry.row)]
    behind = (
        f" {_name(slower[0].row)}, the next, takes {_times(slower[0])} its time." if slower else ""
    )
    note = first.standing.note if first.standing else ""
    return [
        fastest(first, level, _name, MOST_NAMES)
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
    (name, count), *others = Counter(_name(group[0].row) for group in decided).most_common()
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
