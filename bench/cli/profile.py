"""`snnbench profile`: where a training step spends time and memory."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from ..common import units
from ..common.mistakes import ConfigError
from ..core.breakdown import KINDS, STAGES
from ..experiment.named import lines_of
from ..experiment.setting import Setting
from ..runner.check import plan_check, points_to_check
from ..runner.profile import Profiled, profiled
from ..runner.progress import one_by_one
from . import exit_codes, options
from .console import messages, new_table, output, print_json

TRAINING = [
    Setting("grid.loss", ["spike-count"], "--set grid.loss=spike-count"),
    Setting("grid.optimizer", ["adam"], "--set grid.optimizer=adam"),
]
"""The step that is taken apart by default."""


def profile(
    names: options.Names = None,
    neuron: Annotated[str, typer.Option(help=options.NEURON_HELP)] = "soft",
    device: options.Device = "cpu",
    precision: Annotated[str, typer.Option(help="fp32, tf32, bf16, fp16 or amp-bf16.")] = "fp32",
    workload: options.WorkloadName = "mnist-mlp",
    axes: Annotated[
        list[str],
        typer.Option(
            "--set",
            help="Set an axis of the network, e.g. grid.neurons=64. By default grid.loss is "
            "spike-count, and grid.optimizer is adam.",
        ),
    ] = [],
    timeout: Annotated[str, typer.Option(help="Of one framework.")] = "5m",
    out: Annotated[
        Path,
        typer.Option(help="The folder for traces; an earlier one of the same network is replaced."),
    ] = Path("results/local/traces"),
    adapter: options.Adapters = [],
    as_json: options.Json = False,
) -> None:
    """Take a training step apart: its time by stage and its memory by kind, and a trace that
    ui.perfetto.dev opens.

    A step that is taken apart is slower, so nothing here is ranked or recorded.
    """
    seconds = options.parse_seconds("--timeout", timeout)
    chosen = options.option_settings(
        [neuron], device=device, precision=precision, workload=workload
    )
    settings = options.axis_settings(axes, [*chosen, *TRAINING])
    points = points_to_check(settings)
    if len(points) > 1:
        raise ConfigError(
            f"profile: {len(points)} networks are named, and a trace is of one; "
            "set each axis to one value"
        )
    cases, left_out = plan_check(names or [], points, adapter)
    options.tell_neurons(lines_of([neuron]))
    options.tell_left_out(left_out)
    results = []
    with one_by_one(messages(), "profiling", len(cases)) as begin:
        for planned in cases:
            begin(planned.case.framework_variant)
            results.append(profiled(planned, out, seconds))
    if as_json:
        print_json([result.as_dict() for result in results])
    else:
        _print(results)
    raise typer.Exit(exit_codes.of_statuses([result.status for result in results]))


def _print(results: list[Profiled]) -> None:
    console = output()
    for title, parts, text in (("seconds", STAGES, units.seconds), ("bytes", KINDS, units.size)):
        measured = [result for result in results if _breakdown(result, title)]
        if measured:
            present = [
                part for part in parts if any(part in _breakdown(each, title) for each in measured)
            ]
            console.print(_table(measured, title, present, text))
    for result in results:
        name = escape(result.case.framework_variant)
        if reason := result.reason or (result.breakdown or {}).get("unknown"):
            console.print(f"{name}: {escape(reason)}", soft_wrap=True)
    for result in results:
        if result.trace:
            name = escape(result.case.framework_variant)
            console.print(f"{name}: {escape(str(result.trace))}", soft_wrap=True)


def _breakdown(result: Profiled, title: str) -> dict[str, Any]:
    return dict((result.breakdown or {}).get(title) or {})


def _table(
    results: list[Profiled], title: str, parts: list[str], text: Callable[[float], str]
) -> Table:
    whole = "step" if title == "seconds" else "peak"
    table = new_table("framework", whole, *parts, whole=("framework",), right=(whole, *parts))
    for result in results:
        values = _breakdown(result, title)
        total = (result.breakdown or {})["step_s"] if title == "seconds" else sum(values.values())
        table.add_row(
            escape(result.case.framework_variant),
            text(total),
            *(text(values[part]) if part in values else "" for part in parts),
        )
    return table
