"""`snnbench plan`: the cases, which are done, an estimate. Runs nothing."""

import json

from rich.box import SIMPLE_HEAD
from rich.table import Table

from snnbench.adapters.base.case import sizes

from .. import units
from ..experiment.order import estimate_seconds
from ..experiment.shard import parse_shard
from ..machine.facts import machine_facts
from ..run.planning import load_plan
from ..run.runner import Runner
from ..status import RETRIED
from .console import output
from .options import Adapters, Config, Execute, Json, Only, Out, Part, Settings, Where, default_folder, tell_left_out


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
    part = parse_shard(shard)
    plan = load_plan(config, settings, only, adapter, executor)
    tell_left_out(plan.left_out)
    experiment, planned = plan.experiment, plan.cases
    folder = out or default_folder(experiment, part)
    planned = part.of(planned)
    measure = experiment.measure
    runner = Runner(folder, planned, measure, experiment.seed, machine_facts())
    entries, seconds = [], 0.0
    for item in planned:
        records = [runner.finished(item, round) for round in range(measure.rounds)]
        done = sum(record is not None and record.status not in RETRIED for record in records)
        over = item.status or (records[0] is not None and records[0].status not in ("ok", *RETRIED))
        left = 0 if over else measure.rounds - done
        seconds += estimate_seconds(item.case, left, measure.budget * measure.timed) if left else 0.0
        state = item.status or ("done" if over or not left else "to do")
        known = {"case_id": item.id, "case": item.case.as_dict(), "state": state, "reason": item.reason}
        entries.append({**known, "rounds_left": left})
    if as_json:
        print(json.dumps({"name": experiment.name, "out": str(folder), "estimate_s": seconds, "cases": entries}, indent=1))
        return
    table = Table(box=SIMPLE_HEAD)
    for name in ("framework", "neuron", "workload", "sizes", "precision", "device", "state"):
        table.add_column(name, no_wrap=name != "state")
    for item, entry in zip(planned, entries, strict=True):
        case = item.case
        left = f", {entry['rounds_left']} rounds" if entry["rounds_left"] else ""
        state = entry["state"] + (f": {item.reason}" if item.reason else left)
        about = (case.framework_variant, case.neuron.label(), case.workload, sizes(case), case.precision, case.device)
        table.add_row(*about, state)
    console = output()
    console.print(table)
    console.print(f"{len(planned)} cases, {measure.rounds} rounds, about {units.duration(seconds)} (an estimate), into {folder}")
