"""Generates the tables of docs/ranks.md: several ranks against one, and the prediction."""

from snnbench.report.ranks import HEAD, by_title, lines_of, notes_of
from snnbench.report.table import Table
from snnbench.report.tables.markdown import line, plain


def scaling_text(table: Table) -> str:
    """Returns a table for everything measured on one and several ranks, without empty columns."""
    texts = []
    for title, found in by_title(table).items():
        cells = [own for scaling in found for own in lines_of(scaling)]
        known = [at for at in range(len(HEAD)) if any(own[at] for own in cells)]
        lines = [
            [HEAD[at] for at in known],
            [":--", *["--:"] * (len(known) - 1)],
            *([own[at] for at in known] for own in cells),
        ]
        notes = [f"* {plain(note)}" for scaling in found for note in notes_of(scaling)]
        texts.append(
            "\n".join([f"**{title}**", "", *map(line, lines), *([""] if notes else []), *notes, ""])
        )
    return "\n".join(texts)
