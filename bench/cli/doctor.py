"""`snnbench doctor`: is this a machine to measure on?"""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from ..common import units
from ..environments.environment import known
from ..environments.inventory import default_environment
from ..executors.launch import launch_apart
from ..machine.best_rates import best_rates
from ..machine.cores import usable_cores
from ..machine.facts import current_load, machine_facts, machine_label, measuring_advice
from ..machine.lacking import lacks
from . import exit_codes
from .console import RARER, new_table, output, print_json, say
from .options import Json

CEILINGS_TIMEOUT_S, KERNELS_TIMEOUT_S = 60.0, 600.0


def doctor(
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Measure what the device can do at best (seconds).")
    ] = False,
    kernels: Annotated[
        bool,
        typer.Option(
            "--kernels",
            help="Calibrate a GPU and time our kernels there (minutes: they are compiled first).",
            rich_help_panel=RARER,
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the machine, its devices, its load, and with --calibrate the measured ceilings, the best
    of which are kept; those called cold are of memory that a GPU's cache does not hold. With
    --kernels also what our kernels take on a GPU, without the host, and at what share of the rate
    of copies they move their bytes: cold ones of the best copy, warm ones of one of their size.
    Exit code 6 without a GPU, 3 if a kernel cannot run."""
    default, machine, now = default_environment(), machine_facts(), current_load()
    environments = {own.name: own.state()[0] for own in known().values()}
    device = "cuda" if "cuda" in default.devices else "cpu"
    if kernels and device != "cuda":
        say("--kernels: the default environment reaches no CUDA device here")
        raise typer.Exit(exit_codes.NOTHING)
    rates: dict[str, dict[str, float]] = {}
    timed: list[dict[str, Any]] = []
    try:
        if kernels:
            rates, timed = time_kernels()
        elif calibrate:
            rates = measure_ceilings(device)
    except RuntimeError as error:
        say(f"nothing could be measured: {error}")
        raise typer.Exit(exit_codes.FAILED) from None
    failed = dict.fromkeys(
        f"{one['spelling']} {one['name']}: {one['reason']}" for one in timed if one.get("reason")
    )
    if rates:
        best_rates(machine["hash"], device, len(usable_cores()), rates, keep=True)
    missing = [lack.sentence for lack in lacks(Path(sys.prefix))]
    advice = [*missing, *measuring_advice(machine, now)]
    if as_json:
        facts: dict[str, Any] = {
            "machine": machine,
            "load": now,
            "environment": default.facts,
            "environments": environments,
        }
        if rates:
            facts["ceilings"] = {device: rates}
        if rates and kernels:
            facts["kernels"] = timed
        print_json({**facts, "advice": advice})
        raise typer.Exit(exit_codes.FAILED if failed else exit_codes.FINE)
    console = output()
    console.print(
        f"machine      {machine_label(machine)}, {machine['system']}, hash {machine['hash']}"
    )
    console.print(
        f"environment  {default.facts['python']}, hash {default.hash}, "
        f"devices {', '.join(default.devices)}"
    )
    for environment in known().values():
        console.print(f"             {environment.name}: {environment.shown_state}")
    load = now["load_average"][0]
    console.print(f"load         {load:.2f} programs ran or waited in the last minute, on average")
    for kind, word in (("copy_bytes_per_s", "copy"), ("cold_copy_bytes_per_s", "copy, cold")):
        for size, rate in rates.get(kind, {}).items():
            console.print(f"{word:12} {int(size) / 2**20:10.3f} MiB  {rate / 1e9:8.1f} GB/s")
    for name, rate in rates.get("matmul_flops_per_s", {}).items():
        console.print(f"matmul       {name:>14}  {rate / 1e9:8.1f} GFLOP/s")
    if timed:
        console.print(_table(timed))
    for sentence in [*advice, *failed]:
        console.print(f"[yellow]note[/]         {escape(sentence)}", soft_wrap=True)
    raise typer.Exit(exit_codes.FAILED if failed else exit_codes.FINE)


def measure_ceilings(device: str) -> dict[str, dict[str, float]]:
    """Returns a device's best rates: copied bytes per second by size, flops by format."""
    outcome = launch_apart("ceilings", {"device": device}, device, CEILINGS_TIMEOUT_S)
    return outcome.answer("calibration")["ceilings"]


def time_kernels() -> tuple[dict[str, dict[str, float]], list[dict[str, Any]]]:
    """Returns the ceilings of the GPU, and the times of snnbench's kernels there."""
    event = launch_apart("kernels", {}, "cuda", KERNELS_TIMEOUT_S).answer("calibration")
    return event["ceilings"], event["kernels"]


def _table(timed: list[dict[str, Any]]) -> Table:
    figures = ("bytes", "cold", "of copies", "warm", "of copies", "per s")
    heads = ("kernel", "spelling", "format", "T × B × N")
    table = new_table(*heads, *figures, whole=("kernel", "format"), right=figures)
    for one in timed:
        took = one.get("cold_s") or one.get("warm_s")
        rate = f"{one['flops'] / took / 1e12:.1f} TFLOP" if one.get("flops") and took else ""
        cold, warm = (
            [units.seconds(one.get(f"{kind}_s")), units.share(one.get(f"{kind}_share"))]
            for kind in ("cold", "warm")
        )
        shape = " × ".join(map(str, one["shape"]))
        names = one["name"], one["spelling"], one["format"]
        table.add_row(*names, shape, units.size(one.get("bytes")), *cold, *warm, rate)
    return table
