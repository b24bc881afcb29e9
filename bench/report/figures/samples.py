"""All samples of one case in the order in which they were taken, coloured by process, and the device's clock underneath."""

from .figure import Entry, Figure, Panel, Table
from .spec import SECONDS, hint, plane, said

TEXT = (
    "Every sample of the step, by process (round), over the seconds since that process began to sample; none is dropped. "
    "Underneath is what the device's own clock says of the same calls: wall time far above it is waiting, for Python or for a "
    "core that somebody else had."
)
MOST_NUMBERS = 60_000
"""In the whole report: beyond, every k-th sample is shown, and said so."""


def samples(table: Table) -> Figure:
    shown = [entry for entry in table.entries if entry.shows("step") and not entry.native]
    numbers = 4 * sum(sum(map(len, entry.row.rounds_of("step"))) for entry in shown)
    every = max(1, -(-numbers // MOST_NUMBERS))
    panels = [panel for entry in shown for panel in _panels(table, entry, every)]
    return Figure("samples", "One case, sample by sample", TEXT, _spec(), panels, "There are no samples.")


def _panels(table: Table, entry: Entry, every: int) -> list[Panel]:
    """The wall clock's panel, and under it the device's, if there is one."""
    where = entry.parts | {"phase": "step"}
    title = " · ".join(filter(None, (entry.variant, table.title(where))))
    device = "CPU time of the process" if entry.values["device_clock"] == "process" else "time on the device"
    panels = []
    for clock, words in (("wall", "wall time"), ("device", device)):
        points = _points(entry, clock, every)
        names = {"rounds_shown": sorted({point["round"] for point in points}), "of": entry.index, "clock": words}
        notes = [*([f"Every {every}th sample is shown."] if every > 1 else []), *_clocks(entry)] if clock == "device" else []
        if points:
            panels.append(Panel(f"{title} · {words}", where, points, {}, names, notes))
    return panels


def _points(entry: Entry, clock: str, every: int) -> list[dict]:
    taken = [(r.round + 1, r.parts["step"].samples) for r in entry.row.records if "step" in r.parts and r.parts["step"].samples]
    return [
        {"round": number, "at": _short(at), "seconds": _short(seconds)}
        for number, found in taken
        for at, seconds in list(zip(found.at, getattr(found, clock), strict=False))[::every]
    ]


def _clocks(entry: Entry) -> list[str]:
    """How clocks and temperature moved meanwhile, where they were watched."""
    found = []
    for record in entry.row.records:
        if gpu := record.monitor.get("gpu"):
            ranges = [f"{low:g} – {high:g} {unit}" for key, unit in GPU.items() if key in gpu for low, high in [gpu[key]]]
            found.append(f"Round {record.round + 1}, GPU while it ran: {', '.join(ranges)}.")
        elif (foreign := record.monitor.get("foreign_cores")) is not None:
            found.append(f"Round {record.round + 1}: other programs used {foreign:.2g} cores meanwhile.")
    return found


GPU = {"sm_mhz": "MHz", "memory_mhz": "MHz memory clock", "celsius": "°C", "watts": "W"}


def _short(value: float) -> float:
    """Four digits: a pixel needs no more."""
    return float(f"{value:.4g}")


def _spec() -> dict:
    x = {"field": "at", "type": "quantitative", "axis": {"title": "seconds since the first sample", "tickCount": 6}}
    axis = {"title": "$clock", "labelExpr": SECONDS, "tickCount": 4}
    y = {"field": "seconds", "type": "quantitative", "scale": {"zero": False}, "axis": axis}
    legend = {"orient": "bottom", "title": "round", "symbolSize": 60}
    kind = {"field": "round", "type": "nominal", "legend": legend}
    colour = {**kind, "scale": {"domain": "$rounds_shown", "range": "$palette"}}
    shape = {**kind, "scale": {"domain": "$rounds_shown", "range": "$marks"}}
    transform = [{"calculate": said("seconds", SECONDS), "as": "time"}]
    dots = {"type": "point", "filled": True, "size": 28, "opacity": 0.9}
    encoding = {"x": x, "y": y, "color": colour, "shape": shape, "tooltip": hint(round="round", time="time")}
    return plane([{"mark": dots, "encoding": encoding}], transform, height=150)
