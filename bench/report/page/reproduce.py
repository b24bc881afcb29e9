"""How to measure the same again: a result folder's experiment as a config, and the command."""

import json
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from ...common.texts import anonymous
from ...experiment.config import Experiment, meaningless
from ...records.bundle import StoredSet


@dataclass
class ResultSet:
    """A result folder: how many records it has and from when, the experiment as TOML, the adapters
    that it names, its environments' packages, the names of planned cases by their ids, and a
    sentence for each file that could not be read. `given` names the adapters that the command line
    gave."""

    name: str
    records: int
    newest: str
    config: str = ""
    adapters: list[str] = field(default_factory=list)
    packages: dict[str, dict[str, str]] = field(default_factory=dict)
    planned: dict[str, str] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)
    given: list[str] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)
    """Files that hold JSON, and not what this version of snnbench writes there."""


def result_set(folder: StoredSet, started: list[str]) -> ResultSet:
    """What lies in `folder` besides its records, which began at the times `started`. A file that is
    no JSON gives a sentence in `unreadable`."""
    contents = ResultSet(anonymous(folder.name), len(started), max(started, default=""))
    environments, contents.unreadable = folder.read_environments()
    contents.packages = {
        f"{facts['name']} {facts['hash']}": facts.get("packages", {})
        for facts in environments.values()
    }
    values, unreadable = folder.read_experiment()
    contents.unreadable += unreadable
    if values is not None:
        try:
            experiment = Experiment.model_validate(_given(values))
            contents.config, contents.adapters = as_toml(experiment), experiment.adapters
        except (
            ValueError,
            KeyError,
            TypeError,
            OverflowError,
        ):  # of another version of snnbench: no reason to doubt its records
            contents.strange.append("experiment.json")
    contents.planned, unreadable = folder.read_planned()
    contents.unreadable += unreadable
    return contents


def given_by_command(contents: ResultSet, references: Iterable[str]) -> list[str]:
    """Those `references` of records to files of adapters that the experiment does not name, which
    may do so from elsewhere."""
    named = {PurePath(one).name for one in contents.adapters}
    files = dict.fromkeys(one for one in references if ".py:" in one)
    return [shlex.quote(anonymous(one)) for one in files if PurePath(one).name not in named]


def _given(values: dict[str, Any]) -> dict[str, Any]:
    """An experiment as its folder has it, with durations and sizes in the words of a config."""
    measure = dict(values["measure"])
    measure |= {name: f"{measure[name] * 1000:.0f}ms" for name in ("slot", "budget", "timeout")}
    measure["host_memory"] = f"{measure['host_memory']}B"
    return {
        **{name: value for name, value in values.items() if name != "adapter_sources"},
        "measure": measure,
    }


def as_toml(experiment: Experiment) -> str:
    """A config that says the same as `experiment`."""
    values = _given(experiment.model_dump(mode="json", exclude={"slurm"}))
    tables = {name: values.pop(name) for name in ("grid", "measure", "container")}
    for axis in meaningless(experiment.grid):  # a config that names them is refused
        del tables["grid"][axis]
    lines = [
        f"{key} = {_toml(value)}"
        for key, value in values.items()
        if value not in (None, [], {"folder": None})
    ]
    for name, table in tables.items():
        lines += [
            "",
            f"[{name}]",
            *(f"{key} = {_toml(value)}" for key, value in table.items() if value is not None),
        ]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    """A JSON text, number and truth value is a TOML one as well."""
    if isinstance(value, dict):
        return (
            "{ "
            + ", ".join(
                f"{json.dumps(key)} = {_toml(item)}"
                for key, item in value.items()
                if item is not None
            )
            + " }"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=True).replace("\\/", "/")
