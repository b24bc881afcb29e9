"""`snnbench check`: the proof alone."""

from collections import defaultdict
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from snnbench.kernels.spec import NEURONS

from ..core.case import DATA
from ..core.datasets import FRAMED
from ..runner.check import FIGURES, WELL, Checked, checker, name_of, plan_check, points_to_check
from . import exit_codes, options
from .console import messages, new_table, output, print_json, say

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
    input: options.InputKind = "spikes",
    layers: options.Size = 1,
    neurons: options.Size = 256,
    time_steps: options.Size = 50,
    batch: options.Size = 16,
    width: options.Width = 16,
    image: options.Image = 32,
    classes: options.Size = 10,
    norm: options.Norm = True,
    bias: bool = True,
    samples: Annotated[int, typer.Option(min=1, help="Recordings, with --workload data.")] = 2000,
    dataset: Annotated[
        str, typer.Option(help="Recordings of synthetic-ssc, -shd, -nmnist or -dvsgesture.")
    ] = FRAMED[0],
    timeout: Annotated[str, typer.Option(help="Of one proof.")] = "2m",
    adapter: options.Adapters = [],
    as_json: options.Json = False,
) -> None:
    """Prove that frameworks compute the same network as the float64 oracle, without timing anything.

    A framework's native neuron is held against no oracle: it is shown to spike and to have the right time axis.
    """
    seconds = options.timeout_given(timeout)
    specs = neuron or (["soft"] if workload == DATA else list(NEURONS))
    sizes: dict[str, Any] = {
        "layers": layers,
        "neurons": neurons,
        "time_steps": time_steps,
        "batch": batch,
    }
    sizes |= {"width": width, "image": image, "classes": classes, "norm": norm, "bias": bias}
    sizes |= {"samples": samples, "dataset": dataset}
    given = options.axes_given(
        specs, device=device, precision=precision, workload=workload, input=input, **sizes
    )
    cases, left_out = plan_check(names or [], points_to_check(given), adapter)
    options.tell_left_out(left_out)
    progress = messages()
    results = []
    interrupted = False
    try:
        with checker(seconds) as proofs:
            for planned in cases:
                if progress.is_terminal:
                    progress.print(f"[dim]{name_of(planned.case)}[/]")
                results.append(proofs.prove(planned))
    except KeyboardInterrupt:  # typer turns it into a silent exit
        interrupted = True
        say(f"interrupted after {len(results)} of {len(cases)} proofs")
    faults: dict[str, list[str]] = defaultdict(list)
    for result in results:
        if result.status not in WELL:
            faults[result.reason or result.status].append(result.name)
    if as_json:
        print_json([result.as_dict() for result in results])
        for reason, failed in faults.items():
            say(f"{', '.join(failed)}: {reason}")
    else:
        console = output()
        console.print(_table(results))
        for reason, failed in faults.items():
            console.print(f"[red]{escape(', '.join(failed))}[/]: {escape(reason)}", soft_wrap=True)
            if traceback := next(
                (one.traceback for one in results if one.name in failed and one.traceback), None
            ):
                console.print(traceback, soft_wrap=True, markup=False)
    raise typer.Exit(
        exit_codes.INTERRUPTED
        if interrupted
        else exit_codes.of_statuses([r.status for r in results], named=bool(names))
    )


def _table(results: list[Checked]) -> Table:
    """What went wrong is told below it."""
    refused = any(result.status == "unsupported" for result in results)
    columns = ("framework", "neuron", "precision", "verdict", *FIGURES, *["reason"] * refused)
    table = new_table(*columns, whole=("framework",), right=FIGURES)
    for result in results:
        case, reason = (
            result.case,
            escape(result.reason or "") if result.status == "unsupported" else "",
        )
        verdict = f"[{COLOURS.get(result.status, 'red')}]{result.verdict}[/]"
        names = escape(case.framework_variant), escape(case.neuron_label or ""), case.precision
        table.add_row(*names, verdict, *result.figures, *[reason] * refused)
    return table
