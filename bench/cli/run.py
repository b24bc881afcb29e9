"""`snnbench run`: plan, prove, measure, write."""

from typing import Annotated

import typer

from ..experiment.setting import parse_setting
from ..mistakes import ConfigError
from ..runner.planning import load_plan
from ..runner.progress import execute_shown
from . import exit_codes
from .console import messages, say
from .options import Adapters, Beside, Config, ExecutorOption, Json, Only, Out, Settings, ShardOption, Where, tell_left_out
from .results import print_results
from .slurm import run_on_slurm


def run(
    config: Config,
    out: Out = None,
    settings: Settings = [],
    only: Only = "",
    fresh: Annotated[bool, typer.Option("--fresh", help="Measure again what is already done.")] = False,
    adapter: Adapters = [],
    executor: ExecutorOption = Where.LOCAL,
    shard: ShardOption = "1/1",
    beside: Beside = "",
    detach: Annotated[bool, typer.Option("--detach", help="With --executor slurm: submit, and do not wait.")] = False,
    as_json: Json = False,
) -> None:
    """Prove and measure every case of an experiment. Run it again to resume: what is done stays done."""
    if executor is Where.SLURM:
        run_on_slurm(config, out, settings, only, adapter, shard, beside, fresh, detach, as_json)
    if detach:
        raise ConfigError("--detach: only --executor slurm has something to leave behind")
    plan = load_plan(config, [*map(parse_setting, settings)], only, adapter, executor, shard, beside)
    tell_left_out(plan.left_out)
    folder = plan.folder(out)
    results, interrupted = execute_shown(plan, folder, fresh, messages())
    asked = {planned.id for planned in plan.mine}
    mine = [row for row in results.rows if plan.holds(row.first)]
    print_results(results.table.of_groups_with(asked), results, folder, as_json, interrupted=interrupted, left_out=plan.left_out)
    if interrupted:  # typer turns a KeyboardInterrupt into a silent exit
        say("interrupted; what is finished is kept, and the same command goes on from there")
        raise typer.Exit(exit_codes.INTERRUPTED)
    raise typer.Exit(exit_codes.with_refused(exit_codes.of_rows(mine), results.unreadable))
