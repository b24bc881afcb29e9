"""`report.html`: one file that opens offline. Here rows become plain view data; `report.html.j2` lays it out."""

from collections import defaultdict
from pathlib import Path
from textwrap import shorten

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from snnbench.adapters.base import PRECISIONS, Case

from ..problem import proved
from ..stats import ratio
from ..worker.phases import PHASES
from ..worker.proof import limits_of
from . import units
from .charts import WIDTH, LogAxis, axis_of
from .coverage import KINDS, Conditions, coverage, reason_of
from .csv_table import columns_of
from .rows import Row
from .trust import FLAGS, REFUSED, header, trust

SAID = {"budget": units.duration, "timeout": units.duration, "host_memory": units.size, "memory_bytes": units.size}
LONGEST_REASON = 240
"""Characters beside a time; the list below the map has all of them."""


def html_text(rows: list[Row], name: str, unreadable: list[str]) -> str:
    """The whole report of `rows` (as `rows_of` gives them); `unreadable` are sentences about files that were skipped."""
    conditions = Conditions(rows)
    columns = {id(row): columns_of(row) for row in rows}
    groups = list(conditions.groups.values())
    folder = FileSystemLoader(Path(__file__).parent)
    environment = Environment(loader=folder, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.get_template("report.html.j2").render(
        name=name,
        chart_width=WIDTH,
        header=header(rows, conditions),
        trust=trust(rows, conditions, columns, unreadable),
        fixed=conditions.fixed,
        coverage=coverage(rows, conditions),
        times=[_times(group, conditions, columns) for group in groups if not group[0].case.native],
        natives=[_natives(group, conditions) for group in groups if group[0].case.native],
        phases=PHASES,
        memory=[table for group in groups for table in _memory(group, conditions, columns)],
        no_memory=[conditions.name(row) for row in rows if row.status == "ok" and not row.first.memory],
        proofs=[found for group in groups if (found := _proofs(group, conditions, columns))],
        no_proof=sum(row.first.proof is None for row in rows),
        rejected=[_rejected(row, conditions) for row in rows if row.status in REFUSED or (row.first.proof and not row.proved)],
        provenance=_provenance(rows, conditions),
    )


# -- times ---------------------------------------------------------------------------------------------------------


def _shown(row: Row, phase: str) -> bool:
    """A time is worth showing if its phase went well and the network is the right one."""
    return row.proved and row.phase_status(phase) == "ok" and phase in row.estimates


def _times(group: list[Row], conditions: Conditions, columns: dict[int, dict]) -> dict:
    steps = [row.estimates["step"] for row in group if row.rank]
    axis = axis_of([value for step in steps for value in (step.low, step.median, step.high)])
    best = next((row for row in group if row.rank == 1), None)
    entries = [_time(row, columns[id(row)], best, axis) for row in sorted(group, key=lambda row: row.rank or len(group) + 1)]
    return {
        "index": conditions.index(group[0]),
        "title": conditions.short(group[0]) or conditions.full(group[0]),
        "full": conditions.full(group[0]),
        "ticks": axis.ticks if axis else [],
        "ranked": [entry for entry in entries if entry["rank"]],
        "unranked": [entry for entry in entries if not entry["rank"]],
    }


def _natives(group: list[Row], conditions: Conditions) -> dict:
    return {
        "index": conditions.index(group[0]),
        "title": conditions.short(group[0]) or conditions.full(group[0]),
        "full": conditions.full(group[0]),
        "lines": [
            {
                "variant": row.case.framework_variant,
                "status": row.status,
                "kind": KINDS[row.status],
                "said": row.first.facts.get("native") if row.sound else shorten(reason_of(row), LONGEST_REASON, placeholder=" …"),
                "rate": units.share(row.firing_rate),
                "times": [units.seconds(row.estimates[name].median) if _shown(row, name) else "" for name in PHASES],
            }
            for row in group
        ],
    }


def _time(row: Row, values: dict, best: Row | None, axis: LogAxis | None) -> dict:
    step = row.estimates["step"] if _shown(row, "step") else None
    enqueue = values["step_enqueue_s"]
    return {
        "rank": row.rank,
        "variant": row.case.framework_variant,
        "status": row.status,
        "kind": KINDS[row.status] if row.status != "ok" else "limit",
        "reason": shorten(reason_of(row), LONGEST_REASON, placeholder=" …"),
        "flags": [FLAGS.get(flag, (flag, flag)) for flag in values["quality"].split()] if row.rank else [],
        "phases": {phase: _phase(row, phase, values[f"{phase}_s"]) for phase in PHASES},
        "measured": any(_shown(row, phase) for phase in PHASES),
        "interval": f"{units.seconds(step.low)} – {units.seconds(step.high)}" if step else "",
        "dot": {name: axis.x(getattr(step, name)) for name in ("low", "median", "high")} if row.rank and axis else None,
        **_ratio(row, best),
        "enqueue": units.share(enqueue / step.median) if step and enqueue is not None else "",
        **{name: units.seconds(values[f"{name}_s"]) for name in ("first_call", "import", "build")},
        "samples": f"{step.samples} in {step.rounds}" if step else "",
    }


def _phase(row: Row, phase: str, value: float | None) -> dict:
    """The time as text, or else how the phase ended."""
    ended = row.phase_status(phase)
    return {"time": units.seconds(value) if _shown(row, phase) else "", "ended": ended if ended not in (None, "ok") else ""}


def _ratio(row: Row, best: Row | None) -> dict:
    if row.ratio is None or best is None:
        return {"ratio": "", "ratio_interval": "", "tie": False}
    if row is best:
        return {"ratio": f"{row.ratio:.2f}", "ratio_interval": "", "tie": False}
    _, low, high = ratio(row.rounds_of("step"), best.rounds_of("step"))
    return {"ratio": f"{row.ratio:.2f}", "ratio_interval": f"{low:.2f} – {high:.2f}", "tie": low <= 1}


# -- memory, proof, provenance -------------------------------------------------------------------------------------


def _memory(group: list[Row], conditions: Conditions, columns: dict[int, dict]) -> list[dict]:
    """One table per meaning of the numbers; memory of a network that was not proved is not shown."""
    meanings = defaultdict(list)
    for row in group:
        if row.proved and row.first.memory:
            meanings[row.first.memory_meaning or "unknown"].append(_weight(row, columns[id(row)]))
    title = conditions.short(group[0]) or conditions.full(group[0])
    return [{"title": title, "meaning": meaning, "lines": lines} for meaning, lines in meanings.items()]


def _weight(row: Row, values: dict) -> dict:
    figures = [units.size(values[f"{phase}_{kind}_memory_bytes"]) for phase in PHASES for kind in ("peak", "extra")]
    return {"variant": row.case.framework_variant, "status": row.status, "kind": KINDS[row.status], "figures": figures}


def _small_share(value: float | None) -> str:
    """One wrong decision in a million must not read as none."""
    return "" if value is None else f"{100 * value:.2g} %"


def _proofs(group: list[Row], conditions: Conditions, columns: dict[int, dict]) -> dict | None:
    """The verdicts of a comparison group; None if no proof was tried."""
    lines = [_proof(row, columns[id(row)]) for row in group if row.first.proof]
    title = conditions.short(group[0]) or conditions.full(group[0])
    return {"title": title, "allowed": _allowed(group[0].case), "lines": lines} if lines else None


def _allowed(case: Case) -> str:
    if case.precision not in PRECISIONS or case.native:
        return ""
    limits = limits_of(proved(case))
    gradients = " / ".join(dict.fromkeys(units.error(float(e)) for e in (limits.gradient, limits.bias_gradient)))
    return f"allowed at own size: wrong decisions {_small_share(limits.decisions)}, gradient error {gradients}"


def _proof(row: Row, values: dict) -> dict:
    stages, own = row.first.proof["stages"], row.own_size or {}
    return {
        "variant": row.case.framework_variant,
        "passed": row.proved,
        "status": row.status,
        "stages": f"{sum(stage['passed'] for stage in stages)} of {len(stages)}",
        "wrong": _small_share(values["wrong_decisions"]),
        "errors": [units.error(own.get("errors", {}).get(name)) for name in ("weight", "bias", "input")],
        "mismatch": _small_share(values["spike_mismatch"]),
        "rate": units.share(values["firing_rate"]),
        "gain": ", ".join(f"{gain:.4g}" for gain in row.first.proof.get("gains") or []),
        "dtype": values["output_dtype"] or "",
    }


def _rejected(row: Row, conditions: Conditions) -> dict:
    stages = row.first.proof["stages"] if row.first.proof else []
    return {
        "name": conditions.name(row),
        "status": row.status,
        "kind": KINDS[row.status],
        "passed": [stage["name"] for stage in stages if stage["passed"]],
        "failed": [(stage["name"], stage["findings"]) for stage in stages if not stage["passed"]],
        "reason": "" if stages and not row.proved else reason_of(row),
    }


def _provenance(rows: list[Row], conditions: Conditions) -> dict:
    records = [record for row in rows for record in row.records]
    warnings: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        for text in dict.fromkeys(text for record in row.records for text in record.warnings):
            warnings[text].append(conditions.name(row))
    adapters = {tuple(r.adapter.get(k) or "" for k in ("name", "version", "reference", "source_sha256")) for r in records}
    return {
        "machines": _distinct(conditions.machines.values()),
        "environments": _distinct(record.environment for record in records),
        "measures": _distinct(record.measure for record in records),
        "adapters": sorted(adapters),
        "warnings": list(warnings.items()),
        "failures": [_failure(row, record, conditions) for row in rows for record in row.records if record.stderr_tail],
    }


def _distinct(blocks) -> list[dict]:
    return [dict(block) for block in dict.fromkeys(tuple(_plain(block).items()) for block in blocks)]


def _plain(block: dict) -> dict[str, str]:
    return {key.removesuffix("_bytes").replace("_", " "): _text(key, value) for key, value in block.items()}


def _text(key: str, value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {text}" for name, text in _plain(value).items())
    if isinstance(value, list):
        return ", ".join(_text(key, item) for item in value) or "none"
    if isinstance(value, int | float) and key in SAID:
        return SAID[key](value)
    return "–" if value is None else str(value)


def _failure(row: Row, record, conditions: Conditions) -> dict:
    how = [f"exit status {record.exit_code}" if record.exit_code else "", f"signal {record.signal}" if record.signal else ""]
    return {
        "name": f"{conditions.name(row)}, round {record.round + 1}, attempt {record.attempt}",
        "status": record.status,
        "kind": KINDS[record.status],
        "how": ", ".join(filter(None, [record.reason, *how])),
        "tail": record.stderr_tail,
    }
