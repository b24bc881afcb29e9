"""environments.toml → recipes: the adapters, packages and needs of each environment."""

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Literal

from packaging.markers import InvalidMarker, Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from platformdirs import user_data_path
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from snnbench import adapters

from ..common.mistakes import ConfigError, nearest, shown, toml_in_words, wanted

FILE, VERSIONS = "environments.toml", "versions"
NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"
LOCKED = r"[A-Za-z0-9][A-Za-z0-9_.-]*(\[[^]]+\])?"
"""A package without a version, and perhaps with extras: the recipe's lock pins it."""
MUST_BE_PINNED = (
    "must be pinned, like 'torch==2.13.0', or a package of `lock`, or the absolute path of a local "
    "package"
)

Need = Literal["nvcc", "cuda-torch"]
NEEDS: dict[Need, str] = {"nvcc": "nvcc (CUDA's compiler)", "cuda-torch": "a torch for CUDA"}
"""Needs beyond Python and a package index, in words."""


class RecipeTable(BaseModel):
    """A table of environments.toml."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class InstallStep(RecipeTable):
    """One call of uv. The head of environments.toml explains the fields."""

    name: Annotated[str, Field(pattern=NAME)]
    install: tuple[str, ...] = ()
    dependencies: Annotated[bool, Field(strict=True)] = False
    python: Annotated[str, Field(pattern=r"^3\.\d+$")] | None = None
    build: Annotated[bool, Field(strict=True)] = False
    gpu: Annotated[bool, Field(strict=True)] = False

    @field_validator("install")
    @classmethod
    def _pinned(cls, install: tuple[str, ...]) -> tuple[str, ...]:
        for package in install:
            is_local = Path(package).is_absolute() and Path(package).exists()
            if not (pin_of(package) or is_local or re.fullmatch(LOCKED, package)):
                raise ValueError(f"{package!r} {MUST_BE_PINNED}")
        return install

    @property
    def key(self) -> str:
        """Hash of the step; a step with another key is run again."""
        values = self.model_dump(exclude_defaults=True)
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


class Recipe(RecipeTable):
    """The adapters that one environment serves, what its packages need, and the steps.

    `lock` is the path of a file of pins, relative to that of environments.toml.
    """

    adapters: Annotated[tuple[str, ...], Field(min_length=1)]
    description: str
    image: str | None = None
    needs: tuple[Need, ...] = ()
    lock: str | None = None
    steps: Annotated[tuple[InstallStep, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _distinct_names(self) -> "Recipe":
        names = [step.name for step in self.steps]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two steps are called {name!r}; give each its own name")
        return self

    def pinned_by(self, lock: dict[str, str]) -> "Recipe":
        """Returns the recipe with a version for each package that a step only names.

        `lock` maps names to versions. A step that names no package gets those that no other step
        installs on every machine. Raises ValueError.
        """
        elsewhere = {
            canonicalize_name(Requirement(package).name)
            for step in self.steps
            for package in step.install
            if not step.gpu and not Path(package).is_absolute()
        }
        rest = tuple(f"{name}=={lock[name]}" for name in lock if name not in elsewhere)
        steps = []
        for step in self.steps:
            install = tuple(_pinned(package, lock) for package in step.install) or rest
            if not install:
                raise ValueError(f"step {step.name!r} installs nothing: `install` is missing")
            steps.append(step.model_copy(update={"install": install}))
        return self.model_copy(update={"steps": tuple(steps)})

    @property
    def pins(self) -> list[Requirement]:
        """The pinned packages of all steps, without local packages."""
        return _pins(self.steps)

    @property
    def keys(self) -> list[str]:
        return [step.key for step in self.steps]

    def is_here(self) -> bool:
        """Returns true if snnbench's own environment has all pinned packages that need no GPU."""
        pins = _pins(step for step in self.steps if not step.gpu)
        return bool(pins) and all(map(_is_installed, pins))


def _pins(steps: Iterable[InstallStep]) -> list[Requirement]:
    return [pin for step in steps for package in step.install if (pin := pin_of(package))]


def _pinned(package: str, lock: dict[str, str]) -> str:
    """Returns `package` with the version that `lock` has, if it is only a name."""
    if not re.fullmatch(LOCKED, package):
        return package
    try:
        return f"{package}=={lock[canonicalize_name(Requirement(package).name)]}"
    except KeyError:
        raise ValueError(f"{package!r} {MUST_BE_PINNED}") from None


