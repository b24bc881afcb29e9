"""The best rates that were ever measured on this machine, by device and number of threads: a file in the user's cache.

A rate of the moment depends on who else is computing and on the library that was asked; what a device can do does not.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..common.files import cache_folder, exclusive, write_atomically

LONGEST_WAIT = 10.0
"""Seconds that a process waits for another that is writing the file."""
MOST = 1e18
"""Bytes or flops per second that no device reaches: a clock was wrong."""

Rates = dict[str, dict[str, Annotated[float, Field(gt=0, lt=MOST)]]]
"""By kind (`copy_bytes_per_s`, `matmul_flops_per_s`) and by size in bytes or number format; per second."""


class _Kept(BaseModel):
    model_config = ConfigDict(extra="forbid")
    version: Literal[1] = 1
    machine: str
    rates: dict[str, Rates] = {}


def rates_file(machine: str) -> Path:
    """Where the rates of the machine with that hash are kept."""
    return cache_folder() / "rates" / f"{machine}.json"


def best_rates(
    machine: str, device: str, threads: int, measured: Mapping[str, Mapping[str, float]], keep: bool
) -> Rates:
    """The best of `measured` and of all that was kept before for that device of the machine with that hash, used by that number
    of threads. With `keep` it is kept for the next time; where that cannot be done, the answer is the same. Rates that no device
    has are left out.

    best_rates(machine_facts()["hash"], "cpu", 2, {"copy_bytes_per_s": {"1048576": 9e9}, "matmul_flops_per_s": {}}, keep=True)
    """
    path, key = (
        rates_file(machine),
        f"{device if device != 'cuda' else 'cuda:0'}, {threads} threads",
    )
    seen = {
        kind: {name: rate for name, rate in rates.items() if 0 < rate < MOST}
        for kind, rates in measured.items()
    }
    if not keep:
        return _best_of(_read(path, machine).rates.get(key, {}), seen)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with exclusive(
            path.with_suffix(".lock"), TimeoutError(f"{path} is being written"), LONGEST_WAIT
        ):
            kept = _read(path, machine)
            best = _best_of(kept.rates.get(key, {}), seen)
            if best != kept.rates.get(key):
                write_atomically(
                    path,
                    _Kept(machine=machine, rates=kept.rates | {key: best}).model_dump_json(
                        indent=1
                    ),
                )
    except OSError:
        best = _best_of(_read(path, machine).rates.get(key, {}), seen)
    return best


def _read(path: Path, machine: str) -> _Kept:
    """What the file holds; nothing where it is missing, damaged or another machine's."""
    try:
        kept = _Kept.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return _Kept(machine=machine)
    return kept if kept.machine == machine else _Kept(machine=machine)


def _best_of(one: Rates, other: Rates) -> Rates:
    best = {kind: dict(rates) for kind, rates in one.items()}
    for kind, rates in other.items():
        own = best.setdefault(kind, {})
        own |= {name: max(rate, own.get(name, 0.0)) for name, rate in rates.items()}
    return best
