"""Speed-up over ranks: measured points, the ideal, and predictions beyond them."""

from collections.abc import Iterator
from typing import Any

from ...common import units
from ..ranks import FARTHEST, Scaling, by_title, notes_of, ranks_of
from ..table import Table
from .figure import Figure, Panel, short
from .spec import LEGENDED, Spec, dots, hint, layer, log_axis, plane

TEXT = (
    "Work per second of several ranks relative to one rank of the same framework; grey: the number "
    "of ranks. Strong scaling keeps the size, weak scaling grows it with the ranks. Dashed curves "
    "are simulated: predicted from Ts, F and Tc measured on one device. Ranks that share a "
    "machine's cores show that it works, not how it scales."
)


def ranks(table: Table) -> Figure:
    panels = [
        panel
        for title, scalings in by_title(table).items()
        if (panel := _panel(title, scalings)).points
    ]
    missing = "No case was timed on one rank and on several."
    return Figure("ranks", "How ranks scale", TEXT, _spec(), panels, missing)


def _panel(title: str, scalings: list[Scaling]) -> Panel:
    points = [
        point for scaling in scalings for point in (*_measured(scaling), *_predicted(scaling))
    ]
    most = max((point["ranks"] for point in points), default=0)
    ends = (1, most) if most else ()
    points += [
        {"variant": "", "kind": "ideal", "ranks": count, "speed": count, "said": ""}
        for count in ends
    ]
    variants = list(dict.fromkeys(scaling.alone.variant for scaling in scalings))
    notes = [note for scaling in scalings for note in notes_of(scaling)]
    return Panel(title, {}, points, {}, {"variants": variants}, notes)


def _measured(scaling: Scaling) -> Iterator[dict[str, Any]]:
    for entry in (scaling.alone, *scaling.together):
        if (speed := scaling.speed_up(entry)) is not None:
            yield {"row": entry.index, **_point("measured", ranks_of(entry), speed)}


def _predicted(scaling: Scaling) -> Iterator[dict[str, Any]]:
    """Yields the curve predicted from one device's terms, relative to one rank in the same
    model."""
    if (prediction := scaling.prediction) is None:
        return
    alone = prediction.middle.seconds(1)
    for count in range(1, FARTHEST + 1):
        point = _point("predicted", count, alone / prediction.middle.seconds(count), ", predicted")
        yield {"variant": scaling.alone.variant, **point}


def _point(kind: str, count: int, speed: float, said: str = "") -> dict[str, Any]:
    speed_in_words = f"{units.ratio(speed)}{said}"
    return {"kind": kind, "ranks": count, "speed": short(speed), "said": speed_in_words}


def _spec() -> Spec:
    x = log_axis(
        "ranks",
        "ranks",
        "datum.value == round(datum.value) ? format(datum.value, 'd') : ''",
        base=2,
    )
    y = log_axis(
        "speed", "speed-up over one rank", "format(datum.value, '~r') + '×'", channel="y", base=2
    )
    ideal, predicted, measured = (
        f"datum.kind == '{kind}'" for kind in ("ideal", "predicted", "measured")
    )
    place = {"x": x, "y": y}
    coloured = {**place, "color": LEGENDED["color"]}
    tooltip = hint(framework="variant", ranks="ranks", speed_up="said")
    layers = [
        layer("line", place, ideal, strokeWidth=1, stroke="$muted"),
        layer("line", coloured, predicted, strokeWidth=1.5, strokeDash=[4, 4]),
        layer("line", coloured, measured, strokeWidth=1.5),
        dots({**place, **LEGENDED, "tooltip": tooltip}, measured, size=60),
    ]
    return plane(layers)