def read_lock(text: str) -> dict[str, str]:
    """Returns versions by the names of packages, of the pins that hold for this Python.

    Raises ValueError.

    >>> read_lock("numpy==2.4.6 ; python_version < '3'\\nnumpy==2.5.5 ; python_version >= '3'")
    {'numpy': '2.5.5'}
    """
    lock: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        package, _, marker = line.partition("#")[0].partition(";")
        if not package.strip():
            continue
        if not (pin := pin_of(package.strip())):
            raise ValueError(f"line {number}: {package.strip()!r} must be pinned, like 'six==1.17'")
        try:
            holds = not marker.strip() or Marker(marker).evaluate()
        except InvalidMarker:
            raise ValueError(f"line {number}: {marker.strip()!r} is no marker") from None
        if holds:
            lock[canonicalize_name(pin.name)] = str(pin.specifier).removeprefix("==")
    return lock


def _is_installed(pin: Requirement) -> bool:
    try:
        return pin.specifier.contains(version(pin.name), prereleases=True)
    except PackageNotFoundError:
        return False


def pin_of(package: str) -> Requirement | None:
    """Returns `package` as a requirement if it is one exact version, like `torch==2.13.0`."""
    try:
        requirement = Requirement(package)
    except InvalidRequirement:
        return None
    exact = [
        clause.operator == "==" and not clause.version.endswith(".*")
        for clause in requirement.specifier
    ]
    return requirement if exact == [True] and not requirement.marker else None


def environments_folder() -> Path:
    """Returns $SNNBENCH_ENVIRONMENTS, else a folder in the user's data (~/.local/share)."""
    variable = os.environ.get("SNNBENCH_ENVIRONMENTS")
    if variable:
        return Path(variable).expanduser().absolute()
    return user_data_path("snnbench") / "environments"


def load_recipes() -> dict[str, Recipe]:
    """Returns the built-in recipes and the user's, which take precedence.

    Raises ConfigError with file, key, value and what is expected.
    """
    recipes: dict[str, Recipe] = {}
    for path, tables in read_tables():
        added = _recipes(path, tables)
        served = {adapter for recipe in added.values() for adapter in recipe.adapters}
        recipes = {
            name: recipe for name, recipe in recipes.items() if not served & set(recipe.adapters)
        } | added
    return recipes


def read_tables() -> list[tuple[Path, dict[str, Any]]]:
    """Returns the tables of the built-in environments.toml, then of the user's, by file.

    Raises ConfigError.
    """
    built_in = Path(adapters.__file__).resolve().parent / FILE
    users = environments_folder() / FILE
    return [
        (path, _tables(path)) for path in (built_in, users) if path == built_in or path.is_file()
    ]


def _tables(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: is not TOML: {toml_in_words(error)}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text (byte {error.start})") from None


def _recipes(path: Path, tables: dict[str, Any]) -> dict[str, Recipe]:
    recipes: dict[str, Recipe] = {}
    served: dict[str, str] = {}
    for name, table in tables.items():
        if name == VERSIONS:
            continue
        if not re.fullmatch(NAME, name) or name == "default":
            raise ConfigError(
                f"{path}: [{name}]: an environment's name is of letters, digits, dots, dashes, "
                "not 'default'"
            )
        try:
            recipe = Recipe.model_validate(table)
        except ValidationError as error:
            raise ConfigError(f"{path}: {message(name, error, Recipe)}") from None
        try:
            lock = read_lock((path.parent / recipe.lock).read_text("utf-8")) if recipe.lock else {}
        except (OSError, ValueError) as error:
            reason = str(error.strerror if isinstance(error, OSError) else error)
            reason = "is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else reason
            raise ConfigError(f"{path}: {name}.lock = {recipe.lock!r}: {reason}") from None
        try:
            recipes[name] = recipe.pinned_by(lock)
        except ValueError as error:
            raise ConfigError(f"{path}: {name}: {error}") from None
        for adapter in recipes[name].adapters:
            if adapter in served:
                raise ConfigError(
                    f"{path}: {name}.adapters = {adapter!r}: {served[adapter]} serves it already"
                )
            served[adapter] = name
    return recipes


def message(name: str, error: ValidationError, kind: type[RecipeTable]) -> str:
    """Returns one sentence for pydantic's errors about the table `name`.

    A misspelt key is reported before the missing one.
    """
    first: Any = min(error.errors(), key=lambda fault: fault["type"] != "extra_forbidden")
    parts = [f"{part + 1}" if isinstance(part, int) else part for part in first["loc"]]
    key = ".".join([name, *parts])
    if first["type"] == "extra_forbidden":
        known = InstallStep.model_fields if "steps" in first["loc"][:-1] else kind.model_fields
        hint = nearest(str(first["loc"][-1]), known)
        return f"{key}: unknown key{hint} (there are {', '.join(known)})"
    if first["type"] == "missing":
        return f"{key}: is missing"
    if first["type"] == "value_error" and len(first["loc"]) == 0:
        return f"{name}: {wanted(first)}"
    return f"{key} = {shown(first['input'])}: {wanted(first)}"
