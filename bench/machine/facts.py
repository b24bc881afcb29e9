"""The machine: the part of a record that names the hardware of its measurements."""

import hashlib
import json
import platform
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from ..common.units import counted
from .cores import usable_cores
from .nvml import answer, device_count, handle_of

MANY_SIGNS = 4
"""Distinct characters: placeholders of boards without a serial number have fewer."""


def machine_facts() -> dict[str, Any]:
    """Returns CPU, memory in bytes, GPUs and system.

    `hash` covers everything that timings depend on, without the kernel's release and a container;
    `node` identifies this machine among those of its kind.
    """
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
    """Returns `node`, an anonymous hash of this machine, and its source as `node_of`.

    The hash survives a reboot unless its source is `boot_id`. A container's name and machine-id
    are those of its image and do not count. Empty if nothing is known.
    """
    places = [
        root / "etc/machine-id",
        root / "sys/class/dmi/id/product_uuid",
        root / "proc/sys/kernel/random/boot_id",
    ]
    for place in places[container:]:
        with suppress(OSError, UnicodeDecodeError):  # the board's own may need root
            if len(set(text := place.read_text().strip())) > MANY_SIGNS:
                named = f"{'' if container else platform.node()} {text}"
                digest = hashlib.sha256(named.encode()).hexdigest()[:12]
                return {"node": digest, "node_of": place.name}
    return {}


def machine_kind(machine: Mapping[str, Any]) -> str:
    """Returns 12 hexadecimal digits for all machines with equal CPU, threads, GPUs and GiB.

    Drivers, kernels and single MiB do not count.
    """
    gpus = [gpu["name"] for gpu in machine["gpus"]]
    facts = [
        machine["cpu"],
        machine["usable_threads"],
        gpus,
        round(machine["memory_bytes"] / 2**30),
    ]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:12]


def machine_label(machine: Mapping[str, Any]) -> str:
    """Returns the facts of a machine in one line."""
    gpus = [gpu["name"] for gpu in machine["gpus"]]
    cpu = f"{machine['cpu']} ({machine['usable_threads']} threads)"
    return ", ".join([*gpus, cpu, f"{machine['memory_bytes'] / 2**30:.0f} GiB"])


def current_load() -> dict[str, Any]:
    """Returns load averages, free bytes, and CPU clock in MHz and governor (None if unknown)."""
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
    """Returns facts of each NVIDIA GPU; empty without a driver."""
    return [_gpu(handle) for handle in map(handle_of, range(device_count())) if handle is not None]


def _gpu(handle: Any) -> dict[str, Any]:
    """Returns name, memory in bytes and driver; a refused answer is None or empty."""
    import pynvml

    return {
        "name": answer(lambda: pynvml.nvmlDeviceGetName(handle)) or "NVIDIA GPU",
        "memory_bytes": answer(lambda: pynvml.nvmlDeviceGetMemoryInfo(handle).total),
        "driver": answer(pynvml.nvmlSystemGetDriverVersion) or "",
    }


def busy_warning(load: float, cores: int) -> list[str]:
    """Returns a sentence if more programs ran or waited in the last minute than there are cores."""
    if load <= cores:
        return []
    what = "times will be doubtful, and proofs may run out of time"
    return [f"this machine is busy: a load of {load:.1f} on {counted(cores, 'core')}: {what}"]


def measuring_advice(machine: dict[str, Any], load: dict[str, Any]) -> list[str]:
    """Returns advice before measuring, from `machine_facts` and `current_load`."""
    sentences = []
    if load["load_average"][0] > 0.5:
        waiting = f"{load['load_average'][0]:.1f}"
        where = f"ran or waited for one of {machine['usable_threads']} threads"
        sentences.append(
            f"in the last minute {waiting} programs on average {where}: times will be noisy, "
            "compare ratios only"
        )
    if load["governor"] not in (None, "performance"):
        sentences.append(
            f"the CPU frequency governor is {load['governor']!r}; "
            "'performance' gives steadier times"
        )
    if not machine["gpus"]:
        sentences.append("no NVIDIA driver answers: only the CPU can be measured")
    return sentences
