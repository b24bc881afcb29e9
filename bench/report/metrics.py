"""Every metric of a case, each described once.

A new metric is one entry of METRICS: with a name and a value it is a column of results.csv; with a heading and views it stands
in these tables too.
"""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from snnbench.adapters.base.case import PHASES
from snnbench.kernels.spec import NeuronSpec

from .. import units
from ..records.record import SCHEMA
from ..records.rows import Row
from .coverage import CASE_FIELDS, CONDITIONS, FLAGS, axis_of, reason_of
from .metric import EVERY, NATIVES, NATIVES_IN_MARKDOWN, STEP_FIRST, SUMMARY, Entry, Metric

HINTS = {
    "rank": "rank by step time among cases that differ in nothing but the framework",
    "step_enqueue_s": "step time until the call came back: near all of it, Python is the limit",
    "memory_meaning": "figures of different meaning are different quantities",
    "wrong_decisions": "spikes that are not those of the oracle from the framework's own spikes before; few may be, "
    "near the threshold",
    "spike_mismatch": "against an oracle that runs free; decides nothing",
    "grad_error": "relative L2, the worst of weight, bias and input",
    "roofline": "the hardware's least time for the step, over the step time",
    "first_call_s": "with what it compiles",
    "samples": "of the step, round by round",
    "output_dtype": "type of the spikes handed out",
    "state_dtype": "type of what a neuron carries from step to step, where it can be seen",
}
"""What a reader of a table is told of a metric whose heading says too little."""


def _case_metric(name: str) -> Metric:
    """A field of the case; empty for a workload to which it means nothing."""

    def value(row: Row) -> Any:
        return row.case.neuron.label() if name == "neuron" else row.axes.get(name)

    if name not in CONDITIONS:
        return Metric(name, value)
    axis = axis_of(name)
    return Metric(name, value, axis.unit, axis.head, "", EVERY, 100 + CONDITIONS.index(name), axis=True)


def _neuron_metric(name: str) -> Metric:
    """A field of the neuron's specification, which a native neuron does not have."""
    return Metric(f"neuron_{name}", lambda row: None if row.case.native else getattr(row.case.neuron, name))


def _estimated(phase: str, name: str) -> Callable[[Row], float | None]:
    return lambda row: getattr(row.estimates[phase], name) if phase in row.estimates else None


def _phase_metrics(phase: str) -> list[Metric]:
    """The time of a phase with its 95 % interval, what explains it, the hardware's least, and how the phase ended."""
    place, step = 200 + 10 * STEP_FIRST.index(phase), phase == "step"
    views = "times" if phase == "inference" else f"times {SUMMARY} {NATIVES}"

    def time(entry: Entry) -> str:
        ended = entry.row.phase_status(phase)
        return units.seconds(entry.values[f"{phase}_s"]) if entry.shows(phase) else ended if ended not in (None, "ok") else ""

    def interval(entry: Entry) -> str:
        low, high = (units.seconds(entry.values[f"{phase}_{end}_s"]) for end in ("lo", "hi"))
        return f"{low} – {high}" if entry.shows(phase) else ""

    def until_return(entry: Entry) -> str:
        values = entry.values
        known = entry.shows(phase) and values[f"{phase}_enqueue_s"] is not None
        return units.share(values[f"{phase}_enqueue_s"] / values[f"{phase}_s"]) if known else ""

    low = Metric(f"{phase}_lo_s", _estimated(phase, "low"), "s")
    enqueue = Metric(f"{phase}_enqueue_s", lambda row: row.median(phase, "enqueue"), "s")
    if step:
        low = Metric(low.name, low.value, "s", "95 % interval", views=views, place=place + 1, format=interval)
        enqueue = Metric(enqueue.name, enqueue.value, "s", "until return", HINTS[enqueue.name], "start", 410, until_return)
    return [
        Metric(f"{phase}_s", _estimated(phase, "median"), "s", phase, "", views, place, format=time),
        low,
        Metric(f"{phase}_hi_s", _estimated(phase, "high"), "s"),
        enqueue,
        Metric(f"{phase}_device_s", lambda row: row.median(phase, "device"), "s"),
        Metric(f"{phase}_floor_s", lambda row: row.floors.get(phase), "s"),
        Metric(f"{phase}_status", lambda row: row.phase_status(phase)),
    ]


def _memory_metric(phase: str, kind: str, head: str) -> Metric:
    """Bytes of a phase: the most in use at once, or beyond arguments and outputs. Shown only of a proved network."""
    name = f"{phase}_{kind}_memory_bytes"

    def weighed(entry: Entry) -> str:
        return units.size(entry.values[name]) if entry.row.proved else ""

    def value(row: Row) -> int | None:
        return row.first.memory.get(phase, {}).get(f"{kind}_bytes")

    return Metric(name, value, "bytes", f"{phase} {head}", views="memory", place=300 + STEP_FIRST.index(phase), format=weighed)


def _condition(name: str, value: Callable[[Row], Any], place: int) -> Metric:
    """What belongs to a comparison group and to no case."""
    return Metric(name, value, "", name, "", EVERY, place, format=lambda entry: entry.parts[name], axis=True)


def _fact(name: str, unit: str = "", head: str = "", views: str = "", place: int = 0) -> Metric:
    """What the worker reported of a case in its first round."""
    return Metric(name, lambda row: row.first.facts.get(name), unit, head, HINTS.get(name, ""), views, place)


