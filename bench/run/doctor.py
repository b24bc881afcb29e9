"""`snnbench doctor`: facts about this machine that matter before measuring on it."""

from typing import Any

from ..environments.environment import known
from ..environments.inventory import default_home, measured_ceilings
from ..machine.facts import current_load, machine_facts, measuring_advice


def examine(calibrate: bool) -> dict[str, Any]:
    """The machine, its load, the environments and advice, ready for JSON.

    `calibrate` adds the measured ceilings of the device: bytes copied and flops per second. That takes seconds.
    """
    home = default_home()
    machine, now = machine_facts(), current_load()
    facts = {"machine": machine, "load": now, "environment": home.facts}
    facts["environments"] = {own.name: own.state()[0] for own in known().values()}
    if calibrate:
        device = "cuda" if "cuda" in home.devices else "cpu"
        facts["ceilings"] = {device: measured_ceilings(device)}
    return {**facts, "advice": measuring_advice(machine, now)}
