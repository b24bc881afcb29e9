"""Turns a worker's events into the fields of a record."""

from typing import Any

from ..core.status import worst
from ..schema import MOST_TEXTS
from ..schema.reported import Reported

REPLACED = {"proof", *Reported.model_fields} - {"facts"}
"""Fields of a record that the last event with such a field gives."""


def fold(events: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns record fields from a worker's events, which may be cut off anywhere. A later event
    of a part replaces an earlier one."""
    folded: dict[str, Any] = {"parts": {}, "warnings": []}
    for event in events:
        name = event["part"]
        if name == "end":
            continue
        part = folded["parts"].setdefault(name, {})
        seconds = event.get("seconds")
        if seconds is not None:
            part["seconds"] = part.get("seconds", 0.0) + seconds
        part.update({key: event[key] for key in ("status", "reason") if key in event})
        facts = dict(event.get("facts", {}))
        warnings = [*folded["warnings"], *event.get("warnings", []), *facts.pop("warnings", [])]
        folded["warnings"] = list(dict.fromkeys(warnings))[:MOST_TEXTS]
        if facts:
            folded["facts"] = folded.get("facts", {}) | facts
        folded |= {name: event[name] for name in REPLACED if name in event}
        if "flops_per_s" in event:
            folded["ceilings"] = {key: event.get(key) for key in ("flops_per_s", "bytes_per_s")}
    statuses = {
        name: part["status"] for name, part in folded["parts"].items() if part.get("status")
    }
    folded["status"] = worst(statuses.values())
    guilty = next((name for name, status in statuses.items() if status == folded["status"]), None)
    folded["reason"] = folded["parts"][guilty].get("reason") if guilty else None
    if folded["status"] != "ok":
        folded["traceback"] = next(
            (event["traceback"] for event in reversed(events) if event.get("traceback")), None
        )
    return folded


def unfinished_part(events: list[dict[str, Any]]) -> str | None:
    """Returns the part that a worker was in when its events stopped; None if it reached its end."""
    parts = [event["part"] for event in events if event["part"] != "events"]  # invalid reports
    return None if "end" in parts else parts[-1] if parts else "start"
