"""Experiment → cases: the grid, what each adapter says of it, and the order of the rounds."""

import itertools
import re
from dataclasses import fields, replace
from fnmatch import fnmatchcase

from snnbench.adapters.base.case import Case, Native
from snnbench.kernels.spec import NeuronSpec

from ..mistakes import ConfigError, nearest
from .config import Experiment
from .planned_case import PlannedCase
from .values import parse_neuron

AXES = ("device", "workload", "neuron", "layers", "neurons", "time_steps", "batch", "precision", "input", "bias", "input_grad")


def expand(experiment: Experiment, adapters: dict[str, dict], devices: list[str], where: str) -> list[Case]:
    """All cases of the grid in its order, excluded ones left out. Raises ConfigError for an unknown framework or variant."""
    grid = experiment.grid
    for entry in experiment.exclude:
        wanted = entry.get("framework", [])
        for name in wanted if isinstance(wanted, list) else [wanted]:
            if name not in adapters:
                raise ConfigError(f"exclude.framework = {name!r}: unknown framework{nearest(name, adapters)}")
    variants = [variant for text in grid.framework for variant in resolve_framework(text, adapters, where)]
    axes = {axis: getattr(grid, axis) for axis in AXES}
    axes["device"] = grid.device or (["cuda"] if "cuda" in devices else ["cpu"])
    cases: dict[Case, None] = {}
    for point in itertools.product(*axes.values()):
        for framework, construction, mode in variants:
            case = Case(framework, construction, mode, seed=experiment.seed, **dict(zip(AXES, point, strict=True)))
            case = canonical(case)
            if not any(_matches(case, entry) for entry in experiment.exclude):
                cases[case] = None
    return list(cases)


def canonical(case: Case) -> Case:
    """Axes that mean nothing for a workload get one value, so that no case is measured twice under two names."""
    if case.workload == "lif":
        return replace(case, layers=1, bias=False, input_grad=True)
    return case


def resolve_framework(text: str, adapters: dict[str, dict], where: str) -> list[tuple[str, str, str]]:
    """`name:construction+mode` as (name, construction, mode); `name:*` as all its constructions.

    `all` and `all:*` are the same of everything that is installed here. Raises ConfigError.
    """
    name, _, variant = text.partition(":")
    if name == "all" and "all" not in adapters and variant in ("", "*"):
        here = [each for each, entry in adapters.items() if not entry.get("lacking")]
        return [found for each in here for found in resolve_framework(f"{each}:{variant}", adapters, where)]
    if name not in adapters:
        raise ConfigError(f"{where} = {text!r}: unknown framework{nearest(name, adapters)} (there are {', '.join(adapters)})")
    adapter = adapters[name]
    if variant == "*":
        return [(name, construction, "eager") for construction in adapter["constructions"]]
    construction, mode = adapter["constructions"][0], "eager"
    for word in filter(None, re.split(r"\+", variant)):
        if word in adapter["modes"]:
            mode = word
        elif word in adapter["constructions"]:
            construction = word
        else:
            known = [*adapter["constructions"], *adapter["modes"]]
            raise ConfigError(f"{where} = {text!r}: {name} has no {word!r}{nearest(word, known)} (it has {', '.join(known)})")
    return [(name, construction, mode)]


def _matches(case: Case, entry: dict) -> bool:
    """Whether every key of an exclude entry equals the case's value (a list: one of its values)."""
    for key, wanted in entry.items():
        options = wanted if isinstance(wanted, list) else [wanted]
        value = getattr(case, key)
        if key == "neuron":
            options = [parse_neuron(option) for option in options]
        if value not in options:
            return False
    return True


def select(cases: list[PlannedCase], expression: str) -> list[PlannedCase]:
    """Cases that match `framework=norse,neurons=2*`: every part, with shell wildcards. Raises ConfigError."""
    wanted = []
    known = [field.name for field in fields(Case)]
    for part in re.split(r",(?![^(]*\))", expression):  # not at commas inside a neuron's label
        key, equals, pattern = (word.strip() for word in part.partition("="))
        if not equals or key not in known:
            meant = "" if key in known else nearest(key, known)
            advice = f"must look like key=value{meant} ({', '.join(known)})"
            raise ConfigError(f"--only {expression}: {part.strip()!r} {advice}")
        wanted.append((key, pattern))
    return [p for p in cases if all(fnmatchcase(_text(getattr(p.case, key)), pattern) for key, pattern in wanted)]


def _text(value) -> str:
    if isinstance(value, NeuronSpec | Native):
        return value.label()
    return str(value).lower() if isinstance(value, bool) else str(value)
