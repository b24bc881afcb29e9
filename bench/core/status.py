"""The statuses of cases, and of an exception or an error text."""

from collections.abc import Iterable

from ..common.mistakes import ConfigError
from ..common.texts import cut
from .case import PHASES
from .contract import BuildFailed, RankAbsent, RankDied, Unsupported
from .text_limits import LONGEST_REASON

STATUSES = (
    "ok", "unsupported", "pruned", "oom_gpu", "oom_host", "timeout", "interrupted",
    "env_error", "import_error", "build_error", "crash", "error", "implausible", "check_failed",
)  # fmt: skip
"""From best to worst. A case has the worst of its blocks."""

PARTS = (
    "start", "import", "problem", "build", "first_call", "excitation", "memory", "proof", *PHASES,
    "recheck", "ceilings", "breakdown", "learning", "distributed", "epoch", "sandbox", "events",
    "describe", "calibration", "end",
)  # fmt: skip
"""Subjects of events: the parts of a case, and answers to inquiries."""

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
    "can't allocate memory", "not enough memory", "Cannot allocate memory", "std::bad_alloc",
    "Unable to allocate", "Memory allocation still failed", "LLVM ERROR: out of memory",
    "cannot allocate memory for thread-local data", "out of memory allocating",
)  # fmt: skip
NO_SPACE = "No space left on device"

OWN_SIZE = "own size"
"""Prefix of a proof's stage at the size of the case."""


def declared(error: BaseException) -> str | None:
    """Returns the status of an exception of the adapters' contract, None for any other."""
    if isinstance(error, BuildFailed):
        return memory_status(str(error)) or "build_error"
    kinds = {Unsupported: "unsupported", RankDied: "crash", RankAbsent: "timeout"}
    return next((status for kind, status in kinds.items() if isinstance(error, kind)), None)


def status_of(error: BaseException, otherwise: str, device: str) -> tuple[str, str]:
    """Returns the status of an exception on `device`, `otherwise` if unknown, and its reason."""
    if status := declared(error):
        return status, str(error)
    reason = str(error) if isinstance(error, ConfigError) else in_words(error)
    return memory_status(reason, device) or otherwise, reason


def worst(statuses: Iterable[str]) -> str:
    """Returns the worst of `statuses`; `ok` if there are none."""
    return max(statuses, key=STATUSES.index, default="ok")


def lacks_room(error: BaseException) -> bool:
    """True if memory or the disk was full, which is no fault of the network."""
    text = f"{type(error).__name__}: {error}"
    return memory_status(text) is not None or NO_SPACE in text


def memory_status(text: str, device: str = "") -> str | None:
    """Returns `oom_gpu` or `oom_host` if an error text or stderr says that memory ran out, else
    None."""
    if any(mark in text for mark in _GPU_MEMORY):
        return "oom_gpu"
    if "RESOURCE_EXHAUSTED" in text or "Out of memory" in text:  # XLA says the same for both
        return "oom_gpu" if device.startswith("cuda") else "oom_host"
    if "MemoryError" in text or any(mark in text for mark in _HOST_MEMORY):
        return "oom_host"
    return None


def in_words(error: BaseException) -> str:
    """Returns the type and the text of an exception in one line."""
    text = " ".join(str(error).split())
    name = type(error).__name__
    return cut(f"{name}: {text}", LONGEST_REASON) if text else name
