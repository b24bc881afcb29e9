"""Winner maps: the fastest framework of layers by neurons × time steps, and of networks by their
sizes, for each precision and other condition. `colours.py` chooses the frameworks' colours."""

import re
from typing import Any

from ...records.contrasts import FAMILYWISE_ERROR, TIE
from ...records.rows import grouped
from ...workloads import WORKLOADS
from ..columns.metric import Entry
from ..table import Table
from ..words import axis_of
from .figure import Figure, Panel, by_phase, by_speed, panel_of
from .spec import (
    COLOUR,
    MEBIBYTES,
    TIME,
    Spec,
    calculated,
    drawing,
    hint,
    layer,
    mebibytes,
    text_of,
)

TEXT = (
    "The fastest framework of each size: of layers by neurons and time steps, of networks by their "
    "own sizes, with its time and its peak memory in that phase. “tie: name + 2”, with a pale "
    "ground, means that it and two more are not shown to be slower. Filters on frameworks and on "
    "the axes do not change this map."
)
KEY = "“tie: name + 2”, with a pale ground: it and two more are not shown to be slower."
CELL_HEIGHT, LINE = 90, 13
"""Least height of a cell, and of a line of text; the cell's width `$cell` follows from the page's.
"""
LETTERS, MORE_LETTERS = 13, 16
"""Characters of a bold name, and of a tie, in a line of the narrowest cell."""
WIDEST = 3
"""Columns that fit on a phone; of more, the axis with fewer sizes makes the columns."""
ONE_SIZE = " "
"""Stands for a size that no case has or that is the same for all."""
NEURONS, TIME_STEPS = ("neurons", "neurons N"), ("time_steps", "time steps T")
"""An axis and its title."""
OF_LAYERS = (NEURONS[0], TIME_STEPS[0])
SIZES = (
    *("width", "image", "norm", "inputs", "neurons", "outputs", "classes", "layers", "bias"),
    *("recurrent", "readout", "heads"),
)
OF_NETWORKS = ("workload", *SIZES)
"""Axes of the maps; the first varying size of a network makes the columns."""


def winners(table: Table) -> Figure:
    panels = []
    for axes, is_network, panel in (
        (OF_LAYERS, False, _of_layers),
        (OF_NETWORKS, True, _of_networks),
    ):
        for phase, where, group in by_phase(table, axes):
            if alike := [entry for entry in group if entry.network == is_network]:
                panels.append(panel(table, phase, where, alike))
    missing = "No network was proved and timed."
    return Figure("winners", "Fastest framework", TEXT, _spec(), panels, missing, key=KEY)


def _of_layers(table: Table, phase: str, where: dict[str, str], group: list[Entry]) -> Panel:
    sizes = {
        entry.index: (entry.values["neurons"] or ONE_SIZE, entry.values["time_steps"])
        for entry in group
    }
    neurons, time_steps = (set(values) for values in zip(*sizes.values(), strict=True))
    turned = len(neurons) > max(WIDEST, len(time_steps))
    places = {index: size[::-1] for index, size in sizes.items()} if turned else sizes
    of_neurons = NEURONS if neurons != {ONE_SIZE} else (NEURONS[0], None)
    across, down = (TIME_STEPS, of_neurons) if turned else (of_neurons, TIME_STEPS)
    axes = {"across": across[0], "across_title": across[1], "down": down[0], "down_title": down[1]}
    sorts = {"columns_sort": "ascending", "lines_sort": "descending"}
    return _panel(table, phase, where, group, places, **sorts, **axes)


def _of_networks(table: Table, phase: str, where: dict[str, str], group: list[Entry]) -> Panel:
    """Returns a map with one varying size as columns, and the network with its other sizes as
    lines."""
    sizes = [axis for axis in SIZES if len({entry.values[axis] for entry in group} - {None}) > 1]
    known = list(WORKLOADS)
    places: dict[int, tuple[Any, Any]] = {}
    columns: dict[str, int] = {}
    lines: dict[str, list[Any]] = {}
    for entry in group:
        size, *more = [entry.parts.get(axis, "") for axis in sizes] or [""]
        name = entry.values["workload"]
        column = size or (f"no {axis_of(sizes[0]).head}" if sizes else ONE_SIZE)
        line = " · ".join([name, *filter(None, more)])
        places[entry.index] = (column, line)
        columns[column] = (entry.values[sizes[0]] or 0) if sizes else 0
        lines[line] = [
            known.index(name) if name in known else len(known),
            *(entry.values[axis] or 0 for axis in sizes[1:]),
        ]
    axes: dict[str, Any] = {"across": "size", "down": "network"}
    axes |= {"across_title": None, "down_title": None}
    axes["columns_sort"] = sorted(columns, key=columns.__getitem__)
    axes["lines_sort"] = sorted(lines, key=lines.__getitem__)
    return _panel(table, phase, where, group, places, before="networks", **axes)


