"""All samples of one case in the order in which they were taken, coloured by process, and the device's clock underneath."""

from typing import Any

from ...machine.monitor import slowed
from ...records.record import Record, Samples
from ..metric import Entry
from ..table import Table
from .figure import Figure, Panel
from .spec import APART, SECONDS, Spec, calculated, dots, hint, layer, plane, text_of

TEXT = (
    "Every sample of the step, by process (round), over the seconds since that process began to sample; none is dropped. "
    "Underneath is what the device's own clock says of the same calls: wall time far above it is waiting, for Python or for a "
    "core that somebody else had. Last comes how fast the device ticked meanwhile, where the system tells."
)
MOST_NUMBERS = 60_000
"""In the whole report. Where there are more, every k-th sample is shown, and a note says so."""


def samples(table: Table) -> Figure:
    shown = [entry for entry in table.entries if entry.shows("step") and not entry.native]
    numbers = 4 * sum(sum(map(len, entry.row.rounds_of("step"))) for entry in shown)
    every = max(1, -(-numbers // MOST_NUMBERS))
    panels = [panel for entry in shown for panel in _panels(table, entry, every)]
    return Figure("samples", "One case, sample by sample", TEXT, _spec(), panels, "There are no samples.")


def _panels(table: Table, entry: Entry, every: int) -> list[Panel]:
    """The wall clock's panel, under it the device's, and under that its frequency, as far as they are known."""
    where = entry.parts | {"phase": "step"}
    title = table.title(where, entry.variant)
    device = "CPU time of the process" if entry.values["device_clock"] == "process" else "time on the device"
    thinned = [f"Every {every}th sample is shown."] if every > 1 else []
    kinds = [
        ("wall time", _points(entry, "wall", every), TIMES, []),
        (device, _points(entry, "device", every), TIMES, [*thinned, *_meanwhile(entry)]),
        ("clock of the device", _frequency(entry), FREQUENCY, []),
    ]
    panels = []
    for words, points, how, notes in kinds:
        if points:
            names = {"rounds_shown": sorted({point["round"] for point in points}), "of": entry.index, "clock": words}
            panels.append(Panel(f"{title} · {words}", where, points, {}, names | how, notes))
    return panels


MEGAHERTZ = "format(datum.value, ',') + ' MHz'"
TIMES = {"axis_labels": SECONDS, "said": text_of("value", SECONDS), "dots": 0.9, "line": 0}
FREQUENCY = {"axis_labels": MEGAHERTZ, "said": text_of("value", MEGAHERTZ), "dots": 0, "line": 1}
"""Single samples, and a frequency that holds until the next reading."""


def _sampled(entry: Entry) -> list[tuple[Record, Samples]]:
    return [(record, samples) for record in entry.row.records if (samples := record.samples("step"))]


def _points(entry: Entry, clock: str, every: int) -> list[dict[str, Any]]:
    return [
        {"round": record.round + 1, "at": _short(at), "value": _short(seconds)}
        for record, samples in _sampled(entry)
        for at, seconds in list(zip(samples.at, getattr(samples, clock), strict=False))[::every]
    ]


def _frequency(entry: Entry) -> list[dict[str, Any]]:
    """Readings while the step was sampled, the last one before it, which held at its beginning, and what held at its end."""
    points = []
    for record, samples in _sampled(entry):
        watched = record.monitor.get("watched", {})
        if samples.began is None or "mhz" not in watched:
            continue
        end = samples.at[-1] + samples.wall[-1]
        readings = [(at - samples.began, mhz) for at, mhz in zip(watched["at"], watched["mhz"], strict=True)]
        held = [mhz for at, mhz in readings if at <= 0][-1:]
        within = [(0.0, mhz) for mhz in held] + [(at, mhz) for at, mhz in readings if 0 < at <= end]
        within += [(end, mhz) for _, mhz in within[-1:]]
        points += [{"round": record.round + 1, "at": _short(at), "value": _short(mhz)} for at, mhz in within]
    return points


def _meanwhile(entry: Entry) -> list[str]:
    """How the device was and who else computed, from the worker's beginning to its end."""
    notes = []
    for record in entry.row.records:
        watched, reasons = record.monitor.get("watched", {}), slowed(record.monitor.get("throttle_reasons", 0))
        ranges = [f"{min(watched[key]):g} – {max(watched[key]):g} {unit}" for key, unit in UNITS.items() if key in watched]
        if ranges:
            notes.append(f"Round {record.round + 1}, meanwhile: {', '.join(ranges)}.")
        if reasons:
            notes.append(f"Round {record.round + 1}: the GPU was slowed down by {' and '.join(reasons)}.")
        if (foreign := record.monitor.get("foreign_cores")) is not None:
            notes.append(f"Round {record.round + 1}: other programs used {foreign:.2g} cores meanwhile.")
    return notes


UNITS = {"mhz": "MHz", "memory_mhz": "MHz memory clock", "celsius": "°C", "watts": "W"}


def _short(value: float) -> float:
    """Four digits: a pixel needs no more."""
    return float(f"{value:.4g}")


def _spec() -> Spec:
    x = {"field": "at", "type": "quantitative", "axis": {"title": "seconds since the first sample", "tickCount": 6, **APART}}
    axis = {"title": "$clock", "labelExpr": "$axis_labels", "tickCount": 4}
    y = {"field": "value", "type": "quantitative", "scale": {"zero": False}, "axis": axis}
    kind = {"field": "round", "type": "nominal", "legend": {"orient": "bottom", "title": "round", "symbolSize": 60}}
    colour = {**kind, "scale": {"domain": "$rounds_shown", "range": "$palette"}}
    shape = {**kind, "scale": {"domain": "$rounds_shown", "range": "$marks"}}
    layers = [
        layer("line", {}, interpolate="step-after", strokeWidth=2, opacity="$line"),
        dots({"shape": shape}, size=28, opacity="$dots"),
    ]
    encoding = {"x": x, "y": y, "color": colour, "tooltip": hint(round="round", reading="reading")}
    return plane(layers, calculated(reading="$said"), height=150, encoding=encoding)
