"""The appendix: machines, environments, settings, versions, warnings and last outputs."""

from collections import defaultdict
from shlex import quote

from ...common import units
from ...records.rows import Row
from ..coverage import Conditions
from ..words import KINDS, reason_of, recordings_text

IN_WORDS = {
    "slot": units.seconds,
    "budget": units.seconds,
    "timeout": units.duration,
    "host_memory": units.size,
    "memory_bytes": units.size,
}

RATES = {
    "flops_per_s": ("products and sums, in the fastest number format", "GFLOP/s"),
    "bytes_per_s": ("bytes moved", "GB/s"),
}


def provenance(rows: list[Row], conditions: Conditions) -> dict:
    records = [record for row in rows for record in row.records]
    warnings: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        for text in dict.fromkeys(text for record in row.records for text in record.warnings):
            warnings[text].append(conditions.name(row))
    adapters = {
        tuple(r.adapter.get(k) or "" for k in ("name", "version", "reference", "source_sha256"))
        for r in records
    }
    ceilings = [
        {k: v for k, v in record.ceilings.items() if v} for record in records if record.ceilings
    ]
    return {
        "machines": _distinct(conditions.machines.values()),
        "environments": _distinct(record.environment for record in records),
        "measures": _distinct(record.measure for record in records),
        "ceilings": {
            words: (
                f"{max(measured[key] for measured in ceilings if key in measured) / 1e9:,.3g} "
                f"{unit}"
            )
            for key, (words, unit) in RATES.items()
            if any(key in measured for measured in ceilings)
        },
        "recordings": sorted(
            {
                (row.case.dataset, recordings_text(row.first.recordings))
                for row in rows
                if row.case.delivers_data
            }
        ),
        "adapters": sorted(adapters),
        "warnings": list(warnings.items()),
        "failures": [
            _failure(row, record, conditions)
            for row in rows
            for record in row.records
            if record.stderr_tail or record.traceback
        ],
    }


def rejected(row: Row, conditions: Conditions) -> dict:
    """Returns the stages of the proof that a rejected network passed, and the faults of the
    others."""
    stages = row.first.proof["stages"] if row.first.proof else []
    return {
        "name": conditions.name(row),
        "status": row.status,
        "kind": KINDS[row.status],
        "passed": [stage["name"] for stage in stages if stage["passed"]],
        "failed": [(stage["name"], stage["findings"]) for stage in stages if not stage["passed"]],
        "reason": "" if stages and not row.proved else reason_of(row),
    }


def _distinct(blocks) -> list[dict]:
    several = {id(block): block for block in blocks}.values()  # most records share theirs
    return [
        dict(block) for block in dict.fromkeys(tuple(_plain(block).items()) for block in several)
    ]


def _plain(block: dict) -> dict[str, str]:
    return {
        key.removesuffix("_bytes").replace("_", " "): _text(key, value)
        for key, value in block.items()
    }


def _text(key: str, value: object) -> str:
    if isinstance(value, dict) and key == "variables":
        return " ".join(f"{name}={quote(str(text))}" for name, text in value.items())
    if isinstance(value, dict):
        return ", ".join(f"{name} {text}" for name, text in _plain(value).items())
    if isinstance(value, list):
        return ", ".join(_text(key, item) for item in value) or "none"
    if isinstance(value, int | float) and key in IN_WORDS:
        return IN_WORDS[key](value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if key == "threads" and value == 0:
        return "all cores"
    return "–" if value is None else str(value)


def _failure(row: Row, record, conditions: Conditions) -> dict:
    how = [
        f"exit status {record.exit_code}" if record.exit_code else "",
        f"signal {record.signal}" if record.signal else "",
    ]
    return {
        "name": f"{conditions.name(row)}, block {record.block + 1}, attempt {record.attempt}",
        "status": record.status,
        "kind": KINDS[record.status],
        "how": ", ".join(filter(None, [record.reason, *how])),
        "tail": "\n".join(filter(None, [record.traceback, record.stderr_tail])),
    }
