"""The filterable table: every case in a line, its columns in views, each cell as people read it."""

from dataclasses import dataclass
from typing import Any

from ... import units
from ..coverage import KINDS, reason_of
from ..figures import Table
from ..figures.figure import PHASES, Entry
from .trust import FLAGS

AXIS_COLUMNS = {"neurons": "N", "time_steps": "T", "batch": "B"}


@dataclass(frozen=True)
class Column:
    """A column of results.csv: its heading, the views that show it, whether it is a number, and what is said of it."""

    name: str
    head: str
    views: str
    number: bool = True
    hint: str = ""


def columns(table: Table) -> list[Column]:
    """In the order in which they are shown; conditions that are the same for all cases have no column."""
    every = "times memory start proof"
    varying = [axis for axis in table.conditions.varying_axes if axis not in ("threads", "machine")]
    conditions = [
        Column(
            axis,
            AXIS_COLUMNS.get(axis, axis.replace("_", " ")),
            every,
            axis in ("neurons", "time_steps", "batch", "layers", "seed"),
        )
        for axis in varying
    ]
    conditions += [Column(axis, axis, every, False) for axis in ("threads", "machine") if axis in table.conditions.varying_axes]
    times = [Column(f"{phase}_s", phase, "times") for phase in PHASES]
    interval = [Column("step_lo_s", "95 % interval", "times"), Column("ratio", "× best", "times")]
    weights = [
        Column(f"{p}_{kind}_memory_bytes", f"{p} {said}", "memory") for p in PHASES for kind, said in KINDS_OF_MEMORY.items()
    ]
    starts = [Column(f"{name}_s", name.replace("_", " "), "start") for name in ("import", "build", "compile")]
    starts.append(Column("first_call_s", "first call", "start", hint="with what it compiles"))
    return [
        Column("rank", "#", every, hint="rank by step time among cases that differ in nothing but the framework"),
        *conditions,
        times[0],
        *interval,
        *times[1:],
        *weights,
        Column("memory_meaning", "meaning", "memory", False, "figures of different meaning are different quantities"),
        *starts,
        Column(
            "step_enqueue_s",
            "until return",
            "start",
            hint="step time until the call came back: near all of it, Python is the limit",
        ),
        Column("roofline", "of the floor", "start", hint="the hardware's least time for the step, over the step time"),
        Column("proved", "verdict", "proof", False),
        Column(
            "wrong_decisions",
            "wrong decisions",
            "proof",
            hint="spikes that are not those of the oracle from the framework's own spikes before; few may be, near the threshold",
        ),
        Column("grad_error", "gradient error", "proof", hint="relative L2, the worst of weight, bias and input"),
        Column("spike_mismatch", "spikes that differ", "proof", hint="against an oracle that runs free; decides nothing"),
        Column("firing_rate", "firing rate", "proof"),
        Column("output_dtype", "output", "proof", False, "type of the spikes handed out"),
        Column("state_dtype", "state", "proof", False, "type of what a neuron carries from step to step, where it can be seen"),
        Column("samples", "samples", "times", hint="of the step, round by round"),
        Column("quality", "remarks", "times", False),
        Column("status", "status", every, False),
        Column("reason", "reason", every, False),
    ]


KINDS_OF_MEMORY = {"peak": "peak", "extra": "beyond"}


def lines(table: Table) -> list[dict[str, Any]]:
    """For each case the texts of its cells, in the columns' order."""
    shown = columns(table)
    return [_line(entry, shown) for entry in table.entries]


def _line(entry: Entry, shown: list[Column]) -> dict[str, Any]:
    return {
        "index": entry.index,
        "variant": entry.variant,
        "kind": KINDS[entry.row.status] if entry.row.rankable or entry.row.status != "ok" else "limit",
        "cells": [(column, cell(entry, column.name)) for column in shown],
    }


def cell(entry: Entry, name: str) -> str:
    """The text of a column's cell. Times of a network that is not proved are withheld."""
    values, value = entry.values, entry.values[name]
    if name == "reason":
        return reason_of(entry.row)
    if name == "machine":
        return entry.parts["machine"]
    if name == "threads":
        return entry.parts["threads"]
    if name == "proved":
        return {True: "proved", False: "rejected", None: ""}[value]
    if name == "quality":
        return ", ".join(FLAGS.get(flag, (flag, flag))[0] for flag in value.split()) if entry.row.rank else ""
    phase = name.removesuffix("_s").removesuffix("_lo").removesuffix("_enqueue")
    if phase in PHASES and not entry.shows(phase):
        ended = entry.row.phase_status(phase)
        return ended if name == f"{phase}_s" and ended not in (None, "ok") else ""
    if value is None:
        return ""
    if name == "step_lo_s":
        return f"{units.seconds(values['step_lo_s'])} – {units.seconds(values['step_hi_s'])}"
    if name == "step_enqueue_s":
        return units.share(value / values["step_s"])
    if name == "samples":
        return " + ".join(str(len(samples)) for samples in entry.row.rounds_of("step")) if entry.shows("step") else ""
    if name == "roofline":
        return units.share(value) if entry.shows("step") else ""
    if name == "ratio":
        return f"{value:.2f}"
    if name in ("wrong_decisions", "spike_mismatch"):
        return units.small_share(value)
    if name == "firing_rate":
        return units.share(value)
    if name == "grad_error":
        return units.error(value)
    if name.endswith("_bytes"):
        return units.size(value) if entry.row.proved else ""
    if name.endswith("_s"):
        return units.seconds(value)
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)
