"""All metrics of a case. An entry of METRICS with a name and a value is a column of results.csv; a
heading and views add it to these tables."""

from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any, Literal

from snnbench.kernels.spec import NeuronSpec

from ...common import units
from ...core.breakdown import KINDS, STAGES
from ...core.case import CASE_FIELDS, NETWORK, PHASES, USUAL_PHASES
from ...core.datasets import form_of
from ...records.record import SCHEMA
from ...records.rows import Row
from ...workloads import WORKLOADS
from ..words import CONDITIONS, axis_of, rank_of, reason_of, remarks_on
from .delivery import DELIVERY
from .latency import LATENCY
from .metric import (
    EVERY,
    NATIVES,
    NATIVES_IN_MARKDOWN,
    REMARKS,
    STEP_FIRST,
    SUMMARY,
    Entry,
    Metric,
    fact_of,
    in_order,
    part_column,
)
from .origin import ORIGIN, device_clock, proved, warnings
from .work import INFERENCE_ENERGY, RANKS, WORK


def _case_metric(name: str) -> Metric:
    """Returns the metric of a field of the case; its value is empty if the workload lacks the
    field."""

    def value(row: Row) -> Any:
        return row.case.neuron_label if name == "neuron" else row.axes.get(name)

    if name not in CONDITIONS:
        return Metric(name, value)
    axis = axis_of(name)
    return Metric(
        name, value, axis.unit, axis.head, "", EVERY, 100 + CONDITIONS.index(name), axis=True
    )


def _case_metrics(first: str, last: str) -> list[Metric]:
    """Returns the metrics of the case's fields from `first` to `last`."""
    return [
        _case_metric(name)
        for name in CASE_FIELDS[CASE_FIELDS.index(first) : CASE_FIELDS.index(last) + 1]
    ]


def _neuron_metric(name: str) -> Metric:
    """Returns the metric of a field of the neuron, which a native neuron lacks."""
    return Metric(f"neuron_{name}", lambda row: getattr(row.case.neuron, name, None))


def _estimated(phase: str, name: str) -> Callable[[Row], float | None]:
    return lambda row: getattr(row.estimates[phase], name) if phase in row.estimates else None


def _phase_metrics(phase: str, ranked: str = "step") -> list[Metric]:
    """Returns a phase's metrics where the phase `ranked` ranks: time, 95 % interval, its
    explanation, hardware floor and status."""
    place, ranks = 200 + 10 * in_order(ranked).index(phase), phase == ranked
    shown = ranks or phase not in ("inference", "optimizer")
    views = f"times {SUMMARY} {NATIVES}" if shown else "times"

    def time(entry: Entry) -> str:
        ended = entry.row.phase_status(phase)
        if ranks and entry.shows(phase) and entry.row.paired_s:
            return f"≈ {units.seconds(entry.row.paired_s)}"
        if entry.shows(phase):
            return units.seconds(entry.values[f"{phase}_s"])
        return ended if ended and ended != "ok" else ""

    def interval(entry: Entry) -> str:
        low, high = (entry.values[f"{phase}_{end}_s"] for end in ("lo", "hi"))
        if ranks and entry.row.paired_s:
            return ""
        return units.seconds_between(low, high) if entry.shows(phase) and low is not None else ""

    def until_return(entry: Entry) -> str:
        values = entry.values
        known = entry.shows(phase) and values[f"{phase}_enqueue_s"] is not None
        return units.share(values[f"{phase}_enqueue_s"] / values[f"{phase}_s"]) if known else ""

    estimated = _estimated(phase, "seconds")
    low = Metric(f"{phase}_lo_s", _estimated(phase, "low"), "s")
    enqueue = Metric(f"{phase}_enqueue_s", lambda row: row.median(phase, "enqueue"), "s")
    if ranks:
        low = replace(low, head="95 % interval", views=views, place=place + 1, format=interval)
        hint = f"{ranked} time until the call came back: near all of it, Python is the limit"
        enqueue = replace(enqueue, head="until return", hint=hint, format=until_return)
        enqueue = replace(enqueue, views="start", place=410)
    return [
        Metric(f"{phase}_s", estimated, "s", phase, "", views, place, time),
        low,
        Metric(f"{phase}_hi_s", _estimated(phase, "high"), "s"),
        enqueue,
        Metric(f"{phase}_device_s", lambda row: row.median(phase, "device"), "s"),
        Metric(f"{phase}_floor_s", lambda row: row.floors.get(phase), "s"),
        Metric(f"{phase}_status", lambda row: row.phase_status(phase)),
    ]


