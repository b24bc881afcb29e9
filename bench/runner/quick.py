"""What `quick` adds to a run: the axes of its network, the rows of the requested cases, and the
frameworks that a budget left out."""

from collections.abc import Sequence
from typing import Any

from ..machine.cores import usable_cores
from ..machine.monitor import load_average
from ..records.rows import Row, rows_of
from ..records.store import ResultFolder
from ..workloads.layers import linear_lif
from ..workloads.perceptrons import mlp
from .budget import Budget
from .planning import Plan

BLOCKS = 2
"""Usual number of blocks: fewer show nothing."""
REPORT_S = 5.0
"""Seconds that a report takes on a quiet machine."""


def budget_of(within: float | None) -> Budget:
    """Returns the budget of a run of at most `within` seconds, None for no limit.

    It leaves time for the report: on a busy machine that takes as many times longer as programs
    wait for a core, at most a fifth.
    """
    if within is None:
        return Budget()
    crowd = load_average() / len(usable_cores())
    report = max(REPORT_S, min(within / 5, REPORT_S * crowd))
    return Budget(within - report, crowd=crowd)


def network_axes(
    workload: str | None, layers: int | None, widths: dict[str, int | None]
) -> dict[str, Any]:
    """Returns the axes of a network; with `widths`, `inputs` or `outputs`, it is an `mlp` of three
    layers."""
    named = {name: width for name, width in widths.items() if width is not None}
    workload = workload or (mlp.name if named else linear_lif.name)
    return {"workload": workload, "layers": layers or (3 if workload == mlp.name else 1), **named}


def requested_rows(plan: Plan, folder: ResultFolder) -> list[Row]:
    """Returns the rows of the planned cases; the folder may hold others, which are not ranked with
    them."""
    return rows_of([record for record in folder.read_records()[0] if plan.holds(record)])


def without_record(plan: Plan, rows: Sequence[Row]) -> list[str]:
    """Returns the frameworks without a record: a budget, or an interruption, left them out."""
    recorded = {row.first.case_id for row in rows}
    return [each.case.framework_variant for each in plan.mine if each.id not in recorded]
