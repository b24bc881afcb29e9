"""A result set's experiment as a config, and the command that measures it again."""

import json
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from ...common.texts import anonymous
from ...experiment.config import Experiment, meaningless
from ...experiment.measure import IN_WORDS
from ...records.bundle import StoredSet


@dataclass
class ResultSet:
    """A result set: number and newest time of its records, the experiment as TOML, adapters,
    packages by environment, planned cases by id, and sentences on unreadable files. `given`
    names the adapters of the command line."""

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
    """Files with JSON that this version of snnbench does not write."""


def result_set(folder: StoredSet, started: list[str]) -> ResultSet:
    """Returns the content of `folder` besides its records, which began at the times `started`.
    Invalid JSON gives a sentence in `unreadable`."""
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
        except (ValueError, KeyError, TypeError, OverflowError):
            # Another version of snnbench wrote it; that is no reason to doubt the records.
            contents.strange.append("experiment.json")
    contents.planned, unreadable = folder.read_planned()
    contents.unreadable += unreadable
    return contents


def given_by_command(contents: ResultSet, references: Iterable[str]) -> list[str]:
    """Returns the references of records to adapter files that the experiment does not name."""
    named = {PurePath(reference).name for reference in contents.adapters}
    files = dict.fromkeys(reference for reference in references if ".py:" in reference)
    return [
        shlex.quote(anonymous(reference))
        for reference in files
        if PurePath(reference).name not in named
    ]


def _given(values: dict[str, Any]) -> dict[str, Any]:
    """Returns a stored experiment with durations and sizes in a config's words."""
    measure = dict(values["measure"])
    measure |= {name: text(measure[name]) for name, text in IN_WORDS.items()}
    others = {name: value for name, value in values.items() if name != "adapter_sources"}
    return {**others, "measure": measure}


def as_toml(experiment: Experiment) -> str:
    """Returns a config equal to `experiment`."""
    values = _given(experiment.model_dump(mode="json", exclude={"slurm"}))
    tables = {name: values.pop(name) for name in ("grid", "measure", "container")}
    for axis in meaningless(experiment.grids):  # a config that names them is refused
        del tables["grid"][axis]
    lines = [
        f"{key} = {_toml(value)}"
        for key, value in values.items()
        if value not in (None, [], {"folder": None})
    ]
    for name, table in tables.items():
        known = {key: value for key, value in table.items() if value is not None}
        lines += ["", f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in known.items())]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    """Returns TOML; JSON texts, numbers and booleans are TOML, too."""
    if isinstance(value, dict):
        known = {key: item for key, item in value.items() if item is not None}
        pairs = (f"{json.dumps(key)} = {_toml(item)}" for key, item in known.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=True).replace("\\/", "/")
