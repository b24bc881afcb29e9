"""A worker's description of its environment and adapters: the harness imports none of them."""

import ctypes
import hashlib
import importlib.util
import itertools
import json
import platform
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from importlib.machinery import all_suffixes
from importlib.metadata import (
    Distribution,
    PackageNotFoundError,
    distribution,
    distributions,
    version,
)
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from snnbench.adapters import registry
from snnbench.kernels.spec import NEURONS, NeuronSpec

from ..core.case import NATIVE, Case, Native
from ..core.complete import NoAdapter
from ..core.contract import Adapter
from ..core.fingerprint import imported_modules, source_hash
from ..core.jobs import Inquiry
from ..core.status import in_words
from ..core.variant import ALL, Variant, VariantPattern
from ..workloads import workload_of

BASES = ("torch", "jax")
"""Modules that the base classes require."""
BEHIND_NAME = re.compile(r"[^A-Za-z0-9._-]")
"""The first character behind the name in a requirement."""


def describe_adapter(reference: str, inquiry: Inquiry) -> dict[str, Any]:
    """Returns an adapter's name, version and abilities, or the `error` of its import.

    `no_adapter` is set if the reference names none. `refusals` has the reason for each refused
    case of the inquiry by case id.
    """
    try:
        adapter = registry.load(reference)
    except NoAdapter as error:
        return {"reference": reference, "error": str(error), "no_adapter": True}
    except Exception as error:
        return {"reference": reference, "error": in_words(error)}
    missing = list(dict.fromkeys(name for name in map(_missing, adapter.requires) if name))
    named: list[NeuronSpec | Native] = [*NEURONS.values(), NATIVE]
    cases = (
        point.computed_by(variant)
        for variant in _variants(adapter, inquiry.frameworks)
        for point in inquiry.points
    )
    return {
        "reference": reference,
        "name": adapter.name,
        "version": None if missing else _version_of(adapter, reference),
        "missing": missing,
        "constructions": list(adapter.constructions),
        "modes": list(adapter.modes),
        "devices": list(adapter.devices),
        "loads_data": adapter.loads_data,
        "refusal": adapter.refusal,
        "neurons": {
            spec.label(): _refusal(
                adapter, Case(adapter.name, next(iter(adapter.constructions)), neuron=spec)
            )
            for spec in named
        },
        "source_sha256": source_hash(reference),
        "closure": closure_of(["numpy", *adapter.requires, *imported_modules(reference)]),
        "refusals": {case.id: reason for case in cases if (reason := _refusal(adapter, case))},
    }


def _distribution(adapter: Adapter, reference: str) -> str:
    """The distribution that gives the adapter's version; empty if unknown, as for a third-party
    adapter that requires no more than its base class."""
    last = (adapter.requires or ("",))[-1].split(".")[0]
    return adapter.distribution or (
        "" if last in BASES and reference not in registry.BUILT_IN.values() else last
    )


def _version_of(adapter: Adapter, reference: str) -> str | None:
    """Returns the version of an adapter's distribution; None for a third-party adapter that imports
    none of its modules."""
    name = _distribution(adapter, reference)
    if reference not in registry.BUILT_IN.values():
        required = {module.partition(".")[0] for module in adapter.requires}
        modules = imported_modules(reference) | required.intersection(BASES)
        if not any(_is_of(name, module) for module in modules):
            return None
    return _version(name)


def _is_of(project: str, module: str) -> bool:
    """Tells if a top-level module would be imported from the files of an installed distribution,
    or from the folder of one that is editable."""
    installed, spec = _installed(project), importlib.util.find_spec(module)
    if installed is None or spec is None or spec.origin is None:
        return False
    origin, root = Path(spec.origin).resolve(), Path(str(installed.locate_file(""))).resolve()
    if origin.is_relative_to(root):
        return origin.relative_to(root) in map(Path, installed.files or ())
    source = json.loads(installed.read_text("direct_url.json") or "{}")
    folder = Path(unquote(urlsplit(source.get("url", "")).path)).resolve()
    return bool(source.get("dir_info", {}).get("editable")) and origin.is_relative_to(folder)


