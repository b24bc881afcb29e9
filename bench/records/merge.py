"""Result folders → one folder: every readable record, the plan, what the environments held, and the experiment if it is one."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from ..files import write_atomically
from ..mistakes import ConfigError
from .manifest import read_planned, write_planned
from .record import Record
from .store import read_records, write_record

EXPERIMENT = "experiment.json"


@dataclass
class Merged:
    """The name of the whole, sentences about files that could not be read, and what else a person should know."""

    name: str
    unreadable: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def merge_folders(folders: list[Path], out: Path) -> Merged:
    """Write what `folders` hold into `out`, which must not have records yet. Raises ConfigError."""
    if (out / "records").exists():
        raise ConfigError(f"{out}: has records already; choose another --out")
    merged = Merged(" + ".join(dict.fromkeys(folder.resolve().name for folder in folders)))
    newest: dict[tuple, Record] = {}
    for folder in folders:
        records, unreadable = read_records(folder)
        merged.unreadable += unreadable
        for record in records:
            key = (record.case_id, record.round, record.done_key)
            if key in newest and newest[key] != record:
                merged.remarks.append(f"{folder}: {record.case_id}, round {record.round}, is there twice: the newest counts")
            newest[key] = max(newest.get(key, record), record, key=lambda one: (one.started_at, one.attempt))
    for record in newest.values():
        write_record(out, record)
    for folder in folders:
        for path in sorted(folder.glob("environment-*.json")):
            write_atomically(out / path.name, path.read_bytes())
    _write_planned(folders, out, merged)
    _write_experiment(folders, out, merged)
    return merged


def _write_planned(folders: list[Path], out: Path, merged: Merged) -> None:
    """Each shard knows the whole plan, so that a part which is not among `folders` is missed."""
    planned: dict[str, str] = {}
    for folder in folders:
        try:
            planned |= read_planned(folder)
        except ValueError as error:
            merged.unreadable.append(str(error))
    if planned:
        write_planned(out, planned)


def _write_experiment(folders: list[Path], out: Path, merged: Merged) -> None:
    """Parts of one run have one experiment; of several there is none that would make these records again."""
    texts = {path.read_bytes() for folder in folders if (path := folder / EXPERIMENT).exists()}
    if len(texts) == 1:
        (text,) = texts
        write_atomically(out / EXPERIMENT, text)
        merged.name = _name(text) or merged.name
    elif texts:
        merged.remarks.append(f"the folders are of different experiments: {out} has their records and no {EXPERIMENT}")


def _name(text: bytes) -> str:
    try:
        return json.loads(text)["name"]
    except (ValueError, KeyError, TypeError):
        return ""
