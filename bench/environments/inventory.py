"""Environments, adapters and refused cases, as workers report them: nothing is imported here."""

import ast
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from snnbench.adapters.registry import OWN, references

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

TIMEOUT_S, KERNELS_TIMEOUT_S = 60.0, 600.0


@dataclass(frozen=True)
class Home:
    """An environment of workers: `facts` for JSON, as a worker reports them, and its executor."""

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
    """Adapters by name, homes other than the default by name, and refusals.

    `refusals` has, by adapter and case id, the reason for each refused case of the inquiry.
    """

    default: Home
    adapters: dict[str, AdapterInfo] = field(default_factory=dict)
    homes: dict[str, Home] = field(default_factory=dict)
    refusals: dict[str, dict[str, str]] = field(default_factory=dict)

    def left_out(self, points: Iterable[Case]) -> list[str]:
        """Returns suitable adapters that cannot run here, which `all` therefore excludes."""
        kinds = {point.workload: point for point in points}.values()
        suiting = (adapter for adapter in self.adapters.values() if any(map(adapter.suits, kinds)))
        return [adapter.name for adapter in suiting if not adapter.can_run]

    def home_of(self, adapter: AdapterInfo) -> Home:
        """Returns the home of an adapter's workers; the default if its environment is unusable."""
        return self.homes.get(adapter.home, self.default)

    def add(self, entry: dict[str, Any], home: str = "default") -> str:
        """Adds or replaces an adapter by a worker's entry, and returns its name."""
        name = declared_name(entry["reference"]) if "error" in entry else ""
        adapter = AdapterInfo.from_answer(entry, name, home)
        self.adapters[adapter.name] = adapter
        self.refusals[adapter.name] = entry.get("refusals", {})
        return adapter.name


def default_home() -> Home:
    """Returns the default environment. Raises RuntimeError if its worker gives no answer."""
    executor = LocalExecutor()
    return _home(_answer(Inquiry(), executor), executor)


def take_inventory(
    files: list[str],
    inquiry: Inquiry = Inquiry(),
    executor: Executor = LocalExecutor(),
    versions: Sequence[tuple[str, str]] = (),
) -> Inventory:
    """Asks workers about installed adapters, those in `files`, and `versions` of adapters.

    Adapters in `files` take precedence over installed ones of the same name. One worker answers in
    each environment, and one for each third-party adapter, which may hang, crash or exit. Built-in
    adapters that the inquiry does not name are listed by name only. The home of an adapter is the
    default environment if its framework is installed there, else the one made for it. An adapter
    that gives no answer is listed with its `error`; its cases run and end with the right status.

    Raises RuntimeError if the default environment gives no answer, and ConfigError if an entry of
    `files` is no adapter or two have the same name.
    """
    asked = tuple(reference for name, reference in OWN.items() if inquiry.is_about(name))
    answer = _answer(replace(inquiry, references=asked), executor)
    inventory = Inventory(
        _home(answer, executor),
        {name: AdapterInfo(reference, name) for name, reference in OWN.items()},
    )
    installed = [name for name in references().values() if name not in OWN.values()]
    third_party = [_ask_third_party(name, inquiry, executor) for name in (*installed, *files)]
    named: dict[str, str] = {}
    for entry in [*answer["adapters"], *third_party]:
        if entry.get("no_adapter") and entry["reference"] in files:
            raise ConfigError(entry["error"])
        name = inventory.add(entry)
        reference = entry["reference"]
        if reference in files and (other := named.setdefault(name, reference)) != reference:
            raise ConfigError(
                f"{other} and {reference}: both have the name {name!r}; give one of them another "
                "`name`"
            )
    for environment in known().values():
        names = [name for name in environment.recipe.adapters if name in inventory.adapters]
        hosted = [inventory.adapters[name] for name in names]
        hosted = [adapter for adapter in hosted if adapter.missing or adapter.error]
        if hosted:
            _ask_at_home(inventory, environment, hosted, inquiry)
    for name, version in dict.fromkeys((*versions_among(inquiry.frameworks or ()), *versions)):
        if name in inventory.adapters:
            _ask_version(inventory, name, version, inquiry)
    return inventory


