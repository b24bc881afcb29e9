"""Whether an environment still is as it was made: a worker there is asked, and its packages and files are counted."""

import csv
from dataclasses import replace
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from ..core.jobs import Inquiry
from ..executors.executor import Executor
from ..executors.launch import launch_apart
from ..executors.local import LocalExecutor
from .environment import Environment, NotMade

TIMEOUT_S = 120.0


def ask_environment(
    environment: Environment, inquiry: Inquiry, executor: Executor | None = None
) -> dict[str, Any]:
    """The answer of a worker in the environment about it and about adapters. Raises NotMade if there is none."""
    job = replace(inquiry, environment=environment.name).as_dict()
    executor = executor or LocalExecutor(str(environment.python))
    try:
        return launch_apart("describe", job, "cuda", TIMEOUT_S, executor).answer("describe")
    except RuntimeError as error:
        raise NotMade(f"environment {environment.name} gives no answer: {error}") from None


def damage(environment: Environment) -> list[str]:
    """What is wrong with a created environment, in sentences; empty if it is whole or was never created."""
    state, why = environment.state()
    if state != "ready":
        return [] if state == "not created" else [f"{state}: {why}"]
    damages = lost_files(environment.site_packages)
    try:
        answer = ask_environment(environment, Inquiry())
    except NotMade as error:
        return [*damages, str(error)]
    versions = {
        canonicalize_name(name): version
        for name, version in answer["environment"]["packages"].items()
    }
    for pin in environment.recipe.pins:
        version = versions.get(canonicalize_name(pin.name))
        if version is None or not pin.specifier.contains(version, prereleases=True):
            damages.append(
                f"{pin.name} is {version or 'not there'}, not {str(pin.specifier).removeprefix('==')}"
            )
    return damages


def lost_files(site_packages: Path) -> list[str]:
    """Packages that miss files of their own. `Distribution.files` would not do: it hides lost files from Python 3.12 on."""
    sentences = []
    for package in sorted(
        distributions(path=[str(site_packages)]), key=lambda package: package.name
    ):
        names = [
            row[0] for row in csv.reader((package.read_text("RECORD") or "").splitlines()) if row
        ]
        lost = [
            name
            for name in names
            if not name.endswith(".pyc") and not (site_packages / name).exists()
        ]
        if lost:
            sentences.append(
                f"{package.name}-{package.version} has lost {len(lost)} files, first {lost[0]}"
            )
    return sentences
