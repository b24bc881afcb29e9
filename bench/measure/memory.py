"""Peak memory of one call: the device's own counters, or on a CPU the process's high-water mark."""

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
    """Resident memory of this process, by the kernel's books. The mark is reset by the process itself: the figure that a parent
    gets for a child also holds the parent's own memory at the time of the fork. Where it computes as several `ranks`, figures are
    of one of them, as if each had as much."""

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
        """Resident bytes that are no file's: which pages of a library are read says nothing of what a program keeps."""
        _settle()
        return _kibibytes("RssAnon") // self.ranks

    def peak(self) -> tuple[int, int, None]:
        """(bytes resident at reset, most bytes resident since, None)."""
        return self.before, _kibibytes("VmHWM") // self.ranks, None


def _settle() -> None:
    """Return once memory that was freed has left the process."""
    gc.collect()
    resident = _trimmed()
    while (now := _trimmed()) < resident:
        resident = now


def _trimmed() -> int:
    """Resident bytes after a moment: runtimes have threads of their own that free what was dropped, JAX does."""
    time.sleep(0.005)
    if hasattr(LIBC, "malloc_trim"):
        LIBC.malloc_trim(
            0
        )  # else freed memory of earlier calls would be reused and not be seen (see MALLOC_ARENA_MAX)
    return _kibibytes("VmRSS")


def host_memory_probe(ranks: int = 1) -> HostMemory | None:
    """None where the kernel does not let a process reset its own mark."""
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
"""Bytes of the blocks that are mapped while memory is weighed; glibc's defaults (of its padding too)."""
MOST_GAP = 1 << 34


@contextmanager
def freed_memory_returned() -> Iterator[Callable[[], None]]:
    """Blocks of MAPPED bytes and more are mapped one by one, and so leave the resident memory when they are freed;
    `worker_environment` has them kept. In the heap a freed block often does not fit the next request of its own size, because
    glibc asks for room to align it; then a loop in torch takes twice the memory that is alive.

    The heap serves a request from its gaps before it maps: the function that is yielded fills the gaps, untouched, until the end.
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
    """Addresses of new blocks in the heap's gaps, from the largest gaps to those of MAPPED bytes."""
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
    """Bit 1 of the size that stands before a block."""
    return bool(ctypes.c_size_t.from_address(address - ctypes.sizeof(ctypes.c_size_t)).value & 2)


class Kept:
    """What a program holds between calls and did not hold when this was made, before its first call: buffers, caches, results
    that it does not let go, and the code that was compiled for it (on a CPU, JAX 7 to 14 MiB for a case). A buffer shows on a
    CPU to a page; what libraries keep for themselves is 0.1 to 1.5 MiB there (measured with NumPy and torch).

        kept = Kept(probe)
        …                   # calls
        kept.bytes()        # 67108864, say, of a workspace of 64 MiB
    """

    def __init__(self, probe: MemoryProbe | HostMemory) -> None:
        self.probe, self.before = probe, probe.in_use()

    @contextmanager
    def left_out(self) -> Iterator[None]:
        """What is taken in this block is not the program's."""
        before = self.probe.in_use()
        yield
        self.before += self.probe.in_use() - before

    def bytes(self) -> int:
        return max(self.probe.in_use() - self.before, 0)


REPEATS, LONGEST_REPEATED = 3, 0.5
"""Short calls are weighed so many times, those that together take less than so many seconds."""


def weigh(
    phase: Phase, program: Program, probe: MemoryProbe | HostMemory, given: int
) -> dict[str, int | None]:
    """Memory of one call of a phase: everything in use at the peak, and the part beyond arguments and results, in bytes. `given`
    are the bytes of arguments that are not the program's own; its own are asked for once its optimizer has its states. What the
    untimed part of the phase leaves behind (the graph that backward needs) counts. What stays between calls does not: with the
    bytes of `Kept` it is all that is in use. Short calls are weighed three times and the most counts: pages that happened to be
    there already are not seen."""
    with getattr(probe, "returned", freed_memory_returned)() as fill_gaps:
        program.wait(phase.call(phase.prepare(0)))  # compiled and allocated for once already
        argument_bytes = program.argument_bytes() + given
        seen: list[dict[str, Any]] = []
        start = time.monotonic()
        while len(seen) < REPEATS and (not seen or time.monotonic() - start < LONGEST_REPEATED):
            fill_gaps()
            seen.append(_weigh_once(phase, len(seen) + 1, program, probe, argument_bytes))
    return max(seen, key=lambda figures: figures["peak_bytes"])


def _weigh_once(
    phase: Phase,
    number: int,
    program: Program,
    probe: MemoryProbe | HostMemory,
    argument_bytes: int,
) -> dict[str, Any]:
    program.release()  # else gradients of the call before count as in use at the start, and are gone when this one begins
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
