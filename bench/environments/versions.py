"""`NAME@VERSION` → the environment of that version, over the packages of snnbench's own.

The tables `[versions.NAME]` of environments.toml list the frameworks and what a version needs.
"""

import sys
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version
from pydantic import Field, ValidationError, field_validator

from ..common.mistakes import ConfigError, nearest, shown
from ..core.variant import ALL, VariantPattern
from .environment import MARKER, Environment, known, named
from .recipes import (
    FILE,
    VERSIONS,
    InstallStep,
    Recipe,
    RecipeTable,
    environments_folder,
    message,
    read_tables,
)


class VersionNeeds(RecipeTable):
    """Additional needs of some versions."""

    first: tuple[str, ...] = ()
    build: Annotated[bool, Field(strict=True)] = False


class Versions(RecipeTable):
    """A framework with versions. The comment in environments.toml explains the fields."""

    control: str
    packages: tuple[str, ...] = ()
    when: dict[str, VersionNeeds] = {}

    @field_validator("when")
    @classmethod
    def _specifiers(cls, when: dict[str, VersionNeeds]) -> dict[str, VersionNeeds]:
        for text in when:
            try:
                SpecifierSet(text)
            except InvalidSpecifier:
                raise ValueError(f"{text!r} must be versions such as '<1.1'") from None
        return when

    def recipe(self, name: str, version: str) -> Recipe:
        """Returns the recipe of an environment of that version."""
        changes = [
            change
            for text, change in self.when.items()
            if SpecifierSet(text).contains(version, prereleases=True)
        ]
        packages = tuple(text.replace("{version}", version) for text in self.packages) or (
            f"{name}=={version}",
        )
        first = tuple(package for change in changes for package in change.first)
        steps = [InstallStep(name="first", install=first)] if first else []
        steps.append(
            InstallStep(name=name, install=packages, build=any(change.build for change in changes))
        )
        return Recipe(
            adapters=(name,),
            description=f"{name} {version} over snnbench's own packages",
            steps=tuple(steps),
        )


def load_versions() -> dict[str, Versions]:
    """Returns tables by framework; those of the user take precedence.

    Raises ConfigError with file, key, value and what is expected.
    """
    loaded: dict[str, Versions] = {}
    for path, tables in read_tables():
        versions = tables.get(VERSIONS, {})
        if not isinstance(versions, dict):
            raise ConfigError(f"{path}: {VERSIONS} = {shown(versions)}: must be a table")
        for name, table in versions.items():
            try:
                loaded[name] = Versions.model_validate(table)
            except ValidationError as error:
                sentence = message(f"{VERSIONS}.{name}", error, Versions)
                raise ConfigError(f"{path}: {sentence}") from None
    return loaded


def versions_among(patterns: Iterable[VariantPattern]) -> list[tuple[str, str]]:
    """Returns each framework and version that is named, once."""
    named = ((each.framework, each.version) for each in patterns)
    return list(dict.fromkeys((name, version) for name, version in named if version is not None))


def version_environment(name: str, version: str) -> Environment:
    """Returns the environment of a framework's version, made or not. Raises ConfigError for a
    framework without versions, and for a version that is not exact."""
    text, frameworks = f"{name}@{version}", load_versions()
    if name not in frameworks:
        raise ConfigError(
            f"{text}: {name!r} has no versions{nearest(name, frameworks)} "
            f"(there are {', '.join(frameworks)})"
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
    """Returns the environment of a recipe, or of `NAME@VERSION`. Raises ConfigError."""
    name, at, version = text.partition("@")
    return version_environment(name, version) if at else named(text)


def made_versions() -> list[Environment]:
    """Returns the environments of versions that were made. Raises ConfigError."""
    folders = sorted(path.parent.name for path in environments_folder().glob(f"*@*/{MARKER}"))
    frameworks = load_versions()
    versions = (folder.split("@", 1) for folder in folders)
    return [version_environment(name, version) for name, version in versions if name in frameworks]


def controls_of(patterns: Sequence[VariantPattern]) -> list[str]:
    """Returns the controls of the versions among `patterns`, unless these name them.

    Raises ConfigError.
    """
    tables, named = load_versions(), {each.adapter for each in patterns}
    names = dict.fromkeys(name for name, _ in versions_among(patterns))
    controls = dict.fromkeys(tables[name].control for name in names if name in tables)
    return [control for control in controls if not named & {control, ALL}]


def _beneath(name: str, control: str) -> tuple[str, ...]:
    """Returns the folders of the packages that a framework needs.

    They are snnbench's own, unless the control's library is missing there and an environment that
    serves the framework is made.
    """
    if find_spec(control) is None:
        for environment in known().values():
            if name in environment.recipe.adapters and environment.state()[0] == "ready":
                return (str(environment.site_packages),)
    return own_packages()


def own_packages() -> tuple[str, ...]:
    """Returns the package folders of snnbench's own Python."""
    folders, names = map(Path, sys.path), ("site-packages", "dist-packages")
    return tuple(str(folder) for folder in folders if folder.name in names and folder.is_dir())
