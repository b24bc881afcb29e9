"""Columns on the origin of a row: its comparison group, its proof, its machine and libraries."""

import hashlib
from typing import Any

from ...records.rows import Row, comparison_group
from .metric import Metric

LIBRARIES = ("torch", "jax", "numpy")
"""Array libraries: a framework rests on the first one among its packages."""


def _group(row: Row) -> str:
    """Returns the same hash for rows that are ranked together. The neuron counts by its label,
    which new fields of a specification do not change."""
    parts = [
        ("neuron", row.case.neuron_label) if part[0] == "neuron" else part
        for part in map(_pair, comparison_group(row))
    ]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:8]


def _pair(part: Any) -> tuple[Any, ...]:
    return part if isinstance(part, tuple) else (part,)


def proved(row: Row) -> bool | None:
    """Returns whether the row is proved; None for a native neuron, which has no oracle."""
    return row.proved if row.first.proof and not row.case.native else None


def device_clock(row: Row) -> str | None:
    timing = row.first.timing(row.ranked)
    return timing.device_clock if timing else None


def warnings(row: Row) -> str:
    return "; ".join(dict.fromkeys(text for record in row.records for text in record.warnings))


def _proof(row: Row) -> str | None:
    if not row.first.proof:
        return None
    if not row.proved:
        return "rejected"
    return "native" if row.case.native else "loosened" if row.loosened else "proved"


def _machine_name(row: Row) -> Any:
    gpus = row.first.machine.get("gpus") or []
    return (
        gpus[0].get("name") if row.case.device != "cpu" and gpus else row.first.machine.get("cpu")
    )


def _array_library(row: Row) -> str | None:
    closure = row.first.adapter.get("closure") or {}
    return next((f"{name} {closure[name]}" for name in LIBRARIES if name in closure), None)


ORIGIN = (
    Metric("group", _group),
    Metric("variant", lambda row: row.case.framework_variant),
    Metric("ranked", lambda row: row.standing is not None),
    Metric("proof", _proof),
    Metric("machine_name", _machine_name),
    Metric("snnbench_version", lambda row: row.first.snnbench),
    Metric("array_library", _array_library),
)
