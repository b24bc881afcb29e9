"""Runs a plan into a result folder and writes the report."""

from collections.abc import Callable

from snnbench.adapters.base.case import full_name

from ..files import write_atomically
from ..machine.facts import machine_facts
from ..records.store import ResultFolder
from ..report.files import Results, results_of, write_report
from .planning import Plan
from .runner import Finished, Runner


def execute(plan: Plan, folder: ResultFolder, fresh: bool, show: Callable[[Finished], None]) -> tuple[Results, bool]:
    """Run the cases of the plan's shard into `folder`, which must exist, and write the report.

    `show` is called for every finished case. With `fresh`, cases that are done are measured again. Returns everything that the
    folder holds then, and whether the run was interrupted. Raises ConfigError if another run is writing there.
    """
    experiment = plan.experiment
    with folder.locked():
        write_atomically(folder.experiment, experiment.model_dump_json(indent=1) + "\n")
        folder.write_planned({planned.id: full_name(planned.case) for planned in plan.cases}, of_more=plan.selected)
        for home in {planned.home.hash: planned.home for planned in plan.cases}.values():
            folder.write_environment(home.facts)
        mine = {planned.case for planned in plan.mine}
        machine = machine_facts()
        runner = Runner(folder, plan.cases, mine, experiment.measure, experiment.seed, machine, plan.executor, fresh)
        interrupted = False
        try:
            for finished in runner.run():
                show(finished)
        except KeyboardInterrupt:
            interrupted = True
        results = results_of([folder])
        write_report(folder.path, experiment.name, results)
    return results, interrupted
