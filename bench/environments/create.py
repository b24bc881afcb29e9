"""Creates, checks, updates and mends environments. A later call resumes after any failure."""

import csv
import json
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from snnbench.adapters import registry

from ..common import __version__
from ..common.files import write_atomically
from ..core.jobs import Inquiry
from ..executors.executor import Executor
from ..executors.launch import launch_apart
from ..executors.local import LocalExecutor
from .environment import MARKER, Environment, NotMade, discard, locations, locked
from .install import CreationProgress, check_needs, install

TIMEOUT_S = 120.0


def create(environment: Environment) -> Iterator[CreationProgress]:
    """Makes, updates or mends an environment.

    Raises NotMade, or ConfigError if another command is making or removing it.
    """
    try:
        with locked(environment):
            if environment.state()[0] == "ready":
                if not (damages := damage(environment)):
                    return
                yield CreationProgress("damaged", line="; ".join(damages))
                discard(environment)
            check_needs(environment.name, environment.recipe)
            (environment.folder / MARKER).unlink(missing_ok=True)
            yield from install(environment)
            environment.link()
            _check_adapters(environment)
            marker = {
                "steps": environment.recipe.keys,
                "source": locations(),
                "snnbench": __version__,
                "beneath": [*environment.beneath],
            }
            write_atomically(environment.folder / MARKER, json.dumps(marker, indent=1) + "\n")
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise NotMade(
            f"{environment.name}: {error.strerror or error}{where}; what is finished is kept"
        ) from None


def _check_adapters(environment: Environment) -> None:
    """Raises NotMade if an adapter that the environment serves lacks a module.

    A version may lack submodules; its cases then say so.
    """
    references = registry.references()
    served = [references[name] for name in environment.recipe.adapters if name in references]
    if not served:
        return
    for entry in ask_environment(environment, Inquiry(tuple(served)))["adapters"]:
        missing = [
            name for name in entry.get("missing", ()) if not (environment.beneath and "." in name)
        ]
        if "error" in entry or missing:
            reason = entry.get("error") or f"{', '.join(missing)} is not there"
            name = entry.get("name", entry["reference"])
            raise NotMade(f"{environment.name}: every step succeeded, but {name} fails: {reason}")


def ask_environment(
    environment: Environment, inquiry: Inquiry, executor: Executor | None = None
) -> dict[str, Any]:
    """Returns a worker's answer about the environment and adapters. Raises NotMade."""
    job = replace(inquiry, environment=environment.name).as_dict()
    executor = executor or LocalExecutor(str(environment.python))
    try:
        return launch_apart("describe", job, "cuda", TIMEOUT_S, executor).answer("describe")
    except RuntimeError as error:
        raise NotMade(f"environment {environment.name} gives no answer: {error}") from None


def damage(environment: Environment) -> list[str]:
    """Returns sentences on what is damaged; empty if it is intact or was never created.

    A worker there reports versions, and the files of all packages are counted.
    """
    state, reason = environment.state()
    if state != "ready":
        return [] if state == "not created" else [f"{state}: {reason}"]
    damages = _lost_files(environment.site_packages)
    try:
        answer = ask_environment(environment, Inquiry())
    except NotMade as error:
        return [*damages, str(error)]
    packages = answer["environment"]["packages"].items()
    versions = {canonicalize_name(name): version for name, version in packages}
    for pin in environment.recipe.pins:
        version = versions.get(canonicalize_name(pin.name))
        if version is None or not pin.specifier.contains(version, prereleases=True):
            pinned = str(pin.specifier).removeprefix("==")
            damages.append(f"{pin.name} is {version or 'not there'}, not {pinned}")
    return damages


def _lost_files(site_packages: Path) -> list[str]:
    """Returns a sentence for each package with lost files.

    RECORD is read here because `Distribution.files` hides lost files from Python 3.12 on.
    """
    sentences = []
    packages = distributions(path=[str(site_packages)])
    for package in sorted(packages, key=lambda package: package.name):
        rows = csv.reader((package.read_text("RECORD") or "").splitlines())
        names = [row[0] for row in rows if row and not row[0].endswith(".pyc")]
        lost = [name for name in names if not (site_packages / name).exists()]
        if lost:
            sentences.append(
                f"{package.name}-{package.version} has lost {len(lost)} files, first {lost[0]}"
            )
    return sentences
