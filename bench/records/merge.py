"""Result folders become one folder: every readable record, the plan, the environments, and the experiment if all share one."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from ..mistakes import ConfigError
from .record import Record
from .store import ResultFolder


@dataclass
class Merged:
    """The name of the merged set, sentences about files that could not be read, and further remarks for the user."""

    name: str
    unreadable: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def merge_folders(folders: list[ResultFolder], out: ResultFolder) -> Merged:
    """Write what `folders` hold into `out`, which must not have records yet; a kill leaves all of them there or none. Raises
    ConfigError."""
    for folder in folders:
        if not folder.records.is_dir():
            raise ConfigError(f"{folder}: is no result folder: it has no records")
    out.make()
    if out.records.exists():
        raise ConfigError(f"{out}: has records already; choose another --out")
    merged = Merged(" + ".join(dict.fromkeys(folder.path.resolve().name for folder in folders)))
    newest: dict[tuple[str, int, str], tuple[Record, Path]] = {}
    planned: dict[str, str] = {}
    for folder in folders:
        names, no_plan = folder.read_planned()  # each shard knows the whole plan: the report names what it misses
        merged.unreadable += [*folder.read_records()[1], *no_plan]
        planned |= names
        for path, record in folder.records_by_path():
            key = (record.case_id, record.block, record.done_key)
            if key in newest and newest[key][1].read_bytes() != path.read_bytes():
                merged.remarks.append(f"{folder}: {record.case_id}, block {record.block}, is there twice: the newest counts")
            newest[key] = max(
                newest.get(key, (record, path)), (record, path), key=lambda one: (one[0].started_at, one[0].attempt)
            )
    with out.writing() as scratch:
        whole = ResultFolder(scratch)
        whole.copy_records(newest.values())
        for folder in folders:
            for path in folder.environments:
                whole.write(whole.path / path.name, path.read_bytes())
        if planned:
            whole.write_planned(planned)
        _merge_experiments(folders, whole, out, merged)
        out.take(whole)
    return merged


def _merge_experiments(folders: list[ResultFolder], whole: ResultFolder, out: ResultFolder, merged: Merged) -> None:
    """Shards of one run share an experiment. Records of several experiments cannot be measured again with one of them."""
    texts = {folder.experiment.read_bytes() for folder in folders if folder.experiment.exists()}
    if len(texts) == 1:
        (text,) = texts
        whole.write(whole.experiment, text)
        merged.name = _name(text) or merged.name
    elif texts:
        merged.remarks.append(f"the folders are of different experiments: {out} has their records and no {out.experiment.name}")


def _name(text: bytes) -> str:
    try:
        return str(json.loads(text)["name"])
    except (ValueError, KeyError, TypeError):
        return ""
