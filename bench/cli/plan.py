"""`snnbench plan`: the cases, which are done, an estimate. Runs nothing."""

from typing import Any

from snnbench.adapters.base.case import sizes

from .. import units
from ..machine.facts import machine_facts
from ..run.done import Done, Left
from ..run.planning import load_plan
from .console import new_table, output, print_json
from .options import Adapters, Config, ExecutorOption, Json, Only, Out, Settings, ShardOption, Where, tell_left_out


def plan(
    config: Config,
    out: Out = None,
    settings: Settings = [],
    only: Only = "",
    adapter: Adapters = [],
    executor: ExecutorOption = Where.LOCAL,
    shard: ShardOption = "1/1",
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
        print_json({"name": plan.experiment.name, "out": str(folder), "estimate_s": seconds, "cases": entries})
        return
    axes = ("framework", "neuron", "workload", "sizes", "precision", "device")
    table = new_table(*axes, "state", whole=axes)
    for left in cases:
        case, reason = left.planned.case, left.planned.reason
        rounds = f", {left.rounds} rounds" if left.rounds else ""
        state = left.state + (f": {reason}" if reason else rounds)
        table.add_row(case.framework_variant, case.neuron.label(), case.workload, sizes(case), case.precision, case.device, state)
    console = output()
    console.print(table)
    console.print(f"{len(cases)} cases, {measure.rounds} rounds, about {units.duration(seconds)} (an estimate), into {folder}")


def _entry(left: Left) -> dict[str, Any]:
    planned = left.planned
    state = {"state": left.state, "reason": planned.reason, "rounds_left": left.rounds}
    return {"case_id": planned.id, "case": planned.case.as_dict(), **state}
