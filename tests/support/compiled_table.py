"""Generates the table of docs/compiled.md: each framework compiled against itself."""

from collections.abc import Callable
from math import ceil, exp, inf

from snnbench.common import units
from snnbench.report.columns.metric import Entry
from snnbench.report.figures.cold_start import seconds_to_start
from snnbench.report.figures.figure import paid_off_after
from snnbench.report.table import Table
from snnbench.report.tables.markdown import line

HEAD = (
    *("framework", "step", "compiled", "as fast compiled", "memory", "compiled"),
    *("starts", "compiled", "steps until that is amortised"),
)


def compiled_text(table: Table) -> str:
    """Returns a table for every comparison group with compiled frameworks, in order of their steps.
    Those that compile always, and those that failed, are rows with one side."""
    texts = []
    for title, group in table.comparison_groups():
        compiled = [entry for entry in group if entry.values["mode"] == "compile"]
        if not compiled:
            continue
        eager = {entry.variant: entry for entry in group if entry not in compiled}
        lines = [
            _line(table, group, eager.pop(entry.variant.removesuffix(":compile"), None), entry)
            for entry in compiled
        ]
        lines += [_line(table, group, entry, None) for entry in eager.values()]
        texts += [f"**{title}**", "", line(HEAD), line([":--", *["--:"] * (len(HEAD) - 1)])]
        texts += [*lines, ""]
    return "\n".join(texts)


def _line(table: Table, group: list[Entry], eager: Entry | None, compiled: Entry | None) -> str:
    sides = eager, compiled
    fast = after = ""
    if eager and compiled and eager.row.sound and compiled.row.sound:
        timed = [entry for entry in group if entry.row.sound and entry is not eager]
        ratio = table.compared("step", eager, timed)[timed.index(compiled)]
        fast = units.ratio(exp(-ratio.estimate), exp(-ratio.high), exp(-ratio.low))
        later = seconds_to_start(compiled) - seconds_to_start(eager)
        calls = paid_off_after(later, eager.values["step_s"], ratio)
        after = "undecided" if calls is None else "never" if calls == inf else f"{ceil(calls):,}"
    cells = [
        *(_step(entry) for entry in sides),
        fast,
        *(_cell(entry, lambda e: units.size(e.values["peak_memory_bytes"])) for entry in sides),
        *(_cell(entry, lambda e: units.seconds(seconds_to_start(e))) for entry in sides),
        after,
    ]
    name = next(entry.variant for entry in sides if entry)
    return line([name.removesuffix(":compile"), *cells])


def _step(entry: Entry | None) -> str:
    if entry is None:
        return ""
    return units.seconds(entry.values["step_s"]) if entry.row.sound else entry.row.status


def _cell(entry: Entry | None, text: Callable[[Entry], str]) -> str:
    return text(entry) if entry and entry.row.sound else ""
