"""Measures the peak memory of one call: by the device's counters, or on a CPU by the process's
high-water mark."""

import ctypes
import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

from ..core.contract import MemoryProbe, Program
from ..machine.processes import children_bytes
from .phases import Phase

LIBC = ctypes.CDLL(None)
STATUS, CLEAR_REFS = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class HostMemory:
    """Resident memory of this process, as the kernel counts it, and what its child processes hold
    unshared when they are looked at: within a call they may have held more.

    The process itself resets and reads the high-water mark: seen from its parent, its peak would
    include the parent's memory at the fork. With several `ranks` all figures are divided by their
    number.
    """

    meaning = "host resident"
    before: int
    files: int
    peak_before_reset: ClassVar[int] = 0
    """The process's peak in bytes until the last reset by any probe."""

    def __init__(self, ranks: int = 1) -> None:
        self.ranks = ranks
        if ranks > 1:
            self.meaning = f"{self.meaning}, of one rank"

    def reset(self) -> None:
        _settle()
        HostMemory.peak_before_reset = max(HostMemory.peak_before_reset, _status_bytes("VmHWM"))
        CLEAR_REFS.write_text("5")
        self.files, self.before = _status_bytes("RssFile"), self._in_use()

    def in_use(self) -> int:
        """Returns the resident bytes, shared ones too, without pages of files, such as those of
        libraries, which the kernel may take back at any time."""
        _settle()
        return self._in_use()

    def _in_use(self) -> int:
        own = _status_bytes("RssAnon") + _status_bytes("RssShmem")
        return (own + children_bytes()) // self.ranks

    def peak(self) -> tuple[int, int, None]:
        """Returns (bytes in use at reset, most bytes in use since, None); the high-water mark has
        the files' pages of the reset in it."""
        most = _status_bytes("VmHWM") - self.files + children_bytes()
        return self.before, most // self.ranks, None


def _settle() -> None:
    """Waits until the resident memory shrinks no further."""
    gc.collect()
    resident = _resident_after_trim()
    while (now := _resident_after_trim()) < resident:
        resident = now


def _resident_after_trim() -> int:
    """Returns the resident bytes after a pause, in which the threads of some runtimes, like JAX,
    free memory."""
    time.sleep(0.005)
    if hasattr(LIBC, "malloc_trim"):
        # Otherwise a call could use freed memory of earlier calls without raising the peak (see
        # MALLOC_ARENA_MAX in executors/variables.py).
        LIBC.malloc_trim(0)
    return _status_bytes("VmRSS")


def host_memory_probe(ranks: int = 1) -> HostMemory | None:
    """Returns a probe of this process; None if it cannot reset its own high-water mark."""
    try:
        CLEAR_REFS.write_text("5")
        _status_bytes("VmHWM")
    except (OSError, KeyError):
        return None
    return HostMemory(ranks)


def host_peak_bytes() -> int | None:
    try:
        return max(HostMemory.peak_before_reset, _status_bytes("VmHWM"))
    except (OSError, KeyError):
        return None


@contextmanager
def outside_host_peak() -> Iterator[None]:
    """Leaves memory that is taken within this block out of `host_peak_bytes`."""
    HostMemory.peak_before_reset = host_peak_bytes() or 0
    yield
    _settle()
    with suppress(OSError):
        CLEAR_REFS.write_text("5")


def _status_bytes(key: str) -> int:
    """Returns a size of /proc/self/status in bytes."""
    lines = dict(line.split(":", 1) for line in STATUS.read_text().splitlines() if ":" in line)
    return int(lines[key].split()[0]) * 1024


M_TOP_PAD, M_MMAP_THRESHOLD, M_MMAP_MAX = -2, -3, -4  # malloc.h
MAPPED_BYTES = 1 << 14
"""Size from which blocks are mapped while memory is weighed."""
GLIBC_THRESHOLD, GLIBC_MAPPINGS = 1 << 17, 65536
"""glibc's defaults: of M_TOP_PAD and M_MMAP_THRESHOLD in bytes, and of M_MMAP_MAX."""
MOST_GAP = 1 << 34
"""Upper bound of a gap in the heap in bytes."""


@contextmanager
def freed_memory_returned() -> Iterator[Callable[[], None]]:
    """Makes malloc serve blocks of MAPPED_BYTES or more by mmap, so that they leave the resident
    memory when they are freed; outside this block `worker_environment` turns mmap off. In the heap
    a freed block is often too small for the next request of the same size, which needs room for
    its alignment: a loop in torch would take twice its live memory.

    malloc uses gaps in the heap before it maps. The yielded function therefore allocates all gaps
    of MAPPED_BYTES or more until the block ends, without touching their pages.
    """
    if not hasattr(LIBC, "gnu_get_libc_version"):
        yield lambda: None
        return
    LIBC.mallopt(M_MMAP_MAX, GLIBC_MAPPINGS)
    LIBC.mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES)
    LIBC.mallopt(M_TOP_PAD, 0)  # otherwise the heap grows by a gap of 128 KiB
    fillings: list[int] = []
    try:
        yield lambda: fillings.extend(_fill_gaps())
    finally:
        LIBC.mallopt(M_MMAP_MAX, 0)
        LIBC.mallopt(M_MMAP_THRESHOLD, GLIBC_THRESHOLD)
        LIBC.mallopt(M_TOP_PAD, GLIBC_THRESHOLD)
        for address in fillings:
            LIBC.free(ctypes.c_void_p(address))


