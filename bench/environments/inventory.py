"""The inventory of environments, their adapters, and the cases that these refuse: workers are asked, nothing is imported here."""

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
    """Where workers run. `facts` are what a worker says of its environment, ready for JSON; `executor` starts workers there."""

    facts: dict[str, Any]
    executor: Executor

    @property
    def name(self) -> str:
        return self.facts["name"]

    @property
    def hash(self) -> str:
        """Of Python and all packages."""
        return self.facts["hash"]

    @property
    def devices(self) -> list[str]:
        return self.facts["devices"]

    @property
    def image_digest(self) -> str | None:
        """Of the image that workers' containers are made from."""
        return self.facts["image"]["digest"] if "image" in self.facts else None


@dataclass
class Inventory:
    """Every adapter by its name, the homes of those that have an environment of their own by its name, and by adapter and
    case id the reason for each refused case of the inquiry."""

    default: Home
    adapters: dict[str, AdapterInfo] = field(default_factory=dict)
    homes: dict[str, Home] = field(default_factory=dict)
    refusals: dict[str, dict[str, str]] = field(default_factory=dict)

    def left_out(self, points: Iterable[Case]) -> list[str]:
        """Names of adapters that suit one of these cases and cannot run here, so that `all` does not mean them."""
        kinds = {point.workload: point for point in points}.values()
        suiting = (adapter for adapter in self.adapters.values() if any(map(adapter.suits, kinds)))
        return [adapter.name for adapter in suiting if not adapter.can_run]

    def home_of(self, adapter: AdapterInfo) -> Home:
        """Where an adapter's workers run; the default home if its environment cannot be used."""
        return self.homes.get(adapter.home, self.default)

    def add(self, entry: dict[str, Any], home: str = "default") -> str:
        """Take in a worker's entry for one adapter, in place of an earlier one of the same name, which is returned."""
        adapter = AdapterInfo.from_answer(
            entry, declared_name(entry["reference"]) if "error" in entry else "", home
        )
        self.adapters[adapter.name], self.refusals[adapter.name] = (
            adapter,
            entry.get("refusals", {}),
        )
        return adapter.name


def default_home() -> Home:
    """The default environment of this machine. Raises RuntimeError if a worker there gives no answer."""
    executor = LocalExecutor()
    return _home(_answer(Inquiry(), executor), executor)


def take_inventory(
    files: list[str],
    inquiry: Inquiry = Inquiry(),
    executor: Executor = LocalExecutor(),
    versions: Sequence[str] = (),
) -> Inventory:
    """Ask about installed adapters and those in `files`, which win over installed ones of the same name, and about the `versions`
    of them, `NAME@VERSION`, beside those that the inquiry names.

    One worker is asked in each environment, and one for each adapter that is not of this project: it may hang, crash or exit.
    Of this project's adapters only those that the inquiry names are asked; of the others no more than the name is known.
    An adapter is at home in the default environment if its framework is installed there, else in the one made for it. An
    adapter that cannot even be asked is listed with its `error`: its cases then run and end with the right status. Raises
    RuntimeError if the default environment gives no answer, ConfigError if something in `files` is no adapter, or two have one
    name.
    """
    asked = tuple(reference for name, reference in OWN.items() if inquiry.is_about(name))
    answer = _answer(replace(inquiry, references=asked), executor)
    inventory = Inventory(
        _home(answer, executor),
        {name: AdapterInfo(reference, name) for name, reference in OWN.items()},
    )
    strangers = [
        *(reference for reference in references().values() if reference not in OWN.values()),
        *files,
    ]
    given: dict[str, str] = {}
    for entry in [
        *answer["adapters"],
        *(_ask_stranger(reference, inquiry, executor) for reference in strangers),
    ]:
        if entry.get("no_adapter") and entry["reference"] in files:
            raise ConfigError(entry["error"])
        name = inventory.add(entry)
        if (
            entry["reference"] in files
            and (other := given.setdefault(name, entry["reference"])) != entry["reference"]
        ):
            raise ConfigError(
                f"{other} and {entry['reference']}: both have the name {name!r}; give one of them another `name`"
            )
    for own in known().values():
        lodgers = [
            inventory.adapters[name] for name in own.recipe.adapters if name in inventory.adapters
        ]
        lodgers = [adapter for adapter in lodgers if adapter.missing or adapter.error]
        if lodgers:
            _ask_at_home(inventory, own, lodgers, inquiry)
    for name in dict.fromkeys((*versions_among(inquiry.frameworks or ()), *versions)):
        if name.partition("@")[0] in inventory.adapters:
            _ask_version(inventory, name, inquiry)
    return inventory


