"""The answer of a report in a few sentences: who is fastest at a step, how sure that is, and who is best of what others made."""

from collections import Counter
from collections.abc import Sequence

from ... import units
from ...records.rows import grouped
from ..metric import Entry
from ..table import Table

NOTHING = "Nothing is ranked: no case was proved and timed at a step."
OURS = "fused"
"""The framework of this project's own kernels, whatever version stands behind its name."""
MOST_NAMES = 4


def answer(table: Table) -> list[str]:
    """Sentences on the ranked steps, of each precision its own, the most important first.

    With one group of cases: `fused (ours) is fastest at a step: 1.08 ms, 1.46 times (1.42–1.50) as fast as jax.`
    """
    groups = [ranked for _, group in table.comparison_groups() if (ranked := _ranked(group))]
    if not groups:
        return [NOTHING]
    sentences = []
    by_precision = grouped(groups, lambda group: group[0].row.case.precision)
    for precision, own in by_precision.items():
        sentences += _of(own, f"{precision}: " if len(by_precision) > 1 else "")
    return sentences


def _ranked(group: Sequence[Entry]) -> list[Entry]:
    """The fastest first."""
    standing = [(entry.row.standing.place, entry) for entry in group if entry.row.standing]
    return [entry for _, entry in sorted(standing, key=lambda one: one[0])]


def _of(groups: list[list[Entry]], before: str) -> list[str]:
    if len(groups) == 1:
        sentences = [before + _one(groups[0])]
    else:
        sentences = [f"{before}{_counted(groups, 'fastest at a step')}.{_margins(groups)}"]
    others = [rest for group in groups if (rest := [entry for entry in group if not _ours(entry)])]
    if others and any(_ours(group[0]) for group in groups) and len(groups) > 1:
        sentences.append(f"{before}{_counted(others, 'fastest of the others')}.")
    return sentences


def _ours(entry: Entry) -> bool:
    return entry.row.case.framework.partition(" ")[0] == OURS


def _name(entry: Entry) -> str:
    return f"{entry.variant} (ours)" if _ours(entry) else entry.variant


def _level(group: list[Entry]) -> list[Entry]:
    """Who is not shown to be slower than the fastest, which is the first of them."""
    return [entry for entry in group if entry.row.standing and (entry is group[0] or entry.row.standing.best == 1)]


def _one(group: list[Entry]) -> str:
    first, level = group[0], _level(group)
    slower = [entry for entry in group if entry not in level]
    time = units.seconds(first.values["step_s"])
    weight = units.size(first.values["step_peak_memory_bytes"])
    size = f" and {weight}" if weight else ""
    if len(group) == 1:
        return f"{_name(first)} alone is ranked at a step: {time}{size}."
    if len(level) > 1:
        behind = f"; {_name(slower[0])} takes {_times(slower[0])} its time" if slower else ""
        return f"{_listed([*map(_name, level)])} are level at a step: {time}{size} for {_name(first)}{behind}."
    return f"{_name(first)} is fastest at a step: {time}{size}. {_name(slower[0])}, the next, takes {_times(slower[0])} its time."


def _times(entry: Entry) -> str:
    ratio, low, high = (entry.values[name] for name in ("ratio", "ratio_low", "ratio_high"))
    interval = f" ({low:.2f}–{high:.2f})" if low is not None and high is not None else ""
    return f"{ratio:.2f} times{interval}"


def _counted(groups: list[list[Entry]], what: str) -> str:
    """`fused (ours) is fastest in 5 of 6 conditions, jax in 1`."""
    counts = Counter(_name(group[0]) for group in groups).most_common()
    (name, count), *others = counts
    total = len(groups)
    first = f"{name} is {what} in {'all' if count == total else f'{count} of'} {total} conditions"
    rest = [f"{other} in {number}" for other, number in others[:MOST_NAMES]]
    more = [f"{len(others) - MOST_NAMES} more in the others"] if len(others) > MOST_NAMES else []
    return ", ".join([first, *rest, *more])


def _margins(groups: list[list[Entry]]) -> str:
    """How far the next is behind, where it surely is, and in how many conditions it is not."""
    clear = [group[1].values["ratio"] for group in groups if len(group) > 1 and len(_level(group)) == 1]
    tied = sum(len(_level(group)) > 1 for group in groups)
    said = []
    if clear:
        span = f"{min(clear):.2f} to {max(clear):.2f}" if f"{min(clear):.2f}" != f"{max(clear):.2f}" else f"{min(clear):.2f}"
        said.append(f"the next takes {span} times its time")
    if tied:
        said.append(f"in {tied} the first are level, not shown to differ")
    text = "; ".join(said)
    return f" {text[0].upper()}{text[1:]}." if text else ""


def _listed(names: list[str]) -> str:
    if len(names) > MOST_NAMES:
        names = [*names[:MOST_NAMES], f"{len(names) - MOST_NAMES} more"]
    return " and ".join([", ".join(names[:-1]), names[-1]])