def _memory_metric(phase: str, kind: str, head: str = "") -> Metric:
    """Returns the metric of a phase's bytes: `peak`, `extra` (beyond arguments and outputs) or
    `kept` (in use between calls). With a `head` it is shown, if proved."""
    name = f"{phase}_{kind}_memory_bytes"

    def weighed(entry: Entry) -> str:
        return units.size(entry.values[name]) if entry.row.proved else ""

    def value(row: Row) -> int | None:
        return row.first.memory.get(phase, {}).get(f"{kind}_bytes")

    if not head:
        return Metric(name, value, "bytes")
    place = 300 + STEP_FIRST.index(phase)
    return Metric(name, value, "bytes", f"{phase} {head}", "", "memory", place, weighed)


def _shown_memory(phase: str) -> list[Metric]:
    return [_memory_metric(phase, "peak", "peak"), _memory_metric(phase, "extra", "beyond")]


def _warm(phase: str) -> Metric:
    """Returns the metric of the device time with a warm cache; with events `PHASE_device_s` has a
    cold one."""
    warm = partial(Row.median, phase=phase, clock="device_warm")
    return Metric(f"{phase}_device_warm_s", warm, "s")


def _of_first(name: str, unit: str = "") -> Metric:
    """Returns the metric of a field of the first block's record."""
    return Metric(name, attrgetter(f"first.{name}"), unit)


def _of_items(
    name: str, samples: Callable[[Row], float | None], unit: str, head: str, hint: str
) -> Metric:
    """Returns a metric of a step counted in samples; shown if the case trains with a loss."""

    def text(entry: Entry) -> str:
        value = entry.values[name] if entry.shows("step") and entry.row.case.loss else None
        return "" if value is None else units.seconds(value) if unit == "s" else f"{value:,.0f}"

    return Metric(name, samples, unit, head, hint, "times", 290, text)


def _samples_per_s(row: Row) -> float | None:
    """Returns samples per second: of a batch, or of an epoch's batches where data is delivered."""
    batches = row.first.facts.get("batches") if row.case.delivers_data else 1
    if not batches or "step" not in row.estimates:
        return None
    return batches * row.case.batch / row.estimates["step"].seconds


def _epoch_s(row: Row) -> float | None:
    """Returns seconds for all samples: of the delivered data set, or of the network's."""
    workload, rate = WORKLOADS.get(row.case.workload), _samples_per_s(row)
    if row.case.delivers_data:
        samples: int | None = form_of(str(row.case.dataset)).recordings
    else:
        samples = workload.samples if workload else None
    return samples / rate if samples and rate else None


def _taken_apart(what: Literal["seconds", "bytes"], name: str, unit: str) -> Metric:
    """Returns the metric of a stage's seconds, or of a memory kind's bytes at the peak."""

    def value(row: Row) -> Any:
        return row.first.breakdown[what].get(name) if row.first.breakdown else None

    return Metric(part_column(name, unit), value, unit)


def _learned(name: str, value: Callable[[Any], Any], **options: Any) -> Metric:
    """Returns a metric of the training curve of a case with a loss."""
    return Metric(
        name, lambda row: value(row.first.learning) if row.first.learning else None, **options
    )


def _of_later_phase(phase: str) -> list[Metric]:
    """Returns the columns of a phase that was added to results.csv later."""
    memory = *_shown_memory(phase), _memory_metric(phase, "kept")
    return [*_phase_metrics(phase), *memory, _warm(phase)]


def _condition(name: str, value: Callable[[Row], Any], place: int) -> Metric:
    """Returns the metric of a condition that is no field of the case."""
    return Metric(
        name, value, "", name, "", EVERY, place, format=lambda entry: entry.parts[name], axis=True
    )


def _fact(
    name: str, unit: str = "", head: str = "", hint: str = "", views: str = "", place: int = 0
) -> Metric:
    return Metric(name, fact_of(name), unit, head, hint, views, place)


def _of_proof(
    name: str, unit: str, head: str, hint: str, place: int, views: str = "proof"
) -> Metric:
    """Returns a value of the proof at the case's own size."""
    return Metric(name, lambda row: row.own_size.get(name), unit, head, hint, views, place)


def _part(name: str, hint: str = "") -> Metric:
    """Returns seconds of a part of the first block, the only one with an empty compiler cache."""
    head = name.replace("_", " ")
    return Metric(f"{name}_s", lambda row: row.part_seconds(name), "s", head, hint, "start", 400)


