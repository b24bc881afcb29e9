"""How recordings become batches: where an epoch goes, what it keeps in memory, and when a cache has paid off."""

from math import ceil
from typing import Any

from ... import units
from ..metric import Entry
from ..table import Table
from .breakdown import stacked
from .figure import Figure, Panel, panel_of, short
from .labels import along, column, labelled
from .spec import (
    COLOUR,
    COLOUR_AND_SHAPE,
    DASHES,
    MEBIBYTES,
    SECONDS,
    TIME,
    Spec,
    calculated,
    dots,
    hint,
    layer,
    log_axis,
    mebibytes,
    plane,
    text_of,
)

STAGES = {"waiting for batches": "epoch_wait_s", "training on them": "epoch_train_s"}
STAGES_TEXT = (
    "An epoch taken apart, once in the first block: each batch is waited for, then trained on. In an epoch that is timed as a "
    "whole the two may overlap."
)
KEPT = {"disk": "data_disk_bytes", "host": "data_host_bytes", "device": "data_device_bytes"}
KEPT_TEXT = (
    "The bytes that an epoch is delivered from, and where they lie: files that it reads, arrays in the host's memory or on the "
    "device. Right is faster, down is leaner."
)
PAYS_TEXT = (
    "Seconds to build what a strategy keeps, once, and to deliver so many epochs. Where two lines cross the cache of the lower "
    "one has paid off. Behind a name: the seconds of the last number of epochs."
)
NONE = "No case delivers data."
EPOCHS = (1, 2, 5, 10, 20, 50, 100)


def epoch_stages(table: Table) -> Figure:
    return stacked(table, "epoch-stages", "Where an epoch goes", STAGES_TEXT, STAGES, SECONDS, NONE)


def kept(table: Table) -> Figure:
    panels = [_kept(table, where, group) for where, group in _deliveries(table)]
    return Figure("kept", "Batches and bytes", KEPT_TEXT, _kept_spec(), panels, NONE)


def break_even(table: Table) -> Figure:
    panels = [_pays(table, where, group) for where, group in _deliveries(table)]
    return Figure("break-even", "When a cache pays off", PAYS_TEXT, _pays_spec(), panels, NONE)


def _deliveries(table: Table) -> list[tuple[dict[str, str], list[Entry]]]:
    """The timed cases that deliver data, group by group."""
    timed = ((where, [one for one in group if one.values["batches_per_s"]]) for where, group in table.groups())
    return [(where, group) for where, group in timed if group]


def _bytes(entry: Entry) -> dict[str, int]:
    """What the entry keeps, by place."""
    return {place: entry.values[name] for place, name in KEPT.items() if entry.values[name]}


def _count(rate: float) -> str:
    """
    >>> _count(1774.3), _count(9.6321)
    ('1,770', '9.63')
    """
    return f"{short(rate, 3):,.0f}" if rate >= 1000 else f"{rate:.3g}"


def _kept(table: Table, where: dict[str, str], group: list[Entry]) -> Panel:
    sums = {entry.variant: sum(_bytes(entry).values()) for entry in group}
    group = [entry for entry in group if sums[entry.variant]]
    heights = {entry.variant: sums[entry.variant] / 2**20 for entry in group}
    labels = column(heights, heights.values())
    points: list[dict[str, Any]] = []
    for entry in group:
        places, rate = " and ".join(_bytes(entry)), f"{_count(entry.values['batches_per_s'])}/s"
        texts = {"brief": f"{entry.variant} · {rate}", "text": f"{entry.variant} · {rate} · {places}", "places": places}
        points.append({"row": entry.index, "bytes": sums[entry.variant], "place": labels.places[entry.variant], **texts})
    return panel_of(table, where, group, {"rate": "batches_per_s"}, points, **labels.names)


def _kept_spec() -> Spec:
    x, y = log_axis("rate", "batches per second", "format(datum.value, ',')"), along("bytes", "bytes kept", MEBIBYTES, base=2)
    texts = calculated(
        memory=text_of("bytes", MEBIBYTES),
        per_second="datum.rate < 1000 ? format(datum.rate, '.3~r') : format(datum.rate, ',.0f')",
    )
    tooltip = hint(framework="variant", batches_per_second="per_second", keeps="memory", where="places")
    marks = dots({"x": x, "y": y, **COLOUR_AND_SHAPE, "tooltip": tooltip}, size=90)
    return plane([*labelled(x, y), marks], [*mebibytes("bytes"), *texts], "$tall")


def _seconds(entry: Entry, epochs: int) -> float:
    return float((entry.values["build_s"] or 0.0) + epochs * entry.values["step_s"])


def _pays(table: Table, where: dict[str, str], group: list[Entry]) -> Panel:
    ends = {entry.variant: _seconds(entry, EPOCHS[-1]) for entry in group}
    labels = column(ends, [_seconds(entry, epochs) for entry in group for epochs in (EPOCHS[0], EPOCHS[-1])])
    group = sorted(group, key=lambda entry: ends[entry.variant])
    points: list[dict[str, Any]] = []
    for entry in group:
        points += [{"row": entry.index, "epochs": epochs, "seconds": short(_seconds(entry, epochs))} for epochs in EPOCHS]
        label = f"{entry.variant} · {units.seconds(ends[entry.variant])}"
        points[-1] |= {"place": labels.places[entry.variant], "brief": label, "text": label}
    first = min(group, key=lambda entry: entry.values["build_s"] or 0.0)
    notes = [_paid_off(entry, first) for entry in group if entry is not first]
    return panel_of(table, where, group, {}, points, notes=notes, epochs=list(EPOCHS), **labels.names)


def _paid_off(entry: Entry, first: Entry) -> str:
    """After how many epochs `entry` has made up for a longer build than that of the `first`."""
    later, gain = _seconds(entry, 0) - _seconds(first, 0), first.values["step_s"] - entry.values["step_s"]
    if gain <= 0:
        return f"{entry.variant} never catches up with {first.variant}, which builds faster and delivers faster."
    epochs = max(1, ceil(later / gain))
    return f"{entry.variant} is ahead of {first.variant} after {epochs:,} epoch{'s' * (epochs > 1)}."


def _pays_spec() -> Spec:
    x = log_axis("epochs", "epochs", "format(datum.value, 'd')")
    x["axis"] |= {"values": "$epochs", "gridOpacity": 1, "labelBound": False}
    y = along("seconds", "seconds with the build", SECONDS)
    place = {"x": x, "y": y}
    tooltip = hint(framework="variant", epochs="epochs", time="time")
    layers = [
        layer("line", {**place, **COLOUR, **DASHES}, strokeWidth=1.5),
        *labelled(x, y),
        dots({**place, **COLOUR_AND_SHAPE, "tooltip": tooltip}, size=50),
    ]
    return plane(layers, calculated(time=TIME), "$tall")
