"""Checks of ids, keys, hashes and versions of one record."""

import hashlib
import json
import re
from collections.abc import Iterator

from packaging.version import InvalidVersion, Version

from snnbench.adapters.registry import is_own

from ...common import __version__
from ...common.mistakes import shown
from ...records.identity import done_key
from ...records.record import Record
from .fault import Fault, cause_of

HASHED = ("cpu", "cores", "threads", "usable_threads", "memory_bytes", "system", "gpus")
"""Facts of a machine in its hash; see `machine/facts.py`."""
PYTHON = re.compile(r"^(CPython|PyPy|GraalVM) 3\.\d+\.\d+\S*$")


def identities(record: Record, where: str) -> Iterator[Fault]:
    """Yields the faults of a record's key, machine and versions."""
    others = [*_machine(record, where), *_versions(record, where)]
    right = done_key(
        record.measure, record.adapter, record.environment, record.machine, record.recordings
    )
    if record.done_key != right:
        text = (
            f"done_key = {record.done_key!r}: that of its own versions, files and settings is "
            f"{right}"
        )
        yield Fault(
            "done key",
            where,
            text,
            next((fault.cause for fault in others if fault.cause), f"key {right}"),
        )
    yield from others


def _machine(record: Record, where: str) -> Iterator[Fault]:
    machine = record.machine
    facts = {name: machine.get(name) for name in HASHED}
    if machine["hash"] != (
        computed := hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]
    ):
        text = (
            f"it was not measured on the machine that stands there ({machine['cpu']}): "
            f"machine.hash = {machine['hash']!r}, and"
        )
        yield Fault(
            "machine",
            where,
            f"{text} that of this CPU, memory and GPUs is {computed}",
            cause_of("machine", machine),
        )
    if record.case["device"] != "cpu" and not machine["gpus"] and record.status == "ok":
        yield Fault(
            "machine", where, f"it ran on {record.case['device']}, and its machine has no GPU"
        )
    if record.measure["threads"] > machine["usable_threads"] and record.status == "ok":
        yield Fault(
            "machine",
            where,
            f"it used {record.measure['threads']} threads of {machine['usable_threads']}",
        )


def _versions(record: Record, where: str) -> Iterator[Fault]:
    version, closure = record.adapter["version"], record.adapter.get("closure") or {}
    ours = is_own(record.adapter["reference"])
    if closure and version and ours and version not in {*closure.values(), record.snnbench}:
        packages = ", ".join(f"{name} {known}" for name, known in list(closure.items())[:5])
        text = f"{record.adapter['name']} {version}: is not among its packages, {packages} …"
        yield Fault("version", where, text, cause_of("adapter", record.adapter))
    try:
        if Version(record.snnbench) > Version(__version__):
            text = (
                f"it is of snnbench {record.snnbench}, and this is {__version__}: verify with that"
            )
            yield Fault("version", where, text, f"snnbench {record.snnbench}")
    except InvalidVersion:
        yield Fault("version", where, f"snnbench = {shown(record.snnbench)}: is no version")
    if not PYTHON.match(record.environment["python"]):
        yield Fault(
            "version",
            where,
            f"environment.python = {shown(record.environment['python'])}: is no Python",
        )
