"""What an environment holds and what its adapters say of themselves, so that the harness need not import them."""

import ctypes
import hashlib
import importlib.util
import json
import platform
from importlib.machinery import all_suffixes
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path

from snnbench.adapters import registry
from snnbench.adapters.base.case import NATIVE, Case
from snnbench.adapters.base.fingerprint import source_hash
from snnbench.kernels.spec import NEURONS

from ..status import in_words
from ..workloads import WORKLOADS


def describe_adapters(references: list[str], cases: list[dict]) -> list[dict]:
    """One entry per reference; `refusals` gives for each of `cases` (by position) of that framework the reason, or None."""
    typed = [Case.from_dict(values) for values in cases]
    return [_describe(reference, typed) for reference in references]


def _describe(reference: str, cases: list[Case]) -> dict:
    try:
        adapter = registry.load(reference)
    except Exception as error:
        return {"reference": reference, "error": in_words(error)}
    missing = list(dict.fromkeys(name for name in map(_missing, adapter.requires) if name))
    mine = [case for case in cases if case.framework == adapter.name]
    return {
        "reference": reference,
        "name": adapter.name,
        "version": None if missing else _version(adapter.distribution or (adapter.requires or ("",))[-1].split(".")[0]),
        "missing": missing,
        "constructions": list(adapter.constructions),
        "modes": list(adapter.modes),
        "devices": list(adapter.devices),
        "neurons": {
            spec.label(): _refusal(adapter, Case(adapter.name, adapter.constructions[0], neuron=spec))
            for spec in (*NEURONS.values(), NATIVE)
        },
        "refusals": [_refusal(adapter, case) for case in mine],
        "source_sha256": source_hash(reference),
    }


def _missing(module: str) -> str | None:
    """What of a dotted name is not there, found without importing anything: frameworks take seconds."""
    top_level, *rest = module.split(".")
    spec = importlib.util.find_spec(top_level)
    if spec is None:
        return top_level
    places = [Path(place) for place in spec.submodule_search_locations or ()]
    for name in rest:
        if not any((place / name).is_dir() or any((place / (name + end)).exists() for end in all_suffixes()) for place in places):
            return module
        places = [place / name for place in places]
    return None


def _refusal(adapter, case: Case) -> str | None:
    """A `supports` that raises is found out when the case runs; it must not take the other adapters along."""
    try:
        return adapter.refuses(case, WORKLOADS[case.workload].network(case))
    except Exception:
        return None


def describe_environment(name: str) -> dict:
    """Python, every installed distribution, a hash of both, and the devices that this environment can reach."""
    packages = {d.metadata["Name"].lower(): d.version for d in distributions() if d.metadata["Name"]}
    packages = dict(sorted(packages.items()))
    python = f"{platform.python_implementation()} {platform.python_version()}"
    digest = hashlib.sha256(json.dumps([python, packages]).encode()).hexdigest()[:16]
    return {"name": name, "hash": digest, "python": python, "packages": packages, "devices": ["cpu", *_cuda_devices()]}


def _cuda_devices() -> list[str]:
    """CUDA devices by the driver's own count: importing torch to ask would take seconds."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return []
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return []
    return ["cuda"] if count.value else []


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except (PackageNotFoundError, ValueError):
        return None
