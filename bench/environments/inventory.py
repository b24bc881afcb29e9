"""Collects what workers report of environments, adapters and refused cases. This process imports no
adapter."""

import ast
import importlib.util
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from snnbench.adapters.registry import BUILT_IN, is_own, references

from ..common.mistakes import ConfigError
from ..core.case import Case
from ..core.jobs import Inquiry
from ..core.variant import ALL, VariantPattern
from ..executors.executor import CannotStart, Executor, OwnEnvironment
from ..executors.launch import NoAnswerInTime, launch_apart
from ..executors.local import LocalExecutor
from ..experiment.adapter_info import AdapterInfo
from .create import ask_environment
from .environment import Environment, NotMade, known
from .versions import version_environment, versions_among

TIMEOUT_S = 60.0


@dataclass(frozen=True)
class WorkerEnvironment:
    """An environment of workers: `facts` for JSON, as one of its workers reports them, and the
    executor that starts workers in it."""

    facts: dict[str, Any]
    executor: Executor

    @property
    def name(self) -> str:
        return self.facts["name"]

    @property
    def hash(self) -> str:
        """The hash of Python and all packages."""
        return self.facts["hash"]

    @property
    def devices(self) -> list[str]:
        return self.facts["devices"]

    @property
    def image_digest(self) -> str | None:
        """The digest of the image of workers' containers."""
        return self.facts["image"]["digest"] if "image" in self.facts else None


@dataclass
class Inventory:
    """The default environment, adapters by name, and the other environments by name.

    `refusals` has, by adapter and case id, the reason for each refused case of the inquiry.
    """

    default: WorkerEnvironment
    adapters: dict[str, AdapterInfo] = field(default_factory=dict)
    environments: dict[str, WorkerEnvironment] = field(default_factory=dict)
    refusals: dict[str, dict[str, str]] = field(default_factory=dict)

    def left_out(self, points: Iterable[Case]) -> list[str]:
        """Returns the names of adapters that compute such cases but cannot run here: the framework
        `all` excludes them."""
        samples = {point.workload: point for point in points}.values()
        return [
            name
            for name, adapter in self.adapters.items()
            if any(map(adapter.suits, samples)) and not adapter.can_run
        ]

    def environment_of(self, adapter: AdapterInfo) -> WorkerEnvironment:
        """Returns the environment of an adapter's workers; the default if it is unusable."""
        return self.environments.get(adapter.environment, self.default)

    def add(self, entry: dict[str, Any], environment: str = "default") -> str:
        """Adds the adapter that a worker described, in place of one with its name, and returns that
        name."""
        name = declared_name(entry["reference"]) if "error" in entry else ""
        adapter = AdapterInfo.from_answer(entry, name, environment)
        self.adapters[adapter.name] = adapter
        self.refusals[adapter.name] = entry.get("refusals", {})
        return adapter.name


def default_environment() -> WorkerEnvironment:
    """Returns the default environment. Raises RuntimeError if its worker gives no answer."""
    executor = LocalExecutor()
    return _environment_in(_describe_default(Inquiry(), executor), executor)


def take_inventory(
    files: list[str],
    inquiry: Inquiry = Inquiry(),
    executor: Executor = LocalExecutor(),
    versions: Sequence[tuple[str, str]] = (),
) -> Inventory:
    """Asks workers about installed adapters, those in `files`, and `versions` of adapters.

    One worker answers in each environment, and one for each third-party adapter, which may hang,
    crash or exit. Adapters in `files` take precedence over installed ones of the same name.
    Built-in adapters that the inquiry does not name are listed by name only. An adapter runs in the
    default environment if its framework is installed there, else in the one made for it, a
    third-party adapter in the one with adapters that need the modules that it lacks. An adapter
    that gives no answer is listed with its `error`: its cases run, and end with the status of that
    error.

    Raises RuntimeError if the default environment gives no answer, and ConfigError if it takes too
    long, if an entry of `files` is no adapter, two have the same name, or a third-party adapter
    that of a built-in one.
    """
    asked = tuple(reference for name, reference in BUILT_IN.items() if inquiry.is_about(name))
    answer = _describe_default(replace(inquiry, references=asked), executor)
    inventory = Inventory(
        _environment_in(answer, executor),
        {name: AdapterInfo(reference, name) for name, reference in BUILT_IN.items()},
    )
    for entry in answer["adapters"]:
        inventory.add(entry)
    _add_third_party(inventory, files, inquiry)
    _add_from_environments(inventory, inquiry)
    for name, version in dict.fromkeys((*versions_among(inquiry.frameworks or ()), *versions)):
        if name in inventory.adapters:
            _add_version(inventory, name, version, inquiry)
    return inventory


