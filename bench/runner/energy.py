"""What a step costs in joules: a burst of steps between two readings of the device's counter."""

from collections.abc import Callable
from typing import Any

from ..machine.energy import EnergyMeter

BURST_S = 1.0
"""Counters are renewed up to every tenth of a second."""


def energy_of_step(
    meter: EnergyMeter, order: Callable[..., dict[str, Any] | None], seconds: float
) -> dict[str, Any]:
    """For the record of a phase: joules of a step that takes about so many `seconds`, and whose they are; empty where they
    cannot be told. `order` gives a worker an order about the step."""
    count, before = max(1, round(BURST_S / max(seconds, 1e-6))), meter.joules()
    told = order(burst=count)
    used = meter.between(before)
    return (
        {}
        if told is None or used is None
        else {"energy_j": used / count, "energy_of": meter.source}
    )
