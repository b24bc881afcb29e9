"""Peak memory of one call: by the device's counters, or on a CPU by the process's high-water
mark."""

import ctypes
import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..core.contract import MemoryProbe, Program
from .phases import Phase

LIBC = ctypes.CDLL(None)
STATUS, CLEAR_REFS = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class HostMemory:
    """Resident memory of this process, as the kernel counts it. The process resets its own mark:
    a parent's figure for a child includes the parent's memory at the fork. With several `ranks`
    all figures are divided by their number."""

    meaning = "host resident"
    highest = 0
    before: int

    def __init__(self, ranks: int = 1) -> None:
        self.ranks = ranks
        if ranks > 1:
            self.meaning = f"{self.meaning}, of one rank"

    def reset(self) -> None:
        _settle()
        HostMemory.highest = max(HostMemory.highest, _kibibytes("VmHWM"))
        CLEAR_REFS.write_text("5")
        self.before = _kibibytes("VmRSS") // self.ranks

    def in_use(self) -> int:
        """Resident bytes that belong to no file: pages of libraries say nothing about a
        program's memory."""
        _settle()
        return _kibibytes("RssAnon") // self.ranks

    def peak(self) -> tuple[int, int, None]:
        """Returns (bytes resident at reset, most bytes resident since, None)."""
        return self.before, _kibibytes("VmHWM") // self.ranks, None


def _settle() -> None:
    """Returns once freed memory has left the process."""
    gc.collect()
    resident = _trimmed()
    while (now := _trimmed()) < resident:
        resident = now


def _trimmed() -> int:
    """Resident bytes after a pause: some runtimes, like JAX, free memory in threads of their
    own."""
    time.sleep(0.005)
    if hasattr(LIBC, "malloc_trim"):
        # Freed memory of earlier calls would be used again unseen (see MALLOC_ARENA_MAX).
        LIBC.malloc_trim(0)
    return _kibibytes("VmRSS")


def host_memory_probe(ranks: int = 1) -> HostMemory | None:
    """Returns None if the kernel does not let a process reset its own mark."""
    try:
        CLEAR_REFS.write_text("5")
        _kibibytes("VmHWM")
    except (OSError, KeyError):
        return None
    return HostMemory(ranks)


def host_peak_bytes() -> int | None:
    try:
        return max(HostMemory.highest, _kibibytes("VmHWM"))
    except (OSError, KeyError):
        return None


def _kibibytes(key: str) -> int:
    lines = dict(line.split(":", 1) for line in STATUS.read_text().splitlines() if ":" in line)
    return int(lines[key].split()[0]) * 1024


M_TOP_PAD, M_MMAP_THRESHOLD, M_MMAP_MAX = -2, -3, -4  # malloc.h
MAPPED, USUALLY, MOST_MAPPINGS = 1 << 14, 1 << 17, 65536
"""Least bytes of a block that is mapped while memory is weighed; glibc's defaults for mapping
and padding."""
MOST_GAP = 1 << 34


@contextmanager
def freed_memory_returned() -> Iterator[Callable[[], None]]:
    """Maps blocks of MAPPED bytes and more one by one, so that they leave the resident memory when
    they are freed; `worker_environment` keeps them otherwise. In the heap a freed block often does
    not fit the next request of its size, because glibc asks for room to align it: a loop in torch
    then takes twice its live memory.

    The heap serves a request from its gaps before it maps: the yielded function fills the gaps,
    untouched, until the end.
    """
    if not hasattr(LIBC, "gnu_get_libc_version"):
        yield lambda: None
        return
    LIBC.mallopt(M_MMAP_MAX, MOST_MAPPINGS)
    LIBC.mallopt(M_MMAP_THRESHOLD, MAPPED)
    LIBC.mallopt(M_TOP_PAD, 0)  # else the heap grows by a gap of 128 KiB
    fillings: list[int] = []
    try:
        yield lambda: fillings.extend(_fill_gaps())
    finally:
        LIBC.mallopt(M_MMAP_MAX, 0)
        LIBC.mallopt(M_MMAP_THRESHOLD, USUALLY)
        LIBC.mallopt(M_TOP_PAD, USUALLY)
        for address in fillings:
            LIBC.free(ctypes.c_void_p(address))


def _fill_gaps() -> Iterator[int]:
    """Yields addresses of new blocks in the heap's gaps, from the largest gaps to those of
    MAPPED bytes."""
    allocate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(("malloc", LIBC))
    size = MOST_GAP
    while size >= MAPPED:
        address = allocate(size)
        if address and not _is_mapped(address):
            yield address
            continue
        if address:
            LIBC.free(ctypes.c_void_p(address))
        size //= 2


def _is_mapped(address: int) -> bool:
    """Reads bit 1 of the size that stands before a block."""
    return bool(ctypes.c_size_t.from_address(address - ctypes.sizeof(ctypes.c_size_t)).value & 2)


class Kept:
    """Memory that a program holds between calls and did not hold before its first call, when this
    was made: buffers, caches, results, and compiled code (on a CPU, JAX 7 to 14 MiB for a case).
    A buffer shows on a CPU to a page; libraries hold 0.1 to 1.5 MiB of their own there (measured
    with NumPy and torch).

        kept = Kept(probe)
        …                   # calls
        kept.bytes()        # 67108864, say, of a workspace of 64 MiB
    """

    def __init__(self, probe: MemoryProbe | HostMemory) -> None:
        self.probe, self.before = probe, probe.in_use()

    @contextmanager
    def left_out(self) -> Iterator[None]:
        """Excludes memory that is taken within this block."""
        before = self.probe.in_use()
        yield
        self.before += self.probe.in_use() - before

    def bytes(self) -> int:
        return max(self.probe.in_use() - self.before, 0)


REPEATS, LONGEST_REPEATED = 3, 0.5
"""Number of times that short calls are weighed, and most seconds of them all."""


def weigh(
    phase: Phase, program: Program, probe: MemoryProbe | HostMemory, given: int
) -> dict[str, int | None]:
    """Returns the memory of one call of a phase in bytes: everything in use at the peak, and the
    part beyond arguments and results. `given` are the bytes of arguments outside the program;
    its own are counted once its optimizer has its states. Memory from the untimed part of the
    phase (the graph that backward needs) counts. Memory that stays between calls does not:
    `Kept` counts it. Short calls are weighed three times and the most counts, because pages may
    already be resident."""
    with getattr(probe, "returned", freed_memory_returned)() as fill_gaps:
        program.wait(phase.call(phase.prepare(0)))  # compiled and allocated for once already
        argument_bytes = program.argument_bytes() + given
        weighed: list[dict[str, Any]] = []
        start = time.monotonic()
        while len(weighed) < REPEATS and (
            not weighed or time.monotonic() - start < LONGEST_REPEATED
        ):
            fill_gaps()
            weighed.append(_weigh_once(phase, len(weighed) + 1, program, probe, argument_bytes))
    return max(weighed, key=lambda figures: figures["peak_bytes"])


def _weigh_once(
    phase: Phase,
    number: int,
    program: Program,
    probe: MemoryProbe | HostMemory,
    argument_bytes: int,
) -> dict[str, Any]:
    # Gradients of the call before would count as in use at the start, and be gone at the call.
    program.release()
    probe.reset()
    start = probe.before
    state = phase.prepare(number)
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
