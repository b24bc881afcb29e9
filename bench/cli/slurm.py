"""`snnbench run --executor slurm`: submits an array job or attaches to it, follows it, reports."""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import typer

from ..common.mistakes import ConfigError
from ..common.texts import clean, cut
from ..executors.slurm import ArrayJob
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

MERGE_LOCK_S = 600.0
"""Longest wait for another command that merges the same parts."""


@dataclass(frozen=True)
class Submission:
    """How much of a job is done: with `detach` it is only submitted, with `dry_run` only
    written."""

    detach: bool
    dry_run: bool


def run_on_slurm(
    config: Path,
    out: Path | None,
    settings: list[str],
    only: str,
    adapters: list[str],
    shard: str,
    fresh: bool,
    how: Submission,
    as_json: bool,
) -> None:
    """Runs the parts of an experiment as an array job.

    Always raises: typer.Exit with the exit code of `run`, ConfigError if it cannot be submitted.
    """
    if shard != "1/1":
        advice = "--executor slurm deals out the parts itself; set slurm.parts in the config"
        raise ConfigError(f"--shard {shard}: {advice}")
    config = located(config)
    experiment = load_config(config, [*map(parse_setting, settings)])
    files, slurm = adapter_files(adapters), experiment.slurm
    # The config is copied: paths in it must become absolute.
    paths = {"adapters": experiment.adapters, "data.folder": experiment.data.folder}
    settings = [*settings, *(f"{key}={json.dumps(path)}" for key, path in paths.items() if path)]
    arguments = [word for setting in settings for word in ("--set", setting)]
    arguments += ["--only", only] * bool(only)
    arguments += [word for reference in files for word in ("--adapter", reference)]
    whole = ResultFolder(out or Path("results/local") / experiment.name)
    parts = min(slurm.parts, most_groups(experiment, only))
    counted = f"{parts} part{'s' * (parts > 1)}"
    if parts < slurm.parts:
        fault = "cases that differ in framework only stay together"
        say(f"slurm.parts = {slurm.parts}: {fault}, so the job has {counted}")
    content = config.read_bytes()
    job = ArrayJob(whole.path, parts, content, arguments, slurm.options, slurm.prelude, fresh)
    whole.must_be_of(experiment.name)
    interrupted = False
    if how.dry_run:
        _write(job, whole, as_json)
    try:
        attached = job.start(whole.make, lambda: not unfinished_parts(job))
        done = "was there already" if attached else "is submitted"
        show(f"job {job.number} {done}: {counted}, into {whole}")
        if how.detach:
            show("the same command without --detach follows it and reports")
            if as_json:
                print_json({"folder": str(whole), "job": job.number, "parts": parts})
            raise typer.Exit(exit_codes.FINE)
        shown = ""
        for states in job.follow():
            if (line := f"{states} · {progress(job)}") != shown:
                show(line)
            shown = line
    except KeyboardInterrupt:
        show("interrupted: the job is being cancelled")
        interrupted = True
        if not job.cancel():
            say(f"job {job.number or ''} has not ended yet; see: squeue")
        if not job.number:
            raise typer.Exit(exit_codes.INTERRUPTED) from None
    raise typer.Exit(report(job, whole, experiment.name, interrupted, as_json))


def _write(job: ArrayJob, whole: ResultFolder, as_json: bool) -> NoReturn:
    """Writes a job that is not submitted. Always raises: typer.Exit, or ConfigError."""
    whole.make()
    job.write()
    tasks = "1" if job.parts == 1 else f"1 to {job.parts}"
    show(f"{job.script} is written; run it with SLURM_ARRAY_TASK_ID set to {tasks}, then:")
    parts = f"{shlex.quote(str(job.folder / 'parts'))}/*"
    show(f"snnbench merge {parts} --out {shlex.quote(str(job.folder / 'merged'))}")
    if as_json:
        print_json({"folder": str(whole), "script": str(job.script), "parts": job.parts})
    raise typer.Exit(exit_codes.FINE)


def show(line: str) -> None:
    messages().print(clean(line), soft_wrap=True, markup=False)


def progress(job: ArrayJob) -> str:
    """`3 of 8 cases have a record`."""
    planned = {id for part in job.part_folders for id in ResultFolder(part).read_planned()[0]}
    done = {name.split("-")[0] for name in job.recorded()} & planned
    return f"{f'{len(done)} of {len(planned)}' if planned else 'no'} cases have a record"


def unfinished_parts(job: ArrayJob) -> list[int]:
    folders = enumerate(map(ResultFolder, job.part_folders), 1)
    return [number for number, it in folders if not it.planned.exists() or it.running.exists()]


def report(job: ArrayJob, whole: ResultFolder, name: str, interrupted: bool, as_json: bool) -> int:
    """Merges and reports what the parts have recorded; returns the exit code."""
    unfinished = unfinished_parts(job)
    for number in () if interrupted else unfinished:
        log = job.folder / "log" / f"{number}.log"
        say(f"part {number} has not come to its end; its log {log} ends: {last_line(log)}")
    advice = f"merge the parts later: snnbench merge {whole}/parts/*"
    busy = ConfigError(f"{whole}: another command is writing there; {advice}")
    with whole.locked(busy, MERGE_LOCK_S):
        parts = [ResultFolder(part) for part in job.part_folders if part.is_dir()]
        merged = merge_folders(parts, whole)
        results = results_of([whole])
        results.unreadable += merged.unreadable
        for sentence in [*merged.remarks, *results.unreadable, *results.missing_in_words]:
            say(sentence)
        with whole.writing():
            write_report(whole, name, results)
        if not unfinished and not interrupted:
            job.mark_collected()
    if results.rows or as_json:
        facts: dict[str, Any] = {"interrupted": interrupted, "job": job.number}
        facts |= {
            "unfinished_parts": unfinished,
            "remarks": merged.remarks,
            "missing": results.missing,
        }
        print_results(results.table, results, whole, as_json, **facts)
    if not results.rows:
        say(f"{whole}: no part has left a record")
    if interrupted:
        say("interrupted; what is finished is kept, and the same command goes on from there")
        return exit_codes.INTERRUPTED
    code = exit_codes.with_refused(exit_codes.of_rows(results.rows), results.unreadable)
    if unfinished:
        say("the same command goes on from there")
    is_lacking = unfinished or results.missing or not results.rows
    return (
        exit_codes.FAILED if is_lacking and code in (exit_codes.FINE, exit_codes.NOTHING) else code
    )


def last_line(log: Path) -> str:
    """The end of a log, or what SLURM wrote near it: why it ended the job."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    lines = [line for line in lines if line.strip()][-50:] or ["(nothing)"]
    of_slurm = [line for line in lines if line.startswith("slurm")]
    return cut(clean((of_slurm or lines)[-1].strip()), 200)
