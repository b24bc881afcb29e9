"""Merges result sets into one folder: all readable records, the plan, the environments, and the
experiment if all sets share one."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..common.files import spare_inputs
from ..common.mistakes import ConfigError
from ..common.texts import clean
from ..schema import RecordedEnvironment
from .bundle import StoredSet
from .record import Record
from .store import ResultFolder, SetPlan


@dataclass
class MergedSet:
    """The name of the merged set, a sentence for each file that cannot be read, and remarks."""

    name: str
    unreadable: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def merge_folders(folders: Sequence[StoredSet], out: ResultFolder) -> MergedSet:
    """Writes the records of all `folders` into `out`, which may be an earlier merge of them.

    A kill leaves all of the records there or none. Raises ConfigError if a folder is missing, if
    `out` is one of them, and if `out` has a record that no folder has.
    """
    for folder in folders:
        folder.must_exist()
    spare_inputs(out.path, [folder.path for folder in folders])
    out.make()
    merged = MergedSet(" + ".join(dict.fromkeys(folder.name for folder in folders)))
    newest: dict[tuple[str, int, str], tuple[Record, StoredSet]] = {}
    planned: dict[str, str] = {}  # each shard knows the whole plan: the report names missing cases
    environments: dict[str, RecordedEnvironment] = {}
    experiments: list[dict[str, Any]] = []
    for folder in folders:
        (records, damaged), (names, no_plan) = folder.read_records(), folder.read_planned()
        (facts, refused), (values, no_values) = folder.read_environments(), folder.read_experiment()
        merged.unreadable += [*damaged, *no_plan, *refused, *no_values]
        merged.remarks += [] if records or damaged else [f"{folder}: no records there"]
        planned |= names
        environments |= facts
        experiments += [values] if isinstance(values, dict) and values not in experiments else []
        for record in records:
            key = (record.case_id, record.block, record.done_key)
            earlier, source = newest.get(key, (record, folder))
            if source is not folder and source.text_of(earlier) != folder.text_of(record):
                twice = f"{record.case_id}, block {record.block}, is there twice: the newest counts"
                merged.remarks.append(f"{folder}: {twice}")
            newest[key] = max((earlier, source), (record, folder), key=_started)
    present, unreadable = out.read_records()
    if unreadable or any(
        (each.case_id, each.block, each.done_key) not in newest for each in present
    ):
        raise ConfigError(f"{out}: has records already, of something else; choose another --out")
    merged.remarks += _several_versions([record for record, _ in newest.values()])
    if len(experiments) == 1:
        merged.name = _name(experiments[0]) or merged.name
    elif experiments:
        without = f"{out} has their records and no {out.experiment.name}"
        merged.remarks.append(f"the folders are of different experiments: {without}")
    experiment = experiments[0] if len(experiments) == 1 else None
    with out.writing() as scratch:
        whole = ResultFolder(scratch)
        whole.copy_records((record, source.text_of(record)) for record, source in newest.values())
        whole.write_plan(SetPlan(experiment, planned or None, [*environments.values()]))
        out.take(whole)
    return merged


def _started(stored: tuple[Record, StoredSet]) -> tuple[str, int]:
    return stored[0].started_at, stored[0].attempt


def _several_versions(records: list[Record]) -> list[str]:
    """Returns a remark if a framework, or snnbench, comes in several versions."""
    versions: dict[str, set[str]] = {}
    for record in records:
        versions.setdefault("snnbench", set()).add(record.snnbench)
        versions.setdefault(record.case["framework"], set()).add(
            record.adapter["version"] or "unknown"
        )
    several = "; ".join(
        f"{name} {', '.join(sorted(known))}"
        for name, known in sorted(versions.items())
        if len(known) > 1
    )
    if several:
        return [f"several versions are merged: {several} (the report names a framework's apart)"]
    return []


def _name(values: dict[str, Any]) -> str:
    name = values.get("name")
    return str(clean(name))[:100] if isinstance(name, str) else ""
