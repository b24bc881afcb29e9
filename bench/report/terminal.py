"""The table at the end of a run: ranked inside each group, with what could not be ranked and why."""

from collections.abc import Iterable
from itertools import groupby

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from . import units
from .rows import Row, comparison_group

WIDE = 100
COLOURS = {"ok": "green", "unsupported": "dim", "pruned": "dim"}


def print_tables(rows: list[Row], console: Console) -> None:
    """Tables by group; below each, why a row has no figures."""
    for _, members in groupby(rows, key=comparison_group):
        group = list(members)
        console.print(_table(group, console.width))
        for row in group:
            if row.status != "ok":
                console.print(f"  {escape(row.case.framework_variant)}: {escape(row.reason or row.status)}", highlight=False)
        console.print()


def title(row: Row) -> str:
    case = row.case
    sizes = f"N={case.neurons} T={case.time_steps} B={case.batch}" + (f" L={case.layers}" if case.layers > 1 else "")
    extras = [case.input, *([] if case.bias else ["no bias"]), *([] if case.input_grad else ["no input gradient"])]
    return f"neuron {case.neuron.label()} · {case.workload} · {sizes} · {case.precision} · {case.device} · {', '.join(extras)}"


def _table(group: list[Row], width: int) -> Table:
    table = Table(title=escape(title(group[0])), title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    interval = ["95 % interval"] if width >= WIDE else []
    for name in ("#", "framework", "step", *interval, "× best", "forward", "backward", "memory"):
        table.add_column(name, justify="left" if name == "framework" else "right", no_wrap=True)
    table.add_column("status", no_wrap=True)
    for row in group:
        table.add_row(*_cells(row, width))
    return table


def _cells(row: Row, width: int) -> Iterable[str]:
    figures = {phase: row.estimates.get(phase) if row.rankable else None for phase in ("step", "forward", "backward")}
    step = figures["step"]
    interval = [f"{units.seconds(step.low)} – {units.seconds(step.high)}" if step else ""] if width >= WIDE else []
    return (
        str(row.rank or ""),
        escape(row.case.framework_variant),
        units.seconds(step.median) if step else "",
        *interval,
        f"{row.ratio:.2f}" if row.ratio else "",
        *(units.seconds(figures[phase].median) if figures[phase] else "" for phase in ("forward", "backward")),
        units.size(row.peak_memory),
        f"[{COLOURS.get(row.status, 'red')}]{row.status}[/]",
    )
