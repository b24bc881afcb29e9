"""The proof of one case in a process of its own, without a run around it."""

from dataclasses import dataclass, field

from snnbench.adapters.base.case import INPUTS, PRECISIONS, WORKLOADS, Case

from ..executors.launch import launch, temporary_scratch
from ..executors.surroundings import worker_environment
from ..experiment.grid import canonical
from ..experiment.planned_case import PlannedCase
from ..worker.task import Task
from .outcome import verdict

MEMORY = 16 * 2**30


@dataclass
class Checked:
    """How the proof of one case ended."""

    case: Case
    status: str
    reason: str | None
    proof: dict = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.case.framework_variant} {self.case.neuron.label()} {self.case.precision}"

    @property
    def last_stage(self) -> dict | None:
        return self.proof["stages"][-1] if self.proof else None

    def as_dict(self) -> dict:
        return {"case": self.case.as_dict(), "status": self.status, "reason": self.reason, "proof": self.proof or None}


def checked_case(case: Case) -> Case:
    """`case` in canonical form. Raises ValueError for a value that no axis has."""
    for name, known in (("precision", PRECISIONS), ("workload", WORKLOADS), ("input", INPUTS)):
        if getattr(case, name) not in known:
            raise ValueError(f"--{name} {getattr(case, name)}: must be one of {', '.join(known)}")
    if case.device.partition(":")[0] not in ("cpu", "cuda"):
        raise ValueError(f"--device {case.device}: must be cpu, cuda or cuda:0")
    return canonical(case)


def prove_apart(planned: PlannedCase, timeout: float) -> Checked:
    """Prove one case within `timeout` seconds."""
    if planned.status:
        return Checked(planned.case, planned.status, planned.reason)
    task = Task(planned.case, planned.adapter["reference"])
    with temporary_scratch() as folder:
        environment = worker_environment(planned.case.device, 0)
        executor = planned.adapter["environment"]["executor"]
        outcome = launch("prove", task.as_dict(), folder / "prove", timeout, MEMORY, environment, executor)
    found = verdict(outcome, planned.case.device)
    return Checked(planned.case, found["status"], found["reason"], found.get("proof") or {})
