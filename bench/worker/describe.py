"""An environment and its adapters, described by a worker there, so that the harness need not import them."""

import ctypes
import hashlib
import importlib.util
import itertools
import json
import platform
from contextlib import suppress
from dataclasses import replace
from importlib.machinery import all_suffixes
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path
from typing import Any

from snnbench.adapters import registry
from snnbench.kernels.spec import NEURONS, NeuronSpec

from ..core.case import NATIVE, Case, Native, variants_of
from ..core.complete import NoAdapter
from ..core.contract import Adapter
from ..core.fingerprint import imported_modules, source_hash
from ..core.jobs import Inquiry
from ..core.status import in_words
from ..workloads import workload_of
from .closure import closure_of

BASES = ("torch", "jax")
"""What the base classes require."""


def describe_adapter(reference: str, inquiry: Inquiry) -> dict[str, Any]:
    """An adapter's name, version and abilities, or the `error` of its import, with `no_adapter` if the reference names none.
    `refusals` has the reason for each case of the inquiry that it refuses, by case id."""
    try:
        adapter = registry.load(reference)
    except NoAdapter as error:
        return {"reference": reference, "error": str(error), "no_adapter": True}
    except Exception as error:
        return {"reference": reference, "error": in_words(error)}
    missing = list(dict.fromkeys(name for name in map(_missing, adapter.requires) if name))
    named: list[NeuronSpec | Native] = [*NEURONS.values(), NATIVE]
    cases = (
        replace(point, framework=adapter.name, construction=construction, mode=mode)
        for construction, mode in _variants(adapter, inquiry.frameworks)
        for point in inquiry.points
    )
    return {
        "reference": reference,
        "name": adapter.name,
        "version": None if missing else _version(_distribution(adapter, reference)),
        "missing": missing,
        "constructions": list(adapter.constructions),
        "modes": list(adapter.modes),
        "devices": list(adapter.devices),
        "loads_data": adapter.loads_data,
        "refusal": adapter.refusal,
        "neurons": {
            spec.label(): _refusal(
                adapter, Case(adapter.name, adapter.constructions[0], neuron=spec)
            )
            for spec in named
        },
        "source_sha256": source_hash(reference),
        "closure": closure_of(["numpy", *adapter.requires, *imported_modules(reference)]),
        "refusals": {case.id: reason for case in cases if (reason := _refusal(adapter, case))},
    }


def _distribution(adapter: Adapter, reference: str) -> str:
    """The distribution whose version is the adapter's; empty if nobody knows: an adapter from outside that requires no
    more than its base class has not said of what it is a version."""
    last = (adapter.requires or ("",))[-1].split(".")[0]
    return adapter.distribution or (
        "" if last in BASES and reference not in registry.OWN.values() else last
    )


def _variants(adapter: Adapter, frameworks: tuple[str, ...] | None) -> list[tuple[str, str]]:
    """The constructions and modes of an adapter that `frameworks` name."""
    if frameworks is None:
        return list(itertools.product(adapter.constructions, adapter.modes))
    variants: dict[tuple[str, str], None] = {}
    for name, _, words in (text.partition(":") for text in frameworks):
        if name in (adapter.name, "all"):
            with suppress(KeyError):  # the harness says which word no variant has
                variants |= dict.fromkeys(variants_of(words, adapter.constructions, adapter.modes))
    return list(variants)


def _missing(module: str) -> str | None:
    """The part of a dotted name that is not installed, or None. Nothing is imported: frameworks take seconds."""
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
    """Why an adapter refuses a case, or None. A `supports` that raises shows when the case runs; other adapters go on."""
    try:
        return adapter.refuses(case, workload_of(case).network(case))
    except Exception:
        return None


def describe_environment(name: str) -> dict[str, Any]:
    """Python, every installed distribution, a hash of both, and the devices that this environment can reach. Of a distribution
    that lies in several folders the first counts, which is what an import finds."""
    found: dict[str, str] = {}
    for each in distributions():
        if name_of := each.metadata["Name"]:
            found.setdefault(name_of.lower(), each.version)
    packages = dict(sorted(found.items()))
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
    """CUDA devices by the driver's own count: importing torch to ask would take seconds."""
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
