"""`snnbench run`: plan, prove, measure, write."""

import json
from pathlib import Path
from typing import Annotated

import typer
from filelock import FileLock, Timeout

from snnbench.adapters.base.case import full_name

from ..executors.executor import Executor
from ..experiment.config import Experiment
from ..experiment.planned_case import PlannedCase
from ..experiment.shard import Shard, parse_shard
from ..files import write_atomically
from ..machine.facts import machine_facts
from ..mistakes import ConfigError
from ..records.manifest import write_planned
from ..records.rows import comparison_group
from ..report.files import Results, read_results, write_report
from ..report.table import Table
from ..report.tables.terminal import print_tables
from ..run.planning import load_plan
from ..run.runner import Runner
from . import exit_codes
from .console import messages, output
from .options import Adapters, Config, Execute, Only, Out, Part, Settings, Where, default_folder, make_writable, tell_left_out
from .progress import Progress


def run(
    config: Config,
    out: Out = None,
    settings: Settings = [],
    only: Only = "",
    fresh: Annotated[bool, typer.Option("--fresh", help="Measure again what is already done.")] = False,
    adapter: Adapters = [],
    executor: Execute = Where.LOCAL,
    shard: Part = "1/1",
) -> None:
    """Prove and measure every case of an experiment. Run it again to resume: what is done stays done."""
    part = parse_shard(shard)
    plan = load_plan(config, settings, only, adapter, executor)
    tell_left_out(plan.left_out)
    experiment, planned, workers = plan.experiment, plan.cases, plan.executor
    folder = out or default_folder(experiment, part)
    mine = part.of(planned)
    make_writable(folder)
    try:
        results, interrupted = _run(folder, experiment, planned, bool(only), len(mine), fresh, part, workers)
    except OSError:
        messages().print("What was finished is kept; the same command goes on from there.")
        raise
    asked = {case.id for case in mine}
    groups = {comparison_group(row) for row in results.rows if row.first.case_id in asked}
    console = output()
    print_tables(Table([row for row in results.rows if comparison_group(row) in groups]), console)
    console.print(f"[bold]report[/] {folder / 'report.html'}   [bold]table[/] {folder / 'results.csv'}", soft_wrap=True)
    if interrupted:  # typer turns a KeyboardInterrupt into a silent exit
        messages().print("snnbench: interrupted")
        raise typer.Exit(exit_codes.INTERRUPTED)
    raise typer.Exit(exit_codes.of_rows([row for row in results.rows if row.first.case_id in asked]))


def _run(
    folder: Path,
    experiment: Experiment,
    planned: list[PlannedCase],
    selected: bool,
    mine: int,
    fresh: bool,
    shard: Shard,
    workers: Executor,
) -> tuple[Results, bool]:
    """Everything that the folder now holds, and whether the run was interrupted."""
    measure = experiment.measure
    with _locked(folder):
        write_atomically(folder / "experiment.json", experiment.model_dump_json(indent=1) + "\n")
        write_planned(folder, {item.id: full_name(item.case) for item in planned}, of_more=selected)
        for environment in {item.adapter["environment"]["hash"]: item.adapter["environment"] for item in planned}.values():
            facts = {key: value for key, value in environment.items() if key != "executor"}
            write_atomically(folder / f"environment-{environment['hash']}.json", json.dumps(facts, indent=1) + "\n")
        machine = machine_facts()
        runner = Runner(folder.resolve(), planned, measure, experiment.seed, machine, fresh, shard, workers)
        interrupted = False
        with Progress(mine * measure.rounds, measure.budget * measure.timed) as progress:
            try:
                for finished in runner.run():
                    progress.show(finished)
            except KeyboardInterrupt:
                interrupted = True
        results = read_results([folder])
        write_report(folder, experiment.name, results)
    return results, interrupted


def _locked(folder: Path):
    """One run per folder: two would measure each other. The kernel frees the lock however a run dies."""
    lock = FileLock(folder / "run.lock")
    try:
        return lock.acquire(timeout=0)
    except Timeout:
        raise ConfigError(f"{folder}: another run is writing there; wait for it or choose another --out") from None
