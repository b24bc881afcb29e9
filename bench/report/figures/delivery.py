"""Delivery of recordings as batches: parts of an epoch, memory of caches, and when they pay off."""

from math import ceil, inf
from typing import Any

from ...common import units
from ...records.contrasts import LogRatio
from ..columns.metric import Entry
from ..table import Table
from .breakdown import taken_apart
from .figure import Figure, Panel, paid_off_after, panel_of, short
from .labels import along, column, labelled, labelled_lines
from .spec import (
    COLOUR_AND_SHAPE,
    MEBIBYTES,
    SECONDS,
    THERE,
    TIME,
    Spec,
    beside,
    calculated,
    dots,
    hint,
    log_axis,
    mebibytes,
    nominal,
    plane,
    rows_of_dots,
    text_of,
    ticked,
)

STAGES = {"waiting for batches": "epoch_wait_s", "training on them": "epoch_train_s"}
STAGES_TEXT = (
    "An epoch taken apart, once in the first block: each batch is first waited for and then "
    "trained on. A dot is the total of one of the two; the axis is logarithmic, to show "
    "milliseconds beside seconds. To the right: both times. In an epoch timed as a whole the two "
    "may overlap."
)
STAGES_KEY = (
    "To the right: the time waiting for batches, then the time training on them, if there is a "
    "network."
)
KEPT = {"disk": "data_disk_bytes", "host": "data_host_bytes", "device": "data_device_bytes"}
KEPT_TEXT = (
    "The bytes that an epoch is delivered from, and their place: files, arrays in the host's "
    "memory, or arrays on the device. Right is faster, down is leaner."
)
EPOCHS = (1, 2, 5, 10, 20, 50, 100)
PAYS_TEXT = (
    "Seconds to build what a strategy keeps, once, and to deliver so many epochs. Where two lines "
    "cross, the cache of the lower one has paid off. Behind a name: the time with "
    f"{EPOCHS[-1]} epochs. Imports and the slower first epoch are not included."
)
NONE = "No case delivers data."


def epoch_stages(table: Table) -> Figure:
    panels = taken_apart(table, STAGES)
    title, spec = "Where an epoch goes", _stages_spec()
    return Figure("epoch-stages", title, STAGES_TEXT, spec, panels, NONE, key=STAGES_KEY)


def _stages_spec() -> Spec:
    """Returns dots on a logarithmic axis: a stacked bar of seconds would hide milliseconds."""
    parts = list(STAGES)
    amounts = [
        (
            f"(isValid(datum['{part}']) ? '{' · ' * (part != parts[0])}' + "
            f"{text_of(part, SECONDS)} : '')"
        )
        for part in parts
    ]
    transform: list[Spec] = [
        *calculated(told=" + ".join(amounts)),
        {"fold": parts, "as": ["part", "seconds"]},
        *calculated(time=TIME),
    ]
    legend = {**THERE, "symbolSize": 60}
    look = {
        channel: nominal("part", scale={"domain": parts, "range": values}, legend=legend)
        for channel, values in (("color", "$parts"), ("shape", "$marks"))
    }
    x = log_axis("seconds", "time in an epoch", SECONDS)
    tooltip = hint(framework="variant", part="part", time="time")
    layers = [
        dots({"x": x, **look, "tooltip": tooltip}, "datum.seconds > 0"),
        beside("told", f"datum.part === '{parts[0]}'"),
    ]
    return rows_of_dots(layers, transform)


def kept(table: Table) -> Figure:
    panels = [_kept(table, where, group) for where, group in _deliveries(table)]
    return Figure("kept", "Batches and bytes", KEPT_TEXT, _kept_spec(), panels, NONE)


def break_even(table: Table) -> Figure:
    panels = [_pays(table, where, group) for where, group in _deliveries(table)]
    return Figure("break-even", "When a cache pays off", PAYS_TEXT, _pays_spec(), panels, NONE)


