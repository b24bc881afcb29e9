"""Config, environments and adapters become planned cases."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from snnbench.adapters.base.case import Case

from ..environments.inventory import ask_adapters, by_executor, survey_adapters, survey_environment
from ..executors.executor import Executor
from ..executors.local import LocalExecutor
from ..experiment.config import Experiment, check_reference, load_config
from ..experiment.grid import expand, select
from ..experiment.planned_case import PlannedCase
from ..machine.facts import machine_facts
from ..mistakes import ConfigError


class Where(StrEnum):
    """Where workers run."""

    LOCAL = "local"
    DOCKER = "docker"


@dataclass
class Plan:
    """An experiment and its cases. `executor` runs workers of the default environment; `left_out` are the frameworks that
    `all` does not mean here, because they are not installed."""

    experiment: Experiment
    cases: list[PlannedCase]
    executor: Executor
    left_out: list[str]


def adapter_files(references: list[str]) -> list[str]:
    """Checked references of `--adapter`, with absolute paths."""
    return [check_reference(reference, Path.cwd(), "--adapter") for reference in references]


def left_out(adapters: dict[str, dict]) -> list[str]:
    """Names of adapters that cannot run here."""
    return [name for name, entry in adapters.items() if entry["lacking"]]


def _executor(where: Where, experiment: Experiment, files: list[str]) -> Executor:
    """Raises ConfigError."""
    if where is Where.LOCAL:
        return LocalExecutor()
    try:
        from ..executors.docker import docker_executor
    except ModuleNotFoundError:
        raise ConfigError("--executor docker: needs the Python package docker: pip install 'snnbench[docker]'") from None
    return docker_executor(experiment, files, bool(machine_facts()["gpus"]))


def load_plan(config: Path, settings: list[str], only: str, references: list[str], where: Where = Where.LOCAL) -> Plan:
    """The plan of a config. Raises ConfigError; writes nothing."""
    experiment = load_config(config, settings)
    given = adapter_files(references)
    files = [*experiment.adapters, *given]
    executor = _executor(where, experiment, files)
    try:
        environment = survey_environment(executor)
    except RuntimeError as error:
        if where is Where.LOCAL:
            raise
        raise ConfigError(f"--executor docker: no worker runs in image {experiment.container.image!r}: {error}") from None
    adapters = survey_adapters(files, environment)
    for entry in adapters.values():  # an adapter named on the command line is meant to run
        named = {text.partition(":")[0] for text in experiment.grid.framework}
        if entry["reference"] in given and not named & {entry["name"], "all"}:
            experiment.grid.framework.append(entry["name"])
    cases = expand(experiment, adapters, environment["devices"], f"{config}: grid.framework")
    planned = plan_cases(cases, adapters, environment["devices"])
    if only:
        planned = select(planned, only)
    if not planned:
        raise ConfigError(f"{config}: the grid has no case left after exclude and --only")
    if all(case.status for case in planned):
        raise ConfigError(f"{config}: no planned case can run here: {planned[0].case.framework_variant}: {planned[0].reason}")
    return Plan(experiment, planned, executor, left_out(adapters) if "all" in experiment.grid.framework else [])


def plan_cases(cases: list[Case], adapters: dict[str, dict], devices: list[str]) -> list[PlannedCase]:
    """Every case with its adapter (of `survey_adapters`), and the reason if it is known that it cannot run here."""
    used = {case.framework for case in cases}
    refusals = {}
    for executor, entries in by_executor([entry for name, entry in adapters.items() if name in used and "error" not in entry]):
        for entry in ask_adapters([entry["reference"] for entry in entries], cases, executor, entries[0]["home"] != "default"):
            if "error" not in entry:
                refusals[entry["name"]] = iter(entry["refusals"])
    planned = []
    for case in cases:
        adapter = adapters[case.framework]
        refusal = next(refusals[case.framework]) if case.framework in refusals else None
        if adapter["lacking"]:
            planned.append(PlannedCase(case, adapter, "env_error", adapter["lacking"]))
        elif case.device.partition(":")[0] not in devices:
            planned.append(PlannedCase(case, adapter, "env_error", f"this environment reaches no {case.device} device"))
        elif refusal:
            planned.append(PlannedCase(case, adapter, "unsupported", refusal))
        else:
            planned.append(PlannedCase(case, adapter))
    return planned
