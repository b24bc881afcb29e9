"""`snnbench profile`: where a training step spends time and memory."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from ..common import units
from ..core.breakdown import KINDS, STAGES
from ..core.training import LOSSES, OPTIMIZERS, PLAIN
from ..runner.check import plan_check, points_to_check
from ..runner.profile import Profiled, profiled
from . import exit_codes, options
from .console import messages, new_table, output, print_json


def profile(
    names: options.Names = None,
    neuron: Annotated[str, typer.Option(help=options.NEURON_HELP)] = "soft",
    device: options.Device = "cpu",
    precision: Annotated[str, typer.Option(help="fp32, tf32, bf16, fp16 or amp-bf16.")] = "fp32",
    workload: options.WorkloadName = "mnist-mlp",
    input: options.InputKind = "spikes",
    loss: Annotated[
        str, typer.Option(help=f"{', '.join((PLAIN['loss'], *LOSSES))}.")
    ] = "spike-count",
    optimizer: Annotated[
        str, typer.Option(help=f"{', '.join((PLAIN['optimizer'], *OPTIMIZERS))}.")
    ] = "adam",
    layers: options.Size = 1,
    neurons: options.Size = 256,
    time_steps: options.Size = 50,
    batch: options.Size = 16,
    width: options.Width = 16,
    image: options.Image = 32,
    classes: options.Size = 10,
    norm: options.Norm = True,
    timeout: Annotated[str, typer.Option(help="Of one framework.")] = "5m",
    out: Annotated[Path, typer.Option(help="The folder for traces.")] = Path(
        "results/local/traces"
    ),
    adapter: options.Adapters = [],
    as_json: options.Json = False,
) -> None:
    """Take a training step apart: its time by stage and its memory by kind, and a trace that ui.perfetto.dev opens.

    Apart from any timing: a step that is taken apart is slower, and nothing here is ranked or recorded.
    """
    seconds = options.timeout_given(timeout)
    sizes: dict[str, Any] = {
        "layers": layers,
        "neurons": neurons,
        "time_steps": time_steps,
        "batch": batch,
    }
    sizes |= {
        "width": width,
        "image": image,
        "classes": classes,
        "norm": norm,
        "loss": loss,
        "optimizer": optimizer,
    }
    given = options.axes_given(
        [neuron], device=device, precision=precision, workload=workload, input=input, **sizes
    )
    cases, left_out = plan_check(names or [], points_to_check(given), adapter)
    options.tell_left_out(left_out)
    progress, results = messages(), []
    for planned in cases:
        if progress.is_terminal:
            progress.print(f"[dim]{planned.case.framework_variant}[/]")
        results.append(profiled(planned, out, seconds))
    if as_json:
        print_json([result.as_dict() for result in results])
    else:
        _tell(results)
    raise typer.Exit(
        exit_codes.of_statuses([result.status for result in results], named=bool(names))
    )


def _tell(results: list[Profiled]) -> None:
    console = output()
    for title, parts, text in (("seconds", STAGES, units.seconds), ("bytes", KINDS, units.size)):
        told = [result for result in results if result.breakdown and result.breakdown[title]]
        if told:
            console.print(
                _table(
                    told,
                    title,
                    [part for part in parts if any(part in _of(one, title) for one in told)],
                    text,
                )
            )
    for result in results:
        if reason := result.reason or (result.breakdown or {}).get("unknown"):
            console.print(
                f"{escape(result.case.framework_variant)}: {escape(reason)}", soft_wrap=True
            )
    for result in results:
        if result.trace:
            console.print(
                f"{escape(result.case.framework_variant)}: {escape(str(result.trace))}",
                soft_wrap=True,
            )


def _of(result: Profiled, title: str) -> dict[str, Any]:
    return dict((result.breakdown or {})[title])


def _table(results: list[Profiled], title: str, parts: list[str], text: Any) -> Table:
    whole = "step" if title == "seconds" else "peak"
    table = new_table("framework", whole, *parts, whole=("framework",), right=(whole, *parts))
    for result in results:
        own = _of(result, title)
        total = (result.breakdown or {})["step_s"] if title == "seconds" else sum(own.values())
        table.add_row(
            escape(result.case.framework_variant),
            text(total),
            *(text(own[p]) if p in own else "" for p in parts),
        )
    return table
