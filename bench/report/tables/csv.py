"""`results.csv`: one row per case, fixed column order, SI units in the names, unknown empty."""

import csv
import io
from dataclasses import fields

from snnbench.adapters.base.case import PHASES, Case
from snnbench.kernels.spec import NeuronSpec

from ...records.record import SCHEMA
from ...records.rows import Row

CASE_COLUMNS = [field.name for field in fields(Case)]
SPEC_FIELDS = [field.name for field in fields(NeuronSpec)]
NEURON_COLUMNS = [f"neuron_{name}" for name in SPEC_FIELDS]


def _phase_columns(phase: str) -> list[str]:
    return [f"{phase}_{name}" for name in ("s", "lo_s", "hi_s", "enqueue_s", "device_s", "floor_s", "status")]


COLUMNS = [
    *CASE_COLUMNS,
    *NEURON_COLUMNS,
    "status",
    "reason",
    "rank",
    "ratio",
    *[column for phase in PHASES for column in _phase_columns(phase)],
    "peak_memory_bytes",
    "extra_memory_bytes",
    *[f"{phase}_{kind}_memory_bytes" for phase in PHASES for kind in ("peak", "extra")],
    "reserved_memory_bytes",
    "memory_meaning",
    "host_peak_bytes",
    "proved",
    "spike_mismatch",
    "grad_error",
    "wrong_decisions",
    "firing_rate",
    "native",
    "input_scale",
    "floor_s",
    "roofline",
    "import_s",
    "build_s",
    "compile_s",
    "graph_breaks",
    "recompiles",
    "first_call_s",
    "output_dtype",
    "state_dtype",
    "backend",
    "device_clock",
    "threads",
    "samples",
    "rounds",
    "quality",
    "warnings",
    "version",
    "environment",
    "machine",
    "started_at",
    "case_id",
    "schema",
]


def columns_of(row: Row) -> dict[str, object]:
    """Every column's value; None where nothing is known. Times in seconds, memory in bytes, shares between 0 and 1.

    `import_s`, `build_s`, `compile_s` and `first_call_s` are of the first round, the only cold one: its compiler cache is
    empty. `compile_s` is all time in which the case's own network was traced and compiled, with and without gradients, the
    proof's networks left out; it is a part of `first_call_s` and of warm-up, and what torch finds out of the machine's
    compiler at first use is a part of `build_s`. `graph_breaks` counts where torch.compile gave up and went back to Python,
    `recompiles` how often it compiled a piece again because something that it had relied on was different.
    `backend` is the kernel that ran, where a framework chooses between several. `native` says what a native neuron computes,
    `input_scale` how many times stronger than the others' its input was, so that it fires. `output_dtype` and `state_dtype`
    are those of the spikes handed out and of what a neuron carries from step to step; the latter is unknown where nobody
    can see it, as in what a compiler made.
    """
    case, first, proof = row.case, row.first, row.own_size or {}
    values = {name: getattr(case, name) for name in CASE_COLUMNS} | {"neuron": case.neuron.label()}
    values |= {f"neuron_{name}": None if case.native else getattr(case.neuron, name) for name in SPEC_FIELDS}
    for phase in PHASES:
        figure = row.estimates.get(phase)
        figures = [figure.median, figure.low, figure.high] if figure else [None] * 3
        figures += [row.median(phase, "enqueue"), row.median(phase, "device"), row.floors.get(phase), row.phase_status(phase)]
        values |= dict(zip(_phase_columns(phase), figures, strict=True))
        memory = first.memory.get(phase, {})
        values |= {f"{phase}_{kind}_memory_bytes": memory.get(f"{kind}_bytes") for kind in ("peak", "extra")}
    step, floor = row.estimates.get("step"), row.floors.get("step")
    sampled = first.parts["step"].samples if "step" in first.parts else None
    reserved = [figures.get("reserved_bytes") for figures in first.memory.values()]
    return values | {
        "status": row.status,
        "reason": row.reason,
        "rank": row.rank,
        "ratio": row.ratio,
        "peak_memory_bytes": row.peak_memory,
        "extra_memory_bytes": row.extra_memory,
        "reserved_memory_bytes": max((value for value in reserved if value), default=None),
        "memory_meaning": first.memory_meaning,
        "host_peak_bytes": first.host_peak_bytes,
        "proved": row.proved if first.proof else None,
        "spike_mismatch": first.facts.get("spike_mismatch"),
        "grad_error": proof.get("grad_error"),
        "wrong_decisions": proof.get("wrong_decisions"),
        "firing_rate": row.firing_rate,
        "native": first.facts.get("native"),
        "input_scale": first.facts.get("input_scale"),
        "floor_s": floor,
        "roofline": floor / step.median if floor and step else None,
        "import_s": row.part_seconds("import"),
        "build_s": row.part_seconds("build"),
        **{name: first.facts.get(name) for name in ("compile_s", "graph_breaks", "recompiles")},
        "first_call_s": row.part_seconds("first_call"),
        **{name: first.facts.get(name) for name in ("output_dtype", "state_dtype")},
        "backend": first.facts.get("backend"),
        "device_clock": sampled.device_clock if sampled else None,
        "threads": first.measure["threads"],
        "samples": step.samples if step else None,
        "rounds": len(row.records),
        "quality": " ".join(row.quality()),
        "warnings": "; ".join(dict.fromkeys(text for record in row.records for text in record.warnings)),
        "version": first.adapter["version"],
        "environment": first.environment["hash"],
        "machine": first.machine["hash"],
        "started_at": first.started_at,
        "case_id": first.case_id,
        "schema": SCHEMA,
    }


def csv_text(rows: list[Row]) -> str:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: _cell(value) for key, value in columns_of(row).items()})
    return stream.getvalue()


def _cell(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return value
