"""From a config, environments and adapters to planned cases."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from ..common.mistakes import ConfigError
from ..core.case import DATA, NO_NETWORK, Case
from ..core.jobs import Inquiry, Task
from ..core.variant import ALL, VariantPattern, parse_variants
from ..environments.inventory import Home, Inventory, take_inventory
from ..environments.versions import controls_of
from ..executors.executor import Executor
from ..executors.local import LocalExecutor
from ..experiment.adapter_info import AdapterInfo
from ..experiment.config import CONFIG, Experiment, check_reference, load_config
from ..experiment.grid import expand, points, resolve_variants, select
from ..experiment.measure import Measure
from ..experiment.setting import Setting, about
from ..experiment.shard import Shard, parse_shard
from ..machine.cores import usable_cores
from ..machine.facts import machine_facts
from ..proof.stages import too_large
from ..records.identity import made_of
from ..records.record import Record
from ..records.store import ResultFolder
from .own_networks import with_networks


class Where(StrEnum):
    """Where workers run."""

    LOCAL = "local"
    DOCKER = "docker"
    SLURM = "slurm"


@dataclass(frozen=True)
class PlannedCase:
    """A case, its adapter, and where its workers run; `status` and `reason` if it is known beforehand that it cannot run. The
    framework of a version is named `snntorch@0.9.4`; no worker sees that."""

    case: Case
    adapter: AdapterInfo
    home: Home
    status: str | None = None
    reason: str | None = None

    @property
    def id(self) -> str:
        return self.case.id

    def task(
        self,
        how: Measure = Measure(),
        block: int = 0,
        material: Path = Path(),
        cache: Path = Path(),
    ) -> Task:
        """The job of a worker that proves this case and measures it as `how` says. `material` is what the case is judged by: the
        file with the oracle's free run, or the folder of the recordings."""
        case = self.case.bare
        phases = how.phases if how.phase_blocks is None or block < how.phase_blocks else ["step"]
        judged_by: dict[str, Any] = {
            "recordings" if case.workload == DATA else "free_run": material
        }
        version = self.adapter.name if self.adapter.pattern.version else None
        judged_by |= {"version": version, "cache": cache, "timeout": how.timeout}
        return Task(
            case, self.adapter.reference, block, how.threads, tuple(phases), how.timed, **judged_by
        )


@dataclass
class Plan:
    """An experiment and its cases. `cases` are those of all shards, `mine` those of this one, `shard`. `executor` runs workers of
    the default environment. `selected` is true if `cases` are a part of the grid (`--only`). `left_out` names the frameworks that
    `all` leaves out because they cannot run here, `controls` those that versions are compared with."""

    experiment: Experiment
    cases: list[PlannedCase]
    shard: Shard
    mine: list[PlannedCase]
    executor: Executor
    selected: bool
    left_out: list[str]
    controls: list[str]

    def holds(self, record: Record) -> bool:
        """Whether a record is of a case of this shard as it is planned: by the same adapter, framework and packages."""
        return (record.case_id, made_of(record.adapter, record.environment)) in self._made

    @cached_property
    def _made(self) -> set[tuple[Any, ...]]:
        return {
            (planned.id, made_of(planned.adapter.recorded, planned.home.facts))
            for planned in self.mine
        }

    def folder(self, out: Path | None) -> ResultFolder:
        """Where results go: `out`, or a folder named for the experiment and the shard."""
        part = "" if self.shard == Shard() else f"-{self.shard.index}-of-{self.shard.count}"
        return ResultFolder(out or Path("results/local") / f"{self.experiment.name}{part}")


def load_plan(
    config: Path | Mapping[str, Any],
    settings: Sequence[Setting],
    only: str,
    given: list[str],
    where: Where = Where.LOCAL,
    shard: str = "1/1",
) -> Plan:
    """The plan of a config, as `load_config` takes it. Raises ConfigError; writes nothing. `only` selects a part of the grid,
    `given` are references of further adapters."""
    if where is Where.SLURM:
        raise ConfigError(
            "--executor slurm: only run has it; each part of it plans on its own node"
        )
    place = f"{config}" if isinstance(config, Path) else CONFIG
    part = parse_shard(shard)
    experiment = with_networks(load_config(config, settings), place)
    given = adapter_files(given)
    files = [*experiment.adapters, *given]
    experiment, controls = _controlled(experiment)
    executor = _executor(where, experiment, files)
    behind = parse_variants([text for text in experiment.grid.behind if text != NO_NETWORK])
    asked_about = (*experiment.grid.framework, *behind)
    inquiry = Inquiry(frameworks=asked_about, points=tuple(points(experiment, ["cpu", "cuda"])))
    try:
        inventory = take_inventory(files, inquiry, executor)
    except RuntimeError as error:
        if where is Where.LOCAL:
            raise
        raise ConfigError(
            f"--executor docker: no worker runs in image {experiment.container.image!r}: {error}"
        ) from None
    frameworks = experiment.grid.framework
    asked = {pattern.adapter for pattern in frameworks}
    # An adapter named on the command line is meant to run.
    more = [
        each.pattern
        for each in inventory.adapters.values()
        if each.reference in given and not asked & {each.name, ALL}
    ]
    grid = experiment.grid.model_copy(update={"framework": frameworks + more})
    experiment = experiment.model_copy(update={"grid": grid})

    def about_text(key: str, text: str) -> str:
        return about(key, text, place, settings)

    about_behind = partial(about_text, "grid.behind")
    for pattern in behind:
        if len(resolve_variants(pattern, inventory.adapters, about_behind)) != 1:
            raise ConfigError(
                f"{about_behind(str(pattern))}: must be one variant of a framework, or {NO_NETWORK}"
            )
    cases = expand(
        experiment,
        inventory.adapters,
        inventory.default.devices,
        partial(about_text, "grid.framework"),
    )
    planned = plan_cases(select(cases, only) if only else cases, inventory)
    planned = [_with_cores(each, experiment.measure) for each in planned]
    left_out = inventory.left_out(inquiry.points) if VariantPattern(ALL) in frameworks else []
    if not planned:
        if left_out and not only:
            first = inventory.adapters[left_out[0]]
            raise ConfigError(
                f"{place}: no framework of it can run here: {first.name}: {first.lacking or first.refusal}"
            )
        raise ConfigError(f"{place}: the grid has no case left after exclude and --only")
    if all(case.status for case in planned):
        raise ConfigError(
            f"{place}: no planned case can run here: {planned[0].case.framework_variant}: {planned[0].reason}"
        )
    mine = set(part.of([each.case for each in planned]))
    ours = [each for each in planned if each.case in mine]
    return Plan(experiment, planned, part, ours, executor, bool(only), left_out, controls)