def _deliveries(table: Table) -> list[tuple[dict[str, str], list[Entry]]]:
    """Returns the timed cases that deliver data, by group."""
    timed = (
        (where, [entry for entry in group if entry.values["batches_per_s"]])
        for where, group in table.groups()
    )
    return [(where, group) for where, group in timed if group]


def _bytes(entry: Entry) -> dict[str, int]:
    """Returns the bytes that a case keeps, by place."""
    return {place: entry.values[name] for place, name in KEPT.items() if entry.values[name]}


def _count(rate: float) -> str:
    """Writes a rate with three digits.

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
        brief = f"{entry.variant} · {rate}"
        place = {"bytes": sums[entry.variant], "place": labels.places[entry.variant]}
        texts = {"brief": brief, "text": f"{brief} · {places}", "places": places}
        points.append({"row": entry.index, **place, **texts})
    return panel_of(table, where, group, {"rate": "batches_per_s"}, points, **labels.names)


def _kept_spec() -> Spec:
    x, y = (
        log_axis("rate", "batches per second", "format(datum.value, ',')"),
        along("bytes", "bytes kept", MEBIBYTES, base=2),
    )
    texts = calculated(
        memory=text_of("bytes", MEBIBYTES),
        per_second="datum.rate < 1000 ? format(datum.rate, '.3~r') : format(datum.rate, ',.0f')",
    )
    tooltip = hint(
        framework="variant", batches_per_second="per_second", keeps="memory", where="places"
    )
    marks = dots({"x": x, "y": y, **COLOUR_AND_SHAPE, "tooltip": tooltip}, size=90)
    return plane([*labelled(x, y), marks], [*mebibytes("bytes"), *texts], "$tall")


def _seconds(entry: Entry, epochs: int) -> float:
    return float((entry.values["build_s"] or 0.0) + epochs * entry.values["step_s"])


def _pays(table: Table, where: dict[str, str], group: list[Entry]) -> Panel:
    ends = {entry.variant: _seconds(entry, EPOCHS[-1]) for entry in group}
    labels = column(
        ends, [_seconds(entry, epochs) for entry in group for epochs in (EPOCHS[0], EPOCHS[-1])]
    )
    group = sorted(group, key=lambda entry: ends[entry.variant])
    points: list[dict[str, Any]] = []
    for entry in group:
        points += [
            {"row": entry.index, "epochs": epochs, "seconds": short(_seconds(entry, epochs))}
            for epochs in EPOCHS
        ]
        label = f"{entry.variant} · {units.seconds(ends[entry.variant])}"
        points[-1] |= {"place": labels.places[entry.variant], "brief": label, "text": label}
    first = min(group, key=lambda entry: entry.values["build_s"] or 0.0)
    others = [entry for entry in group if entry is not first]
    notes = [
        _paid_off(*pair, first)
        for pair in zip(others, table.compared("step", first, others), strict=True)
    ]
    return panel_of(
        table, where, group, {}, points, notes=notes, epochs=list(EPOCHS), **labels.names
    )


def _paid_off(entry: Entry, comparison: LogRatio, first: Entry) -> str:
    """Returns the epochs until `entry` makes up for a longer build than that of `first`, which
    `comparison` compares."""
    after = paid_off_after(
        _seconds(entry, 0) - _seconds(first, 0), first.values["step_s"], comparison
    )
    if after == inf:
        return (
            f"{entry.variant} never catches up with {first.variant}, which builds faster and "
            "delivers faster."
        )
    if after is None:
        return (
            f"{entry.variant} is not shown to deliver faster than {first.variant}, which builds "
            "faster."
        )
    epochs = max(1, ceil(after))
    return f"{entry.variant} is ahead of {first.variant} after {units.counted(epochs, 'epoch')}."


def _pays_spec() -> Spec:
    x = ticked(log_axis("epochs", "epochs", "format(datum.value, 'd')"), "$epochs")
    y = along("seconds", "seconds with the build", SECONDS)
    tooltip = hint(framework="variant", epochs="epochs", time="time")
    layers = labelled_lines(x, y, tooltip, size=50, intervals=False)
    return plane(layers, calculated(time=TIME), "$tall")
