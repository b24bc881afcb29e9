"""The ranking tables as Markdown, for READMEs and pull requests, and who takes how much memory."""

from collections.abc import Iterable
from operator import attrgetter

from snnbench.adapters.base.case import PHASES

from ... import units
from ...records.rows import Row
from ..coverage import reason_of
from ..metric import NATIVES, NATIVES_IN_MARKDOWN, SUMMARY, Entry, Metric
from ..table import Table


def markdown_text(table: Table) -> str:
    """A table for each comparison group, the fastest first; native neurons are in tables of their own, without ranks."""
    return "\n".join(_ranking(table, title, group) for title, group in table.comparison_groups())


def _ranking(table: Table, title: str, group: list[Entry]) -> str:
    native = group[0].native
    shown = table.shown_in(NATIVES, NATIVES_IN_MARKDOWN) if native else table.shown_in(SUMMARY)
    numbers = [metric.number for metric in shown]
    name = 1 if shown[0].name == "rank" else 0  # the framework stands behind its rank
    heads = [metric.head for metric in shown]
    lines = [
        f"**{title}**" + (", not ranked" if native else ""),
        "",
        line([*heads[:name], "framework", *heads[name:]]),
        line(["--:" if number else ":--" for number in (*numbers[:name], False, *numbers[name:])]),
    ]
    for entry in group:
        cells = [_cell(metric, entry) for metric in shown]
        lines.append(line([*cells[:name], entry.variant, *cells[name:]]))
    return "\n".join([*lines, ""])


def _cell(metric: Metric, entry: Entry) -> str:
    if metric.name == "status":
        return plain(": ".join(filter(None, (entry.row.status, reason_of(entry.row)))))
    return plain(metric.short_text(entry))


def memory_text(table: Table) -> str:
    """Bytes beyond arguments and outputs, the leanest first, and in a sentence the leanest row against another framework's.

    One table for every comparison group. Only what was proved has figures; the others stand below with the reason.
    """
    return "\n".join(_weights(title, [entry.row for entry in group]) for title, group in table.comparison_groups())


def _weights(title: str, rows: list[Row]) -> str:
    weighed = sorted((row for row in rows if row.proved and row.extra_memory is not None), key=attrgetter("extra_memory"))
    others = [row for row in rows if row not in weighed]
    phases = [phase for phase in PHASES if any(phase in row.first.memory for row in weighed)]
    lines = [f"**{title}**", "", line(["framework", *phases]), line([":--", *["--:"] * len(phases)])]
    for row in weighed:
        sizes = [row.first.memory.get(phase, {}).get("extra_bytes") for phase in phases]
        lines.append(line([row.case.framework_variant, *map(units.size, sizes)]))
    lines += ["", *(f"* {row.case.framework_variant}: {row.status}: {reason_of(row)}" for row in others)]
    return "\n".join([*lines, *(["", sentence] if (sentence := _leanest(weighed)) else []), ""])


def _leanest(weighed: list[Row]) -> str | None:
    """What the first of `weighed` takes, and which share that is of the leanest row of another framework."""
    other = next((row for row in weighed if row.case.framework != weighed[0].case.framework), None)
    if other is None or not other.extra_memory:
        return None
    first, share = weighed[0], (weighed[0].extra_memory or 0) / other.extra_memory
    return (
        f"Beyond arguments and outputs `{first.case.framework_variant}` takes {units.size(first.extra_memory)}, "
        f"{share:.1%} of the {units.size(other.extra_memory)} of the leanest other framework, "
        f"`{other.case.framework_variant}`."
    )


def line(cells: Iterable[str]) -> str:
    """One line of a Markdown table."""
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def plain(text: str) -> str:
    """`text` from outside, in which Markdown is to see no HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;")
