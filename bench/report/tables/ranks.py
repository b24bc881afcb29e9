"""Scaling over ranks in a terminal, below the rankings."""

import rich.table
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape

from ..ranks import HEAD, by_title, lines_of, notes_of
from ..table import Table


def print_scalings(table: Table, console: Console) -> None:
    """Prints a table of what was measured on one rank and on several, and the predictions below
    it."""
    for title, found in by_title(table).items():
        lines = [line for scaling in found for line in lines_of(scaling)]
        known = [at for at in range(len(HEAD)) if any(line[at] for line in lines)]
        drawn = rich.table.Table(box=SIMPLE_HEAD, pad_edge=False)
        for at in known:
            drawn.add_column(HEAD[at], justify="left" if at == 0 else "right")
        for line in lines:
            drawn.add_row(*(escape(line[at]) for at in known))
        console.print(f"[bold]{escape(title)}[/]", highlight=False)
        console.print(drawn)
        for note in (note for scaling in found for note in notes_of(scaling)):
            console.print(f"  {escape(note)}", highlight=False)
        console.print()