def _controlled(experiment: Experiment) -> tuple[Experiment, list[str]]:
    """The experiment with what its versions are compared with, and these frameworks. Raises ConfigError."""
    frameworks = experiment.grid.framework
    controls = controls_of(frameworks)
    grid = experiment.grid.model_copy(
        update={"framework": [*frameworks, *parse_variants(controls)]}
    )
    return experiment.model_copy(update={"grid": grid}), controls


def left_out_in_words(names: list[str]) -> list[str]:
    """A sentence on the adapters that `all` does not mean here, if there are any: nothing goes missing silently."""
    return (
        [f"cannot run here, so left out: {', '.join(names)} (snnbench adapters says why)"]
        if names
        else []
    )


def adapter_files(references: list[str]) -> list[str]:
    """References given on the command line, checked and with absolute paths. Raises ConfigError."""
    return [check_reference(reference, Path.cwd(), "--adapter") for reference in references]


def _executor(where: Where, experiment: Experiment, files: list[str]) -> Executor:
    """Raises ConfigError."""
    if where is Where.LOCAL:
        return LocalExecutor()
    try:
        from ..executors.docker import docker_executor
    except ModuleNotFoundError:
        raise ConfigError(
            "--executor docker: needs the Python package docker: pip install 'snnbench[docker]'"
        ) from None
    container, devices = experiment.container, experiment.grid.device
    cores = usable_cores()[: experiment.measure.threads or None]
    has_gpus = bool(machine_facts()["gpus"])
    gpus = any(device.startswith("cuda") for device in devices) if devices else has_gpus
    return docker_executor(container.image, cores, container.pids, files, gpus)


def _with_cores(planned: PlannedCase, measure: Measure) -> PlannedCase:
    """A case that is to be timed needs a core for each of its ranks; proved it is without."""
    ranks, cores = planned.case.ranks or 1, measure.threads or machine_facts()["usable_threads"]
    reason = f"{ranks} ranks need {ranks} cores to be timed, and this run has {cores}"
    if planned.status or not measure.timed or ranks <= cores:
        return planned
    return replace(planned, status="unsupported", reason=reason)


def _lacking_behind(case: Case, inventory: Inventory) -> tuple[str, str] | None:
    """The status of a case whose network behind it cannot run where the case does, and why."""
    if case.behind in (None, NO_NETWORK):
        return None
    behind, here = (
        inventory.adapters[VariantPattern.parse(case.behind).adapter],
        inventory.adapters[case.framework].home,
    )
    if behind.devices and case.device_type not in behind.devices:
        return "unsupported", f"{case.behind} behind: {behind.name} does not run on {case.device}"
    if behind.home != here:
        homes = f"batches are delivered in the environment {here}, and {behind.name} is at home in {behind.home}"
        return "unsupported", f"{case.behind} behind: {homes}"
    return ("env_error", behind.lacking) if behind.lacking else None


def plan_cases(cases: list[Case], inventory: Inventory) -> list[PlannedCase]:
    """Every case with its adapter and its home, and the reason if it is known that it cannot run here. `inventory` must have been
    asked about these cases."""
    planned = []
    for case in cases:
        adapter, status, reason = inventory.adapters[case.framework], None, None
        if adapter.lacking:
            status, reason = "env_error", adapter.lacking
        elif case.device_type not in inventory.default.devices:
            status, reason = "env_error", f"this environment reaches no {case.device} device"
        elif lacking := _lacking_behind(case, inventory):
            status, reason = lacking
        elif (
            refusal := adapter.refusal
            or inventory.refusals.get(case.framework, {}).get(case.bare.id)
            or too_large(case)
        ):
            status, reason = "unsupported", refusal
        planned.append(PlannedCase(case, adapter, inventory.home_of(adapter), status, reason))
    return planned