def _variants(adapter: Adapter, frameworks: tuple[VariantPattern, ...] | None) -> list[Variant]:
    """Returns the variants of an adapter that `frameworks` name; all of them for None."""
    if frameworks is None:
        every = itertools.product(adapter.constructions, adapter.modes)
        return [Variant(adapter.name, None, *words) for words in every]
    variants: dict[Variant, None] = {}
    for pattern in frameworks:
        if pattern.adapter in (adapter.name, ALL):
            with suppress(KeyError):  # the harness refuses words that no variant has
                chosen = replace(pattern, framework=adapter.name)
                variants |= dict.fromkeys(chosen.select(adapter.constructions, adapter.modes))
    return list(variants)


def _missing(module: str) -> str | None:
    """Returns the part of a dotted name that is not installed, or None, without importing it."""
    top_level, *rest = module.split(".")
    spec = importlib.util.find_spec(top_level)
    if spec is None:
        return top_level
    places = [Path(place) for place in spec.submodule_search_locations or ()]
    for name in rest:
        if not any(
            (place / name).is_dir()
            or any((place / (name + end)).exists() for end in all_suffixes())
            for place in places
        ):
            return module
        places = [place / name for place in places]
    return None


def _refusal(adapter: Adapter, case: Case) -> str | None:
    """Returns why an adapter refuses a case, or None; an error in `supports` shows in its run."""
    try:
        return adapter.refuses(case, workload_of(case).network(case))
    except Exception:
        return None


def describe_environment(name: str) -> dict[str, Any]:
    """Returns Python, all installed distributions, a hash of both, and the reachable devices.

    Of a distribution in several folders the first counts, which an import would find.
    """
    versions: dict[str, str] = {}
    for installed in distributions():
        if project := installed.metadata["Name"]:
            versions.setdefault(project.lower(), installed.version)
    packages = dict(sorted(versions.items()))
    python = f"{platform.python_implementation()} {platform.python_version()}"
    digest = hashlib.sha256(json.dumps([python, packages]).encode()).hexdigest()[:16]
    return {
        "name": name,
        "hash": digest,
        "python": python,
        "packages": packages,
        "devices": ["cpu", *_cuda_devices()],
    }


def _cuda_devices() -> list[str]:
    """CUDA devices by the driver's count: importing torch would take seconds."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return []
    count = ctypes.c_int()
    failed = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    return ["cuda"] if count.value and not failed else []


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except (PackageNotFoundError, ValueError):
        return None


def closure_of(modules: Iterable[str]) -> dict[str, str]:
    """Versions of the distributions of `modules` and of all that they require, by normalised name.

    Requirements of extras, and of other systems and Pythons, are left out.

    closure_of(["jax"])  # {"jax": "0.10.2", "jaxlib": "0.10.2", "ml-dtypes": "0.5.4", "numpy": …}
    """
    owners = _owners()
    waiting = [name for module in modules for name in owners.get(module.partition(".")[0], ())]
    closure: dict[str, str] = {}
    while waiting:
        known = _installed(waiting.pop())
        if (
            known is None
            or (name := re.sub(r"[-_.]+", "-", known.metadata["Name"]).lower()) in closure
        ):
            continue
        closure[name] = known.version
        waiting += [
            BEHIND_NAME.split(text, 1)[0] for text in known.requires or () if "extra ==" not in text
        ]
    return dict(sorted(closure.items()))


@cache
def _owners() -> Mapping[str, list[str]]:
    """The distributions of each module; one with damaged files has none."""
    owners = defaultdict[str, list[str]](list)
    for package in distributions():
        with suppress(Exception):
            modules = (package.read_text("top_level.txt") or "").split()
            for module in modules or {
                path.parts[0].partition(".")[0]
                for path in package.files or ()
                if path.suffix == ".py"
            }:
                owners[module].append(package.metadata["Name"])
    return owners


def _installed(name: str) -> Distribution | None:
    try:
        installed = distribution(name)
    except (PackageNotFoundError, ValueError):
        return None
    return installed if installed.metadata["Name"] and installed.version else None