def _of_proof(name: str, unit: str, head: str, place: int, views: str = "proof") -> Metric:
    """A figure of the proof at the case's own size."""
    return Metric(name, lambda row: row.own_size.get(name), unit, head, HINTS.get(name, ""), views, place)


def _part(name: str) -> Metric:
    """Seconds of a part of the first round, the only cold one: its compiler cache is empty."""
    hint = HINTS.get(f"{name}_s", "")
    return Metric(f"{name}_s", lambda row: row.part_seconds(name), "s", name.replace("_", " "), hint, "start", 400)


def _roofline(row: Row) -> float | None:
    step, floor = row.estimates.get("step"), row.floors.get("step")
    return floor / step.median if floor and step else None


def _proved(row: Row) -> bool | None:
    return row.proved if row.first.proof else None


def _device_clock(row: Row) -> str | None:
    samples = row.first.samples("step")
    return samples.device_clock if samples else None


def _warnings(row: Row) -> str:
    return "; ".join(dict.fromkeys(text for record in row.records for text in record.warnings))


def _share_of_floor(entry: Entry) -> str:
    return units.share(entry.values["roofline"]) if entry.shows("step") else ""


def _samples_by_round(entry: Entry) -> str:
    return " + ".join(str(len(samples)) for samples in entry.row.rounds_of("step")) if entry.shows("step") else ""


def _remarks(entry: Entry) -> str:
    flags = entry.values["quality"].split() if entry.row.rank else []
    return ", ".join(FLAGS[flag][0] for flag in flags)


def _verdict(entry: Entry) -> str:
    return {True: "proved", False: "rejected", None: ""}[entry.values["proved"]]


METRICS: tuple[Metric, ...] = (
    *map(_case_metric, CASE_FIELDS),
    *(_neuron_metric(field.name) for field in fields(NeuronSpec)),
    Metric("status", lambda row: row.status, head="status", views=f"{EVERY} {SUMMARY} {NATIVES}", place=900),
    Metric("reason", lambda row: row.reason, head="reason", views=EVERY, place=910, format=lambda entry: reason_of(entry.row)),
    Metric("rank", lambda row: row.rank, "count", "#", HINTS["rank"], f"{EVERY} {SUMMARY}", 0),
    Metric("ratio", lambda row: row.ratio, "times", "× best", views=f"times {SUMMARY}", place=202),
    *(metric for phase in PHASES for metric in _phase_metrics(phase)),
    Metric("peak_memory_bytes", lambda row: row.most_memory("peak"), "bytes", "memory", views=f"{SUMMARY} {NATIVES}", place=310),
    Metric("extra_memory_bytes", lambda row: row.most_memory("extra"), "bytes"),
    *(_memory_metric(phase, kind, head) for phase in PHASES for kind, head in (("peak", "peak"), ("extra", "beyond"))),
    Metric("reserved_memory_bytes", lambda row: row.most_memory("reserved"), "bytes"),
    Metric("memory_meaning", lambda row: row.first.memory_meaning, "", "meaning", HINTS["memory_meaning"], "memory", 320),
    Metric("host_peak_bytes", lambda row: row.first.host_peak_bytes, "bytes"),
    Metric("proved", _proved, head="verdict", views="proof", place=500, format=_verdict),
    _fact("spike_mismatch", "small share", "spikes that differ", "proof", 530),
    _of_proof("grad_error", "error", "gradient error", 520),
    _of_proof("wrong_decisions", "small share", "wrong decisions", 510),
    _of_proof("firing_rate", "share", "firing rate", 540, f"proof {NATIVES}"),
    # What a native neuron computes, and how many times stronger than the others' its input was, so that it fires.
    _fact("native", head="neuron", views=NATIVES_IN_MARKDOWN, place=541),
    _fact("input_scale"),
    Metric("floor_s", lambda row: row.floors.get("step"), "s"),
    Metric("roofline", _roofline, "share", "of the floor", HINTS["roofline"], "start", 420, _share_of_floor),
    _part("import"),
    # What torch finds out of the machine's compiler at first use is a part of the build.
    _part("build"),
    # All time in which the case's own network was traced and compiled, with and without gradients, the proof's networks left
    # out; a part of `first_call_s` and of warm-up.
    _fact("compile_s", "s", "compile", "start", 400),
    # Where torch.compile gave up and went back to Python, and how often it compiled a piece again because something that it had
    # relied on was different.
    _fact("graph_breaks"),
    _fact("recompiles"),
    _part("first_call"),
    _fact("output_dtype", "", "output", "proof", 550),
    # Unknown where nobody can see it, as in what a compiler made.
    _fact("state_dtype", "", "state", "proof", 551),
    # The kernel that ran, where a framework chooses between several.
    _fact("backend"),
    Metric("device_clock", _device_clock),
    _condition("threads", lambda row: row.first.measure["threads"], 180),
    Metric("samples", _estimated("step", "samples"), "count", "samples", HINTS["samples"], "times", 600, _samples_by_round),
    Metric("rounds", lambda row: len(row.records)),
    Metric("quality", lambda row: " ".join(row.quality()), head="remarks", views="times", place=610, format=_remarks),
    Metric("warnings", _warnings),
    Metric("version", lambda row: row.first.adapter["version"]),
    Metric("environment", lambda row: row.first.environment["hash"]),
    _condition("machine", lambda row: row.first.machine["hash"], 190),
    Metric("started_at", lambda row: row.first.started_at),
    Metric("case_id", lambda row: row.first.case_id),
    Metric("schema", lambda row: SCHEMA),
)
"""In the order of results.csv, which people's scripts read."""
