"""`snnbench run`: plan, prove, measure, write."""

from pathlib import Path
from typing import Annotated

import typer

from ..common import units
from ..common.mistakes import ConfigError
from ..environments.environment import NotMade
from ..environments.versions import version_environment, versions_among
from ..experiment.config import load_config
from ..experiment.setting import parse_setting
from ..runner.planning import Where, load_plan
from ..runner.progress import execute_shown
from . import exit_codes, options
from .console import RARER, messages, say
from .env import create_shown
from .results import finished, print_results
from .slurm import Submission, run_on_slurm


def run(
    config: options.Config,
    out: options.Out = None,
    settings: options.Settings = [],
    only: options.Only = "",
    fresh: options.Fresh = False,
    adapter: options.Adapters = [],
    executor: options.ExecutorOption = Where.LOCAL,
    shard: options.ShardOption = "1/1",
    detach: Annotated[
        bool,
        typer.Option(
            "--detach",
            help="With --executor slurm: submit, and do not wait.",
            rich_help_panel=RARER,
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="With --executor slurm: only write job.sh, which PBS and LSF can run.",
            rich_help_panel=RARER,
        ),
    ] = False,
    create: Annotated[
        bool,
        typer.Option(
            "--create",
            help="First make the environments of versions that are not there.",
            rich_help_panel=RARER,
        ),
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Prove and measure every case of an experiment. Run it again to resume: what is done stays
    done."""
    if executor is Where.SLURM:
        how = Submission(detach=detach, dry_run=dry_run)
        run_on_slurm(config, out, settings, only, adapter, shard, fresh, how, as_json)
    if detach:
        raise ConfigError("--detach: only --executor slurm has something to leave behind")
    if dry_run:
        raise ConfigError("--dry-run: is for --executor slurm; snnbench plan shows what would run")
    if create:
        _create(config, settings)
    plan = load_plan(config, [*map(parse_setting, settings)], only, adapter, executor, shard)
    options.tell_neurons(plan.experiment.neuron_lines)
    options.tell_left_out(plan.left_out)
    options.tell_controls(plan.controls)
    folder = plan.folder(out)
    interrupted = execute_shown(plan, folder, fresh, messages())
    results = finished(folder, plan.experiment.name)
    asked = {planned.id for planned in plan.mine}
    mine = [row for row in results.rows if plan.holds(row.first)]
    print_results(
        results.table.of_groups_with(asked),
        results,
        folder,
        as_json,
        interrupted=interrupted,
        left_out=plan.left_out,
    )
    if interrupted and (not_begun := len(asked - {row.first.case_id for row in mine})):
        say(f"{units.counted(not_begun, 'case')} not begun, and so in no table")
    if interrupted:  # typer turns a KeyboardInterrupt into a silent exit
        say("interrupted; what is finished is kept, and the same command goes on from there")
        raise typer.Exit(exit_codes.INTERRUPTED)
    raise typer.Exit(exit_codes.with_refused(exit_codes.of_rows(mine), results.unreadable))


def _create(config: Path, settings: list[str]) -> None:
    """Makes the missing environments of versions in a config.

    A failure is printed, and the cases of the version end with it.
    """
    experiment = load_config(config, [*map(parse_setting, settings)])
    for name, version in versions_among(experiment.grid.framework):
        environment = version_environment(name, version)
        if environment.lacking():
            try:
                create_shown(environment)
            except NotMade as error:
                say(str(error))
