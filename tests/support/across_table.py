"""Generates the tables of docs/networks.md: frameworks over networks, or over an axis."""

from math import exp, inf, isfinite, log

from support.first_table import OURS

from snnbench.common import units
from snnbench.core.case import SPIKE_SHARE
from snnbench.report.columns.metric import Entry
from snnbench.report.table import Table
from snnbench.report.tables.markdown import line

LEFT_OUT = ("neurons", "seed", "machine")
"""Conditions without a word in the heading."""
FASTEST_OTHER = "fastest other"
SIZES = ("batch", "image", "width", "input_grad", "precision")


def across_text(table: Table) -> str:
    """Returns a table for each size and phase, the largest first, with and without the input's
    gradient. A row is a framework; a column is a network or, in a set of one network, a value of
    the axis that varies: neuron, firing rate of the input, batch or layers.

    A cell has the time and its ratio to that of `fused`, the last row the ratio of the fastest
    other framework and its 95 % interval.
    """
    groups = [group for _, group in table.comparison_groups()]
    axes = ("workload", "neuron", "firing", "batch", "layers")
    axis = next(axis for axis in axes if len({_value(group, axis) for group in groups}) > 1)
    sizes: dict[tuple, list[list[Entry]]] = {}
    for group in groups:
        size = tuple(_value(group, each) or 0 for each in SIZES if each != axis)
        sizes.setdefault(size, []).append(group)
    return "\n".join(
        _block(table, sizes[size], axis, phase)
        for size in sorted(sizes, reverse=True)
        for phase in table.phases
        if any(entry.values[f"{phase}_s"] for entry in table.entries)
    )


def _value(group: list[Entry], axis: str):
    if axis == "neuron":
        return group[0].parts[axis]
    return group[0].values[axis] or (SPIKE_SHARE if axis == "firing" else None)


def _block(table: Table, groups: list[list[Entry]], axis: str, phase: str) -> str:
    groups = sorted(groups, key=lambda group: _value(group, axis))
    heads = [
        f"{_value(group, axis):.0%} fire" if axis == "firing" else group[0].parts[axis]
        for group in groups
    ]
    parts = {name: text for group in groups for name, text in group[0].parts.items()}
    title = " · ".join(text for name, text in parts.items() if name not in (axis, *LEFT_OUT))
    columns = [_column(table, group, phase) for group in groups]
    variants = {variant for column in columns for variant in column}

    def place(variant: str) -> tuple[bool, float, str]:
        slowness = sum(column[variant][0] for column in columns if variant in column)
        return variant == FASTEST_OTHER, slowness, variant

    rows = [
        [OURS.get(variant, variant), *(column.get(variant, (0, ""))[1] for column in columns)]
        for variant in sorted(variants, key=place)
    ]
    lines = [["framework", *heads], [":--", *["--:"] * len(heads)], *rows]
    return "\n".join([f"**{phase} · {title}**", "", *map(line, lines), ""])


def _column(table: Table, group: list[Entry], phase: str) -> dict[str, tuple[float, str]]:
    """Returns the logarithm of the seconds, ∞ without any, and the cell by framework."""
    cells = {entry.variant: (inf, entry.row.status) for entry in group}
    sound = [entry for entry in group if entry.row.sound]
    for entry in sound:
        seconds = entry.values[f"{phase}_s"]
        cells[entry.variant] = log(seconds), units.seconds(seconds)
    ours = next((entry for entry in sound if entry.variant == "fused"), None)
    others = [entry for entry in sound if entry is not ours]
    if ours is None or not others:
        return cells
    ratios = table.compared(phase, ours, others)
    for entry, ratio in zip(others, ratios, strict=True):
        place, text = cells[entry.variant]
        cells[entry.variant] = place, f"{text} · {units.ratio(exp(ratio.estimate))}"
    least = min(ratios, key=lambda ratio: ratio.estimate)
    known = (least.estimate, least.low, least.high) if isfinite(least.high) else (least.estimate,)
    return cells | {FASTEST_OTHER: (inf, units.ratio(*map(exp, known)))}
