"""The experiment of `snnbench quick`: one network, few blocks, and whoever is shown to be slow leaves."""

import re
from collections.abc import Sequence
from typing import Any

from ..experiment.measure import Measure
from ..experiment.setting import Setting
from ..records.contrasts import blocks_to_decide
from ..records.ranking import contrasts_with_the_best
from ..records.record import Record
from .planning import Plan, load_plan

LEAVE_BEYOND = 2.0
MEASURE = {
    "passes": 5,
    "slot": "60ms",
    "budget": "4s",
    "timeout": "2m",
    "phases": ["step"],
    "leave_beyond": LEAVE_BEYOND,
}


def quick_plan(settings: Sequence[Setting], given: list[str], blocks: int) -> Plan:
    """The plan for a network that `settings` name. Raises ConfigError."""
    values: dict[str, Any] = {
        "name": "quick",
        "measure": {**MEASURE, "blocks": blocks, "most_blocks": blocks},
    }
    plan = load_plan(values, settings, "", given)
    case = plan.cases[0].case
    sizes = f"N{case.neurons}-T{case.time_steps}-B{case.batch}-L{case.layers}"
    name = re.sub(
        r"[^A-Za-z0-9_.-]+",
        "-",
        f"quick-{case.neuron_label}-{sizes}-{case.precision}-{case.device}",
    )[:100]
    plan.experiment = plan.experiment.model_copy(update={"name": name})
    return plan


def blocks_for_certainty(records: Sequence[Record], blocks: int) -> int:
    """How many blocks would tell 5 % between the fastest and the others, more than there are; 0 if nothing is open."""
    wanted = blocks_to_decide(
        contrasts_with_the_best(record for record in records if not record.beyond),
        Measure().most_blocks,
    )
    return max(wanted, blocks + 1) if wanted else 0
