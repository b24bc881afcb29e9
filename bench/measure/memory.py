"""Peak memory of one call: the device's own counters, or on a CPU the process's high-water mark."""

import ctypes
import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from snnbench.adapters.base.contract import MemoryProbe, Program

from .phases import Phase

STATUS, CLEAR_REFS = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class HostMemory:
    """Resident memory of this process, by the kernel's books. The mark is reset by the process itself: the figure that a parent
    gets for a child also holds the parent's own memory at the time of the fork."""

    meaning = "host resident"
    highest = 0
    before: int

    def reset(self) -> None:
        gc.collect()
        resident = _settled()
        while (now := _settled()) < resident:
            resident = now
        HostMemory.highest = max(HostMemory.highest, _kibibytes("VmHWM"))
        CLEAR_REFS.write_text("5")
        self.before = _kibibytes("VmRSS")

    def peak(self) -> tuple[int, int, None]:
        """(bytes resident at reset, most bytes resident since, None)."""
        return self.before, _kibibytes("VmHWM"), None


def _settled() -> int:
    """Resident bytes after a moment: runtimes have threads of their own that free what was dropped, JAX does."""
    time.sleep(0.005)
    if hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        libc.malloc_trim(0)  # else freed memory of earlier calls would be reused and not be seen (see MALLOC_ARENA_MAX)
    return _kibibytes("VmRSS")


def host_memory_probe() -> HostMemory | None:
    """None where the kernel does not let a process reset its own mark."""
    try:
        CLEAR_REFS.write_text("5")
        _kibibytes("VmHWM")
    except (OSError, KeyError):
        return None
    return HostMemory()


def host_peak_bytes() -> int | None:
    try:
        return max(HostMemory.highest, _kibibytes("VmHWM"))
    except (OSError, KeyError):
        return None


def _kibibytes(key: str) -> int:
    lines = dict(line.split(":", 1) for line in STATUS.read_text().splitlines() if ":" in line)
    return int(lines[key].split()[0]) * 1024


M_MMAP_MAX, MOST_MAPPINGS = -4, 65536  # malloc.h; glibc's default


@contextmanager
def freed_memory_returned() -> Iterator[None]:
    """Large blocks are mapped, and so leave the resident memory when they are freed; `worker_environment` has them kept. Kept
    blocks that do not fit the next request would be counted beside it, as often as the heap's history has it."""
    set_option = getattr(ctypes.CDLL(None), "mallopt", lambda option, value: None)
    set_option(M_MMAP_MAX, MOST_MAPPINGS)
    try:
        yield
    finally:
        set_option(M_MMAP_MAX, 0)


REPEATS, LONGEST_REPEATED = 3, 0.5
"""Short calls are weighed so many times, those that together take less than so many seconds."""


def weigh(phase: Phase, program: Program, probe: MemoryProbe | HostMemory, argument_bytes: int) -> dict[str, int | None]:
    """Memory of one call of a phase: everything in use at the peak, and the part beyond arguments and results, in bytes. What the
    untimed part of the phase leaves behind (the graph that backward needs) counts. Short calls are weighed three times and the
    most counts: pages that happened to be there already are not seen."""
    with freed_memory_returned():
        program.wait(phase.call(phase.prepare(0)))  # compiled and allocated for once already
        seen: list[dict[str, Any]] = []
        start = time.monotonic()
        while len(seen) < REPEATS and (not seen or time.monotonic() - start < LONGEST_REPEATED):
            seen.append(_weigh_once(phase, program, probe, argument_bytes))
    return max(seen, key=lambda figures: figures["peak_bytes"])


def _weigh_once(phase: Phase, program: Program, probe: MemoryProbe | HostMemory, argument_bytes: int) -> dict[str, Any]:
    program.release()  # else gradients of the call before count as in use at the start, and are gone when this one begins
    probe.reset()
    start = probe.before
    state = phase.prepare(0)
    probe.reset()
    result = phase.call(state)
    program.wait(result)
    before, peak, reserved = probe.peak()
    total = argument_bytes + (before - start) + max(peak - before, 0)
    return {
        "peak_bytes": total,
        "extra_bytes": max(total - argument_bytes - program.result_bytes(result), 0),
        "reserved_bytes": reserved,
    }
