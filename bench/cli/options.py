"""Options that several verbs share, and what they have in common behind them."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .. import survey
from ..config import ConfigError, Experiment, check_reference, load_config
from ..executor import Executor
from ..machine import describe_machine
from ..plan import PlannedCase, expand, select
from ..processes import Processes
from ..shard import Shard
from .console import messages

Config = Annotated[Path, typer.Option("--config", "-c", help="The experiment: a TOML file.", show_default=False)]
Out = Annotated[Path | None, typer.Option(help="Where results go [default: results/local/NAME].", show_default=False)]
Settings = Annotated[list[str], typer.Option("--set", help="Override a key of the config, e.g. grid.neurons=[64,128].")]
Only = Annotated[str, typer.Option("--only", help="Run a part of the grid, e.g. 'framework=norse,neurons=1*'.")]
Adapters = Annotated[list[str], typer.Option("--adapter", "-a", help="One more adapter: path/to/file.py:Class.")]
Part = Annotated[str, typer.Option("--shard", metavar="I/N", help="One of N parts of the grid, e.g. 2/3; see merge.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else.")]


class Where(StrEnum):
    """Where workers run."""

    LOCAL = "local"
    DOCKER = "docker"


Execute = Annotated[Where, typer.Option("--executor", help="Workers as processes, or each in a container.")]


def adapter_files(references: list[str]) -> list[str]:
    """Checked references of `--adapter`, with absolute paths."""
    return [check_reference(reference, Path.cwd(), "--adapter") for reference in references]


def default_folder(experiment: Experiment, shard: Shard) -> Path:
    part = "" if shard == Shard() else f"-{shard.index}-of-{shard.count}"
    return Path("results/local") / f"{experiment.name}{part}"


def check_folder(folder: Path) -> None:
    """Raises ConfigError where no results can be read from."""
    if not folder.is_dir():
        why = "it is a file; name the result folder that it is in" if folder.exists() else "there is no such folder"
        raise ConfigError(f"{folder}: {why}")


def make_writable(folder: Path) -> None:
    """Make a result folder if need be. Raises ConfigError where nothing could be written."""
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder}: cannot be a result folder: it is a file")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be a result folder: {error.strerror}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ConfigError(f"{folder}: cannot be written to; choose another --out")


def tell_left_out(adapters: dict[str, dict]) -> None:
    """Say which adapters `all` does not mean here: nothing goes missing silently."""
    if lacking := [name for name, entry in adapters.items() if entry["lacking"]]:
        messages().print(f"not installed, so left out: {', '.join(lacking)} (snnbench adapters says why)", soft_wrap=True)


def _executor(where: Where, experiment: Experiment, files: list[str]) -> Executor:
    """Raises ConfigError."""
    if where is Where.LOCAL:
        return Processes()
    try:
        from ..containers import containers
    except ModuleNotFoundError:
        raise ConfigError("--executor docker: needs the Python package docker: pip install 'snnbench[docker]'") from None
    return containers(experiment, files, bool(describe_machine()["gpus"]))


def load_plan(
    config: Path, settings: list[str], only: str, references: list[str], where: Where = Where.LOCAL
) -> tuple[Experiment, list[PlannedCase], Executor]:
    """Config, planned cases, and what their workers run in. Raises ConfigError; writes nothing."""
    experiment = load_config(config, settings)
    given = adapter_files(references)
    files = [*experiment.adapters, *given]
    executor = _executor(where, experiment, files)
    try:
        environment = survey.survey_environment(executor)
    except RuntimeError as error:
        if where is Where.LOCAL:
            raise
        raise ConfigError(f"--executor docker: no worker runs in image {experiment.container.image!r}: {error}") from None
    adapters = survey.survey_adapters(files, environment)
    for entry in adapters.values():  # an adapter named on the command line is meant to run
        named = {text.partition(":")[0] for text in experiment.grid.framework}
        if entry["reference"] in given and not named & {entry["name"], "all"}:
            experiment.grid.framework.append(entry["name"])
    cases = expand(experiment, adapters, environment["devices"], f"{config}: grid.framework")
    planned = survey.plan_cases(cases, adapters, environment["devices"])
    if only:
        planned = select(planned, only)
    if not planned:
        raise ConfigError(f"{config}: the grid has no case left after exclude and --only")
    if all(case.status for case in planned):
        raise ConfigError(f"{config}: no planned case can run here: {planned[0].case.framework_variant}: {planned[0].reason}")
    if "all" in experiment.grid.framework:
        tell_left_out(adapters)
    return experiment, planned, executor
