"""`snnbench run`: plan, prove, measure, write."""

import json
import os
from pathlib import Path
from typing import Annotated

import typer
from filelock import FileLock, Timeout

from .. import exit_codes
from ..config import ConfigError, Experiment
from ..machine import describe_machine
from ..plan import PlannedCase
from ..report.files import Results, read_results, write_report
from ..report.rows import comparison_group
from ..report.terminal import print_tables
from ..runner import Runner
from ..store import write_atomically
from .console import messages, output
from .options import Adapters, Config, Only, Out, Settings, load_plan
from .progress import Progress


def run(
    config: Config,
    out: Out = None,
    settings: Settings = [],
    only: Only = "",
    fresh: Annotated[bool, typer.Option("--fresh", help="Measure again what is already done.")] = False,
    adapter: Adapters = [],
) -> None:
    """Prove and measure every case of an experiment. Run it again to resume: what is done stays done."""
    experiment, planned = load_plan(config, settings, only, adapter)
    folder = out or Path("results/local") / experiment.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be a result folder: {error.strerror}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ConfigError(f"{folder}: cannot be written to; choose another --out")
    try:
        results, interrupted = _run(folder, experiment, planned, fresh)
    except OSError:
        messages().print("What was finished is kept; the same command goes on from there.")
        raise
    asked = {case.id for case in planned}
    groups = {comparison_group(row) for row in results.rows if row.first.case_id in asked}
    console = output()
    print_tables([row for row in results.rows if comparison_group(row) in groups], console)
    console.print(f"[bold]report[/] {folder / 'report.html'}   [bold]table[/] {folder / 'results.csv'}", soft_wrap=True)
    if interrupted:  # typer turns a KeyboardInterrupt into a silent exit
        messages().print("snnbench: interrupted")
        raise typer.Exit(exit_codes.INTERRUPTED)
    raise typer.Exit(exit_codes.of_rows([row for row in results.rows if row.first.case_id in asked]))


def _run(folder: Path, experiment: Experiment, planned: list[PlannedCase], fresh: bool) -> tuple[Results, bool]:
    """Everything that the folder now holds, and whether the run was interrupted."""
    measure = experiment.measure
    with _locked(folder):
        write_atomically(folder / "experiment.json", experiment.model_dump_json(indent=1) + "\n")
        for environment in {item.adapter["environment"]["hash"]: item.adapter["environment"] for item in planned}.values():
            facts = {key: value for key, value in environment.items() if key != "executable"}
            write_atomically(folder / f"environment-{environment['hash']}.json", json.dumps(facts, indent=1) + "\n")
        runner = Runner(folder, planned, measure, experiment.seed, describe_machine(), fresh)
        interrupted = False
        with Progress(len(planned) * measure.rounds, measure.budget * measure.timed) as progress:
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