def _add_third_party(inventory: Inventory, files: list[str], inquiry: Inquiry) -> None:
    """Adds installed third-party adapters and those in `files`."""
    installed = [name for name in references().values() if name not in BUILT_IN.values()]
    by_name: dict[str, str] = {}
    for reference in (*installed, *files):
        entry = _describe_third_party(reference, inquiry, inventory.default.executor)
        if entry.get("no_adapter") and reference in files:
            raise ConfigError(entry["error"])
        name = declared_name(reference) if "error" in entry else entry["name"]
        if name in BUILT_IN and not _is_shipped(reference, name):
            raise ConfigError(
                f"{reference}: has the name {name!r}, which is that of a built-in adapter; "
                "give it another `name`"
            )
        inventory.add(entry)
        if reference in files and reference != (other := by_name.setdefault(name, reference)):
            raise ConfigError(
                f"{other} and {reference}: both have the name {name!r}; give one of them another "
                "`name`"
            )


def _is_shipped(reference: str, name: str) -> bool:
    """Returns true for a reference to the built-in adapter `name`, by its module or its file."""
    source, _, class_name = reference.rpartition(":")
    module, _, shipped_class = BUILT_IN[name].rpartition(":")
    spec = importlib.util.find_spec(module)
    file = spec.origin if spec else None
    return is_own(reference) or (
        class_name == shipped_class
        and file is not None
        and Path(source).resolve() == Path(file).resolve()
    )


def _add_from_environments(inventory: Inventory, inquiry: Inquiry) -> None:
    """Adds adapters that do not run in the default environment but in one made for them. They lack
    it if it is unusable."""
    built_in = _missing_of_built_in(inventory)
    for environment in known().values():
        names = [name for name in environment.recipe.adapters if name in inventory.adapters]
        modules = {module for name in names for module in built_in.get(name, ())}
        hosted = [
            adapter
            for adapter in inventory.adapters.values()
            if (adapter.name in names and (adapter.missing or adapter.error))
            or (_is_homeless(adapter) and modules.issuperset(adapter.missing))
        ]
        if not hosted:
            continue
        about_hosted = _inquiry_about(inquiry, *(adapter.reference for adapter in hosted))
        entries, lacking = _describe_in(inventory, environment, about_hosted)
        for entry in entries:
            inventory.add(entry, environment.name)
        if lacking:
            for adapter in hosted:
                info = replace(adapter, environment=environment.name, lacking=lacking)
                inventory.adapters[adapter.name] = info


def _is_homeless(adapter: AdapterInfo) -> bool:
    """Returns true for a third-party adapter that lacks modules and has no environment yet."""
    return bool(
        adapter.missing and adapter.environment == "default" and not is_own(adapter.reference)
    )


def _missing_of_built_in(inventory: Inventory) -> dict[str, Sequence[str]]:
    """Returns the modules that built-in adapters lack in the default environment, by name; nothing
    if no third-party adapter lacks one."""
    if not any(map(_is_homeless, inventory.adapters.values())):
        return {}
    inquiry = _inquiry_about(Inquiry(frameworks=()), *BUILT_IN.values())
    entries = _describe_default(inquiry, inventory.default.executor)["adapters"]
    return {entry["name"]: entry["missing"] for entry in entries if entry.get("missing")}


