"""`snnbench plan`: the cases, which are done, an estimate. Runs nothing."""

from typing import Any

import typer

from ..common import units
from ..core.case import sizes, unusual
from ..experiment.setting import parse_setting
from ..machine.cores import usable_cores
from ..machine.facts import busy_warning, machine_facts
from ..machine.monitor import load_average
from ..runner.done import Done, Remaining, reasons
from ..runner.planning import Where, load_plan
from . import exit_codes, options
from .console import new_table, output, print_json, say


def plan(
    config: options.Config,
    out: options.Out = None,
    settings: options.Settings = [],
    only: options.Only = "",
    adapter: options.Adapters = [],
    executor: options.ExecutorOption = Where.LOCAL,
    shard: options.ShardOption = "1/1",
    as_json: options.Json = False,
) -> None:
    """List the cases of an experiment, which of them are done, and an estimate of the time. Runs
    and writes nothing."""
    plan = load_plan(config, [*map(parse_setting, settings)], only, adapter, executor, shard)
    options.tell_neurons(plan.experiment.neuron_lines)
    options.tell_left_out(plan.left_out)
    options.tell_controls(plan.controls)
    measure, folder = plan.experiment.measure, plan.folder(out)
    folder.must_be_of(plan.experiment.name)
    done = Done(folder, measure, machine_facts())
    cases = [done.remaining(planned) for planned in plan.mine]
    seconds = sum(left.seconds for left in cases)
    refused = folder.read_records()[1]
    for sentence in refused:
        say(sentence)
    if as_json:
        entries = [_entry(left) for left in cases]
        print_json(
            {
                "name": plan.experiment.name,
                "out": str(folder),
                "estimate_s": seconds,
                "cases": entries,
            }
        )
        raise typer.Exit(exit_codes.with_refused(exit_codes.FINE, refused))
    axes = ("framework", "neuron", "workload", "sizes", "precision", "device")
    table = new_table(*axes, "state", whole=axes)
    for left in cases:
        case, reason = left.planned.case, left.planned.reason
        blocks = f", {units.counted(left.blocks, 'block')}" if left.blocks else ""
        state = left.state + (f": {reason}" if reason else blocks)
        size = f"{sizes(case)} {unusual(case)}".rstrip()
        workload = case.network or case.workload
        table.add_row(
            case.framework_variant,
            case.neuron_label or "",
            workload,
            size,
            case.precision,
            case.device,
            state,
        )
    console = output()
    console.print(table)
    for sentence in reasons(cases):
        console.print(sentence, soft_wrap=True, markup=False)
    blocks = units.counted(measure.planned_blocks, "block") + (
        f" to {measure.most_blocks}" if measure.may_have_further_blocks else ""
    )
    fewest = ", for the fewest" if measure.may_have_further_blocks else ""
    estimated = f"about {units.duration(seconds)} (an estimate{fewest})"
    console.print(f"{units.counted(len(cases), 'case')}, {blocks}, {estimated}, into {folder}")
    for sentence in busy_warning(load_average(), len(usable_cores())):
        say(f"{sentence}; the estimate is for a quiet one")
    raise typer.Exit(exit_codes.with_refused(exit_codes.FINE, refused))


def _entry(left: Remaining) -> dict[str, Any]:
    planned = left.planned
    state = {
        "state": left.state,
        "reason": planned.reason,
        "blocks_left": left.blocks,
        "again": list(left.again),
    }
    return {"case_id": planned.id, "case": planned.case.as_dict(), **state}
