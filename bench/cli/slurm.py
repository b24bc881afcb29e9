"""`snnbench run --executor slurm`: submits an array job or attaches to the one that runs, follows it, and reports."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import typer

from ..common.mistakes import ConfigError
from ..common.texts import clean, cut
from ..executors.slurm import Task
from ..executors.slurm_array import ArrayRun, Wanted
from ..experiment.config import load_config
from ..experiment.grid import most_groups
from ..experiment.setting import parse_setting
from ..experiment.shipped import located
from ..records.merge import merge_folders
from ..records.store import ResultFolder
from ..report.files import results_of, write_report
from ..runner.planning import adapter_files
from . import exit_codes
from .console import messages, print_json, say
from .results import print_results

LONGEST_MERGE_S = 600.0
"""That this command waits for another that is merging the same parts."""


def run_on_slurm(
    config: Path,
    out: Path | None,
    settings: list[str],
    only: str,
    adapters: list[str],
    shard: str,
    fresh: bool,
    detach: bool,
    as_json: bool,
) -> None:
    """Submit the parts of a run as an array job, or attach to the one that runs, follow it, and report; with `detach` only
    submit. Always raises: typer.Exit with the exit code of `run`, or ConfigError if nothing can be submitted."""
    if shard != "1/1":
        raise ConfigError(
            f"--shard {shard}: --executor slurm deals out the parts itself; set slurm.parts in the config"
        )
    config = located(config)
    experiment = load_config(config, [*map(parse_setting, settings)])
    files = adapter_files(adapters)
    # A config that is copied elsewhere names its files by where they are.
    placed = [f"adapters={json.dumps(experiment.adapters)}"] if experiment.adapters else []
    placed += (
        [f"data.folder={json.dumps(experiment.data.folder)}"] if experiment.data.folder else []
    )
    arguments = [word for setting in [*settings, *placed] for word in ("--set", setting)]
    arguments += ["--only", only] * bool(only)
    arguments += [word for reference in files for word in ("--adapter", reference)]
    folder, asked = out or Path("results/local") / experiment.name, experiment.slurm.parts
    parts = min(asked, most_groups(experiment, only))
    if parts < asked:
        say(
            f"slurm.parts = {asked}: cases that differ in framework only stay together, so there are {parts} parts"
        )
    array = ArrayRun(folder, Wanted(config.read_bytes(), arguments, experiment.slurm, fresh), parts)
    whole, followed = ResultFolder(folder), Followed(array)
    whole.must_be_of(experiment.name)
    try:
        there = array.start(whole.make, lambda: not _unfinished(array))
        followed.tell(
            f"{array.job} {'was there already' if there else 'is submitted'}: {_counted(parts)}, into {folder}"
        )
        if detach:
            followed.tell("the same command without --detach follows it and reports")
            if as_json:
                print_json({"folder": str(folder), "job": array.number, "parts": parts})
            raise typer.Exit(exit_codes.FINE)
        tasks, interrupted = array.wait(followed.show), False
    except KeyboardInterrupt:
        followed.tell("interrupted: the job is being cancelled")
        tasks, interrupted = [], True
        if not array.cancel():
            say(f"{array.job or 'the job'} has not ended yet; see: squeue")
        if array.job is None:
            raise typer.Exit(exit_codes.INTERRUPTED) from None
    raise typer.Exit(_report(array, whole, experiment.name, tasks, interrupted, as_json))


@dataclass
class Followed:
    """What is shown of a job: a line when something has changed. On stderr."""

    array: ArrayRun
    last: str = ""

    def show(self, tasks: list[Task], complaint: str) -> None:
        states = Counter(map(str, tasks))
        words = [f"{count} {state}" for state, count in states.items()] or [
            f"no answer, asking again: {complaint}"
        ]
        planned = {id for part in self.array.parts for id in ResultFolder(part).read_planned()[0]}
        done = len({name.split("-")[0] for name in self.array.recorded()} & planned)
        self.tell(
            f"{', '.join(words)} · {f'{done} of {len(planned)}' if planned else 'no'} cases have a record"
        )

    def tell(self, line: str) -> None:
        if line != self.last:
            messages().print(clean(line), soft_wrap=True, markup=False)
        self.last = line


def _counted(parts: int) -> str:
    return f"{parts} part{'s' * (parts > 1)}"


def _unfinished(array: ArrayRun) -> list[int]:
    """Numbers of the parts that have not come to their end."""
    folders = [ResultFolder(part) for part in array.parts]
    return [
        number
        for number, part in enumerate(folders, 1)
        if not part.planned.exists() or part.running.exists()
    ]


def _report(
    array: ArrayRun,
    whole: ResultFolder,
    name: str,
    tasks: list[Task],
    interrupted: bool,
    as_json: bool,
) -> int:
    """Merge what the parts found, write and print the report, name what is missing; the exit code."""
    unfinished = _unfinished(array)
    for number in () if interrupted else unfinished:
        say(_why(array, number, next((task for task in tasks if task.number == number), None)))
    there = [ResultFolder(part) for part in array.parts if part.is_dir()]
    busy = ConfigError(
        f"{whole}: another command is writing there; merge the parts later: snnbench merge {whole}/parts/*"
    )
    with whole.locked(busy, LONGEST_MERGE_S):
        merged = merge_folders(there, whole)
        results = results_of([whole])
        results.unreadable += merged.unreadable
        for sentence in [*merged.remarks, *results.unreadable, *results.missing_in_words]:
            say(sentence)
        with whole.writing():
            write_report(whole, name, results)
        if not unfinished and not interrupted:
            array.note_collected()
    if results.rows or as_json:
        told = {"interrupted": interrupted, "job": array.number, "unfinished_parts": unfinished}
        print_results(
            results.table,
            results,
            whole,
            as_json,
            **told,
            remarks=merged.remarks,
            missing=results.missing,
        )
    if not results.rows:
        say(f"{whole}: no part has left a record")
    if interrupted:
        say("interrupted; what is finished is kept, and the same command goes on from there")
        return exit_codes.INTERRUPTED
    code = exit_codes.with_refused(exit_codes.of_rows(results.rows), results.unreadable)
    if unfinished:
        say("the same command goes on from there")
    lacking = unfinished or results.missing or not results.rows
    return exit_codes.FAILED if lacking and code in (exit_codes.FINE, exit_codes.NOTHING) else code


def _why(array: ArrayRun, number: int, task: Task | None) -> str:
    """That a part has not come to its end: what SLURM says of it, and the end of its log."""
    log, state = array.log(number), f" ({task})" if task else ""
    try:
        lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    except OSError:
        return f"part {number} has not come to its end{state}, and left no log"
    last = f", which ends: {cut(clean(lines[-1].strip()), 200)}" if lines else ", which is empty"
    return f"part {number} has not come to its end{state}; its log is {log}{last}"
