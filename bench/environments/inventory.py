"""What is here: environments, their adapters and what they say of the planned cases. Asked of workers, never imported."""

import ast
from pathlib import Path

from snnbench.adapters.base.case import Case
from snnbench.adapters.registry import BUILT_IN, references

from ..executors.executor import Executor
from ..executors.launch import launch, temporary_scratch
from ..executors.local import LocalExecutor
from ..executors.surroundings import worker_environment
from .damage import ask_environment
from .environment import Environment, NotMade, known

TIMEOUT, MEMORY = 60.0, 16 * 2**30


def survey_environment(executor: Executor = LocalExecutor()) -> dict:
    """Name, hash, Python, packages and devices of the default environment, and the executor of workers there.

    Raises RuntimeError if a worker there gives no answer.
    """
    answer = _ask("describe", {"references": [], "cases": []}, executor=executor).answer("describe")
    return {**answer["environment"], **executor.facts(), "executor": executor}


def survey_adapters(files: list[str], environment: dict) -> dict[str, dict]:
    """What every adapter says of itself, by name; those in `files` win over installed ones of the same name.

    `environment` is the default one (of `survey_environment`); each entry tells in its own where the adapter's workers run:
    in the default one if its framework imports there, else in the one made for it. `lacking` says why they cannot run at
    all. An adapter that cannot even be asked is listed with its `error`: its cases then run and end with the right status.
    """
    found = {
        entry["name"]: entry for entry in map(_named, ask_adapters([*references().values(), *files], [], environment["executor"]))
    }
    for entry in found.values():
        missing = f"{', '.join(entry['missing'])} is not installed" if entry["missing"] else None
        entry.update(environment=environment, home="default", lacking=missing)
    for own in known().values():
        strangers = [found[name] for name in own.recipe.adapters if name in found and _needs_a_home(found[name])]
        if strangers:
            found |= {entry["name"]: entry for entry in _at_home(own, strangers, environment["executor"])}
    return found


def _needs_a_home(entry: dict) -> bool:
    return bool(entry["missing"]) or "error" in entry


def _at_home(own: Environment, strangers: list[dict], default: Executor) -> list[dict]:
    """What adapters say of themselves in the environment made for them, or why they cannot be asked there."""
    executor, lacking = default.at_home(own)
    if lacking:
        return [{**entry, "home": own.name, "lacking": lacking} for entry in strangers]
    try:
        answer = ask_environment(own, [entry["reference"] for entry in strangers], [], executor)
    except NotMade as error:
        lacking = f"{error}: {executor.advice(own)}"
        return [{**entry, "home": own.name, "lacking": lacking} for entry in strangers]
    there = {**answer["environment"], **executor.facts(), "executor": executor}
    entries = []
    for entry in map(_named, answer["adapters"]):
        missing = f"{', '.join(entry['missing'])} is not installed in environment {own.name}" if entry["missing"] else None
        entries.append({**entry, "environment": there, "home": own.name, "lacking": missing})
    return entries


def by_executor(entries: list[dict]) -> list[tuple[Executor, list[dict]]]:
    found = dict.fromkeys(entry["environment"]["executor"] for entry in entries)
    return [(executor, [entry for entry in entries if entry["environment"]["executor"] == executor]) for executor in found]


def ask_adapters(wanted: list[str], cases: list[Case], executor: Executor, at_home: bool = False) -> list[dict]:
    """One entry per reference. Adapters of others get a worker each: they may hang, crash or exit. So may what is in an
    environment of its own (`at_home`); then nothing is known of its adapters."""
    values = [case.as_dict() for case in cases]
    built_in = [reference for reference in wanted if reference in BUILT_IN.values()]
    others = [reference for reference in wanted if reference not in BUILT_IN.values()]
    if at_home:
        found, others = [], wanted
    else:
        found = _ask("describe", {"references": built_in, "cases": values}, executor=executor).answer("describe")["adapters"]
    for reference in others:
        outcome = _ask("describe", {"references": [reference], "cases": values}, executor=executor)
        try:
            found += outcome.answer("describe")["adapters"]
        except RuntimeError as error:
            found.append({"reference": reference, "error": str(error)})
    return found


def _named(entry: dict) -> dict:
    if "error" not in entry:
        return entry
    name = declared_name(entry["reference"])
    nothing_known = {"version": None, "missing": [], "constructions": ["default"], "modes": ["eager"], "devices": []}
    return {"name": name, **nothing_known, "neurons": {}, "source_sha256": None, **entry}


def declared_name(reference: str) -> str:
    """The `name` that an adapter's class declares, read from its source without running it; else the class's name."""
    source, _, class_name = reference.rpartition(":")
    try:
        tree = ast.parse(Path(source).read_text()) if source.endswith(".py") else ast.Module([], [])
    except (OSError, SyntaxError, ValueError):
        return class_name
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == class_name:
            for statement in node.body:
                target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
                value = getattr(statement, "value", None)
                if getattr(target, "id", None) == "name" and isinstance(value, ast.Constant) and isinstance(value.value, str):
                    return value.value
    return class_name


def calibrate(device: str) -> dict:
    return _ask("ceilings", {"device": device}, device).answer("calibration")["ceilings"]


def _ask(verb: str, job: dict, device: str = "cuda", executor: Executor = LocalExecutor()):
    """Nothing is hidden from the worker unless `device` is the CPU: who counts devices must see them."""
    with temporary_scratch() as folder:
        return launch(verb, job, folder / verb, TIMEOUT, MEMORY, worker_environment(device, 0), executor)
