"""Which machine this is: the part of a record that says on which hardware its numbers were measured."""

import hashlib
import json
import platform
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from .cores import usable_cores
from .nvml import answer, device_count, handle_of

MANY_SIGNS = 4
"""Boards that nobody gave a number have one of few signs."""


def machine_facts() -> dict[str, Any]:
    """CPU, memory in bytes, GPUs and system. `hash` covers what timings depend on, not the kernel's release or a container;
    `node` is this very machine of that kind."""
    facts = {
        "cpu": _cpu_model(),
        "cores": psutil.cpu_count(logical=False),
        "threads": psutil.cpu_count(),
        "usable_threads": len(usable_cores()),
        "memory_bytes": psutil.virtual_memory().total,
        "system": f"{platform.system()} {platform.machine()}",
        "gpus": _gpus(),
    }
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]
    container = Path("/.dockerenv").exists() or Path("/run/.containerenv").exists()
    return {
        **facts,
        "kernel": platform.release(),
        "container": container,
        "hash": digest,
        **_node(container),
    }


def _node(container: bool, root: Path = Path("/")) -> dict[str, str]:
    """`node`: this machine as a hash that tells it from others and nothing else, and in `node_of` what it is a hash of: the same
    after a reboot, unless that is `boot_id`. Names and files of a container are those of an image. Empty where nothing is known.
    """
    places = [
        root / "etc/machine-id",
        root / "sys/class/dmi/id/product_uuid",
        root / "proc/sys/kernel/random/boot_id",
    ]
    for place in places[container:]:
        with suppress(
            OSError, UnicodeDecodeError
        ):  # most may read what is the board's own, not all
            if len(set(text := place.read_text().strip())) > MANY_SIGNS:
                named = f"{'' if container else platform.node()} {text}"
                return {
                    "node": hashlib.sha256(named.encode()).hexdigest()[:12],
                    "node_of": place.name,
                }
    return {}


def machine_kind(machine: Mapping[str, Any]) -> str:
    """One name, 12 hexadecimal digits, for all machines with the same CPU, threads, GPUs and GiB of memory: a driver, a kernel
    and a MiB more make no other."""
    gpus = [gpu["name"] for gpu in machine["gpus"]]
    facts = [
        machine["cpu"],
        machine["usable_threads"],
        gpus,
        round(machine["memory_bytes"] / 2**30),
    ]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:12]


def machine_label(machine: Mapping[str, Any]) -> str:
    """The facts of a machine in one line for people."""
    gpus = [gpu["name"] for gpu in machine["gpus"]]
    cpu = f"{machine['cpu']} ({machine['usable_threads']} threads)"
    return ", ".join([*gpus, cpu, f"{machine['memory_bytes'] / 2**30:.0f} GiB"])


def current_load() -> dict[str, Any]:
    """How busy the machine is now: load averages, free memory in bytes, CPU clock in MHz and its governor (None if unknown)."""
    frequency = psutil.cpu_freq()
    governor = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    return {
        "load_average": list(psutil.getloadavg()),
        "available_memory_bytes": psutil.virtual_memory().available,
        "cpu_mhz": frequency.current if frequency else None,
        "governor": governor.read_text().strip() if governor.exists() else None,
    }


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(
            line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")
        )
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _gpus() -> list[dict[str, Any]]:
    """Facts of each NVIDIA GPU that the driver knows; empty without a driver."""
    return [_gpu(handle) for handle in map(handle_of, range(device_count())) if handle is not None]


def _gpu(handle: Any) -> dict[str, Any]:
    """Name, memory in bytes and driver of a GPU. What the driver refuses to tell is None or empty."""
    import pynvml

    return {
        "name": answer(lambda: pynvml.nvmlDeviceGetName(handle)) or "NVIDIA GPU",
        "memory_bytes": answer(lambda: pynvml.nvmlDeviceGetMemoryInfo(handle).total),
        "driver": answer(pynvml.nvmlSystemGetDriverVersion) or "",
    }


def busy_warning(load: float, cores: int) -> list[str]:
    """A sentence where more programs ran or waited in the last minute than this process has cores, before a run."""
    if load <= cores:
        return []
    what = "times will be doubtful, and proofs may run out of time"
    return [
        f"this machine is busy: a load of {load:.1f} on {cores} core{'s' * (cores > 1)}: {what}"
    ]


def measuring_advice(machine: dict[str, Any], load: dict[str, Any]) -> list[str]:
    """Sentences on what to change or expect before measuring here, from `machine_facts` and `current_load`."""
    sentences = []
    if load["load_average"][0] > 0.5:
        waiting = f"{load['load_average'][0]:.1f}"
        where = f"ran or waited for one of {machine['usable_threads']} threads"
        sentences.append(
            f"in the last minute {waiting} programs on average {where}: times will be noisy, compare ratios only"
        )
    if load["governor"] not in (None, "performance"):
        sentences.append(
            f"the CPU frequency governor is {load['governor']!r}; 'performance' gives steadier times"
        )
    if not machine["gpus"]:
        sentences.append("no NVIDIA driver answers: only the CPU can be measured")
    return sentences
