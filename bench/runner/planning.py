"""Plans the cases of a config, with environments and adapters."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..common.mistakes import ConfigError
from ..common.units import counted
from ..core.case import NO_NETWORK, Case, sizes, unusual
from ..core.jobs import Inquiry, Task
from ..core.variant import ALL, VariantPattern, parse_variants
from ..data.content import content_of
from ..environments.inventory import Inventory, WorkerEnvironment, take_inventory
from ..environments.versions import controls_of
from ..executors.executor import Executor
from ..executors.local import LocalExecutor
from ..experiment.adapter_info import AdapterInfo
from ..experiment.config import CONFIG, Experiment, Grid, check_reference, listed, load_config
from ..experiment.grid import expand, points, resolve_variants, select
from ..experiment.measure import Measure
from ..experiment.order import Shard, parse_shard
from ..experiment.setting import Setting, about, setting_of
from ..machine.cores import usable_cores
from ..machine.facts import machine_facts
from ..proof.judgeable import unjudgeable_small
from ..proof.stages import too_large
from ..records.identity import made_of
from ..records.record import Record
from ..records.store import ResultFolder
from ..workloads import WHOLE, recipes, workload_of
from .networks import read_networks

QUICK = {
    "passes": 5,
    "slot": "60ms",
    "budget": "4s",
    "timeout": "2m",
    "leave_beyond": 2.0,
}
"""The table `[measure]` of `snnbench quick`."""


LONGEST_NAME = 100
"""Characters of an experiment's name."""
CHEAP_VALUES = 2**16
"""Values of a small problem up to which a plan examines it, in less than a tenth of a second."""
MOST_NAMED = 3
"""Adapters that a sentence names."""


class Where(StrEnum):
    """The executor of workers."""

    LOCAL = "local"
    DOCKER = "docker"
    SLURM = "slurm"


@dataclass(frozen=True)
class PlannedCase:
    """A case, its adapter, and the environment of its workers; `status` and `reason` if it cannot
    run. The framework of a version is named `snntorch@0.9.4`; no worker sees that."""

    case: Case
    adapter: AdapterInfo
    environment: WorkerEnvironment
    status: str | None = None
    reason: str | None = None
    recordings: str | None = None
    """The content of the recordings that the case reads; None for a network."""
    behind: str | None = None
    """The reference of the adapter of the network behind a delivery."""

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
        """Returns the job of a worker that proves this case and measures it as `how` says.
        `material` is the file with the oracle's free run, or the folder of the recordings."""
        case = self.case.bare
        all_phases = how.phase_blocks is None or block < how.phase_blocks
        phases = how.phases if all_phases else [how.ranked(case.workload)]
        return Task(
            case,
            self.adapter.reference,
            block,
            how.threads,
            tuple(phases),
            how.timed,
            cache=cache,
            version=self.adapter.name if self.adapter.pattern.version else None,
            timeout=how.timeout,
            behind=self.behind,
            **{"recordings" if case.delivers_data else "free_run": material},
        )


@dataclass
class Plan:
    """An experiment and its cases. `cases` are those of all shards, `mine` those of `shard`.
    `executor` runs workers of the default environment. `is_subset` is true if `cases` are a part of
    the grid (`--only`). `left_out` names the frameworks that `all` omits because they cannot run
    here, `controls` those that versions are compared with."""

    experiment: Experiment
    cases: list[PlannedCase]
    shard: Shard
    mine: list[PlannedCase]
    executor: Executor
    is_subset: bool
    left_out: list[str]
    controls: list[str]

    def holds(self, record: Record) -> bool:
        """True for a record of a case of this shard, by the planned adapter, framework and
        packages."""
        return (record.case_id, made_of(record.adapter, record.environment)) in self._made

    @cached_property
    def _made(self) -> set[tuple[Any, ...]]:
        return {
            (planned.id, made_of(planned.adapter.recorded, planned.environment.facts))
            for planned in self.mine
        }

    def folder(self, out: Path | None) -> ResultFolder:
        """Returns the result folder: `out`, or one named for the experiment and the shard."""
        part = "" if self.shard == Shard() else f"-{self.shard.index}-of-{self.shard.count}"
        return ResultFolder(out or Path("results/local") / f"{self.experiment.name}{part}")