def _ask_version(inventory: Inventory, text: str, inquiry: Inquiry) -> None:
    """Ask about the version `NAME@VERSION` of an adapter in its environment. Until that is made, what is known are the
    constructions of the version that is installed here."""
    name, _, version = text.partition("@")
    own, usual = version_environment(text), inventory.adapters[name]
    named = tuple(
        other.replace(text, name, 1)
        for other in inquiry.frameworks or ()
        if other.partition(":")[0] == text
    )
    entries, lacking = _asked(
        inventory, own, replace(inquiry, references=(usual.reference,), frameworks=named or None)
    )
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
        info = AdapterInfo.from_answer(
            {**entry, "name": text, "version": entry.get("version") or version}, text, text
        )
        if info.missing and all(
            "." in module for module in info.missing
        ):  # of a package that is there
            info = replace(
                info, lacking=None, refusal=f"{name} {version} has no {', '.join(info.missing)}"
            )
    inventory.adapters[text] = info


def _ask_at_home(
    inventory: Inventory, own: Environment, lodgers: list[AdapterInfo], inquiry: Inquiry
) -> None:
    """Ask about adapters in the environment made for them; if it gives no answer, they lack it."""
    entries, lacking = _asked(
        inventory, own, _about(inquiry, *(adapter.reference for adapter in lodgers))
    )
    for entry in entries:
        inventory.add(entry, own.name)
    if lacking:
        for adapter in lodgers:
            inventory.adapters[adapter.name] = replace(adapter, home=own.name, lacking=lacking)


def _asked(
    inventory: Inventory, own: Environment, inquiry: Inquiry
) -> tuple[list[dict[str, Any]], str | None]:
    """What a worker in an environment says of adapters, or why there is none."""
    home = OwnEnvironment(
        own.name, own.recipe.adapters, own.recipe.image, own.python, own.lacking()
    )
    try:
        executor = inventory.default.executor.inside(home)
        answer = ask_environment(own, inquiry, executor)
    except CannotStart as error:
        return [], str(error)
    except NotMade as error:
        return [], f"{error}: {inventory.default.executor.advice(home)}"
    inventory.homes[own.name] = _home(answer, executor)
    return answer["adapters"], None


def _ask_stranger(reference: str, inquiry: Inquiry, executor: Executor) -> dict[str, Any]:
    """The entry of an adapter, from a worker of its own."""
    try:
        (entry,) = _answer(_about(inquiry, reference), executor)["adapters"]
        return entry
    except NoAnswerInTime:
        return {
            "reference": reference,
            "error": f"the import of {reference} did not end within {TIMEOUT_S:g} s",
        }
    except RuntimeError as error:
        return {"reference": reference, "error": str(error)}


def _about(inquiry: Inquiry, *references: str) -> Inquiry:
    """The inquiry about few adapters, whose names may not be known yet: all are asked as if they were named."""
    frameworks = None if inquiry.frameworks is None else (*inquiry.frameworks, "all")
    return replace(inquiry, references=references, frameworks=frameworks)


def declared_name(reference: str) -> str:
    """The `name` that an adapter's class declares, read from its source without running it; else the class's name."""
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
    for statement in itertools.chain.from_iterable(one.body for one in classes):
        match statement:
            case ast.Assign([ast.Name("name"), *_], ast.Constant(str(name))):
                return name
            case ast.AnnAssign(ast.Name("name"), _, ast.Constant(str(name))):
                return name
    return class_name


def measured_ceilings(device: str) -> dict[str, dict[str, float]]:
    """The best that the device can do: bytes copied per second by working-set size, flops per second by format."""
    return launch_apart("ceilings", {"device": device}, device, TIMEOUT_S).answer("calibration")[
        "ceilings"
    ]


def timed_kernels() -> tuple[dict[str, dict[str, float]], list[dict[str, Any]]]:
    """`measured_ceilings` of the GPU, and what every kernel of ours takes there."""
    event = launch_apart("kernels", {}, "cuda", KERNELS_TIMEOUT_S).answer("calibration")
    return event["ceilings"], event["kernels"]


def _home(answer: dict[str, Any], executor: Executor) -> Home:
    return Home({**answer["environment"], **executor.facts()}, executor)


def _answer(inquiry: Inquiry, executor: Executor) -> dict[str, Any]:
    return launch_apart("describe", inquiry.as_dict(), "cuda", TIMEOUT_S, executor).answer(
        "describe"
    )
