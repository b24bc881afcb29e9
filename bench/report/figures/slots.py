"""One case slot by slot, coloured by block, and the device's clock underneath."""

from collections.abc import Sequence
from typing import Any

from ...machine.monitor import slowed
from ...records.record import Record, Slot
from ..columns.metric import Entry
from ..table import Table
from .figure import Figure, Panel, short
from .spec import APART, CROSS, SECONDS, Spec, calculated, dots, hint, layer, plane, text_of

TEXT = (
    "A large dot is the median of a slot of the phase that ranks, the line its middle half; small "
    "dots are single calls, with outliers on the edge; by block, over the seconds since the "
    "block's first slot. Disturbed slots are crossed out; they count only where a note says so. "
    "Underneath, a GPU's own clock shows the same slots: a wall time far above it was spent "
    "waiting for Python. The last panel is the device's clock rate, if the system reports it."
)
MOST_CALLS = 20_000
"""Calls in the whole report; of more, every k-th is drawn, and a note says so."""
MOST_CASES = 400


def slots(table: Table) -> Figure:
    timed = [
        entry for _, group in table.groups() for entry in group if entry.shows(entry.row.ranked)
    ]
    calls = {
        entry.index: sum(map(len, entry.row.column(entry.row.ranked, "samples"))) for entry in timed
    }
    known = [entry for entry in timed if calls[entry.index]]
    chosen = known[:: -(-len(known) // MOST_CASES) or 1]
    every = max(1, -(-sum(calls[entry.index] for entry in chosen) // MOST_CALLS))
    panels = [panel for entry in chosen for panel in _panels(table, entry, every)]
    some = (
        f" Of {len(timed)} cases {len(chosen)} are here, evenly chosen."
        if len(chosen) < len(timed)
        else ""
    )
    title, missing = "One case, slot by slot", "There are no slots."
    return Figure("slots", title, TEXT + some, _spec(), panels, missing)


def _panels(table: Table, entry: Entry, every: int) -> list[Panel]:
    """Returns the known panels of wall clock, a GPU's clock and device frequency."""
    where = entry.parts | {"phase": entry.row.ranked}
    title = table.title(where, entry.variant)
    thinned = [f"Of the calls that a record keeps, every {every}th is shown."] if every > 1 else []
    unclean = [f"{each[0].upper()}{each[1:]}." for each in [entry.row.unclean] if each]
    kinds = [
        ("wall time", _wall(entry, every), TIMES, [*unclean, *thinned]),
        ("time on the device", _device(entry), TIMES, _meanwhile(entry)),
        ("clock of the device", _frequency(entry), FREQUENCY, []),
    ]
    panels = []
    for words, points, how, notes in kinds:
        if points:
            names = {"blocks_shown": sorted({point["block"] for point in points}), **how}
            names |= {"of": entry.index, "clock": words, "span": _span(points)}
            panels.append(Panel(f"{title} · {words}", where, points, {}, names, notes))
    return panels


MEGAHERTZ = "format(datum.value, ',') + ' MHz'"
TIMES = {"axis_labels": SECONDS, "said": text_of("value", SECONDS), "dots": 1, "line": 0}
FREQUENCY = {"axis_labels": MEGAHERTZ, "said": text_of("value", MEGAHERTZ), "dots": 0, "line": 1}
"""Settings of slots, and of a frequency that holds until the next reading."""


def _timed(entry: Entry) -> list[tuple[Record, Sequence[Slot]]]:
    return [
        (record, timing.slots)
        for record in entry.row.records
        if (timing := record.timing(entry.row.ranked)) and timing.slots
    ]


def _wall(entry: Entry, every: int) -> list[dict[str, Any]]:
    points: list[dict[str, Any]] = []
    for record, block in _timed(entry):
        for slot in block:
            place = {"block": record.block + 1, "at": short(slot.began - block[0].began)}
            points += [place | {"call": short(seconds)} for seconds in slot.samples[::every]]
            middle = {"value": short(slot.wall), "low": short(slot.low), "high": short(slot.high)}
            points.append(
                place | middle | ({"disturbed": slot.disturbed} if slot.disturbed else {})
            )
    return points


def _device(entry: Entry) -> list[dict[str, Any]]:
    """Returns the times of slots by a GPU's clock; on a CPU none, where it is CPU time."""
    if entry.values["device_clock"] == "process":
        return []
    return [
        {
            "block": record.block + 1,
            "at": short(slot.began - block[0].began),
            "value": short(slot.device),
        }
        for record, block in _timed(entry)
        for slot in block
        if slot.device is not None
    ]


def _frequency(entry: Entry) -> list[dict[str, Any]]:
    """Returns the readings between the first and the last slot, extended to both ends."""
    points = []
    for record, block in _timed(entry):
        watched = record.monitor.get("watched", {})
        if "mhz" not in watched:
            continue
        end = block[-1].began - block[0].began + block[-1].calls * block[-1].wall
        readings = [
            (at - block[0].began, mhz)
            for at, mhz in zip(watched["at"], watched["mhz"], strict=True)
        ]
        before = [mhz for at, mhz in readings if at <= 0][-1:]
        within = [(0.0, mhz) for mhz in before] + [
            (at, mhz) for at, mhz in readings if 0 < at <= end
        ]
        within += [(end, mhz) for _, mhz in within[-1:]]
        points += [
            {"block": record.block + 1, "at": short(at), "value": short(mhz)} for at, mhz in within
        ]
    return points


def _span(points: list[dict[str, Any]]) -> list[float]:
    """Returns the range of the slots with a margin; slow calls would squeeze it."""
    known = [point[name] for point in points for name in ("low", "value", "high") if name in point]
    margin = 0.05 * (max(known) - min(known)) or 0.01 * max(known)
    return [short(min(known) - margin), short(max(known) + margin)]


def _meanwhile(entry: Entry) -> list[str]:
    """Returns notes on the device's state and on other programs during the block."""
    notes = []
    for record in entry.row.records:
        block, watched = f"Block {record.block + 1}", record.monitor.get("watched", {})
        ranges = [f"{_range(watched[key])} {unit}" for key, unit in UNITS.items() if key in watched]
        if ranges:
            notes.append(f"{block}, meanwhile: {', '.join(ranges)}.")
        if reasons := slowed(record.monitor.get("throttle_reasons", 0)):
            notes.append(f"{block}: the GPU was slowed down by {' and '.join(reasons)}.")
        if (foreign := record.monitor.get("foreign_cores")) is not None:
            notes.append(f"{block}: other programs used {foreign:.2g} cores meanwhile.")
    return notes


def _range(readings: list[float]) -> str:
    """Writes the range of readings.

    >>> _range([2596.13, 2596.2]), _range([61.0, 64.5])
    ('2,596', '61 – 64')
    """
    return " – ".join(
        dict.fromkeys(f"{reading:,.0f}" for reading in (min(readings), max(readings)))
    )


UNITS = {"mhz": "MHz", "memory_mhz": "MHz memory clock", "celsius": "°C", "watts": "W"}


def _spec() -> Spec:
    x = {
        "field": "at",
        "type": "quantitative",
        "axis": {"title": "seconds since the block's first slot", "tickCount": 6, **APART},
    }
    axis = {"title": "$clock", "labelExpr": "$axis_labels", "tickCount": 4}
    y = {
        "field": "value",
        "type": "quantitative",
        "scale": {"domain": "$span", "nice": False, "clamp": True},
        "axis": axis,
    }
    kind = {
        "field": "block",
        "type": "nominal",
        "legend": {"orient": "bottom", "title": "block", "symbolSize": 60, "symbolOpacity": 1},
    }
    colour = {**kind, "scale": {"domain": "$blocks_shown", "range": "$palette"}}
    shape = {**kind, "scale": {"domain": "$blocks_shown", "range": "$marks"}}
    quartiles = {"y": {**y, "field": "low"}, "y2": {"field": "high"}}
    cross = {"shape": CROSS, "size": 120, "stroke": "$ink", "strokeWidth": 1.5}
    tooltip = hint(block="block", reading="reading", disturbed="disturbed")
    slot = "isValid(datum.value)"
    layers = [
        dots({"y": {**y, "field": "call"}}, "isValid(datum.call)", size=8, opacity=0.35),
        layer("rule", quartiles, "isValid(datum.low)", strokeWidth=1.5),
        layer("line", {"y": y}, slot, interpolate="step-after", strokeWidth=2, opacity="$line"),
        dots({"y": y, "shape": shape, "tooltip": tooltip}, slot, size=45, opacity="$dots"),
        layer("point", {"y": y, "color": {"value": "$ink"}}, "isValid(datum.disturbed)", **cross),
    ]
    return plane(
        layers, calculated(reading="$said"), height=170, encoding={"x": x, "color": colour}
    )
