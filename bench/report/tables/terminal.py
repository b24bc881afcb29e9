"""The table at the end of a run: ranks inside each group, and reasons for unranked cases."""

import textwrap
from bisect import bisect_left
from itertools import accumulate

import rich.table
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape

from ...common.texts import brief, condition_lines
from ..columns.metric import NATIVES, REMARKS, SUMMARY, Entry
from ..ranks import by_title, heads_of, lines_of, notes_of
from ..table import Table
from ..words import reason_of, remarks_on

BAR = "  "
"""Heading of the nameless column of bars, which begin at zero."""
BAR_WIDTH = 12
MOST_RATIO = 2 * BAR_WIDTH
"""Slowest ratio with bars; beyond it most bars would have the same length of one."""
HEADING = 80
"""Characters of a line of a heading."""
MOST_LINES = 1200
"""Approximate number of printed lines."""
UNLIMITED = 1000
"""Characters, more than any table is wide."""
BESIDE = (REMARKS, "status")
"""Columns that move below the table if it has no room."""
DISPENSABLE = (
    *("p50", "step", "backward", "forward", BAR, REMARKS),
    *("status", "memory", "p99", "95 % interval", "× best"),
)
"""Headings that a narrow terminal drops, in this order, but for that of the phase that ranks;
remarks and statuses move below."""
COLOURS = {"ok": "green", "unsupported": "dim", "pruned": "dim"}


def print_tables(table: Table, console: Console) -> None:
    """Prints tables by comparison group; below each, reasons for missing figures, native neurons,
    and dropped remarks and statuses, once for all rows that share one; at the end, the columns for
    a wider terminal."""
    groups = table.comparison_groups()
    before = list(accumulate((len(group) for _, group in groups), initial=0))
    groups_shown, left_out = bisect_left(before, MOST_LINES), dict[str, None]()
    for title, group in groups[:groups_shown]:
        shared, remarks = _remarks(group)
        _print_heading(title, console)
        if shared:
            console.print(f"all timed here: {escape(shared)}")
        drawn, spared = _widest(table, group, remarks, console)
        console.print(drawn)
        metrics = table.metrics_of(group, NATIVES if group[0].native else SUMMARY)
        left_out |= dict.fromkeys(
            metric.head for metric in metrics if metric.head in spared and metric.head not in BESIDE
        )
        names: dict[str, list[str]] = {}
        for entry in group:
            row = entry.row
            status = f"{row.status}: " if "status" in spared and row.status != "ok" else ""
            is_native = row.sound and entry.native
            note = row.first.facts.get("native") if is_native else status + reason_of(row)
            for text in filter(None, (note, remarks[entry.index] if REMARKS in spared else "")):
                names.setdefault(text, []).append(entry.variant)
        for text, alike in names.items():
            whole = f"{', '.join(alike)}: {brief(text, console.width)}"
            lines = textwrap.wrap(
                whole, console.width, initial_indent="  ", subsequent_indent="    "
            )
            console.print(escape("\n".join(lines)))
        console.print()
    if left_out:
        dropped = ", ".join(left_out)
        console.print(f"No room for {dropped}: they are in the report and in results.csv.")
    if unprinted := len(table.rows) - before[min(groups_shown, len(groups))]:
        console.print(
            f"… and {unprinted} more cases, in the report and in results.csv.", highlight=False
        )
    _print_scalings(table, console)


def _print_heading(title: str, console: Console) -> None:
    """Prints conditions in lines of at most HEADING characters, which end between two of them, and
    each remark behind `;` below them."""
    for part in title.split("; "):
        for line in condition_lines(part, min(HEADING, console.width)):
            console.print(f"[bold]{escape(line)}[/]")