def _roofline(row: Row) -> float | None:
    time, floor = row.estimates.get(row.ranked), row.floors.get(row.ranked)
    return floor / time.seconds if floor and time else None


def _standing(name: str) -> Callable[[Row], Any]:
    return lambda row: getattr(row.standing, name) if row.standing else None


def _ratio(entry: Entry) -> str:
    ratio, low, high = (entry.values[name] for name in ("ratio", "ratio_low", "ratio_high"))
    if ratio is None:
        return ""
    if low is None and entry.row.standing and entry.row.standing.note:  # nothing is decided
        return f"{units.plain_ratio(ratio)}×"
    return units.ratio(ratio, low, high)


def _share_of_floor(entry: Entry) -> str:
    return units.share(entry.values["roofline"]) if entry.shows(entry.row.ranked) else ""


def _reason(entry: Entry) -> str:
    return reason_of(entry.row)


def _flags(row: Row) -> str:
    return " ".join(row.quality)


def _remarks(entry: Entry) -> str:
    return remarks_on(entry.row)


def _step_apart(row: Row) -> float | None:
    return row.first.breakdown["step_s"] if row.first.breakdown else None


def _verdict(entry: Entry) -> str:
    row = entry.row
    passed = "right time axis" if row.case.native else "proved"
    return (passed if row.proved else "rejected") if row.first.proof else ""


EVERYWHERE = f"{EVERY} {SUMMARY} {NATIVES}"
NEURON = [field.name for field in fields(NeuronSpec)]
EVERY_NEURON = NEURON.index("max_spikes") + 1
"""Number of fields that every neuron has; their columns stand in front."""

