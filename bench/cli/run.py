"""`snnbench run`: plan, prove, measure, write."""

import json
import signal
from pathlib import Path
from typing import Annotated

import typer
from filelock import FileLock, Timeout

from .. import exit_codes
from ..config import ConfigError
from ..machine import describe_machine
from ..report.files import read_results, write_report
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
    experiment, environment, planned = load_plan(config, settings, only, adapter)
    folder = out or Path("results/local") / experiment.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be a result folder: {error.strerror}") from None
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with _locked(folder):
        write_atomically(folder / "config.toml", config.read_text(encoding="utf-8"))
        write_atomically(folder / f"environment-{environment['hash']}.json", json.dumps(environment, indent=1) + "\n")
        runner = Runner(folder, planned, experiment.measure, experiment.seed, environment, describe_machine(), fresh)
        interrupted = False
        with Progress(len(planned) * experiment.measure.rounds, experiment.measure.budget) as progress:
            try:
                for finished in runner.run():
                    progress.show(finished)
            except KeyboardInterrupt:
                interrupted = True
        results = read_results([folder], {case.id for case in planned})
        write_report(folder, experiment.name, results)
    console = output()
    print_tables(results.rows, console)
    console.print(f"[bold]report[/] {folder / 'report.html'}   [bold]table[/] {folder / 'results.csv'}", soft_wrap=True)
    if interrupted:  # typer turns a KeyboardInterrupt into a silent exit
        messages().print("snnbench: interrupted")
        raise typer.Exit(exit_codes.INTERRUPTED)
    tolerated = {item.id for item in planned if item.adapter["missing"] and not item.named}
    raise typer.Exit(exit_codes.of_rows(results.rows, tolerated))


def _locked(folder: Path):
    """One run per folder: two would measure each other. The kernel frees the lock however a run dies."""
    lock = FileLock(folder / "run.lock")
    try:
        return lock.acquire(timeout=0)
    except Timeout:
        raise ConfigError(f"{folder}: another run is writing there; wait for it or choose another --out") from None