def _panel(
    table: Table,
    phase: str,
    where: dict[str, str],
    group: list[Entry],
    places: dict[int, tuple[Any, Any]],
    **names: Any,
) -> Panel:
    """Returns a panel with a cell for each of `places`, which are columns and lines by entry
    index."""
    fastest, points = [], []
    for (column, line), members in grouped(group, lambda entry: places[entry.index]).items():
        ordered = by_speed(members, phase)
        fastest.append(ordered[0])
        tie = _tie(table, ordered, phase)
        texts = {
            "name": in_lines(ordered[0].variant, LETTERS),
            "tied": in_lines(f"tie: {tie}", MORE_LETTERS) if tie else [],
        }
        point = {"row": ordered[0].index, "also": tie, "of": len(ordered), **texts}
        points.append(point | {names["across"]: column, names["down"]: line})
    highest = max(2, *(len(point["name"]) for point in points))
    ties = max(len(point["tied"]) for point in points)
    heights: dict[str, Any] = {"cell_height": max(CELL_HEIGHT, 12 + LINE * (highest + 2 + ties))}
    heights["name_at"] = 6 - heights["cell_height"] // 2
    heights["text_at"] = heights["name_at"] + 1 + LINE * highest
    fields = {"seconds": f"{phase}_s", "bytes": f"{phase}_peak_memory_bytes"}
    names |= {"variants": sorted({each.variant for each in fastest}), "whole": True}
    names["cells"] = len({column for column, _ in places.values()})
    return panel_of(table, where, fastest, fields, points, **heights, **names)


def _tie(table: Table, ordered: list[Entry], phase: str) -> str:
    """Returns the names of cases that are not shown to be slower than the fastest."""
    fastest, *others = ordered
    if phase == fastest.row.ranked and fastest.row.standing:
        also = [
            entry.variant for entry in others if entry.row.standing and entry.row.standing.best == 1
        ]
    else:
        comparisons = table.compared(phase, fastest, others)
        also = [
            entry.variant
            for entry, comparison in zip(others, comparisons, strict=True)
            if comparison.p > FAMILYWISE_ERROR or comparison.estimate < TIE
        ]
    return also[0] + (f" + {len(also) - 1}" if len(also) > 1 else "") if also else ""


def in_lines(text: str, letters: int) -> list[str]:
    """Breaks the name of a variant into lines behind its parts, and inside a part that is too long.

    >>> in_lines("rockpool:lif-torch-without-recurrence", 13)
    ['rockpool:lif-', 'torch-', 'without-', 'recurrence']
    """
    parts = re.findall(r"[^ :+@-]+[ :+@-]*|[ :+@-]+", text)
    pieces = [part[at : at + letters] for part in parts for at in range(0, len(part), letters)]
    lines = pieces[:1]
    for piece in pieces[1:]:
        if len(lines[-1]) + len(piece.rstrip()) <= letters:
            lines[-1] += piece
        else:
            lines.append(piece)
    return [line.rstrip() for line in lines]


def _spec() -> Spec:
    across = {
        "title": "$across_title",
        "labelAngle": 0,
        "grid": False,
        "labelExpr": "split(datum.label, ' · ')",
    }
    down = {
        "title": "$down_title",
        "grid": False,
        "labelExpr": "split(replace(datum.label, '-', '-|'), regexp(' · |[|]'))",
    }
    x = {"field": "$across", "type": "ordinal", "sort": "$columns_sort", "axis": across}
    y = {"field": "$down", "type": "ordinal", "sort": "$lines_sort", "axis": down}
    tie = "(datum.also ? '|' + join(datum.tied, '|') : '')"
    memory = "(isValid(datum.bytes) ? datum.memory : '')"
    transform = mebibytes("bytes") + calculated(
        time=TIME,
        memory=text_of("bytes", MEBIBYTES),
        ground="datum.also ? 0.07 : 0.28",
        lines=f"split(datum.time + '|' + {memory} + {tie}, '|')",
    )
    tooltip = hint(
        fastest="variant",
        time="time",
        memory="memory",
        not_shown_to_be_slower="also",
        compared="of",
    )
    ground = {"field": "ground", "type": "quantitative", "scale": None, "legend": None}
    text: Spec = {"align": "center", "lineHeight": LINE, "limit": "$cell", "baseline": "top"}
    layers = [
        layer("rect", {**COLOUR, "stroke": COLOUR["color"], "fillOpacity": ground}, strokeWidth=2),
        layer("text", {"text": {"field": "name"}}, **text, fontWeight="bold", dy="$name_at"),
        layer("text", {"text": {"field": "lines"}}, **text, dy="$text_at"),
    ]
    encoding = {"x": x, "y": y, "tooltip": tooltip}
    size = {"width": {"step": "$cell"}, "height": {"step": "$cell_height"}}
    return drawing(layers, transform, encoding=encoding, **size)
