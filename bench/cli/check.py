"""`snnbench check`: the proof alone."""

from collections import defaultdict
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from snnbench.adapters.base.case import Case
from snnbench.kernels.spec import NEURONS

from .. import units
from ..experiment.values import parse_duration
from ..mistakes import ConfigError
from ..runner.check import Checked, checker, name_of, plan_check, points_to_check
from . import exit_codes
from .console import messages, new_table, output, print_json, say
from .options import NEURON_HELP, Adapters, Device, Image, InputKind, Json, Norm, Size, Width, WorkloadName, tell_left_out

VERDICTS = {"ok": "[green]same network[/]", "unsupported": "[dim]unsupported[/]"}


def check(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Frameworks, also variants like torch:compile.", show_default="all installed"),
    ] = None,
    neuron: Annotated[list[str] | None, typer.Option(help=NEURON_HELP, show_default="all but native")] = None,
    device: Device = "cpu",
    precision: Annotated[list[str], typer.Option(help="fp32, tf32, bf16, fp16 or amp-bf16.")] = ["fp32"],
    workload: WorkloadName = "linear-lif",
    input: InputKind = "spikes",
    layers: Size = 1,
    neurons: Size = 256,
    time_steps: Size = 50,
    batch: Size = 16,
    width: Width = 16,
    image: Image = 32,
    classes: Size = 10,
    norm: Norm = True,
    bias: bool = True,
    samples: Annotated[int | None, typer.Option(min=1, help="Recordings, with --workload data.", show_default="2000")] = None,
    timeout: Annotated[str, typer.Option(help="Of one proof.")] = "2m",
    adapter: Adapters = [],
    as_json: Json = False,
) -> None:
    """Prove that frameworks compute the same network as the float64 oracle, without timing anything.

    A framework's native neuron is held against no oracle: it is shown to spike and to have the right time axis.
    """
    try:
        seconds = parse_duration(timeout)
    except ValueError as error:
        raise ConfigError(f"--timeout {timeout}: {error}") from None
    sizes: dict[str, Any] = {"layers": layers, "neurons": neurons, "time_steps": time_steps, "batch": batch}
    network: dict[str, Any] = {"width": width, "image": image, "classes": classes, "norm": norm, "samples": samples}
    point = Case("", device=device, workload=workload, input=input, bias=bias, **sizes, **network)
    points = points_to_check(point, neuron or list(NEURONS), precision)
    cases, left_out = plan_check(names or [], points, adapter)
    tell_left_out(left_out)
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
    if as_json:
        print_json([result.as_dict() for result in results])
    else:
        console = output()
        console.print(_table(results))
        faults: dict[str, list[str]] = defaultdict(list)
        for result in results:
            if result.status not in ("ok", "unsupported"):
                faults[result.reason or result.status].append(result.name)
        for reason, failed in faults.items():
            console.print(f"[red]{escape(', '.join(failed))}[/]: {escape(reason)}", soft_wrap=True)
            if traceback := next((one.traceback for one in results if one.name in failed and one.traceback), None):
                console.print(traceback, soft_wrap=True, markup=False)
    raise typer.Exit(
        exit_codes.INTERRUPTED if interrupted else exit_codes.of_statuses([r.status for r in results], named=bool(names))
    )


def _table(results: list[Checked]) -> Table:
    figures_of = ("wrong decisions", "gradient error", "firing rate")
    columns = ("framework", "neuron", "precision", "verdict", *figures_of, "reason")
    table = new_table(*columns, whole=("framework",), right=figures_of)
    for result in results:
        case, last = result.case, result.last_stage
        verdict = VERDICTS.get(result.status, f"[red]{result.status}[/]")
        if result.status == "ok" and (case.native or case.neuron is None):
            verdict = "[green]right time axis[/]" if case.native else "[green]same frames[/]"
        figures = ["", "", ""]
        if last:
            figures = [units.share(last["wrong_decisions"]), units.error(last["grad_error"]), units.share(last["firing_rate"])]
        reason = "" if result.status == "ok" else escape(result.reason or "")
        table.add_row(escape(case.framework_variant), escape(case.neuron_label or ""), case.precision, verdict, *figures, reason)
    return table
