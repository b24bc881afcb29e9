"""Result folders become one folder: every readable record, the plan, the environments, and the experiment if all share one."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..common.mistakes import ConfigError
from ..common.texts import clean
from .bundle import StoredSet
from .record import Record
from .store import ResultFolder


@dataclass
class Merged:
    """The name of the merged set, sentences about files that could not be read, and further remarks for the user."""

    name: str
    unreadable: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def merge_folders(folders: Sequence[StoredSet], out: ResultFolder) -> Merged:
    """Write what `folders` hold into `out`, which may be an earlier merge of them: it is made anew. A kill leaves all of their
    records there or none. Raises ConfigError, also where `out` has a record that none of them has."""
    for folder in folders:
        folder.must_exist()
    out.make()
    merged = Merged(" + ".join(dict.fromkeys(folder.name for folder in folders)))
    newest: dict[tuple[str, int, str], tuple[Record, StoredSet]] = {}
    planned: dict[str, str] = {}
    for folder in folders:
        names, no_plan = (
            folder.read_planned()
        )  # each shard knows the whole plan: the report names what it misses
        records, damaged = folder.read_records()
        merged.unreadable += [*damaged, *no_plan]
        merged.remarks += [] if records or damaged else [f"{folder}: no records there"]
        planned |= names
        for record in records:
            key = (record.case_id, record.block, record.done_key)
            earlier, source = newest.get(key, (record, folder))
            if source is not folder and source.text_of(earlier) != folder.text_of(record):
                merged.remarks.append(
                    f"{folder}: {record.case_id}, block {record.block}, is there twice: the newest counts"
                )
            newest[key] = max(
                (earlier, source),
                (record, folder),
                key=lambda one: (one[0].started_at, one[0].attempt),
            )
    there, unreadable = out.read_records()
    if unreadable or any((one.case_id, one.block, one.done_key) not in newest for one in there):
        raise ConfigError(f"{out}: has records already, of something else; choose another --out")
    merged.remarks += _several_versions([record for record, _ in newest.values()])
    with out.writing() as scratch:
        whole = ResultFolder(scratch)
        whole.copy_records((record, source.text_of(record)) for record, source in newest.values())
        for folder in folders:
            environments, refused = folder.read_environments()
            merged.unreadable += refused
            for facts in environments.values():
                whole.write_environment(facts)
        if planned:
            whole.write_planned(planned)
        _merge_experiments(folders, whole, out, merged)
        out.take(whole)
    return merged


def _several_versions(records: list[Record]) -> list[str]:
    """A remark if a framework, or snnbench, comes in several versions."""
    versions: dict[str, set[str]] = {}
    for record in records:
        versions.setdefault("snnbench", set()).add(record.snnbench)
        versions.setdefault(record.case["framework"], set()).add(
            record.adapter["version"] or "unknown"
        )
    several = [
        f"{name} {', '.join(sorted(known))}"
        for name, known in sorted(versions.items())
        if len(known) > 1
    ]
    return (
        [
            f"several versions are merged: {'; '.join(several)} (the report names a framework's apart)"
        ]
        if several
        else []
    )


def _merge_experiments(
    folders: Sequence[StoredSet], whole: ResultFolder, out: ResultFolder, merged: Merged
) -> None:
    """Shards of one run share an experiment. Records of several experiments cannot be measured again with one of them."""
    found = []
    for folder in folders:
        values, refused = folder.read_experiment()
        merged.unreadable += refused
        found += [values] if isinstance(values, dict) and values not in found else []
    if len(found) == 1:
        whole.write_experiment(found[0])
        merged.name = _name(found[0]) or merged.name
    elif found:
        merged.remarks.append(
            f"the folders are of different experiments: {out} has their records and no {out.experiment.name}"
        )


def _name(values: dict[str, Any]) -> str:
    name = values.get("name")
    return str(clean(name))[:100] if isinstance(name, str) else ""