def _add_version(inventory: Inventory, name: str, version: str, inquiry: Inquiry) -> None:
    """Adds a version of an adapter, with the constructions of the installed version until its
    environment exists."""
    environment, installed = version_environment(name, version), inventory.adapters[name]
    full_name = environment.name
    about_version = replace(inquiry.about_version(name, version), references=(installed.reference,))
    entries, lacking = _describe_in(inventory, environment, about_version)
    unknown: dict[str, Any] = {
        "missing": (),
        "closure": {},
        "error": None,
        "lacking": lacking,
        "refusal": None,
    }
    info = replace(installed, name=full_name, version=version, environment=full_name, **unknown)
    for entry in entries:
        inventory.refusals[full_name] = entry.get("refusals", {})
        entry = {**entry, "name": full_name, "version": entry.get("version") or version}
        info = AdapterInfo.from_answer(entry, full_name, full_name)
        # The package is installed without a submodule: this version lacks the feature.
        if info.missing and all("." in module for module in info.missing):
            refusal = f"{name} {version} has no {', '.join(info.missing)}"
            info = replace(info, lacking=None, refusal=refusal)
    inventory.adapters[full_name] = info


def _describe_in(
    inventory: Inventory, environment: Environment, inquiry: Inquiry
) -> tuple[list[dict[str, Any]], str | None]:
    """Returns the adapters that a worker in `environment` describes, and None; or no adapters and
    the reason why no worker can run there."""
    recipe, lacking = environment.recipe, environment.lacking()
    own = OwnEnvironment(
        environment.name, recipe.adapters, recipe.image, environment.python, lacking
    )
    try:
        executor = inventory.default.executor.inside(own)
        answer = ask_environment(environment, inquiry, executor)
    except CannotStart as error:
        return [], str(error)
    except NotMade as error:
        return [], f"{error}: {inventory.default.executor.advice(own)}"
    inventory.environments[environment.name] = _environment_in(answer, executor)
    return answer["adapters"], None


def _describe_third_party(reference: str, inquiry: Inquiry, executor: Executor) -> dict[str, Any]:
    """Returns the description of one adapter by a separate worker."""
    try:
        (entry,) = _describe(_inquiry_about(inquiry, reference), executor)["adapters"]
        return entry
    except NoAnswerInTime:
        reason = f"the import of {reference} did not end within {TIMEOUT_S:g} s"
    except RuntimeError as error:
        reason = str(error)
    return {"reference": reference, "error": reason}


def _inquiry_about(inquiry: Inquiry, *references: str) -> Inquiry:
    """Returns the inquiry about these adapters, all of which count as named."""
    frameworks = None if inquiry.frameworks is None else (*inquiry.frameworks, VariantPattern(ALL))
    return replace(inquiry, references=references, frameworks=frameworks)


def declared_name(reference: str) -> str:
    """Returns the `name` that an adapter's source declares, else the name of its class."""
    source, _, class_name = reference.rpartition(":")
    try:
        tree = ast.parse(Path(source).read_text()) if source.endswith(".py") else ast.Module([], [])
    except (OSError, SyntaxError, ValueError):
        return class_name
    classes = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name == class_name
    ]
    for statement in itertools.chain.from_iterable(node.body for node in classes):
        match statement:
            case ast.Assign([ast.Name("name"), *_], ast.Constant(str(name))):
                return name
            case ast.AnnAssign(ast.Name("name"), _, ast.Constant(str(name))):
                return name
    return class_name


def _environment_in(answer: dict[str, Any], executor: Executor) -> WorkerEnvironment:
    return WorkerEnvironment({**answer["environment"], **executor.facts()}, executor)


def _describe_default(inquiry: Inquiry, executor: Executor) -> dict[str, Any]:
    """Returns the answer of the default environment. Raises ConfigError if it takes too long."""
    try:
        return _describe(inquiry, executor)
    except NoAnswerInTime as error:
        raise ConfigError(
            f"the default environment: {error}; try again when the machine is less busy"
        ) from None


def _describe(inquiry: Inquiry, executor: Executor) -> dict[str, Any]:
    return launch_apart("describe", inquiry.as_dict(), "cuda", TIMEOUT_S, executor).answer(
        "describe"
    )
