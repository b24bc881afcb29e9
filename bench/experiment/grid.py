"""Expands an experiment to cases, and selects some of them."""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from snnbench.kernels.spec import NeuronSpec

from ..common.mistakes import ConfigError, nearest
from ..core.case import CASE_FIELDS, NETWORK, Case, Native
from ..core.variant import ALL, VARIANT_FIELDS, Variant, VariantPattern
from ..workloads import workload_of
from .adapter_info import AdapterInfo
from .config import Experiment, Grid, listed
from .network import NIR_HINT
from .values import parse_neuron

MOST_NAMES, LISTING = 8, "snnbench adapters lists them"
"""Most adapters that a message names, and its words in place of more."""
AXES = [axis for axis in Grid.model_fields if axis != "framework"]


def points(experiment: Experiment, devices: Sequence[str]) -> list[Case]:
    """Returns every combination of the axes of each grid except the framework, without those that
    are excluded for all frameworks. `devices` is the default of the grid's axis."""
    combinations = (
        dict(zip(AXES, values, strict=True))
        for grid in experiment.grids
        for values in itertools.product(*(getattr(grid, axis) or devices for axis in AXES))
    )
    networks: dict[str, list[Any]] = {NETWORK: [table.reference for table in experiment.network]}
    cases = [
        Case("", seed=experiment.seed, network=network, **combination)
        for combination in combinations
        for network in networks.get(combination["workload"], [None])
    ]
    distinct = dict.fromkeys(workload_of(case).canonical(case) for case in cases)
    excluded = [entry for entry in experiment.exclude if entry.keys().isdisjoint(VARIANT_FIELDS)]
    return [case for case in distinct if not any(excludes(entry, case) for entry in excluded)]


def expand(
    experiment: Experiment,
    adapters: Mapping[str, AdapterInfo],
    devices: Sequence[str],
    about: Callable[[str], str],
) -> list[Case]:
    """Returns all cases of the grid in its order, without excluded ones. `devices` are those of
    this machine; `about` returns the beginning of a message on a framework. Raises ConfigError for
    an unknown framework or variant."""
    for entry in experiment.exclude:
        for name in listed(entry.get("framework", [])):
            if name not in adapters:
                raise ConfigError(
                    f"exclude.framework = {name!r}: unknown framework{nearest(name, adapters)}"
                )
    variants = [
        (variant, pattern.is_all)
        for pattern in experiment.grid.framework
        for variant in resolve_variants(pattern, adapters, about)
    ]
    of_variants = [
        entry for entry in experiment.exclude if not entry.keys().isdisjoint(VARIANT_FIELDS)
    ]
    cases: dict[Case, None] = {}
    for point in points(experiment, ["cuda"] if "cuda" in devices else ["cpu"]):
        for variant, of_all in variants:
            if of_all and not adapters[variant.adapter].suits(point):
                continue
            case = point.computed_by(variant)
            if not any(excludes(entry, case) for entry in of_variants):
                cases[case] = None
    return list(cases)


def resolve_variants(
    pattern: VariantPattern, adapters: Mapping[str, AdapterInfo], about: Callable[[str], str]
) -> list[Variant]:
    """Returns the variants that a pattern names; for `all` and `all:*` those of every adapter that
    can run here. Raises ConfigError, which begins with `about` of the pattern's text."""
    name = pattern.adapter
    if pattern.is_all and ALL not in adapters and pattern.words in ((), ("*",)):
        return [
            variant
            for adapter in adapters.values()
            if adapter.can_run and not adapter.pattern.version
            for variant in resolve_variants(
                replace(adapter.pattern, words=pattern.words), adapters, about
            )
        ]
    if name not in adapters:
        raise ConfigError(f"{about(str(pattern))}: unknown framework{others(name, adapters)}")
    adapter = adapters[name]
    try:
        return pattern.select(adapter.constructions, adapter.modes)
    except KeyError as error:
        (word,) = error.args
        known = [*adapter.constructions, *adapter.modes]
        raise ConfigError(
            f"{about(str(pattern))}: {name} has no {word!r}{nearest(word, known)} "
            f"(it has {', '.join(known)})"
        ) from None
    except ValueError as error:
        words = " and ".join(map(repr, error.args))
        raise ConfigError(f"{about(str(pattern))}: {words} cannot both be chosen") from None


