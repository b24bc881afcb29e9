"""The records of a result folder: one JSON file per case and round, written whole or not at all."""

import json
import shutil
from pathlib import Path

from pydantic import ValidationError

from ..files import write_atomically
from .record import SCHEMA, Record


def record_path(folder: Path, case_id: str, round: int, done_key: str) -> Path:
    return folder / "records" / f"{case_id}-{round}-{done_key}.json"


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
