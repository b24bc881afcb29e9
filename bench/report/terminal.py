"""The table at the end of a run: ranked inside each group, with what could not be ranked and why."""

from collections.abc import Iterable

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from . import units
from .coverage import Conditions, reason_of
from .rows import Row

WIDE = 100
COLOURS = {"ok": "green", "unsupported": "dim", "pruned": "dim"}


def print_tables(rows: list[Row], console: Console) -> None:
    """Tables by group; below each, why a row has no figures."""
    conditions = Conditions(rows)
    for group in conditions.groups.values():
        console.print(f"[bold]{escape(conditions.full(group[0]))}[/]", highlight=False)
        console.print(_table(group, console.width))
        for row in group:
            if reason := reason_of(row):
                console.print(f"  {escape(row.case.framework_variant)}: {escape(reason)}", highlight=False)
        console.print()


def _table(group: list[Row], width: int) -> Table:
    table = Table(box=SIMPLE_HEAD)
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
