"""From the way a worker ended to the fields of a record."""

import signal
from typing import Any

from ..executors.launch import Outcome
from ..records.fold import fold, unfinished_part
from ..status import memory_status, worst


def verdict(outcome: Outcome, device: str) -> dict[str, Any]:
    """Record fields: what the worker reported and, if it did not come to its end, in which part it ended and why."""
    folded = fold(outcome.events)
    part = unfinished_part(outcome.events)
    if part is None:
        return folded
    memory = memory_status(outcome.output_tail, device) if outcome.exit_code != 0 else None
    if outcome.timed_out:
        status, reason = "timeout", f"no end after {outcome.duration_s:.0f} s, stopped in part {part!r}"
    elif outcome.host_ran_out:
        status, reason = "oom_host", f"killed by the kernel for want of memory in part {part!r}"
    elif memory:
        status, reason = memory, f"{last_line(outcome)} (in part {part!r})"
    elif outcome.signal:
        status, reason = "crash", f"killed by {signal.Signals(outcome.signal).name} in part {part!r}"
    else:
        status, reason = "crash", f"exited with status {outcome.exit_code} in part {part!r} before it was through"
    folded["parts"].setdefault(part, {}).update(status=status, reason=reason)
    total = worst([folded["status"], status])
    return {**folded, "status": total, "reason": reason if total == status else folded["reason"]}


def last_line(outcome: Outcome) -> str:
    lines = outcome.output_tail.strip().splitlines()
    return lines[-1] if lines else "no output"