def _ask_version(inventory: Inventory, name: str, version: str, inquiry: Inquiry) -> None:
    """Asks about a version of an adapter in its environment.

    Before that is made, only the constructions of the installed version are known.
    """
    environment, usual = version_environment(name, version), inventory.adapters[name]
    text = environment.name
    about = replace(inquiry.about_version(name, version), references=(usual.reference,))
    entries, lacking = _asked(inventory, environment, about)
    unknown: dict[str, Any] = {
        "missing": (),
        "closure": {},
        "error": None,
        "lacking": lacking,
        "refusal": None,
    }
    info = replace(usual, name=text, version=version, home=text, **unknown)
    for entry in entries:
        inventory.refusals[text] = entry.get("refusals", {})
        entry = {**entry, "name": text, "version": entry.get("version") or version}
        info = AdapterInfo.from_answer(entry, text, text)
        # A missing module of an installed package is a property of the version.
        if info.missing and all("." in module for module in info.missing):
            refusal = f"{name} {version} has no {', '.join(info.missing)}"
            info = replace(info, lacking=None, refusal=refusal)
    inventory.adapters[text] = info


def _ask_at_home(
    inventory: Inventory, environment: Environment, hosted: list[AdapterInfo], inquiry: Inquiry
) -> None:
    """Asks about the adapters hosted in an environment; without an answer, they lack it."""
    about = _about(inquiry, *(adapter.reference for adapter in hosted))
    entries, lacking = _asked(inventory, environment, about)
    for entry in entries:
        inventory.add(entry, environment.name)
    if lacking:
        for adapter in hosted:
            info = replace(adapter, home=environment.name, lacking=lacking)
            inventory.adapters[adapter.name] = info


def _asked(
    inventory: Inventory, environment: Environment, inquiry: Inquiry
) -> tuple[list[dict[str, Any]], str | None]:
    """Returns a worker's entries on adapters, or the reason for their absence."""
    recipe, lacking = environment.recipe, environment.lacking()
    home = OwnEnvironment(
        environment.name, recipe.adapters, recipe.image, environment.python, lacking
    )
    try:
        executor = inventory.default.executor.inside(home)
        answer = ask_environment(environment, inquiry, executor)
    except CannotStart as error:
        return [], str(error)
    except NotMade as error:
        return [], f"{error}: {inventory.default.executor.advice(home)}"
    inventory.homes[environment.name] = _home(answer, executor)
    return answer["adapters"], None


def _ask_third_party(reference: str, inquiry: Inquiry, executor: Executor) -> dict[str, Any]:
    """Returns the entry of one adapter from a separate worker."""
    try:
        (entry,) = _answer(_about(inquiry, reference), executor)["adapters"]
        return entry
    except NoAnswerInTime:
        reason = f"the import of {reference} did not end within {TIMEOUT_S:g} s"
    except RuntimeError as error:
        reason = str(error)
    return {"reference": reference, "error": reason}


def _about(inquiry: Inquiry, *references: str) -> Inquiry:
    """Returns the inquiry about these adapters as if it named them."""
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


def measured_ceilings(device: str) -> dict[str, dict[str, float]]:
    """Returns a device's best rates: copied bytes per second by size, flops by format."""
    event = launch_apart("ceilings", {"device": device}, device, TIMEOUT_S).answer("calibration")
    return event["ceilings"]


def timed_kernels() -> tuple[dict[str, dict[str, float]], list[dict[str, Any]]]:
    """Returns `measured_ceilings` of the GPU, and the times of snnbench's kernels there."""
    event = launch_apart("kernels", {}, "cuda", KERNELS_TIMEOUT_S).answer("calibration")
    return event["ceilings"], event["kernels"]


def _home(answer: dict[str, Any], executor: Executor) -> Home:
    return Home({**answer["environment"], **executor.facts()}, executor)


def _answer(inquiry: Inquiry, executor: Executor) -> dict[str, Any]:
    return launch_apart("describe", inquiry.as_dict(), "cuda", TIMEOUT_S, executor).answer(
        "describe"
    )
