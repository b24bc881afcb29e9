"""`snnbench doctor`: is this a machine to measure on?"""

import json
from typing import Annotated

import typer

from ..machine.facts import machine_label
from ..run.doctor import examine
from .console import output
from .options import Json


def doctor(
    calibrate: Annotated[bool, typer.Option("--calibrate", help="Measure what the device can do at best (seconds).")] = False,
    as_json: Json = False,
) -> None:
    """Show the machine, its devices, its load, and with --calibrate the measured ceilings."""
    facts = examine(calibrate)
    if as_json:
        print(json.dumps(facts, indent=1))
        return
    console = output()
    here, now, environment = facts["machine"], facts["load"], facts["environment"]
    console.print(f"machine      {machine_label(here)}, {here['system']}, hash {here['hash']}")
    devices = ", ".join(environment["devices"])
    console.print(f"environment  {environment['python']}, hash {environment['hash']}, devices {devices}")
    for name, state in facts["environments"].items():
        console.print(f"             {name}: {state}")
    console.print(f"load         {now['load_average'][0]:.2f} in the last minute")
    for rates in facts.get("ceilings", {}).values():
        for size, rate in rates["copy_bytes_per_s"].items():
            console.print(f"copy         {int(size) / 2**20:10.3f} MiB  {rate / 1e9:8.1f} GB/s")
        for name, rate in rates["matmul_flops_per_s"].items():
            console.print(f"matmul       {name:>14}  {rate / 1e9:8.1f} GFLOP/s")
    for sentence in facts["advice"]:
        console.print(f"[yellow]note[/]         {sentence}")
