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
    others = [Fault(kind, where, *text) for kind, *text in (*_machine(record), *_versions(record))]
    right = done_key(
        record.measure, record.adapter, record.environment, record.machine, record.recordings
    )
    if record.done_key != right:
        that = "that of its own versions, files and settings"
        cause = next((fault.cause for fault in others if fault.cause), f"key {right}")
        yield Fault("done key", where, f"done_key = {record.done_key!r}: {that} is {right}", cause)
    yield from others


def _machine(record: Record) -> Iterator[tuple[str, ...]]:
    """Yields kind, text and, if it has one, cause of the faults of a record's machine."""
    machine = record.machine
    facts = {name: machine.get(name) for name in HASHED}
    computed = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]
    if machine["hash"] != computed:
        text = (
            f"it was not measured on the machine that stands there ({machine['cpu']}): "
            f"machine.hash = {machine['hash']!r}, and that of this CPU, memory and GPUs is "
            f"{computed}"
        )
        yield "machine", text, cause_of("machine", machine)
    if record.status != "ok":
        return
    if record.case["device"] != "cpu" and not machine["gpus"]:
        yield "machine", f"it ran on {record.case['device']}, and its machine has no GPU"
    threads, usable = record.measure["threads"], machine["usable_threads"]
    if threads > usable:
        yield "machine", f"it used {threads} threads of {usable}"


def _versions(record: Record) -> Iterator[tuple[str, ...]]:
    """Yields kind, text and, if it has one, cause of the faults of a record's versions."""
    version, closure = record.adapter["version"], record.adapter.get("closure") or {}
    ours = is_own(record.adapter["reference"])
    if closure and version and ours and version not in {*closure.values(), record.snnbench}:
        packages = ", ".join(f"{name} {known}" for name, known in list(closure.items())[:5])
        text = f"{record.adapter['name']} {version}: is not among its packages, {packages} …"
        yield "version", text, cause_of("adapter", record.adapter)
    try:
        if Version(record.snnbench) > Version(__version__):
            its_version = f"snnbench {record.snnbench}"
            text = f"it is of {its_version}, and this is {__version__}: verify with that"
            yield "version", text, its_version
    except InvalidVersion:
        yield "version", f"snnbench = {shown(record.snnbench)}: is no version"
    if not PYTHON.match(python := record.environment["python"]):
        yield "version", f"environment.python = {shown(python)}: is no Python"
