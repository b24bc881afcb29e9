"""The table at the end of a run: ranked inside each group, with what could not be ranked and why."""

from collections.abc import Iterable
from itertools import groupby

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from . import units
from .rows import Row, comparison_group

COLOURS = {"ok": "green", "unsupported": "dim", "pruned": "dim"}


def print_tables(rows: list[Row], console: Console) -> None:
    for _, group in groupby(rows, key=comparison_group):
        console.print(_table(list(group)))


def title(row: Row) -> str:
    case = row.case
    sizes = f"N={case.neurons} T={case.time_steps} B={case.batch}" + (f" L={case.layers}" if case.layers > 1 else "")
    extras = [case.input, *([] if case.bias else ["no bias"]), *([] if case.input_grad else ["no input gradient"])]
    return f"neuron {case.neuron.label()} · {case.workload} · {sizes} · {case.precision} · {case.device} · {', '.join(extras)}"


def _table(group: list[Row]) -> Table:
    table = Table(title=escape(title(group[0])), title_justify="left", title_style="bold")
    for name, right in (("#", 1), ("framework", 0), ("step", 1), ("95 % interval", 1), ("× best", 1)):
        table.add_column(name, justify="right" if right else "left", no_wrap=name in ("#", "step", "× best"))
    for name in ("forward", "backward", "memory"):
        table.add_column(name, justify="right")
    table.add_column("status")
    for row in group:
        table.add_row(*_cells(row))
    return table


def _cells(row: Row) -> Iterable[str]:
    figures = {phase: row.estimates.get(phase) for phase in ("step", "forward", "backward")}
    step = figures["step"] if row.rankable else None
    state = f"[{COLOURS.get(row.status, 'red')}]{row.status}[/]"
    if row.reason:
        state += " " + escape(shorten(row.reason))
    return (
        str(row.rank or ""),
        escape(row.case.framework_variant),
        units.seconds(step.median) if step else "",
        f"{units.seconds(step.low)} – {units.seconds(step.high)}" if step else "",
        f"{row.ratio:.2f}" if row.ratio else "",
        *(units.seconds(figures[p].median) if figures[p] and row.rankable else "" for p in ("forward", "backward")),
        units.size(row.extra_memory),
        state,
    )


def shorten(text: str, width: int = 60) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
