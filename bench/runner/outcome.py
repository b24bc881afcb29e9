"""Derives the fields of a record from the way a worker ended."""

import signal
from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import Any

from snnbench.adapters import registry

from ..core.status import NO_SPACE, memory_status, worst
from ..executors.launch import Outcome
from ..machine.best_rates import best_rates
from ..measure.floor import Ceilings, judge_times, shortest
from ..records.fold import fold, unfinished_part
from ..workloads import workload_of
from .planning import PlannedCase


def verdict(
    outcome: Outcome, device: str, judged: Sequence[dict[str, Any]] = (), proof_due: bool = False
) -> dict[str, Any]:
    """Returns record fields: the worker's reports, the judge's events (`judged`), and the part and
    reason of an early end.

    `proof_due`: an `ok` case must have been proved. A worker that reported success but was killed
    or stopped is not `ok`.
    """
    events, part = [*_without_judgements(outcome.events), *judged], unfinished_part(outcome.events)
    folded = fold(events)
    unproved = (
        proof_due
        and folded["status"] == "ok"
        and not any(event["part"] == "proof" for event in judged)
    )
    stopped = (
        outcome.timed_out
        or outcome.exceeded_memory
        or outcome.host_ran_out
        or outcome.signal
        or outcome.exit_code
    )
    if unproved and stopped:
        part = part or "proof"
    if part is None and not outcome.fault:
        if unproved:
            reason = "its worker ended before the judge had proved the case"
            return fold([*events, {"part": "proof", "status": "check_failed", "reason": reason}])
        return folded
    memory = memory_status(outcome.output_tail, device) if outcome.exit_code != 0 else None
    if outcome.fault:
        status, reason = "error", outcome.fault
    elif outcome.exceeded_memory:
        status, reason = (
            "oom_host",
            f"used more memory than host_memory, with what it shared, in part {part!r}",
        )
    elif outcome.timed_out:
        status, reason = (
            "timeout",
            f"no end after {outcome.duration_s - outcome.judged_s:.0f} s, stopped in part {part!r}",
        )
    elif outcome.host_ran_out:
        status, reason = "oom_host", f"killed by the kernel for want of memory in part {part!r}"
    elif memory:
        status, reason = memory, f"{last_line(outcome)} (in part {part!r})"
    elif NO_SPACE in outcome.output_tail and outcome.exit_code != 0:
        status, reason = "error", f"{NO_SPACE}: {last_line(outcome)} (in part {part!r})"
    elif outcome.signal:
        status, reason = "crash", f"killed by {signal_name(outcome.signal)} in part {part!r}"
    else:
        status, reason = (
            "crash",
            f"exited with status {outcome.exit_code} in part {part!r} before it was through",
        )
    folded["parts"].setdefault(part or "end", {}).update(status=status, reason=reason)
    total = worst([folded["status"], status])
    return {**folded, "status": total, "reason": reason if total == status else folded["reason"]}


def _without_judgements(events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """A worker's events; of proof and recheck only that they took place, and the traceback."""
    for event in events:
        if event["part"] in ("proof", "recheck"):
            yield {key: event[key] for key in ("part", "traceback") if key in event}
        else:
            yield {key: value for key, value in event.items() if key != "proof"}


def refuse_impossible(
    folded: dict[str, Any],
    events: list[dict[str, Any]],
    planned: PlannedCase,
    machine: str,
    threads: int,
) -> None:
    """Adds its floor to every timed phase in `folded`, the fields of a record, and rejects phases
    that are faster by any of their clocks.

    The rates are the best ever measured on the machine of that hash with `threads` threads. Rates
    measured by the worker of a built-in adapter are stored for later runs.
    """
    reports = [event for event in events if event["part"] == "ceilings"]
    reports = [event for event in reports if event.keys() >= {"nonzero", "rates"}]
    timings = {
        name: timing
        for name, part in folded.get("parts", {}).items()
        if (timing := part.get("timing"))
    }
    if not reports or not timings:
        return
    report = reports[-1]
    walls = {
        name: median(slot["wall"] for slot in timing["slots"]) for name, timing in timings.items()
    }
    least = {
        name: shortest(timing["slots"], timing["device_clock"]) for name, timing in timings.items()
    }
    case, keep = (
        planned.case,
        bool(report["rates"]) and planned.adapter.reference in registry.FRAMEWORKS.values(),
    )
    measured = {"copy_bytes_per_s": {}, "matmul_flops_per_s": {}} | report["rates"]
    ceilings = Ceilings.from_dict(best_rates(machine, case.device, threads, measured, keep))
    for name, judged in judge_times(
        case, workload_of(case).network(case), ceilings, report["nonzero"], least
    ).items():
        folded["parts"][name]["floor_s"] = judged.floor_s
        if judged.reason:
            refused = {
                "status": "implausible",
                "reason": "on the device " * (least[name] < walls[name]) + judged.reason,
            }
            folded["parts"][name] |= refused
            if worst([folded["status"], "implausible"]) != folded["status"]:
                folded |= refused


def signal_name(number: int) -> str:
    """Returns `SIGKILL` for 9, `signal 40` for a signal without a name."""
    return signal.Signals(number).name if number in list(signal.Signals) else f"signal {number}"


def last_line(outcome: Outcome) -> str:
    lines = outcome.output_tail.strip().splitlines()
    return lines[-1] if lines else "no output"
