"""What a step spends where, once nothing is timed any more."""

from dataclasses import asdict
from typing import Any

from ..core.contract import Program
from .phases import Phases


def taken_apart(program: Program, phases: Phases, step_peak_bytes: int) -> dict[str, Any]:
    """The program's breakdown of a step, for an event. Libraries allocate by themselves, which no framework sees, and not all
    that is allocated is touched: workspace is what the weighed peak of a step, `step_peak_bytes`, has beyond the other kinds."""
    phases.forget()
    program.holds_borders = False  # as it is weighed
    told = program.breakdown(phases.inputs[0], phases.given_upstream)
    if told.bytes and step_peak_bytes:
        others = sum(size for kind, size in told.bytes.items() if kind != "workspace")
        told.bytes["workspace"] = max(step_peak_bytes - others, 0)
    return asdict(told)
