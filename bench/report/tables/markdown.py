"""The ranking tables as Markdown, for READMEs and pull requests."""

from collections.abc import Iterable

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


def line(cells: Iterable[str]) -> str:
    """One line of a Markdown table."""
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def plain(text: str) -> str:
    """`text` from outside, in which Markdown is to see no HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;")
