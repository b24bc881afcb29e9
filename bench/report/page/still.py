"""The winner maps as SVG without scripts, for readers, printers and previews.

A template writes them: the library that draws figures would start a browser engine, with a second
and a hundred megabytes.
"""

from dataclasses import dataclass
from typing import Any

from ...common import units
from ..colours import styles
from ..figures import Figure, Panel
from ..figures.winners import in_lines
from ..table import Table

HEAD_LETTERS = 15
"""Characters of a line's heading in one line of text."""
MOST = 6
"""Panels; the table has the numbers of the others."""


@dataclass(frozen=True)
class Still:
    """A map: columns from the left, lines from above, and a cell or None for each column of a
    line."""

    title: str
    columns: list[str]
    lines: list[tuple[list[str], list[dict[str, Any] | None]]]
    across: str
    down: str

    @property
    def height(self) -> int:
        """Height of a cell in pixels: that of the fullest, and at least five lines."""
        drawn = (cell for _, cells in self.lines for cell in cells if cell)
        return 10 + 14 * max([5, *(len(cell["name"]) + len(cell["texts"]) for cell in drawn)])


def stills(table: Table, figure: Figure) -> list[Still]:
    """Returns the first panels about the phase that ranks their cases."""
    panels = [
        panel
        for panel in figure.panels
        if panel.where.get("phase") == table.entries[panel.points[0]["row"]].row.ranked
    ]
    return [_still(table, panel) for panel in panels[:MOST]]


def _still(table: Table, panel: Panel) -> Still:
    names, known = panel.names, styles(table.variants)
    points = panel.data(table)
    places = {
        (point[names["across"]], point[names["down"]]): _cell(point, known[point["variant"]])
        for point in points
    }
    columns = _ordered({column for column, _ in places}, names["columns_sort"])
    lines = _ordered({line for _, line in places}, names["lines_sort"])
    heads = {
        line: [text for part in str(line).split(" · ") for text in in_lines(part, HEAD_LETTERS)]
        for line in lines
    }
    cells = [(heads[line], [places.get((column, line)) for column in columns]) for line in lines]
    titles = names["across_title"] or "", names["down_title"] or ""
    return Still(panel.title, list(map(str, columns)), cells, *titles)


def _ordered(values: set[Any], sort: str | list[Any]) -> list[Any]:
    """Returns values in the order of a list, or as numbers upwards or downwards."""
    if isinstance(sort, list):
        return [value for value in sort if value in values]
    numbers = sorted(values, key=lambda value: (isinstance(value, str), value))
    return numbers[::-1] if sort == "descending" else numbers


def _cell(point: dict[str, Any], look: dict[str, Any]) -> dict[str, Any]:
    texts = [units.seconds(point["seconds"]), units.size(point["bytes"]), *point["tied"]]
    ground = 0.07 if point["also"] else 0.28
    return {"name": point["name"], "texts": texts, "colour": look["light"], "ground": ground}
