"""`snnbench check`: the proof alone."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from snnbench.kernels.spec import NEURONS

from ..core.case import DATA
from ..experiment.named import lines_of
from ..experiment.setting import Setting, setting_of
from ..runner.check import FIGURES, WELL, Checked, checker, name_of, plan_check, points_to_check
from ..runner.nearest import nearest_in_words
from ..runner.planning import adapter_files
from ..runner.progress import one_by_one
from . import exit_codes, options
from .console import messages, new_table, output, print_json, say

NAME_IT = (
    "no neuron was proved: the reasons say what is computed; name it, for example "
    """--neuron '{ reset = "soft", detach_reset = true }'"""
)
COLOURS = {"ok": "green", "unsupported": "dim"}


def check(
    names: options.Names = None,
    neuron: Annotated[
        list[str] | None, typer.Option(help=options.NEURON_HELP, show_default="all but native")
    ] = None,
    device: options.Device = "cpu",
    precision: Annotated[list[str], typer.Option(help="fp32, tf32, bf16, fp16 or amp-bf16.")] = [
        "fp32"
    ],
    workload: options.WorkloadName = "linear-lif",
    axes: options.Axes = [],
    timeout: Annotated[str, typer.Option(help="Of the framework, in one proof.")] = "2m",
    adapter: options.Adapters = [],
    as_json: options.Json = False,
) -> None:
    """Prove that frameworks compute the same network as the float64 oracle, without timing
    anything.

    No oracle has a framework's native neuron: the proof shows that it spikes and that its time axis
    is right. A soft reset is proved with its gradient; name the other one, as --neuron
    '{ reset = "soft", detach_reset = true }'.
    """
    seconds = options.parse_seconds("--timeout", timeout)
    settings = options.axis_settings(
        axes,
        options.option_settings(
            neuron or [], device=device, precision=precision, workload=workload
        ),
    )
    by_default = not neuron and _needs_neurons(settings)
    if by_default:
        settings.append(Setting("grid.neuron", list(NEURONS), "--neuron"))
    named = setting_of("grid.neuron", settings)
    cases, left_out = plan_check(names or [], points_to_check(settings), adapter)
    options.tell_neurons(lines_of(named.value if named else []))
    options.tell_left_out(left_out)
    results = []
    interrupted = False
    try:
        with checker(seconds) as proofs, one_by_one(messages(), "proving", len(cases)) as begin:
            for planned in cases:
                begin(name_of(planned.case))
                results.append(proofs.prove(planned))
    except KeyboardInterrupt:  # typer turns it into a silent exit
        interrupted = True
        say(f"interrupted after {len(results)} of {len(cases)} proofs")
    faults: dict[str, list[Checked]] = defaultdict(list)
    for result in results:
        if result.status not in WELL:
            faults[result.reason or result.status].append(result)
    if as_json:
        print_json([result.as_dict() for result in results])
        for reason, failed in faults.items():
            say(f"{_names(failed)}: {reason}")
    else:
        console = output()
        common, table = _table(results)
        if common:
            console.print(f"all: {common}", soft_wrap=True, markup=False)
        console.print(table)
        for line in _refusals(results):
            console.print(line, soft_wrap=True, markup=False)
        for reason, failed in faults.items():
            console.print(f"[red]{escape(_names(failed))}[/]: {escape(reason)}", soft_wrap=True)
            if tracebacks := [result.traceback for result in failed if result.traceback]:
                console.print(tracebacks[0], soft_wrap=True, markup=False)
        for sentence in nearest_in_words(cases, adapter_files(adapter)):
            console.print(sentence, soft_wrap=True, markup=False)
    if by_default and results and all(each.status == "unsupported" for each in results):
        say(NAME_IT)
    raise typer.Exit(
        exit_codes.INTERRUPTED
        if interrupted
        else exit_codes.of_statuses([result.status for result in results])
    )


def _needs_neurons(settings: list[Setting]) -> bool:
    """Returns True unless `--set` names the neurons, or the workload has none."""
    workload = setting_of("grid.workload", settings)
    return not setting_of("grid.neuron", settings) and not (workload and DATA in workload.value)


def _names(results: list[Checked]) -> str:
    return ", ".join(dict.fromkeys(result.name for result in results))


def _refusals(results: list[Checked]) -> Iterator[str]:
    """Yields each reason of unsupported cases once, behind the names of these cases."""
    refused: dict[str, list[Checked]] = defaultdict(list)
    for result in results:
        if result.status == "unsupported":
            refused[result.reason or "no reason is known"].append(result)
    for reason, alike in refused.items():
        yield f"{_names(alike)}: {reason}"


def _table(results: list[Checked]) -> tuple[str, Table]:
    """Returns the neuron and the precision that all cases have in common, and the verdicts;
    reasons are printed below the table."""
    axes = {
        "neuron": [result.case.neuron_label or "" for result in results],
        "precision": [result.case.precision for result in results],
    }
    common = [cells[0] for cells in axes.values() if len({*cells}) == 1]
    axes = {axis: cells for axis, cells in axes.items() if len({*cells}) > 1}
    figures = FIGURES if any(any(result.figures) for result in results) else ()
    columns = ("framework", *axes, "verdict", *figures)
    table = new_table(*columns, whole=("framework", "verdict"), right=figures)
    for at, result in enumerate(results):
        verdict = f"[{COLOURS.get(result.status, 'red')}]{result.verdict}[/]"
        names = (
            escape(result.case.framework_variant),
            *(escape(cells[at]) for cells in axes.values()),
        )
        table.add_row(*names, verdict, *result.figures[: len(figures)])
    return " · ".join(filter(None, common)), table