OF_FILES = {
    ".py": "an adapter's file is named by --adapter FILE.py:Class, or by adapters in a config",
    ".nir": NIR_HINT,
}
"""What a file is that is named as a framework, by its suffix."""


def others(name: str, adapters: Mapping[str, AdapterInfo]) -> str:
    """Returns the end of a message on an unknown name: where a file belongs, the most similar
    name, else those of networks or of many the command that lists them, and the adapters that
    gave none."""
    if hint := OF_FILES.get(Path(name.partition(":")[0]).suffix):
        return f"; {hint}"
    failed = "".join(f"; {adapter.error}" for adapter in adapters.values() if adapter.error)
    known = [key for key, adapter in adapters.items() if not adapter.loads_data]
    listed = f"there are {', '.join(known)}" if len(known) <= MOST_NAMES else LISTING
    return (nearest(name, adapters) or f" ({listed})") + failed


def excludes(entry: dict[str, Any], case: Case) -> bool:
    """True if the case has the value, or one of the listed values, of every key of an exclude
    entry."""
    for key, value in entry.items():
        values = (
            [parse_neuron(each) for each in listed(value)] if key == "neuron" else listed(value)
        )
        if getattr(case, key) not in values:
            return False
    return True


def select(cases: list[Case], expression: str) -> list[Case]:
    """Returns the cases that match every part of `framework=norse,neurons=2*`, with shell
    wildcards. A framework stands for all of its variants. Raises ConfigError, also for a part that
    no case matches."""
    wanted = []
    for part in _parts(expression) or [""]:
        key, equals, pattern = (word.strip() for word in part.partition("="))
        if not equals or key not in CASE_FIELDS:
            wrong = (
                f"there is no {key!r}{nearest(key, CASE_FIELDS)}"
                if equals and key
                else f"{part.strip()!r} must look like key=value"
            )
            raise ConfigError(f"--only {expression}: {wrong} ({', '.join(CASE_FIELDS)})")
        wanted.append((key, pattern))
    for key, pattern in wanted:
        texts = dict.fromkeys(text for case in cases for text in _texts(case, key))
        if texts and not any(fnmatchcase(text, pattern) for text in texts):
            advice = f"{nearest(pattern, texts)} (there are {', '.join(texts)})"
            raise ConfigError(
                f"--only {expression}: no case left: none has {key} = {pattern}{advice}"
            )
    return [
        case
        for case in cases
        if all(any(fnmatchcase(text, glob) for text in _texts(case, key)) for key, glob in wanted)
    ]


def most_groups(experiment: Experiment, only: str) -> int:
    """Returns an upper bound of the comparison groups that `only` selects, without asking any
    adapter. Raises ConfigError."""
    cases = points(experiment, ["cpu"])
    unknown = (*VARIANT_FIELDS, *(() if experiment.grid.device else ("device",)))
    known = [part for part in _parts(only) if part.partition("=")[0].strip() not in unknown]
    return len(select(cases, ",".join(known)) if known else cases)


def _parts(expression: str) -> list[str]:
    """Splits at commas outside of brackets: a neuron's label has brackets."""
    return re.split(r",(?![^(]*\))", expression) if expression else []


def _texts(case: Case, key: str) -> list[str]:
    """Returns the spellings of a field's value."""
    value = getattr(case, key)
    if isinstance(value, NeuronSpec | Native):
        return [value.label()]
    return [str(value).lower() if isinstance(value, bool) else str(value)] + [
        case.framework_variant
    ] * (key == "framework")
