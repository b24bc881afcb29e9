"""`snnbench profile`: takes a step of each case apart, in its own process, and keeps a trace of
it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..common.files import naming
from ..core.case import Case
from ..executors.executor import Executor
from ..executors.launch import HARNESS_S, Outcome, Surroundings, launch, scratch_apart
from ..executors.local import LocalExecutor
from ..executors.variables import worker_environment
from .outcome import verdict
from .planning import PlannedCase


@dataclass
class Profiled:
    """The breakdown of a case's step; `trace` is the written file."""

    case: Case
    status: str
    reason: str | None
    breakdown: dict[str, Any] | None = None
    trace: Path | None = None

    def as_dict(self) -> dict[str, Any]:
        trace = str(self.trace) if self.trace else None
        ended = {"status": self.status, "reason": self.reason}
        return {"case": self.case.as_dict(), **ended, "breakdown": self.breakdown, "trace": trace}


def trace_file(planned: PlannedCase, out: Path) -> Path:
    """Returns the file in the folder `out` for the trace of a case."""
    case = planned.case
    return out / f"{case.framework}-{case.construction}-{case.mode}-{case.id}.trace.json"


def profiled(planned: PlannedCase, out: Path, timeout: float) -> Profiled:
    """Takes a step of a case apart and writes its trace into the folder `out`: JSON for
    ui.perfetto.dev."""
    case = planned.case
    if planned.status:
        return Profiled(case, planned.status, planned.reason)
    if case.delivers_data:
        return Profiled(
            case, "unsupported", "an epoch of data has no step that could be taken apart"
        )
    with scratch_apart() as scratch:

        def launched(
            verb: str, executor: Executor, device: str, seconds: float, **more: str
        ) -> Outcome:
            job = {**planned.task(block=1, material=scratch / "problem.npz").as_dict(), **more}
            surroundings = Surroundings(
                scratch,
                seconds,
                variables=worker_environment(device, 0),
                executor=executor,
                shared=[scratch],
            )
            return launch(verb, job, surroundings)

        problem = launched("free", LocalExecutor(), "cpu", max(timeout, HARNESS_S))
        if not (scratch / "problem.npz").is_file():
            reason = verdict(problem, "cpu")["reason"]
            return Profiled(case, "error", f"the oracle of this problem failed: {reason}")
        trace = scratch / "trace.json"
        executor = planned.environment.executor
        outcome = launched("profile", executor, case.device, timeout, trace=str(trace))
        ended = verdict(outcome, case.device)
        profile = Profiled(case, ended["status"], ended["reason"], ended.get("breakdown"))
        if ended["status"] == "ok" and trace.is_file():
            profile.trace = trace_file(planned, out)
            with naming(profile.trace):
                out.mkdir(parents=True, exist_ok=True)
                profile.trace.write_bytes(trace.read_bytes())
    return profile
