"""Records: one JSON file per case and round, written whole or not at all."""

import json
import os
import re
import shutil
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from snnbench.adapters.base import Case

from .worker.errors import worst

SCHEMA = 1
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
"""What a terminal would obey: a framework's message may hold it."""


class Samples(BaseModel):
    """Seconds by call on three clocks; see `worker/measure.py`."""

    model_config = ConfigDict(extra="forbid")
    wall: list[float]
    enqueue: list[float]
    device: list[float]
    at: list[float]
    began: float | None = None
    device_clock: str
    warm_up_calls: int
    warm_up_converged: bool
    stop_reason: str


class Part(BaseModel):
    """One part of a case: import, problem, build, first_call, excitation, memory, proof, the timed phases, recheck, ceilings."""

    model_config = ConfigDict(extra="forbid")
    status: str | None = None
    reason: str | None = None
    seconds: float | None = None
    samples: Samples | None = None
    floor_s: float | None = None


class Record(BaseModel):
    """The outcome of one case in one round, part by part, or the reason why there is none. SI units; unknown is null."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)
    schema_version: Literal[1] = Field(SCHEMA, alias="schema")
    snnbench: str
    case_id: str
    case: dict[str, Any]
    round: int
    attempt: int = 1
    done_key: str
    status: str
    reason: str | None = None
    parts: dict[str, Part] = {}
    facts: dict[str, Any] = {}
    proof: dict[str, Any] | None = None
    memory: dict[str, dict[str, int | None]] = {}
    memory_meaning: str | None = None
    host_peak_bytes: int | None = None
    ceilings: dict[str, float | None] = {}
    warnings: list[str] = []
    exit_code: int | None = None
    signal: int | None = None
    stderr_tail: str = ""
    adapter: dict[str, Any]
    environment: dict[str, Any]
    machine: dict[str, Any]
    measure: dict[str, Any]
    monitor: dict[str, Any] = {}
    started_at: str
    duration_s: float
    overhead_s: float | None = None

    @field_validator("case")
    @classmethod
    def _is_a_case(cls, case: dict) -> dict:
        """Raises ValueError for what no run writes: sizes that are no numbers, say, which tables could not sort."""
        try:
            found = Case.from_dict(case)
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a case: {error}") from None
        for each in fields(Case):
            value = getattr(found, each.name)
            if each.name != "neuron" and type(value) is not each.type:
                raise ValueError(f"{each.name} = {value!r} is not of type {each.type.__name__}")
        return case

    @property
    def typed_case(self) -> Case:
        return Case.from_dict(self.case)


def fold(events: list[dict]) -> dict[str, Any]:
    """Record fields from a worker's events; complete or cut off anywhere. Later events of a part win."""
    folded: dict[str, Any] = {"parts": {}, "warnings": []}
    for event in events:
        name = event["part"]
        if name == "end":
            continue
        part = folded["parts"].setdefault(name, {})
        seconds = event.get("seconds")
        if seconds is not None:
            part["seconds"] = part.get("seconds", 0.0) + seconds
        part.update({key: event[key] for key in ("status", "samples", "floor_s") if key in event})
        if "reason" in event:
            part["reason"] = event["reason"] and CONTROL.sub("", event["reason"])
        folded["warnings"] += [text for text in event.get("warnings", []) if text not in folded["warnings"]]
        if "facts" in event:
            facts = dict(event["facts"])
            folded["warnings"] += facts.pop("warnings", [])
            folded["facts"] = folded.get("facts", {}) | facts
        if "proof" in event:
            folded["proof"] = event["proof"]
        if "memory" in event:
            folded |= {"memory": event["memory"], "memory_meaning": event["meaning"], "host_peak_bytes": event["host_peak_bytes"]}
        if "flops_per_s" in event:
            folded["ceilings"] = {key: event[key] for key in ("flops_per_s", "bytes_per_s")}
    statuses = {name: part["status"] for name, part in folded["parts"].items() if part.get("status")}
    folded["status"] = worst(statuses.values())
    guilty = next((name for name, status in statuses.items() if status == folded["status"]), None)
    folded["reason"] = folded["parts"][guilty].get("reason") if guilty else None
    return folded


def unfinished_part(events: list[dict]) -> str | None:
    """The part that a worker was in when its events stopped, None if it came to its end."""
    if events and events[-1]["part"] == "end":
        return None
    return events[-1]["part"] if events else "start"


def record_path(folder: Path, case_id: str, round: int, done_key: str) -> Path:
    return folder / "records" / f"{case_id}-{round}-{done_key}.json"


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write `content` (text as UTF-8) so that a reader, or a crash, sees the old file or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as stream:
            stream.write(content.encode() if isinstance(content, str) else content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write_record(folder: Path, record: Record) -> Path:
    """One line per field: short enough to read, and samples do not fill pages."""
    path = record_path(folder, record.case_id, record.round, record.done_key)
    lines = [f"{json.dumps(key)}: {json.dumps(_finite(value))}" for key, value in record.model_dump(by_alias=True).items()]
    write_atomically(path, "{\n" + ",\n".join(lines) + "\n}\n")
    return path


def read_records(folder: Path) -> tuple[list[Record], list[str]]:
    """All records of a result folder and one sentence for each file that could not be read."""
    records, unreadable = [], []
    for path in sorted((folder / "records").glob("*.json")):
        if path.name.startswith("."):
            continue
        try:
            records.append(Record.model_validate_json(path.read_bytes()))
        except (ValueError, OSError) as error:
            unreadable.append(f"{path} is not a record of schema {SCHEMA}: {_why(error)}")
    return records, unreadable


def _why(error: ValueError | OSError) -> str:
    """In one line; of a file that has many faults the first, and where it is."""
    if not isinstance(error, ValidationError):
        return str(error).splitlines()[0]
    first = error.errors()[0]
    return ": ".join(filter(None, [".".join(map(str, first["loc"])), first["msg"]]))


def remove_leftovers(folder: Path) -> None:
    """Delete what a killed run was writing. Call only while holding the folder's lock."""
    for name in ("scratch", "compiled"):
        shutil.rmtree(folder / name, ignore_errors=True)
    for pattern in ("*.tmp", "*.partial.npz"):
        for path in folder.rglob(pattern):
            path.unlink(missing_ok=True)


def _finite(value):
    """NaN and infinity are unknown, and JSON has no word for them."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, float) and value not in (float("inf"), float("-inf")) and value == value:
        return value
    return None if isinstance(value, float) else value