def load_plan(
    config: Path | Mapping[str, Any],
    settings: Sequence[Setting],
    only: str,
    references: list[str],
    where: Where = Where.LOCAL,
    shard: str = "1/1",
) -> Plan:
    """Returns the plan of a config, as `load_config` takes it. `only` selects a part of the grid,
    `references` name further adapters. Raises ConfigError; writes nothing."""
    if where is Where.SLURM:
        raise ConfigError(
            "--executor slurm: only run has it; each part of it plans on its own node"
        )
    place = f"{config}" if isinstance(config, Path) else CONFIG
    part = parse_shard(shard)
    experiment = load_config(config, settings)
    threads, cores = experiment.measure.threads, len(usable_cores())
    if threads > cores:
        given = about("measure.threads", threads, place, settings)
        raise ConfigError(f"{given}: more than the {counted(cores, 'core')} of this machine")
    grid = experiment.grid
    read_networks(experiment.network, place)
    references = adapter_files(references)
    files = [*experiment.adapters, *references]
    controls = controls_of(grid.framework)
    grid.framework = [*grid.framework, *parse_variants(controls)]
    executor = _executor(where, experiment, files)
    behind = parse_variants(
        [text for one in experiment.grids for text in one.behind if text != NO_NETWORK]
    )
    inquiry = Inquiry(
        frameworks=(*grid.framework, *behind), points=tuple(points(experiment, ["cpu", "cuda"]))
    )
    try:
        inventory = take_inventory(files, inquiry, executor)
    except RuntimeError as error:
        if where is Where.LOCAL:
            raise
        raise ConfigError(
            f"--executor docker: no worker runs in image {experiment.container.image!r}: {error}"
        ) from None
    left_out = inventory.left_out(inquiry.points) if VariantPattern(ALL) in grid.framework else []
    named = {pattern.adapter for pattern in (*grid.framework, *behind)}
    # An adapter named on the command line runs, whatever the grid names.
    grid.framework = grid.framework + [
        each.pattern
        for each in inventory.adapters.values()
        if each.reference in references and not named & {each.name, ALL}
    ]

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
    planned = [_with_proof(_with_cores(each, experiment.measure)) for each in planned]
    real = Path(experiment.data.folder) if experiment.data.folder else None
    planned = [
        replace(each, recordings=content_of(each.case, real)) if each.case.delivers_data else each
        for each in planned
    ]
    if not planned:
        if left_out and not only:
            first = inventory.adapters[left_out[0]]
            reason = f"{first.name}: {first.lacking or first.refusal}"
            raise ConfigError(f"{place}: no framework of it can run here: {reason}")
        raise ConfigError(f"{place}: the grid has no case left after exclude and --only")
    if all(case.status for case in planned):
        case, device = planned[0].case, setting_of("grid.device", settings)
        reason = f"no planned case can run here: {case.framework_variant}: {planned[0].reason}"
        if device and case.device_type not in inventory.default.devices:
            reason = f"{device.about(device.key, case.device)}: {reason}"
        elif isinstance(config, Path):
            reason = f"{place}: {reason}"
        raise ConfigError(reason)
    cases_of_part = set(part.of([each.case for each in planned]))
    mine = [each for each in planned if each.case in cases_of_part]
    return Plan(experiment, planned, part, mine, executor, bool(only), left_out, controls)


def quick_plan(
    settings: Sequence[Setting],
    references: list[str],
    blocks: int,
    phase: str = "step",
) -> Plan:
    """Returns the plan of `snnbench quick` for the network in `settings`, ranked by `phase`.
    Raises ConfigError.

    By default a CPU computes on one core, where programs beside it disturb least, and a GPU has
    all cores beside it; and a whole network computes no gradient of its input.
    """
    for setting in settings:
        axis = setting.key.removeprefix("grid.")
        if axis != "framework" and axis in Grid.model_fields and len(listed(setting.value)) > 1:
            named = setting.about(setting.key, setting.value)
            raise ConfigError(f"{named}: must be one value; snnbench run measures several")
    measure = {**QUICK, "phases": [phase], "blocks": blocks, "most_blocks": blocks}
    chosen = setting_of("grid.workload", settings)
    is_whole = chosen is not None and any(name in WHOLE for name in listed(chosen.value))
    grid = {"input_grad": [False]} if is_whole else {}
    plan = load_plan({"name": "quick", "measure": measure, "grid": grid}, settings, "", references)
    case = plan.cases[0].case
    if setting_of("measure.threads", settings) is None and case.device_type == "cpu":
        plan.experiment.measure.threads = 1
    plan.experiment.name = quick_name(case, phase)
    return plan


