"""Runs a plan into a result folder and writes the report."""

from collections.abc import Callable

from snnbench.adapters.base.case import full_name

from ..files import write_atomically
from ..records.store import ResultFolder
from ..report.files import Results, results_of, write_report
from .planning import Plan
from .runner import Finished, Runner


def execute(plan: Plan, folder: ResultFolder, fresh: bool, show: Callable[[Finished], None]) -> tuple[Results, bool]:
    """Run the cases of the plan's shard into `folder`, which must exist, and write the report.

    `show` is called for every finished case. With `fresh`, cases that are done are measured again. Returns everything that the
    folder holds then, and whether the run was interrupted. Raises ConfigError if another run is writing there.
    """
    with folder.locked():
        write_atomically(folder.experiment, plan.experiment.model_dump_json(indent=1) + "\n")
        folder.write_planned({planned.id: full_name(planned.case) for planned in plan.cases}, of_more=plan.selected)
        for home in {planned.home.hash: planned.home for planned in plan.cases}.values():
            folder.write_environment(home.facts)
        interrupted = False
        try:
            for finished in Runner(plan, folder, fresh).run():
                show(finished)
        except KeyboardInterrupt:
            interrupted = True
        results = results_of([folder])
        write_report(folder.path, plan.experiment.name, results)
    return results, interrupted
