"""Energy that a device has used, by the machine's counters: NVML for a GPU, RAPL for CPUs.

On many machines an ordinary user may not read them; the energy is unknown there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .nvml import answer as nvml_answer
from .nvml import handle_of

RAPL = Path("sys/class/powercap")
BURST_S = 1.0
"""Seconds of calls between two readings: counters are renewed up to every tenth of a second."""


@dataclass(frozen=True)
class EnergyMeter:
    """`joules` counts up from an arbitrary start (None: unreadable); `source` names the device."""

    source: str
    joules: Callable[[], float | None]

    def between(self, before: float | None) -> float | None:
        """Joules since the reading `before`; None if one is missing or the counter restarted."""
        now = self.joules()
        used = None if before is None or now is None else now - before
        return used if used is not None and used > 0 else None


def meter_of(device: str, root: Path = Path("/")) -> EnergyMeter | None:
    """Returns the meter of `cpu`, `cuda` or `cuda:0`; None if it cannot be read."""
    kind, _, index = device.partition(":")
    meter = _gpu(int(index or 0)) if kind == "cuda" else _packages(root)
    return meter if meter is not None and meter.joules() is not None else None


def energy_of_call(
    meter: EnergyMeter, order: Callable[..., dict[str, Any] | None], seconds: float
) -> dict[str, Any]:
    """Returns a call's joules and their source for the record of a phase, empty if unknown.

    A burst of calls of `seconds` each runs between two readings; `order` sends it to a worker.
    """
    count, before = max(1, round(BURST_S / max(seconds, 1e-6))), meter.joules()
    answer = order(burst=count)
    used = meter.between(before)
    if answer is None or used is None:
        return {}
    return {"energy_j": used / count, "energy_of": meter.source}


def _gpu(index: int) -> EnergyMeter | None:
    import pynvml

    handle = handle_of(index)

    def joules() -> float | None:
        millijoules = nvml_answer(lambda: pynvml.nvmlDeviceGetTotalEnergyConsumption(handle))
        return None if millijoules is None else millijoules / 1e3

    return EnergyMeter("GPU (NVML)", joules) if handle is not None else None


def _packages(root: Path) -> EnergyMeter | None:
    """All CPU packages together: cores, caches and the rest of the chips, without RAM."""
    domains = [
        _Domain(folder)
        for folder in sorted((root / RAPL).glob("intel-rapl:*"))
        if folder.name.count(":") == 1
    ]
    domains = [domain for domain in domains if domain.is_package]

    def joules() -> float | None:
        readings = [domain.joules() for domain in domains]
        known = [reading for reading in readings if reading is not None]
        return sum(known) if known and len(known) == len(readings) else None

    return EnergyMeter("CPU packages (RAPL)", joules) if domains else None


class _Domain:
    """A counter of microjoules in a file, which restarts at 0 beyond its range."""

    def __init__(self, folder: Path):
        self.file, self.range = folder / "energy_uj", _number(folder / "max_energy_range_uj") or 0
        self.is_package = _text(folder / "name").startswith("package")
        self.last, self.turns = 0, 0

    def joules(self) -> float | None:
        now = _number(self.file)
        if now is None:
            return None
        self.turns += now < self.last
        self.last = now
        return (now + self.turns * self.range) / 1e6


def _number(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text.isdecimal() else None


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""
