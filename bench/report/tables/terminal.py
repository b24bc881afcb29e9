"""The table at the end of a run: ranked inside each group, with what could not be ranked and why."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ... import units
from ...records.rows import Row
from ..coverage import Conditions, reason_of

BAR = "  "
"""The column of bars, which has no name. They begin at zero: twice the time is twice as long."""
BAR_WIDTH = 12
UNLIMITED = 1000
"""Characters; no table is that wide."""
COLUMNS = ["#", "framework", "step", "95 % interval", "× best", BAR, "forward", "backward", "memory", "status"]
NATIVE_COLUMNS = [*(name for name in COLUMNS if name not in ("#", "× best")), "firing rate"]
"""Native neurons differ from framework to framework, so that there is nothing to rank."""
DISPENSABLE = ["95 % interval", "backward", "forward", BAR, "memory", "status"]
"""What a narrow terminal is spared, in this order, until the rest is whole. Reasons stand below the table anyway."""
COLOURS = {"ok": "green", "unsupported": "dim", "pruned": "dim"}


def print_tables(rows: list[Row], console: Console) -> None:
    """Tables by group; below each, why a row has no figures."""
    conditions = Conditions(rows)
    for group in conditions.groups.values():
        console.print(f"[bold]{escape(conditions.full(group[0]))}[/]", highlight=False)
        console.print(_table(group, console))
        for row in group:
            if reason := row.first.facts.get("native") if row.sound and row.case.native else reason_of(row):
                console.print(f"  {escape(row.case.framework_variant)}: {escape(reason)}", highlight=False)
        console.print()


def _table(group: list[Row], console: Console) -> Table:
    """The widest table of this group that the terminal shows uncut."""
    columns = NATIVE_COLUMNS if group[0].case.native else COLUMNS
    block = "█" if console.encoding.startswith("utf") else "="
    for spared in range(len(DISPENSABLE) + 1):
        table = _table_of(group, [name for name in columns if name not in DISPENSABLE[:spared]], block)
        if console.measure(table, options=console.options.update(width=UNLIMITED)).maximum <= console.width:
            break
    return table


def _table_of(group: list[Row], columns: list[str], block: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        table.add_column(name, justify="left" if name in ("framework", "status", BAR) else "right", no_wrap=True)
    slowest = max((row.ratio for row in group if row.ratio), default=1.0)
    for row in group:
        cells = _cells(row)
        cells[BAR] = block * round(max(1, BAR_WIDTH * row.ratio / slowest)) if row.ratio else ""
        table.add_row(*(cells[name] for name in columns))
    return table


def _cells(row: Row) -> dict[str, str]:
    figures = {phase: row.estimates.get(phase) if row.sound else None for phase in ("step", "forward", "backward")}
    step = figures["step"]
    return {
        "#": str(row.rank or ""),
        "framework": escape(row.case.framework_variant),
        "step": units.seconds(step.median) if step else "",
        "95 % interval": f"{units.seconds(step.low)} – {units.seconds(step.high)}" if step else "",
        "× best": f"{row.ratio:.2f}" if row.ratio else "",
        **{name: units.seconds(figures[name].median) if figures[name] else "" for name in ("forward", "backward")},
        "memory": units.size(row.peak_memory),
        "firing rate": units.share(row.firing_rate),
        "status": f"[{COLOURS.get(row.status, 'red')}]{row.status}[/]",
    }
