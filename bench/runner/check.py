"""`snnbench check`: proves cases, each in its own process; times and records nothing."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from snnbench.kernels.spec import NeuronSpec

from ..common import units
from ..common.mistakes import ConfigError
from ..core.case import Case
from ..core.jobs import Inquiry
from ..core.variant import ALL, VariantPattern, parse_variants
from ..data.files import Shelf
from ..environments.inventory import take_inventory
from ..executors.executor import CannotStart, Executor
from ..executors.launch import HARNESS_S, Launched, Surroundings, not_started, scratch_apart
from ..executors.local import LocalExecutor
from ..executors.variables import worker_environment
from ..experiment.config import load_config
from ..experiment.grid import others, resolve_variants
from ..experiment.grid import points as points_of
from ..experiment.setting import Setting
from ..experiment.values import neuron_table
from .judge import Judge, passed
from .outcome import verdict
from .planning import PlannedCase, adapter_files, plan_cases

FIGURES = ("wrong decisions", "gradient error", "firing rate")
WELL = ("ok", "unsupported")
"""Statuses of a proof without a fault."""


def name_of(case: Case) -> str:
    """Returns a name that is unique in a check."""
    return " ".join(filter(None, (case.framework_variant, case.neuron_label, case.precision)))


@dataclass
class Checked:
    """The end of a case's proof."""

    case: Case
    status: str
    reason: str | None
    proof: dict[str, Any] = field(default_factory=dict)
    traceback: str | None = None

    @property
    def name(self) -> str:
        return name_of(self.case)

    @property
    def verdict(self) -> str:
        """The verdict in words; the status if the proof did not finish."""
        if self.status != "ok":
            return self.status
        if self.case.neuron is None:
            return "same frames"
        return "right time axis" if self.case.native else "same network"

    @property
    def figures(self) -> list[str]:
        """The FIGURES of the last stage, as texts."""
        if not self.proof:
            return [""] * len(FIGURES)
        last = self.proof["stages"][-1]
        return [
            units.share(last["wrong_decisions"]),
            units.error(last["grad_error"]),
            units.share(last["firing_rate"]),
        ]

    def as_dict(self) -> dict[str, Any]:
        ended = {"status": self.status, "reason": self.reason, "traceback": self.traceback}
        return {"case": self.case.as_dict(), **ended, "proof": self.proof or None}


def with_neuron(reason: str, case: Case) -> str:
    """Returns the reason of a proof that failed by the gradient of a reset, with how the neuron is
    named that has such a gradient."""
    if not isinstance(spec := case.neuron, NeuronSpec):
        return reason
    table = neuron_table(replace(spec, detach_reset=not spec.detach_reset))
    return f"{reason}; if that is meant, it is another neuron: --neuron '{table}'"


def points_to_check(settings: Sequence[Setting]) -> list[Case]:
    """Returns the cases, without a framework, of the default grid with these axes. Raises
    ConfigError for an invalid or a meaningless value."""
    return points_of(load_config({"name": "check"}, settings), ["cpu"])


def plan_check(
    names: list[str], points: list[Case], references: list[str]
) -> tuple[list[PlannedCase], list[str]]:
    """Returns the cases to prove, and the names of adapters that are left out because they cannot
    run here. The cases are every variant in `names`, and every adapter in `references` that none of
    them names, at each of `points`; without any, all adapters that can run here. Raises ConfigError
    for an unknown name."""
    files = adapter_files(references)
    patterns = parse_variants(names)
    frameworks = patterns or ([] if files else [VariantPattern(ALL)])
    inventory = take_inventory(files, Inquiry(frameworks=tuple(frameworks), points=tuple(points)))
    adapters = inventory.adapters
    left_out = [] if names or files else inventory.left_out(points)
    named = {pattern.framework for pattern in patterns}
    suiting = [adapter for adapter in adapters.values() if any(map(adapter.suits, points))]
    patterns += [
        adapter.pattern
        for adapter in suiting
        if adapter.reference in files and adapter.pattern.framework not in named
    ]
    patterns = patterns or [adapter.pattern for adapter in suiting if adapter.can_run]
    for pattern in patterns:
        if (name := pattern.adapter) not in adapters:
            raise ConfigError(f"unknown framework {name!r}{others(name, adapters)}")
    cases = [
        point.computed_by(variant)
        for pattern in patterns
        for variant in resolve_variants(pattern, adapters, "NAME = {!r}".format)
        for point in points
    ]
    return plan_cases(cases, inventory), left_out


class Checker:
    """Proves cases one after the other, with one judge. A framework computes for at most `timeout`
    seconds in each."""

    def __init__(self, scratch: Path, timeout: float):
        self.scratch, self.timeout, self.judge = scratch, timeout, Judge(self._start_judge)
        self.recordings = Shelf(None)

    def prove(self, planned: PlannedCase) -> Checked:
        """Proves a case. Raises OSError if recordings cannot be made."""
        case = planned.case
        if planned.status:
            return Checked(case, planned.status, planned.reason)
        material = self.recordings.of(case) if case.delivers_data else None
        task = (
            planned.task(material=material, cache=self.scratch / planned.id)
            if material
            else planned.task()
        )
        try:
            worker = self._start(
                "prove", task.as_dict(), case.device, planned.environment.executor, self._folders
            )
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
        reason = ended["reason"]
        if reason and any(event.get("other_reset") for event in events):
            reason = with_neuron(reason, case)
        return Checked(
            case, ended["status"], reason, ended.get("proof") or {}, ended.get("traceback")
        )

    @property
    def _folders(self) -> list[Path]:
        return [self.scratch, *self.recordings.folders] if self.recordings.folders else []

    def _start_judge(self) -> Launched:
        folders = [self.scratch, *self.recordings.folders]
        return self._start("judge", {"threads": 0}, "cpu", LocalExecutor(), folders, HARNESS_S)

    def _start(
        self,
        verb: str,
        job: dict[str, Any],
        device: str,
        executor: Executor,
        shared: list[Path],
        least: float = 0.0,
    ) -> Launched:
        """Starts a worker with the timeout, or `least` seconds if these are more."""
        surroundings = Surroundings(
            self.scratch,
            max(self.timeout, least),
            variables=worker_environment(device, 0),
            executor=executor,
            shared=shared,
        )
        return Launched(verb, job, surroundings)


@contextmanager
def checker(timeout: float) -> Iterator[Checker]:
    """Returns a checker; its judge ends with the context."""
    with scratch_apart() as scratch:
        proving = Checker(scratch, timeout)
        try:
            yield proving
        finally:
            proving.judge.close()
