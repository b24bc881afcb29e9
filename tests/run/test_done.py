"""Which records count as done, and what is left of a plan. That a run goes by it is shown in end_to_end/test_resume.py."""

from dataclasses import replace

import pytest
from support import synthetic

from snnbench.environments.inventory import Home
from snnbench.executors.local import LocalExecutor
from snnbench.experiment.adapter_info import AdapterInfo
from snnbench.experiment.config import Measure
from snnbench.records.store import ResultFolder
from snnbench.run.done import Done
from snnbench.run.planning import PlannedCase
from snnbench.status import RETRIED, STATUSES

FACTS = {"name": "default", "hash": "e", "devices": ["cpu"]}
PLANNED = PlannedCase(
    synthetic.record().typed_case,
    AdapterInfo("a:B", "torch", source_sha256="c" * 64),
    Home(FACTS, LocalExecutor()),
)
MEASURE = Measure(blocks=3)


@pytest.fixture
def folder(tmp_path) -> ResultFolder:
    return ResultFolder(tmp_path)


def done_in(folder, measure=MEASURE, machine="m1") -> Done:
    return Done(folder, measure, {"hash": machine})


def write(folder, *statuses):
    """Records of the first blocks, as the run that PLANNED and MEASURE describe would write them."""
    key = done_in(folder).key(PLANNED)
    for block, status in enumerate(statuses):
        folder.write_record(synthetic.record(status=status, block=block).model_copy(update={"done_key": key}))


@pytest.mark.parametrize("status", STATUSES)
def test_a_failure_is_tried_again_and_a_finding_is_not(folder, status):
    write(folder, status)
    results = [done_in(folder).result(PLANNED, block) for block in (0, 1)]
    assert [result is not None for result in results] == [status not in RETRIED, False]


@pytest.mark.parametrize(
    ("statuses", "state", "blocks"),
    [
        ([], "to do", 3),
        (["ok"], "to do", 2),
        (["ok", "ok", "ok"], "done", 0),
        (["ok", "crash", "ok"], "to do", 1),
        (["oom_host"], "done", 0),
        (["check_failed"], "done", 0),
        (["crash"], "to do", 3),
    ],
)
def test_what_is_left_of_a_case(folder, statuses, state, blocks):
    write(folder, *statuses)
    left = done_in(folder).left(PLANNED)
    assert (left.state, left.blocks, left.seconds > 0) == (state, blocks, blocks > 0)


def test_of_a_case_that_cannot_run_nothing_is_left(folder):
    left = done_in(folder).left(replace(PLANNED, status="unsupported", reason="because"))
    assert (left.state, left.blocks, left.seconds) == ("unsupported", 0, 0.0)


OTHERS = {
    "another way of measuring": (PLANNED, Measure(blocks=3, passes=9), "m1"),
    "another adapter file": (replace(PLANNED, adapter=replace(PLANNED.adapter, source_sha256="d" * 64)), MEASURE, "m1"),
    "other packages": (replace(PLANNED, home=Home({**FACTS, "hash": "f"}, LocalExecutor())), MEASURE, "m1"),
    "an image": (replace(PLANNED, home=Home({**FACTS, "image": {"digest": "i"}}, LocalExecutor())), MEASURE, "m1"),
    "another machine": (PLANNED, MEASURE, "m2"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_what_differs_is_measured_again(folder, what):
    write(folder, "ok", "ok", "ok")
    planned, measure, machine = OTHERS[what]
    assert done_in(folder, measure, machine).left(planned).blocks == 3
    assert done_in(folder, Measure(blocks=4, most_blocks=9)).left(PLANNED).blocks == 1, "more blocks measure only the new ones"
