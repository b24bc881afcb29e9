"""`snnbench doctor`: is this a machine to measure on?"""

from typing import Annotated

import typer

from ..cores import usable_cores
from ..environments.environment import known
from ..environments.inventory import default_home, measured_ceilings
from ..machine.best_rates import best_rates
from ..machine.facts import current_load, machine_facts, machine_label, measuring_advice
from .console import output, print_json
from .options import Json


def doctor(
    calibrate: Annotated[bool, typer.Option("--calibrate", help="Measure what the device can do at best (seconds).")] = False,
    as_json: Json = False,
) -> None:
    """Show the machine, its devices, its load, and with --calibrate the measured ceilings, the best of which are kept; those
    called cold are of memory that a GPU's cache does not hold."""
    home, machine, now = default_home(), machine_facts(), current_load()
    environments = {own.name: own.state()[0] for own in known().values()}
    device = "cuda" if "cuda" in home.devices else "cpu"
    ceilings = {device: measured_ceilings(device)} if calibrate else {}
    for each, rates in ceilings.items():
        best_rates(machine["hash"], each, len(usable_cores()), rates, keep=True)
    advice = measuring_advice(machine, now)
    if as_json:
        facts = {"machine": machine, "load": now, "environment": home.facts, "environments": environments}
        print_json({**facts, **({"ceilings": ceilings} if calibrate else {}), "advice": advice})
        return
    console = output()
    console.print(f"machine      {machine_label(machine)}, {machine['system']}, hash {machine['hash']}")
    console.print(f"environment  {home.facts['python']}, hash {home.hash}, devices {', '.join(home.devices)}")
    for name, state in environments.items():
        console.print(f"             {name}: {state}")
    console.print(f"load         {now['load_average'][0]:.2f} in the last minute")
    for rates in ceilings.values():
        for kind, word in (("copy_bytes_per_s", "copy"), ("cold_copy_bytes_per_s", "copy, cold")):
            for size, rate in rates.get(kind, {}).items():
                console.print(f"{word:12} {int(size) / 2**20:10.3f} MiB  {rate / 1e9:8.1f} GB/s")
        for name, rate in rates["matmul_flops_per_s"].items():
            console.print(f"matmul       {name:>14}  {rate / 1e9:8.1f} GFLOP/s")
    for sentence in advice:
        console.print(f"[yellow]note[/]         {sentence}")