def _fill_gaps() -> Iterator[int]:
    """Yields addresses of new blocks in the heap's gaps, from the largest gaps to those of
    MAPPED_BYTES."""
    allocate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(("malloc", LIBC))
    size = MOST_GAP
    while size >= MAPPED_BYTES:
        address = allocate(size)
        if address and not _is_mapped(address):
            yield address
            continue
        if address:
            LIBC.free(ctypes.c_void_p(address))
        size //= 2


def _is_mapped(address: int) -> bool:
    """Returns bit 1 of the size that precedes a block, which malloc sets if the block is mapped."""
    return bool(ctypes.c_size_t.from_address(address - ctypes.sizeof(ctypes.c_size_t)).value & 2)


class RetainedMemory:
    """Memory that a program retains between calls, beyond what it held before its first call, when
    this object is created: buffers, caches, results, and compiled code (on a CPU, JAX 7 to 14 MiB
    for a case).

    On a CPU a buffer is counted to a page; NumPy and torch themselves retain another 0.1 to 1.5 MiB
    there.

        retained = RetainedMemory(probe)
        …                   # calls
        retained.bytes()    # such as 67108864 of a workspace of 64 MiB
    """

    def __init__(self, probe: MemoryProbe | HostMemory) -> None:
        self.probe, self.before = probe, probe.in_use()

    @contextmanager
    def excluding(self) -> Iterator[None]:
        """Excludes memory that is taken within this block."""
        before = self.probe.in_use()
        yield
        self.before += self.probe.in_use() - before

    def bytes(self) -> int:
        return max(self.probe.in_use() - self.before, 0)


REPEATS, MOST_REPEAT_SECONDS = 3, 0.5
"""Number of times that a short call is weighed, and seconds after which no repeat begins."""


def weigh(
    phase: Phase,
    program: Program,
    probe: MemoryProbe | HostMemory,
    outside_bytes: int,
    at_end: Callable[[int, Any], object] = lambda number, result: None,
) -> dict[str, int | None]:
    """Returns the memory of one call of a phase in bytes: everything in use at the peak, and the
    part beyond arguments and results.

    `outside_bytes` are those of arguments that the program does not hold. Its own arguments are
    counted after one call, when its optimizer has its states. Memory from the untimed part of the
    phase (the graph that backward needs) counts; memory that stays between calls does not (see
    `RetainedMemory`). Short calls are weighed REPEATS times and the largest figure counts, because
    pages may already be resident. `at_end` gets the last call's number and result.
    """
    # Ranks define `returned` themselves: their memory is that of other processes.
    with getattr(probe, "returned", freed_memory_returned)() as fill_gaps:
        program.wait(phase.call(phase.prepare(0)))  # compiles, and allocates what stays
        argument_bytes = program.argument_bytes() + outside_bytes
        weighed: list[dict[str, Any]] = []
        result: Any = None
        start = time.monotonic()
        while len(weighed) < REPEATS and (
            not weighed or time.monotonic() - start < MOST_REPEAT_SECONDS
        ):
            result = None  # it would be in use at the start and be freed during the call
            fill_gaps()
            figures, result = _weigh_once(phase, len(weighed) + 1, program, probe, argument_bytes)
            weighed.append(figures)
    at_end(len(weighed), result)
    return max(weighed, key=lambda figures: figures["peak_bytes"])


def _weigh_once(
    phase: Phase,
    number: int,
    program: Program,
    probe: MemoryProbe | HostMemory,
    argument_bytes: int,
) -> tuple[dict[str, Any], Any]:
    """Returns the figures of call `number` of a phase, and its result."""
    # The previous call's gradients would be in use at the start and be freed during the call.
    program.release()
    probe.reset()
    start = probe.before
    state = phase.prepare(number)
    probe.reset()
    result = phase.call(state)
    program.wait(result)
    before, peak, reserved = probe.peak()
    # Arguments, what `prepare` allocated, and what the call added at its peak. On a busy machine
    # threads of a runtime free what earlier calls took as late as within `prepare`.
    total = argument_bytes + max(before - start, 0) + max(peak - before, 0)
    figures = {
        "peak_bytes": total,
        "extra_bytes": max(total - argument_bytes - program.result_bytes(result), 0),
        "reserved_bytes": reserved,
    }
    return figures, result
