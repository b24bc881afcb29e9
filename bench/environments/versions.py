"""`NAME@VERSION` → the environment of one version of a framework, which holds that version over the packages of snnbench's own.

The tables `[versions.NAME]` of environments.toml say which frameworks have versions, and what a version needs.
"""

import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version
from pydantic import Field, ValidationError, field_validator

from ..common.mistakes import ConfigError, nearest, shown
from .environment import MARKER, Environment, known, named
from .recipes import FILE, VERSIONS, Recipe, Step, Table, environments_folder, message, read_tables


class Change(Table):
    """What some versions need beside their packages."""

    first: tuple[str, ...] = ()
    build: Annotated[bool, Field(strict=True)] = False


class Versions(Table):
    """A framework that has versions. The comment in environments.toml explains the fields."""

    control: str
    packages: tuple[str, ...] = ()
    when: dict[str, Change] = {}

    @field_validator("when")
    @classmethod
    def _specifiers(cls, when: dict[str, Change]) -> dict[str, Change]:
        for text in when:
            try:
                SpecifierSet(text)
            except InvalidSpecifier:
                raise ValueError(f"{text!r} must be versions such as '<1.1'") from None
        return when

    def recipe(self, name: str, version: str) -> Recipe:
        """What an environment of that version holds."""
        changes = [
            change
            for text, change in self.when.items()
            if SpecifierSet(text).contains(version, prereleases=True)
        ]
        packages = tuple(text.replace("{version}", version) for text in self.packages) or (
            f"{name}=={version}",
        )
        first = tuple(package for change in changes for package in change.first)
        steps = [Step(name="first", install=first)] if first else []
        steps.append(
            Step(name=name, install=packages, build=any(change.build for change in changes))
        )
        return Recipe(
            adapters=(name,),
            description=f"{name} {version} over snnbench's own packages",
            steps=tuple(steps),
        )


def load_versions() -> dict[str, Versions]:
    """By framework; those of the user's environments.toml win. Raises ConfigError with file, key, value and what is right."""
    found: dict[str, Versions] = {}
    for path, tables in read_tables():
        versions = tables.get(VERSIONS, {})
        if not isinstance(versions, dict):
            raise ConfigError(f"{path}: {VERSIONS} = {shown(versions)}: must be a table")
        for name, table in versions.items():
            try:
                found[name] = Versions.model_validate(table)
            except ValidationError as error:
                raise ConfigError(
                    f"{path}: {message(f'{VERSIONS}.{name}', error, Versions)}"
                ) from None
    return found


def versions_among(frameworks: Iterable[str]) -> list[str]:
    """The `NAME@VERSION` among frameworks as a config names them, without variants, each once."""
    names = (text.partition(":")[0] for text in frameworks)
    return list(dict.fromkeys(name for name in names if "@" in name))


def version_environment(text: str) -> Environment:
    """The environment of `NAME@VERSION`, made or not. Raises ConfigError for a framework without versions, or none exact."""
    name, _, version = text.partition("@")
    frameworks = load_versions()
    if name not in frameworks:
        raise ConfigError(
            f"{text}: {name!r} has no versions{nearest(name, frameworks)} (there are {', '.join(frameworks)})"
        )
    try:
        exact = str(Version(version))
    except InvalidVersion:
        raise ConfigError(
            f"{text}: {version!r} must be an exact version, such as {name}@1.0.0"
        ) from None
    if exact != version:
        raise ConfigError(f"{text}: versions are written as PyPI does: {name}@{exact}")
    try:
        recipe = frameworks[name].recipe(name, version)
    except ValidationError as error:
        raise ConfigError(f"{FILE}: {message(f'{VERSIONS}.{name}', error, Versions)}") from None
    return Environment(
        text, recipe, environments_folder() / text, beneath=_beneath(name, frameworks[name].control)
    )


def environment_named(text: str) -> Environment:
    """That of a recipe, or of `NAME@VERSION`. Raises ConfigError."""
    return version_environment(text) if "@" in text else named(text)


def made_versions() -> list[Environment]:
    """The environments of versions that lie in the folder of environments. Raises ConfigError."""
    names = sorted(path.parent.name for path in environments_folder().glob(f"*@*/{MARKER}"))
    frameworks = load_versions()
    return [version_environment(name) for name in names if name.partition("@")[0] in frameworks]


def controls_of(frameworks: Iterable[str]) -> list[str]:
    """Whom the versions among `frameworks` are compared with, as far as these do not name them. Raises ConfigError."""
    texts, tables = list(frameworks), load_versions()
    named = {text.partition(":")[0] for text in texts}
    names = dict.fromkeys(text.partition("@")[0] for text in versions_among(texts))
    controls = dict.fromkeys(tables[name].control for name in names if name in tables)
    return [control for control in controls if not named & {control, "all"}]


def _beneath(name: str, control: str) -> tuple[str, ...]:
    """Folders with what a framework rests on: our own, unless the library of its control is not there, and an environment that
    serves the framework is made."""
    if find_spec(control) is None:
        for environment in known().values():
            if name in environment.recipe.adapters and environment.state()[0] == "ready":
                return (str(environment.site_packages),)
    return own_packages()


def own_packages() -> tuple[str, ...]:
    """The folders of packages that snnbench's own Python searches."""
    paths: list[Any] = [Path(text) for text in sys.path if text]
    return tuple(
        str(path)
        for path in paths
        if path.name in ("site-packages", "dist-packages") and path.is_dir()
    )
