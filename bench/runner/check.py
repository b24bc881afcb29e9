"""`snnbench check`: cases are proved, each in a process of its own; nothing is timed or recorded."""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from snnbench.adapters.base.case import ABSENT, DATA, DATA_AXES, INPUTS, PRECISIONS, WORKLOAD_AXES, Case

from ..data.shelf import Shelf
from ..environments.inventory import take_inventory
from ..executors.executor import CannotStart, Executor
from ..executors.launch import APART_MEMORY_BYTES, Launched, not_started, scratch_apart
from ..executors.local import LocalExecutor
from ..executors.surroundings import worker_environment
from ..experiment.config import Grid
from ..experiment.grid import others, resolve_framework
from ..experiment.values import parse_neuron_text
from ..mistakes import ConfigError
from ..worker.task import Inquiry
from ..workloads import WORKLOADS, workload_of
from .judge import Judge, passed
from .outcome import verdict
from .planning import PlannedCase, adapter_files, plan_cases


def name_of(case: Case) -> str:
    """What tells a case from the others of a check."""
    return " ".join(filter(None, (case.framework_variant, case.neuron_label, case.precision)))


@dataclass
class Checked:
    """How the proof of one case ended."""

    case: Case
    status: str
    reason: str | None
    proof: dict[str, Any] = field(default_factory=dict)
    traceback: str | None = None

    @property
    def name(self) -> str:
        return name_of(self.case)

    @property
    def last_stage(self) -> dict[str, Any] | None:
        return self.proof["stages"][-1] if self.proof else None

    def as_dict(self) -> dict[str, Any]:
        ended = {"status": self.status, "reason": self.reason, "traceback": self.traceback}
        return {"case": self.case.as_dict(), **ended, "proof": self.proof or None}


def points_to_check(point: Case, neurons: Sequence[str], precisions: Sequence[str]) -> list[Case]:
    """`point`, a case without a framework, in every neuron and precision. Raises ConfigError for a value that no axis has."""
    specs = []
    for name in neurons:
        try:
            specs.append(parse_neuron_text(name))
        except ValueError as error:
            raise ConfigError(f"--neuron {name}: {error}") from None
    points = [replace(point, neuron=spec, precision=precision) for spec, precision in itertools.product(specs, precisions)]
    for each in points:
        for name, known in (("precision", PRECISIONS), ("workload", WORKLOADS), ("input", INPUTS)):
            if getattr(each, name) not in known:
                raise ConfigError(f"--{name} {getattr(each, name)}: must be one of {', '.join(known)}")
        if each.device.partition(":")[0] not in ("cpu", "cuda"):
            raise ConfigError(f"--device {each.device}: must be cpu, cuda or cuda:0")
    for axis in WORKLOAD_AXES:
        value, usual = getattr(point, axis), Grid.model_fields[axis].default
        if value is not ABSENT and [value] != usual and WORKLOADS[point.workload].ignores(axis, [value]):
            raise ConfigError(f"--{axis} {value}: means nothing for {point.workload}; leave it out")
    usual_data = {axis: Grid.model_fields[axis].default[0] for axis in DATA_AXES if getattr(point, axis) is ABSENT}
    return list(dict.fromkeys(workload_of(each).canonical(replace(each, **usual_data)) for each in points))


def plan_check(names: list[str], points: list[Case], given: list[str]) -> tuple[list[PlannedCase], list[str]]:
    """The cases to prove: every variant in `names` at each of `points`. Raises ConfigError for an unknown name. Without names,
    all adapters in `given` (references of the command line) are meant; without these, all that are installed. The second result
    names the adapters that are left out because they are not installed."""
    files = adapter_files(given)
    frameworks = tuple(names) or (() if files else ("all",))
    inventory = take_inventory(files, Inquiry(frameworks=frameworks, points=tuple(points)))
    adapters = inventory.adapters
    left_out = [] if names or files else inventory.lacking(points)
    if not names:
        suiting = [adapter for adapter in adapters.values() if any(map(adapter.suits, points))]
        names = [adapter.name for adapter in suiting if adapter.reference in files or not (files or adapter.lacking)]
    for name in names:
        if (bare := name.partition(":")[0]) not in adapters:
            raise ConfigError(f"unknown framework {bare!r}{others(bare, adapters)}")
    cases = [
        replace(point, framework=framework, construction=construction, mode=mode)
        for name in names
        for framework, construction, mode in resolve_framework(name, adapters, "NAME")
        for point in points
    ]
    return plan_cases(cases, inventory), left_out


class Checker:
    """Proves cases one after the other, each within `timeout` seconds. One judge judges all of them."""

    def __init__(self, scratch: Path, timeout: float):
        self.scratch, self.timeout, self.judge = scratch, timeout, Judge(self._start_judge)
        self.recordings = Shelf(None)

    def prove(self, planned: PlannedCase) -> Checked:
        """How the proof of a case ends. Raises OSError if recordings cannot be made."""
        case = planned.case
        if planned.status:
            return Checked(case, planned.status, planned.reason)
        material = self.recordings.of(case) if case.workload == DATA else None
        task = planned.task(material=material, cache=self.scratch / planned.id) if material else planned.task()
        try:
            worker = self._start("prove", task.as_dict(), case.device, planned.home.executor, self._folders)
        except CannotStart as error:
            ended = verdict(not_started(error), case.device)
            return Checked(case, ended["status"], ended["reason"])
        events = []
        try:
            request = worker.answer()
            if request and "prove" in request:
                events = self.judge.prove(worker, case, material, request)
                worker.order({"right": passed(events)})
        finally:
            outcome = worker.end()
        ended = verdict(outcome, case.device, events, proof_due=True)
        return Checked(case, ended["status"], ended["reason"], ended.get("proof") or {}, ended.get("traceback"))

    @property
    def _folders(self) -> list[Path]:
        return [self.scratch, *self.recordings.folders] if self.recordings.folders else []

    def _start_judge(self) -> Launched:
        return self._start("judge", {"threads": 0}, "cpu", LocalExecutor(), [self.scratch, *self.recordings.folders])

    def _start(self, verb: str, job: dict[str, Any], device: str, executor: Executor, shared: list[Path]) -> Launched:
        surroundings = worker_environment(device, 0)
        return Launched(verb, job, self.scratch, self.timeout, APART_MEMORY_BYTES, surroundings, executor, shared)


@contextmanager
def checker(timeout: float) -> Iterator[Checker]:
    """A checker, whose judge ends with the block."""
    with scratch_apart() as scratch:
        one = Checker(scratch, timeout)
        try:
            yield one
        finally:
            one.judge.close()
