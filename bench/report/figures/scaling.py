"""Growth of time with neurons, time steps and batch: fitted exponents, and changes of the lead."""

from itertools import pairwise
from typing import Any

from ...common import units
from ...common.stats import crossing, power_law
from ...core.case import SIZES
from ..columns.metric import Entry
from ..table import Table
from .figure import Figure, Panel, by_phase, panel_of, short, timed_columns
from .labels import along, column, labelled_lines
from .spec import (
    CROSS,
    SECONDS,
    TIMED,
    Spec,
    hint,
    layer,
    log_axis,
    plane,
    ticked,
)

AXES = ("neurons", "time_steps", "batch")
TEXT = (
    "Both axes are logarithmic: a power law is a straight line. Behind a name: the time at its "
    "largest size, the exponent fitted over all sizes and, if there is room, those of the first "
    "two and the last two sizes. With exponent 1 the time doubles with the size, with 2 it "
    "quadruples, near 0 the size hardly matters yet. A dot's tooltip has the exponent from the "
    "previous size. Crosses mark clear changes of the lead: one framework is surely faster at the "
    "previous size, the other at the next."
)
KEY = "Behind a name: the exponent over all sizes. Crosses: where the lead changes."


def scaling(table: Table) -> Figure:
    panels = [
        _panel(table, axis, phase, where, group)
        for axis in AXES
        for phase, where, group in by_phase(table, (axis,))
        if len({entry.values[axis] for entry in group}) > 1
    ]
    missing = "All cases with times have the same number of neurons, time steps and batch items."
    return Figure("scaling", "How time grows", TEXT, _spec(), panels, missing, key=KEY)


def _panel(table: Table, axis: str, phase: str, where: dict[str, str], group: list[Entry]) -> Panel:
    letter = SIZES[axis]
    title = f"{axis.replace('_', ' ')} {letter}"
    lines: dict[str, dict[int, Entry]] = {}
    for entry in sorted(group, key=lambda entry: entry.values[axis]):
        lines.setdefault(entry.variant, {})[entry.values[axis]] = entry
    times = timed_columns(phase)
    seconds = times["seconds"]
    ends = {name: line[max(line)].values[seconds] for name, line in lines.items()}
    labels = column(ends, [entry.values[name] for entry in group for name in times.values()])
    order = sorted(lines, key=ends.__getitem__)
    crosses = _crosses(table, lines, phase, letter)
    entries = [entry for name in order for entry in lines[name].values()]
    points: list[dict[str, Any]] = []
    for name in order:
        at_sizes = {size: entry.values[seconds] for size, entry in lines[name].items()}
        slopes = _slopes(at_sizes)
        grows = {size: _exponents(letter, [slope]).strip(" ·") for size, slope in slopes.items()}
        points += [
            {"row": entry.index, "grows": grows.get(size, "–")}
            for size, entry in lines[name].items()
        ]
        timed = f"{name} · {units.seconds(ends[name])}"
        whole = _exponents(letter, [power_law([*at_sizes], [*at_sizes.values()])]) if slopes else ""
        ends_of_it = (
            f" ({_exponents('', [*slopes.values()]).removeprefix(' · ^')})"
            if len(slopes) > 1
            else ""
        )
        brief, text = name + whole if whole else timed, timed + whole + ends_of_it
        points[-1] |= {"place": labels.places[name], "brief": brief, "text": text}
    fields = {"x": axis, **times}
    names: dict[str, Any] = {"along": title, "crosses": crosses, **labels.names}
    names["sizes"] = sorted({entry.values[axis] for entry in group})
    notes = [cross["said"] for cross in crosses]
    return panel_of(
        table, where, entries, fields, points, before=f"over {title}", notes=notes, **names
    )


def _slopes(times: dict[int, float]) -> dict[int, float]:
    """Returns the exponent of the power law from each size to the next, by the next."""
    return {
        high: short(power_law([low, high], [times[low], times[high]]), 3)
        for low, high in pairwise(times)
    }


def _exponents(letter: str, slopes: list[float]) -> str:
    """Returns the first and the last local exponent as a label."""
    ends = [f"{slope:z.2f}" for slope in (slopes if len(slopes) < 3 else (slopes[0], slopes[-1]))]
    return f" · {letter}^{' → '.join(ends)}" if ends else ""


def _crosses(
    table: Table, lines: dict[str, dict[int, Entry]], phase: str, letter: str
) -> list[dict[str, Any]]:
    """Returns size, seconds and a sentence for each sure change of the lead between neighbouring
    sizes, among frameworks measured at both."""
    sizes = sorted({size for line in lines.values() for size in line})
    crosses = []
    for low, high in pairwise(sizes):
        both = [name for name, line in lines.items() if low in line and high in line]
        if not both:
            continue
        time = {
            (name, size): lines[name][size].row.estimates[phase].seconds
            for name in both
            for size in (low, high)
        }
        before, after = (
            min(both, key={name: time[name, size] for name in both}.__getitem__)
            for size in (low, high)
        )
        at_low, at_high = ({name: lines[name][size] for name in both} for size in (low, high))
        if _surely(table, phase, at_low, after, before) and _surely(
            table, phase, at_high, before, after
        ):
            size, seconds = crossing(
                (low, high), *([time[name, n] for n in (low, high)] for name in (before, after))
            )
            near = f"{letter} ≈ {size:.3g} ({units.seconds(seconds)}), between {low} and {high}"
            crosses.append(
                {"x": size, "seconds": seconds, "said": f"{after} overtakes {before} at {near}."}
            )
    return crosses


def _surely(table: Table, phase: str, entries: dict[str, Entry], slower: str, faster: str) -> bool:
    """Returns whether one of the `entries` of a size is surely slower than another."""
    others = {name: entry for name, entry in entries.items() if name != faster}
    comparisons = dict(
        zip(others, table.compared(phase, entries[faster], list(others.values())), strict=True)
    )
    return slower in comparisons and comparisons[slower].low > 0


def _spec() -> Spec:
    x = ticked(log_axis("x", "$along", ""), "$sizes", labelExpr="format(datum.value, 'd')")
    y = along("seconds", "time per call", SECONDS)
    tooltip = hint(
        framework="variant",
        size="x",
        time="time",
        interval="interval",
        exponent_from_the_size_before="grows",
    )
    cross: Spec = {"shape": CROSS, "size": 140, "stroke": "$ink", "strokeWidth": 2}
    crosses = layer("point", {"x": x, "y": y, "tooltip": hint(lead="said")}, **cross)
    layers = [*labelled_lines(x, y, tooltip), {"data": {"values": "$crosses"}, **crosses}]
    return plane(layers, TIMED, "$tall")