def _remarks(group: list[Entry]) -> tuple[str, dict[int, str]]:
    """Returns the remarks that all timed rows have in common, empty for a single one, and the
    other remarks of each entry by its index."""
    words = {entry.index: remarks_on(entry.row).split(", ") for entry in group}
    timed = [words[entry.index] for entry in group if entry.row.sound]
    shared = [word for word in timed[0] if all(word in row for row in timed)] if timed[1:] else []
    return ", ".join(shared), {
        index: ", ".join(word for word in row if word not in shared) for index, row in words.items()
    }


def _widest(
    table: Table, group: list[Entry], remarks: dict[int, str], console: Console
) -> tuple[rich.table.Table, list[str]]:
    """Returns the widest table that the terminal shows uncut, and its dropped headings."""
    block = "█" if console.encoding.startswith("utf") else "="
    dispensable = [head for head in DISPENSABLE if head != group[0].row.ranked]

    def fits(spared: list[str]) -> bool:
        drawn = _drawn(table, group, remarks, spared, block)
        unlimited = console.options.update(width=UNLIMITED)
        return console.measure(drawn, options=unlimited).maximum <= console.width

    narrower = (dispensable[:count] for count in range(len(dispensable)))
    spared = next(filter(fits, narrower), dispensable)
    for head in reversed(spared):  # what is narrow may have room where something wide had not
        if fits(less := [other for other in spared if other != head]):
            spared = less
    return _drawn(table, group, remarks, spared, block), spared


def _drawn(
    table: Table, group: list[Entry], remarks: dict[int, str], spared: list[str], block: str
) -> rich.table.Table:
    """Returns the table with all columns but the `spared` ones; bars are made of `block`."""
    ranking = table.metrics_of(group, SUMMARY)
    # Metrics that a ranking lacks stand last.
    native_metrics = sorted(
        table.metrics_of(group, NATIVES), key=lambda metric: metric not in ranking
    )
    by_head = {metric.head: metric for metric in (native_metrics if group[0].native else ranking)}
    heads = list(by_head)
    heads.insert(1 if "#" in by_head else 0, "framework")
    ratios = {entry.index: entry.row.standing.ratio for entry in group if entry.row.standing}
    slowest = max(ratios.values(), default=1.0)
    if "× best" in heads and slowest <= MOST_RATIO:
        heads.insert(heads.index("× best") + 1, BAR)
    absent = [*spared, *([] if any(remarks.values()) else [REMARKS])]
    heads = [head for head in heads if head not in absent]
    drawn = rich.table.Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for head in heads:
        right = head in by_head and by_head[head].number
        drawn.add_column(head, justify="right" if right else "left", no_wrap=True)
    for entry in group:
        row = entry.row
        cells = {head: escape(metric.short_text(entry)) for head, metric in by_head.items()}
        cells["framework"] = escape(entry.variant)
        cells[REMARKS] = escape(remarks[entry.index])
        cells["status"] = f"[{COLOURS.get(row.status, 'red')}]{row.status}[/]"
        if ratio := ratios.get(entry.index):
            cells[BAR] = block * round(max(1, BAR_WIDTH * ratio / slowest))
        else:
            cells[BAR] = ""
        drawn.add_row(*(cells[head] for head in heads))
    return drawn


def _print_scalings(table: Table, console: Console) -> None:
    """Prints a table of what was measured on one rank and on several, and the predictions below
    it."""
    for title, scalings in by_title(table).items():
        lines = [line for scaling in scalings for line in lines_of(scaling)]
        heads = heads_of(table)
        known = [at for at in range(len(heads)) if any(line[at] for line in lines)]
        drawn = rich.table.Table(box=SIMPLE_HEAD, pad_edge=False)
        for at in known:
            drawn.add_column(heads[at], justify="left" if at == 0 else "right")
        for line in lines:
            drawn.add_row(*(escape(line[at]) for at in known))
        _print_heading(title, console)
        console.print(drawn)
        for note in (note for scaling in scalings for note in notes_of(scaling)):
            console.print(f"  {escape(note)}")
        console.print()
