"""All samples of one case in the order in which they were taken, coloured by process, and the device's clock underneath."""

from .figure import Entry, Figure, Panel, Table
from .spec import SECONDS, hint, plane, said

TEXT = (
    "Every sample of the step, by process (round), over the seconds since that process began to sample; none is dropped. Hollow, "
    "underneath: what the device's own clock says of the same call. Wall time far above it is waiting: for Python, or for a core "
    "that somebody else had."
)
MOST_NUMBERS = 150_000
"""In the whole report: beyond, every k-th sample is shown, and said so."""


def samples(table: Table) -> Figure:
    shown = [entry for entry in table.entries if entry.shows("step") and not entry.native]
    numbers = 3 * sum(sum(map(len, entry.row.rounds_of("step"))) for entry in shown)
    every = max(1, -(-numbers // MOST_NUMBERS))
    panels = [_panel(table, entry, every) for entry in shown]
    return Figure("samples", "One case, sample by sample", TEXT, _spec(), panels, "There are no samples.")


def _panel(table: Table, entry: Entry, every: int) -> Panel:
    points = []
    for record in entry.row.records:
        part = record.parts.get("step")
        if part is None or part.samples is None:
            continue
        taken = part.samples
        device = taken.device if len(taken.device) == len(taken.wall) else [None] * len(taken.wall)
        series = list(zip(taken.at, taken.wall, device, strict=True))[::every]
        points += [{"round": record.round + 1, "at": _short(a), "wall": _short(w), "device": _short(d)} for a, w, d in series]
    notes = [f"Every {every}th sample is shown."] if every > 1 else []
    notes += _clocks(entry)
    names = {"rounds_shown": sorted({point["round"] for point in points}), "of": entry.index}
    where = entry.parts | {"phase": "step"}
    return Panel(f"{entry.variant} · {table.title(where)}".strip(" ·"), where, points, {}, names, notes)


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


def _short(value: float | None) -> float | None:
    """Four digits: a pixel needs no more."""
    return None if value is None else float(f"{value:.4g}")


def _spec() -> dict:
    x = {"field": "at", "type": "quantitative", "axis": {"title": "seconds since the first sample", "tickCount": 6}}
    axis = {"title": "seconds per call", "labelExpr": SECONDS, "tickCount": 6}
    y = {"type": "quantitative", "scale": {"zero": False, "nice": True}, "axis": axis}
    legend = {"orient": "bottom", "title": "round"}
    scale = {"domain": "$rounds_shown", "range": "$palette"}
    colour = {"color": {"field": "round", "type": "nominal", "scale": scale, "legend": legend}}
    transform = [{"calculate": said("wall", SECONDS), "as": "time"}, {"calculate": said("device", SECONDS), "as": "inner"}]
    tooltip = hint(round="round", wall_time="time", device_clock="inner")
    dot = {"type": "point", "size": 28, "opacity": 0.9}
    layers = [
        {
            "transform": [{"filter": "isValid(datum.device)"}],
            "mark": {**dot, "filled": False, "shape": "triangle-down", "strokeWidth": 1},
            "encoding": {"x": x, "y": {**y, "field": "device"}, **colour},
        },
        {"mark": {**dot, "filled": True}, "encoding": {"x": x, "y": {**y, "field": "wall"}, **colour, "tooltip": tooltip}},
    ]
    return plane(layers, transform, height=240)
