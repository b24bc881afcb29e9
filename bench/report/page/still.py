"""The map of who is fastest as pictures that need no script: for readers, printers and previews that run none."""

import vl_convert
from markupsafe import Markup

from ..figures import Figure, Panel, substituted
from ..table import Table
from ..theme import INKS, config, looks, named, styles

MOST = 6
"""Panels; a page without scripts has its numbers in the table."""
CELL = 132
"""Width of a cell in pixels."""


def stills(table: Table, figure: Figure) -> list[tuple[str, Markup]]:
    """(title, SVG) of the first panels about a step. What is drawn in ink takes the colour of the page's text, light or dark."""
    panels = [panel for panel in figure.panels if panel.where.get("phase") == "step"]
    return [(panel.title, _svg(table, figure, panel)) for panel in panels[:MOST]]


def _svg(table: Table, figure: Figure, panel: Panel) -> Markup:
    variants = panel.names["variants"]
    look = looks(variants, styles(table.variants), "light")
    values = {**named("light"), **panel.names, **look, "points": panel.data(table), "cell": CELL}
    settings = {**config("light"), "background": None}
    svg = str(vl_convert.vegalite_to_svg({**substituted(figure.spec, values), "config": settings}))
    svg = svg.replace("<svg ", '<svg aria-hidden="true" ', 1)  # the element around it names the picture
    for ink in ("ink", "muted"):
        svg = svg.replace(INKS["light"][ink], "currentColor")
    return Markup(svg)
