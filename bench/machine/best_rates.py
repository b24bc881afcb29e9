"""The best rates ever measured on this machine, by device and threads: a file in the user's cache.

A single measurement depends on other load and on the library; the capability of a device does not.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field, ValidationError

from ..common.files import cache_folder, exclusive, write_atomically

LONGEST_WAIT = 10.0
"""Seconds to wait for another process that writes the file."""
MOST = 1e18
"""Bytes or flops per second that no device reaches: a clock was wrong."""

Rates = dict[str, dict[str, Annotated[float, Field(gt=0, lt=MOST)]]]
"""Per second, by kind (`copy_bytes_per_s`, `matmul_flops_per_s`) and size or number format."""


class _RatesFile(BaseModel, extra="forbid"):
    version: Literal[1] = 1
    machine: str
    rates: dict[str, Rates] = {}


def rates_file(machine: str) -> Path:
    """Returns the file with the rates of the machine with that hash."""
    return cache_folder() / "rates" / f"{machine}.json"


def best_rates(
    machine: str, device: str, threads: int, measured: Mapping[str, Mapping[str, float]], keep: bool
) -> Rates:
    """Returns the best of `measured` and of all stored rates of that machine, device and threads.

    With `keep` the result is stored; a failure to store changes nothing else. Rates that no device
    reaches are dropped.

    best_rates("0f1e", "cpu", 2, {"copy_bytes_per_s": {"1048576": 9e9}}, keep=True)
    """
    path = rates_file(machine)
    key = f"{device if device != 'cuda' else 'cuda:0'}, {threads} threads"
    plausible = {
        kind: {name: rate for name, rate in rates.items() if 0 < rate < MOST}
        for kind, rates in measured.items()
    }
    if not keep:
        return _best_of(_read(path, machine).rates.get(key, {}), plausible)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        busy = TimeoutError(f"{path} is being written")
        with exclusive(path.with_suffix(".lock"), busy, LONGEST_WAIT):
            stored = _read(path, machine).rates
            best = _best_of(stored.get(key, {}), plausible)
            if best != stored.get(key):
                file = _RatesFile(machine=machine, rates=stored | {key: best})
                write_atomically(path, file.model_dump_json(indent=1))
    except OSError:
        best = _best_of(_read(path, machine).rates.get(key, {}), plausible)
    return best


def _read(path: Path, machine: str) -> _RatesFile:
    """Returns the file's content, empty if it is missing, damaged or another machine's."""
    try:
        file = _RatesFile.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return _RatesFile(machine=machine)
    return file if file.machine == machine else _RatesFile(machine=machine)


def _best_of(first: Rates, second: Rates) -> Rates:
    best = {kind: dict(rates) for kind, rates in first.items()}
    for kind, rates in second.items():
        so_far = best.setdefault(kind, {})
        so_far |= {name: max(rate, so_far.get(name, 0.0)) for name, rate in rates.items()}
    return best
