"""The energy that a device has used, by counters that the machine keeps: NVML's for a GPU, RAPL's for CPUs. Many machines let
nobody read them, and then nothing is known."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .nvml import answer, handle_of

RAPL = Path("sys/class/powercap")


@dataclass(frozen=True)
class EnergyMeter:
    """`joules` counts up from whenever; None where it cannot be read now. `source` says in words whose energy it is."""

    source: str
    joules: Callable[[], float | None]

    def between(self, before: float | None) -> float | None:
        """Joules since the reading `before`; None where one of both is unknown, or the counter began anew."""
        now = self.joules()
        used = None if before is None or now is None else now - before
        return used if used is not None and used > 0 else None


def meter_of(device: str, root: Path = Path("/")) -> EnergyMeter | None:
    """The meter of `cpu`, `cuda` or `cuda:0`; None where nothing can be read."""
    kind, _, index = device.partition(":")
    meter = _gpu(int(index or 0)) if kind == "cuda" else _packages(root)
    return meter if meter is not None and meter.joules() is not None else None


def _gpu(index: int) -> EnergyMeter | None:
    import pynvml

    handle = handle_of(index)

    def joules() -> float | None:
        millijoules = answer(lambda: pynvml.nvmlDeviceGetTotalEnergyConsumption(handle))
        return None if millijoules is None else millijoules / 1e3

    return EnergyMeter("GPU (NVML)", joules) if handle is not None else None


def _packages(root: Path) -> EnergyMeter | None:
    """All CPU packages together: cores, caches and what else is on the chip, whoever uses it. Memory is not in it."""
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
    """A counter of microjoules in a file, which begins at 0 again beyond its range."""

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
