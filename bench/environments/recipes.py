"""environments.toml → recipes: what each environment holds, the steps that install it, and what the machine must have."""

import hashlib
import json
import os
import re
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Literal

from packaging.requirements import InvalidRequirement, Requirement
from platformdirs import user_data_path
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from ..common.mistakes import ConfigError, nearest, shown, wanted
from .link import package_folder

FILE, VERSIONS = "environments.toml", "versions"
NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"

Need = Literal["nvcc", "cuda-torch"]


class Table(BaseModel):
    """A table of environments.toml."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Step(Table):
    """One call of uv or pip. The head of environments.toml explains the fields."""

    name: Annotated[str, Field(pattern=NAME)]
    install: Annotated[tuple[str, ...], Field(min_length=1)]
    dependencies: Annotated[bool, Field(strict=True)] = False
    ignore_python_bound: Annotated[bool, Field(strict=True)] = False
    build: Annotated[bool, Field(strict=True)] = False
    gpu: Annotated[bool, Field(strict=True)] = False

    @field_validator("install")
    @classmethod
    def _pinned(cls, install: tuple[str, ...]) -> tuple[str, ...]:
        for package in install:
            if not pin_of(package) and not (Path(package).is_absolute() and Path(package).exists()):
                raise ValueError(
                    f"{package!r} must be pinned, like 'torch==2.13.0', or the absolute path of a local package"
                )
        return install

    @property
    def key(self) -> str:
        """Hash of everything that the step does, so that a changed step is done again."""
        values = self.model_dump()
        if not self.gpu:  # environments of before that field stay as they are
            del values["gpu"]
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


class Recipe(Table):
    """The adapters that one environment serves, the needs of its packages, and the steps that install them."""

    adapters: Annotated[tuple[str, ...], Field(min_length=1)]
    description: str
    image: str | None = None
    needs: tuple[Need, ...] = ()
    steps: Annotated[tuple[Step, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _named_once(self) -> "Recipe":
        names = [step.name for step in self.steps]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(
                    f"two steps are called {name!r}; every step needs a name of its own"
                )
        return self

    @property
    def pins(self) -> list[Requirement]:
        """The pinned packages of all steps; local packages are not among them."""
        return [pin for step in self.steps for package in step.install if (pin := pin_of(package))]

    def is_here(self) -> bool:
        """Whether all packages that the recipe pins, but those for GPUs alone, are in snnbench's own environment."""
        pins = [
            pin
            for step in self.steps
            if not step.gpu
            for package in step.install
            if (pin := pin_of(package))
        ]
        return bool(pins) and all(_is_installed(pin) for pin in pins)

    @property
    def keys(self) -> list[str]:
        return [step.key for step in self.steps]


def _is_installed(pin: Requirement) -> bool:
    try:
        return pin.specifier.contains(version(pin.name), prereleases=True)
    except PackageNotFoundError:
        return False


def pin_of(package: str) -> Requirement | None:
    """The requirement in `package` if it pins one version of a package of an index, like `torch==2.13.0`; else None."""
    try:
        requirement = Requirement(package)
    except InvalidRequirement:
        return None
    exact = [
        one.operator == "==" and not one.version.endswith(".*") for one in requirement.specifier
    ]
    return requirement if exact == [True] and not requirement.marker else None


def environments_folder() -> Path:
    """Where environments are made: $SNNBENCH_ENVIRONMENTS, else in the user's folder for data (~/.local/share on Linux)."""
    given = os.environ.get("SNNBENCH_ENVIRONMENTS")
    return (
        Path(given).expanduser().absolute()
        if given
        else user_data_path("snnbench") / "environments"
    )


def load_recipes() -> dict[str, Recipe]:
    """The built-in recipes and the user's own, which win. Raises ConfigError with file, key, value and what would be right."""
    recipes: dict[str, Recipe] = {}
    for path, tables in read_tables():
        users = _recipes(path, tables)
        served = {adapter for recipe in users.values() for adapter in recipe.adapters}
        recipes = {
            name: recipe for name, recipe in recipes.items() if not served & set(recipe.adapters)
        } | users
    return recipes


def read_tables() -> list[tuple[Path, dict[str, Any]]]:
    """The tables of our environments.toml, and of the user's own if there is one, each with its file. Raises ConfigError."""
    own = environments_folder() / FILE
    return [
        (path, _tables(path))
        for path in (package_folder("snnbench.adapters") / FILE, *([own] if own.is_file() else []))
    ]


def _tables(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: is not TOML: {error}") from None
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
                f"{path}: [{name}]: an environment's name is of letters, digits, dots, dashes, not 'default'"
            )
        try:
            recipes[name] = Recipe.model_validate(table)
        except ValidationError as error:
            raise ConfigError(f"{path}: {message(name, error, Recipe)}") from None
        for adapter in recipes[name].adapters:
            if adapter in served:
                raise ConfigError(
                    f"{path}: {name}.adapters = {adapter!r}: is served by {served[adapter]} already"
                )
            served[adapter] = name
    return recipes


def message(name: str, error: ValidationError, kind: type[Table]) -> str:
    """One sentence for one of pydantic's errors about the table `name`; a misspelt key comes before the missing one."""
    first: Any = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    key = ".".join(
        [name, *(f"{part + 1}" if isinstance(part, int) else part for part in first["loc"])]
    )
    if first["type"] == "extra_forbidden":
        known = Step.model_fields if "steps" in first["loc"][:-1] else kind.model_fields
        return f"{key}: unknown key{nearest(str(first['loc'][-1]), known)} (there are {', '.join(known)})"
    if first["type"] == "missing":
        return f"{key}: is missing"
    if first["type"] == "value_error" and len(first["loc"]) == 0:
        return f"{name}: {wanted(first)}"
    return f"{key} = {shown(first['input'])}: {wanted(first)}"
