"""Figures as PNG, SVG and PDF in the width of a paper's column, from the page's specifications,
each with a text for its caption."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap

import vl_convert

from snnbench.adapters.registry import OURS

from ..common.texts import condition_lines
from ..machine.facts import machine_label
from .colours import config, looks, named, styles
from .figures import Figure, Panel, substituted
from .figures.spec import ROW, Spec
from .table import Table

COLUMN_WIDTH = 245
"""Points: a column of a two-column paper (3.4 inches). One Vega pixel is one point."""
TEXT_SIZE = 8
PIXELS_PER_INCH = 300
TWO_COLUMNS = 510
"""Points: the text width of a two-column paper, the largest width of a map."""
MOST_LETTERS, FEWEST_LETTERS = 100, 8
"""Characters of the conditions in a file name, and of a part that is cut."""
LETTERS = 52
"""Characters of a title in one line."""
CAPTION = ".txt"
"""Suffix of the file with a plot's caption."""

ALL = "all"
"""Stands for the ids of all figures."""


@dataclass(frozen=True)
class Choice:
    """A choice of plots by ids of figures, phases and formats ("png"); an empty part chooses all.

    Named figures, and all with ALL, are drawn under all conditions; without names each is drawn
    under its first conditions only. Panels without a phase belong to every phase.
    """

    figures: tuple[str, ...] = ()
    phases: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()

    @property
    def suffixes(self) -> list[str]:
        return [suffix for suffix in DRAWING if not self.formats or suffix[1:] in self.formats]

    def panels(self, figures: Iterable[Figure]) -> list[tuple[Figure, int, Panel]]:
        """Returns the chosen panels with their numbers among those of the figure, from 1."""
        return [
            (figure, number, panel)
            for figure in figures
            if not self.figures or not {figure.id, ALL}.isdisjoint(self.figures)
            for number, panel in enumerate(self._of(figure), start=1)
        ]

    def _of(self, figure: Figure) -> Iterator[Panel]:
        for panel in figure.panels:
            phase_chosen = not self.phases or panel.where.get("phase") in (None, *self.phases)
            if phase_chosen and (self.figures or panel is _first(figure, panel)):
                yield panel

    def empty(self, figures: Sequence[Figure]) -> Iterator[str]:
        """Yields a sentence for each named figure without a panel: why it is empty."""
        there = {figure.id for figure, _, _ in self.panels(figures)}
        known = {figure.id: figure for figure in figures}
        for name in self.figures:
            if name not in there and name != ALL:
                nothing = f"it has nothing of {', '.join(self.phases)}"
                yield f"--only {name}: {nothing if known[name].panels else known[name].missing}"

    def left_out(self, figures: Sequence[Figure]) -> int:
        """Returns how many panels ALL would add."""
        every = replace(self, figures=self.figures or (ALL,))
        return len(every.panels(figures)) - len(self.panels(figures))


def _first(figure: Figure, panel: Panel) -> Panel:
    """Returns the first panel of the same phase, that of the first conditions."""
    return next(
        other for other in figure.panels if other.where.get("phase") == panel.where.get("phase")
    )


def drawn(
    table: Table, figures: Iterable[Figure], choice: Choice = Choice((ALL,))
) -> Iterator[tuple[str, bytes]]:
    """Yields names and contents of the chosen panels as `figure-nn-conditions.png`, `.svg`,
    `.pdf`, and of their captions as `.txt`."""
    for figure, number, panel in choice.panels(figures):
        spec = paper_spec(figure, panel, table)
        name = f"{figure.id}-{number:02}{_slug(panel.title)}"
        for suffix in choice.suffixes:
            yield name + suffix, DRAWING[suffix](spec)
        yield name + CAPTION, caption(figure, panel, table).encode()


DRAWING: dict[str, Callable[[Spec], bytes]] = {
    ".png": lambda spec: vl_convert.vegalite_to_png(spec, ppi=PIXELS_PER_INCH),
    ".svg": lambda spec: vl_convert.vegalite_to_svg(spec).encode(),
    ".pdf": vl_convert.vegalite_to_pdf,
}
"""Functions that draw a specification, by file suffix."""


def paper_spec(figure: Figure, panel: Panel, table: Table) -> Spec:
    """Returns a specification for print: data, title, the panel's conditions, small type, light.
    `caption` has the rest."""
    variants = panel.names.get("variants", [])
    values = {
        **named("light"),
        **panel.names,
        **{"points": panel.data(table), "columns": 2, "names_width": 90, "written": "brief"},
        "cell": max(88, min(132, (TWO_COLUMNS - 80) // panel.names.get("cells", 1))),
        **{"width": COLUMN_WIDTH, "height": panel.names.get("row", ROW) * len(variants)},
    }
    if variants and all(variant in table.variants for variant in variants):
        values |= looks(variants, styles(table.variants), "light")
    spec = substituted(figure.spec, values)
    frame = "group" if "autosize" in spec else "bounds"
    subtitle = condition_lines(panel.title or " · ".join(table.conditions.fixed), LETTERS + 8)
    title = {"text": wrap(figure.title, LETTERS), "subtitle": subtitle, "frame": frame}
    return {**spec, "title": title, "config": config("light", TEXT_SIZE)}


def caption(figure: Figure, panel: Panel, table: Table) -> str:
    """Returns a plot's caption: title and conditions, the conditions that all cases share, the
    machine, the meaning of its marks and its notes; a paragraph each."""
    machines = [machine_label(machine) for machine in table.conditions.machines.values()]
    common = [*table.conditions.fixed, *(machines if len(machines) == 1 else [])]
    first = ": ".join(filter(None, (figure.title, panel.title)))
    ours = [name for name in panel.names.get("variants", []) if re.split("[@:]", name)[0] in OURS]
    made_here = f"Of this project: {', '.join(ours)}." if ours else ""
    texts = (first, " · ".join(common), figure.key or figure.text, *panel.notes, made_here)
    return "".join(f"{text}\n" for text in texts if text)


def _slug(title: str) -> str:
    """Returns the parts of a panel's title for a file name; the longest part is cut if needed."""
    parts = [
        words
        for part in title.lower().split(" · ")
        if (words := "-".join(re.findall(r"[a-z0-9]+", part)))
    ]
    while (over := len("-".join(parts)) - MOST_LETTERS) > 0:
        longest = max(parts, key=len)
        if len(longest) <= FEWEST_LETTERS:
            break
        fewer = max(FEWEST_LETTERS, len(longest) - over)
        parts[parts.index(longest)] = longest[:fewer].rstrip("-")
    return "-".join(["", *parts])
