"""The statuses that a case can end with, and which one an exception or the text of an error stands for."""

from collections.abc import Iterable

from ..common.mistakes import ConfigError
from ..common.texts import cut
from .case import PHASES
from .contract import BuildFailed, RankAbsent, RankDied, Unsupported

STATUSES = (
    "ok", "unsupported", "pruned", "oom_gpu", "oom_host", "timeout", "interrupted",
    "env_error", "import_error", "build_error", "crash", "error", "implausible", "check_failed",
)  # fmt: skip
"""From best to worst; a case shows its worst."""

PARTS = (
    "start", "import", "problem", "build", "first_call", "excitation", "memory", "proof", *PHASES, "recheck", "ceilings",
    "breakdown", "learning", "distributed", "epoch", "sandbox", "events", "describe", "calibration", "end",
)  # fmt: skip
"""What events are about: the parts of a case, and answers to questions."""

RESULTS = ("ok", "unsupported", "pruned", "oom_gpu", "oom_host", "timeout")
"""Statuses that are findings about a framework, not failures of a run."""

RETRIED = ("env_error", "import_error", "build_error", "crash", "error", "interrupted")
"""Statuses that a resumed run tries again."""

_GPU_MEMORY = (
    "CUDA out of memory",
    "out of memory on device",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "cudaErrorMemoryAllocation",
)
_HOST_MEMORY = (
    "can't allocate memory", "not enough memory", "Cannot allocate memory", "std::bad_alloc", "Unable to allocate",
    "Memory allocation still failed", "cannot allocate memory for thread-local data", "out of memory allocating",
    "LLVM ERROR: out of memory",
)  # fmt: skip
NO_SPACE = "No space left on device"

OWN_SIZE = "own size"
"""The stage of a proof at the size of the case; its name in a record begins so."""


def declared(error: BaseException) -> str | None:
    """The status that an exception of the adapters' contract stands for."""
    if isinstance(error, BuildFailed):
        return memory_status(str(error)) or "build_error"
    kinds = {Unsupported: "unsupported", RankDied: "crash", RankAbsent: "timeout"}
    return next((status for kind, status in kinds.items() if isinstance(error, kind)), None)


def status_of(error: BaseException, otherwise: str, device: str) -> tuple[str, str]:
    """The status that an exception on `device` stands for, or `otherwise`, and its reason in words."""
    if status := declared(error):
        return status, str(error)
    reason = str(error) if isinstance(error, ConfigError) else in_words(error)
    return memory_status(reason, device) or otherwise, reason


def worst(statuses: Iterable[str]) -> str:
    """The worst of `statuses`; `ok` if there are none."""
    return max(statuses, key=STATUSES.index, default="ok")


def lacks_room(error: BaseException) -> bool:
    """Whether memory or the disk was full: no fault of the network."""
    text = f"{type(error).__name__}: {error}"
    return memory_status(text) is not None or NO_SPACE in text


def memory_status(text: str, device: str = "") -> str | None:
    """`oom_gpu` or `oom_host` if the text of an error or of stderr says that memory ran out, else None."""
    if any(mark in text for mark in _GPU_MEMORY):
        return "oom_gpu"
    if "RESOURCE_EXHAUSTED" in text or "Out of memory" in text:  # XLA says the same for both
        return "oom_gpu" if device.startswith("cuda") else "oom_host"
    if "MemoryError" in text or any(mark in text for mark in _HOST_MEMORY):
        return "oom_host"
    return None


def in_words(error: BaseException) -> str:
    """An exception in one line: its type and its text, at most 2000 characters of both."""
    text = " ".join(str(error).split())
    return cut(f"{type(error).__name__}: {text}", 2000) if text else type(error).__name__
