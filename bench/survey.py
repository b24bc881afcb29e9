"""What is here: the environment, its adapters and what they say of the planned cases. Asked of workers, never imported."""

import ast
from pathlib import Path

from snnbench.adapters.base import Case
from snnbench.adapters.registry import BUILT_IN, references

from .launch import launch, temporary_scratch, worker_environment
from .plan import PlannedCase

TIMEOUT, MEMORY = 60.0, 16 * 2**30


def survey_environment() -> dict:
    """Name, hash, Python, packages and devices of the default environment."""
    answer = _ask("environment", {}).answer("environment")
    return {key: value for key, value in answer.items() if key != "part"}


def survey_adapters(files: list[str] = ()) -> dict[str, dict]:
    """What every adapter says of itself, by name; those in `files` win over installed ones of the same name.

    An adapter that cannot even be asked is listed with its `error`: its cases then run and end with the right status.
    """
    return {entry["name"]: entry for entry in map(_named, _describe([*references().values(), *files], []))}


def _describe(wanted: list[str], cases: list[Case]) -> list[dict]:
    """One entry per reference. Adapters of others get a worker each: they may hang, crash or exit."""
    values = [case.as_dict() for case in cases]
    built_in = [reference for reference in wanted if reference in BUILT_IN.values()]
    others = [reference for reference in wanted if reference not in BUILT_IN.values()]
    found = _ask("describe", {"references": built_in, "cases": values}).answer("describe")["adapters"]
    for reference in others:
        outcome = _ask("describe", {"references": [reference], "cases": values})
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


def plan_cases(cases: list[Case], adapters: dict[str, dict], devices: list[str]) -> list[PlannedCase]:
    """Every case with its adapter (of `survey_adapters`), and the reason if it is known that it cannot run here."""
    used = {case.framework for case in cases}
    asked = [entry["reference"] for name, entry in adapters.items() if name in used and "error" not in entry]
    refusals = {entry["name"]: iter(entry["refusals"]) for entry in _describe(asked, cases) if "error" not in entry}
    planned = []
    for case in cases:
        adapter = adapters[case.framework]
        refusal = next(refusals[case.framework]) if case.framework in refusals else None
        if adapter["missing"]:
            planned.append(PlannedCase(case, adapter, "env_error", f"{', '.join(adapter['missing'])} is not installed"))
        elif case.device.partition(":")[0] not in devices:
            planned.append(PlannedCase(case, adapter, "env_error", f"this environment reaches no {case.device} device"))
        elif refusal:
            planned.append(PlannedCase(case, adapter, "unsupported", refusal))
        else:
            planned.append(PlannedCase(case, adapter))
    return planned


def calibrate(device: str) -> dict:
    return _ask("ceilings", {"device": device}, device).answer("calibration")["ceilings"]


def _ask(verb: str, job: dict, device: str = "cpu"):
    with temporary_scratch() as folder:
        return launch(verb, job, folder / verb, TIMEOUT, MEMORY, worker_environment(device, 0))
