"""`snnbench plan`: the cases, which are done, an estimate. Runs nothing."""

import json
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from snnbench.adapters.base.case import sizes

from .. import units
from ..machine.facts import machine_facts
from ..run.done import Done, Left
from ..run.planning import load_plan
from .console import output
from .options import Adapters, Config, Execute, Json, Only, Out, Part, Settings, Where, tell_left_out


def plan(
    config: Config,
    out: Out = None,
    settings: Settings = [],
    only: Only = "",
    adapter: Adapters = [],
    executor: Execute = Where.LOCAL,
    shard: Part = "1/1",
    as_json: Json = False,
) -> None:
    """List the cases of an experiment, which of them are done, and an estimate of the time. Runs and writes nothing."""
    plan = load_plan(config, settings, only, adapter, executor, shard)
    tell_left_out(plan.left_out)
    measure, folder = plan.experiment.measure, plan.folder(out)
    done = Done(folder, measure, machine_facts())
    cases = [done.left(planned) for planned in plan.mine]
    seconds = sum(left.seconds for left in cases)
    if as_json:
        entries = [_entry(left) for left in cases]
        print(json.dumps({"name": plan.experiment.name, "out": str(folder), "estimate_s": seconds, "cases": entries}, indent=1))
        return
    table = Table(box=SIMPLE_HEAD)
    for name in ("framework", "neuron", "workload", "sizes", "precision", "device", "state"):
        table.add_column(name, no_wrap=name != "state")
    for left in cases:
        case, reason = left.planned.case, left.planned.reason
        rounds = f", {left.rounds} rounds" if left.rounds else ""
        state = left.state + (f": {reason}" if reason else rounds)
        about = (case.framework_variant, case.neuron.label(), case.workload, sizes(case), case.precision, case.device)
        table.add_row(*about, state)
    console = output()
    console.print(table)
    console.print(f"{len(cases)} cases, {measure.rounds} rounds, about {units.duration(seconds)} (an estimate), into {folder}")


def _entry(left: Left) -> dict[str, Any]:
    planned = left.planned
    case = {"case_id": planned.id, "case": planned.case.as_dict()}
    return {**case, "state": left.state, "reason": planned.reason, "rounds_left": left.rounds}