def quick_name(case: Case, phase: str) -> str:
    """Returns the name of the folder of `snnbench quick`. A neuron that makes it too long is
    replaced by six letters of its hash."""
    workload = "" if case.workload == Case.workload else case.workload
    network = workload, sizes(case).replace("=", ""), unusual(case), case.precision, case.device
    kind = "quick" if phase == "step" else f"quick-{phase}"
    name = _file_name(kind, case.neuron_label, *network)
    if len(name) > LONGEST_NAME:
        name = _file_name(kind, sha256(name.encode()).hexdigest()[:6], *network)
    return name[:LONGEST_NAME]


def _file_name(*words: str | None) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", "-".join(filter(None, words)))


def left_out_in_words(names: list[str]) -> list[str]:
    """Returns a sentence on the adapters that `all` omits, if there are any."""
    if not names:
        return []
    many = len(names) > MOST_NAMED
    named = f"{len(names)} adapters" if many else ", ".join(names)
    return [f"cannot run here, so left out: {named} (snnbench adapters says why)"]


def adapter_files(references: list[str]) -> list[str]:
    """Checks references of the command line and makes their paths absolute. Raises ConfigError."""
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
    """Marks a case as unsupported that is timed with more ranks than cores. A proof needs no
    cores."""
    ranks, cores = planned.case.ranks or 1, measure.threads or machine_facts()["usable_threads"]
    reason = f"{ranks} ranks need {ranks} cores to be timed, and this run has {cores}"
    if planned.status or not measure.timed or ranks <= cores:
        return planned
    return replace(planned, status="unsupported", reason=reason)


def _with_proof(planned: PlannedCase) -> PlannedCase:
    """Marks a case as unsupported if its small problem shows that no proof can judge it. What large
    small problems and the case's own size show is known in a run alone."""
    case = planned.case
    if planned.status or case.delivers_data or case.native:
        return planned
    reason = unjudgeable_small(case, workload_of(case), CHEAP_VALUES)
    if reason is None:
        return planned
    return replace(planned, status="unsupported", reason=f"unsuitable problem: {reason}")


def _behind(case: Case, inventory: Inventory) -> AdapterInfo | None:
    """Returns the adapter of the network behind a case, or None."""
    if case.behind in (None, NO_NETWORK):
        return None
    return inventory.adapters[VariantPattern.parse(case.behind).adapter]


def _lacking_behind(
    case: Case, behind: AdapterInfo, adapter: AdapterInfo
) -> tuple[str, str] | None:
    """Returns status and reason if the network behind a case cannot run in its environment."""
    here = adapter.environment
    if reason := recipes.refused(case):
        return "unsupported", reason
    if behind.devices and case.device_type not in behind.devices:
        return "unsupported", f"{case.behind} behind: {behind.name} does not run on {case.device}"
    if behind.environment != here:
        reason = (
            f"{case.behind} behind: batches are delivered in the environment {here}, "
            f"and {behind.name} runs in {behind.environment}"
        )
        return "unsupported", reason
    return ("env_error", behind.lacking) if behind.lacking else None


def plan_cases(cases: list[Case], inventory: Inventory) -> list[PlannedCase]:
    """Returns every case with its adapter and environment, and the reason if it cannot run here.
    `inventory` must answer an inquiry about these cases."""
    planned = []
    for case in cases:
        adapter, status, reason = inventory.adapters[case.framework], None, None
        behind = _behind(case, inventory)
        if adapter.lacking:
            status, reason = "env_error", adapter.lacking
        elif case.device_type not in inventory.default.devices:
            status, reason = "env_error", f"this environment reaches no {case.device} device"
        elif behind and (lacking := _lacking_behind(case, behind, adapter)):
            status, reason = lacking
        elif (
            refusal := adapter.refusal
            or inventory.refusals.get(case.framework, {}).get(case.bare.id)
            or too_large(case)
        ):
            status, reason = "unsupported", refusal
        environment = inventory.environment_of(adapter)
        reference = behind.reference if behind else None
        planned.append(PlannedCase(case, adapter, environment, status, reason, behind=reference))
    return planned
