"""The ranking tables as Markdown, for READMEs and pull requests."""

from collections.abc import Iterable

from ..columns.metric import NATIVES, NATIVES_IN_MARKDOWN, SUMMARY, Entry, Metric
from ..table import Table
from ..words import reason_of


def markdown_text(table: Table) -> str:
    """Returns a table for each comparison group, the fastest first; native neurons stand apart,
    unranked."""
    return "\n".join(_ranking(table, title, group) for title, group in table.comparison_groups())


def _ranking(table: Table, title: str, group: list[Entry]) -> str:
    native = group[0].native
    metrics = table.metrics_of(group, *((NATIVES, NATIVES_IN_MARKDOWN) if native else (SUMMARY,)))
    heads = [metric.head for metric in metrics]
    rows = [heads, ["--:" if metric.number else ":--" for metric in metrics]]
    rows += [[_cell(metric, entry) for metric in metrics] for entry in group]
    frameworks = ["framework", ":--", *(entry.variant for entry in group)]
    for row, framework in zip(rows, frameworks, strict=True):
        row.insert(1 if metrics[0].name == "rank_low" else 0, framework)  # behind its rank
    heading = f"**{title}**" + (", not ranked" if native else "")
    return "\n".join([heading, "", *map(line, rows), ""])


def _cell(metric: Metric, entry: Entry) -> str:
    if metric.name == "status":
        return plain(": ".join(filter(None, (entry.row.status, reason_of(entry.row)))))
    return plain(metric.short_text(entry))


def line(cells: Iterable[str]) -> str:
    """Returns one line of a Markdown table."""
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def plain(text: str) -> str:
    """Escapes HTML in `text` for Markdown."""
    return text.replace("&", "&amp;").replace("<", "&lt;")