METRICS: tuple[Metric, ...] = (
    *_case_metrics("framework", "seed"),
    *map(_neuron_metric, NEURON[:EVERY_NEURON]),
    Metric("status", attrgetter("status"), "", "status", "", EVERYWHERE, 900),
    Metric("reason", attrgetter("reason"), "", "reason", "", EVERY, 910, _reason),
    Metric(
        "rank_low",
        _standing("best"),
        "count",
        "#",
        "ranks by step time that the case may have among those that differ in nothing "
        "but the framework; =: not shown to be slower than the best",
        f"{EVERY} {SUMMARY}",
        0,
        lambda entry: rank_of(entry.row),
    ),
    Metric("rank_high", _standing("worst"), "count"),
    Metric(
        "ratio",
        _standing("ratio"),
        "times",
        "× best",
        "step time over that of the fastest, with its 95 % interval, paired pass by pass",
        f"times {SUMMARY}",
        202,
        _ratio,
    ),
    Metric("ratio_low", _standing("low"), "times"),
    Metric("ratio_high", _standing("high"), "times"),
    # p-value of equal times, Holm-adjusted over the ratios to the fastest in all groups.
    Metric("p_holm", _standing("p")),
    *(metric for phase in USUAL_PHASES for metric in _phase_metrics(phase)),
    Metric(
        "peak_memory_bytes",
        lambda row: row.most_memory("peak"),
        "bytes",
        "memory",
        views=f"{SUMMARY} {NATIVES}",
        place=310,
    ),
    Metric("extra_memory_bytes", lambda row: row.most_memory("extra"), "bytes"),
    *(metric for phase in USUAL_PHASES for metric in _shown_memory(phase)),
    *(_memory_metric(phase, "kept") for phase in USUAL_PHASES),
    Metric("reserved_memory_bytes", lambda row: row.most_memory("reserved"), "bytes"),
    Metric(
        "memory_meaning",
        attrgetter("first.memory_meaning"),
        "",
        "meaning",
        "figures of different meaning are different quantities",
        "memory",
        320,
    ),
    _of_first("host_peak_bytes", "bytes"),
    Metric("proved", proved, head="verdict", views="proof", place=500, format=_verdict),
    # The rules, in words, by which less was asked of the proof.
    Metric("loosened", lambda row: "; ".join(row.loosened) or None),
    _fact(
        "spike_mismatch",
        "small share",
        "spikes that differ",
        "against an oracle that runs free; decides nothing",
        "proof",
        530,
    ),
    _of_proof(
        "grad_error",
        "error",
        "gradient error",
        "relative L2, the worst of weight, bias and input",
        520,
    ),
    _of_proof(
        "wrong_decisions",
        "small share",
        "wrong decisions",
        "spikes that are not those of the oracle from the framework's own spikes "
        "before; few may be, near the threshold",
        510,
    ),
    _of_proof("firing_rate", "share", "firing rate", "", 540, f"proof {NATIVES}"),
    # The equations of a native neuron, and the factor on its input that makes it fire.
    _fact("native", head="neuron", views=NATIVES_IN_MARKDOWN, place=541),
    _fact("input_scale"),
    Metric("floor_s", lambda row: row.floors.get(row.ranked), "s"),
    Metric(
        "roofline",
        _roofline,
        "share",
        "of the floor",
        "the hardware's least time for the step, over the step time",
        "start",
        420,
        _share_of_floor,
    ),
    _part("import"),
    # What torch finds out of the machine's compiler at first use is a part of the build.
    _part("build"),
    # Tracing and compiling of the case's own network, with and without gradients; a part of
    # `first_call_s` and of warm-up.
    _fact("compile_s", "s", "compile", "", "start", 400),
    # Returns of torch.compile to Python, and compilations repeated after a broken assumption.
    _fact("graph_breaks"),
    _fact("recompiles"),
    _part("first_call", "with what it compiles"),
    _fact("output_dtype", "", "output", "type of the spikes handed out", "proof", 550),
    _fact(
        "state_dtype",
        "",
        "state",
        "type of what a neuron carries from step to step, where it can be seen",
        "proof",
        551,
    ),
    # The kernel that ran, where a framework chooses between several.
    _fact("backend"),
    Metric("device_clock", device_clock),
    _condition("threads", lambda row: row.first.measure["threads"], 180),
    Metric(
        "blocks",
        lambda row: len(row.records),
        "count",
        "blocks",
        "sets of fresh processes, which were timed together",
        "times",
        600,
    ),
    Metric("slots", lambda row: len(row.column(row.ranked, "disturbed"))),
    Metric("disturbed_share", attrgetter("disturbed_share"), "share"),
    Metric("quality", _flags, "", REMARKS, "", f"times {SUMMARY} {NATIVES}", 610, _remarks),
    Metric("warnings", warnings),
    Metric("version", lambda row: row.first.adapter["version"]),
    Metric("environment", lambda row: row.first.environment["hash"]),
    _condition("machine", attrgetter("machine"), 190),
    _of_first("started_at"),
    _of_first("case_id"),
    Metric("schema", lambda row: SCHEMA),
    *_case_metrics("width", "firing"),
    # A kernel's choice of the product with spikes, and the share of ones that it counted.
    _fact("product"),
    _fact("product_rate", "share"),
    *map(_warm, USUAL_PHASES),
    *_case_metrics("loss", "optimizer"),
    *(metric for phase in PHASES if phase not in USUAL_PHASES for metric in _of_later_phase(phase)),
    *(_taken_apart("seconds", stage, "s") for stage in STAGES),
    Metric("step_apart_s", _step_apart, "s"),
    *(_taken_apart("bytes", kind, "bytes") for kind in KINDS),
    _of_items("samples_per_s", _samples_per_s, "per_s", "samples/s", "of whole steps"),
    _of_items(
        "epoch_s",
        _epoch_s,
        "s",
        "epoch",
        "all samples of the delivered data set, or of that which the network was published with",
    ),
    _learned("learning_steps", lambda learned: len(learned["loss"])),
    _learned("last_loss", lambda learned: learned["loss"][-1] if learned["loss"] else None),
    _learned(
        "accuracy", itemgetter("accuracy"), unit="share", head="learned", views="proof", place=545
    ),
    *map(_neuron_metric, NEURON[EVERY_NEURON : NEURON.index("rounding")]),
    *ORIGIN,
    *_case_metrics("dataset", "behind"),
    *DELIVERY,
    _of_first("git_commit"),
    _case_metric(NETWORK),
    *WORK,
    *_case_metrics("parallel", "ranks"),
    *RANKS,
    *_case_metrics("inputs", "outputs"),
    _of_first("recordings"),
    Metric("ranked_by", attrgetter("ranked")),
    INFERENCE_ENERGY,
    *LATENCY,
    *_case_metrics("recurrent", "heads"),
    _neuron_metric("rounding"),
    _case_metric("recipe"),
    _neuron_metric("adaptation_coupling"),
)
"""The metrics in the order of results.csv, which users' scripts read."""

RANKED_BY = {
    ranked: {metric.name: metric for phase in PHASES for metric in _phase_metrics(phase, ranked)}
    for ranked in PHASES
}
"""The metrics of phases where another phase than the step ranks: it stands first, and has its
interval and more beside it."""
