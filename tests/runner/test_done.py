"""Which records count as done, and what is left of a plan. That a run goes by it is shown in
end_to_end/test_resume.py."""

import json
from dataclasses import replace

import pytest
from support import synthetic

from snnbench.core.status import RETRIED, STATUSES
from snnbench.environments.inventory import WorkerEnvironment
from snnbench.executors.local import LocalExecutor
from snnbench.experiment.adapter_info import AdapterInfo
from snnbench.experiment.measure import Measure
from snnbench.records.store import ResultFolder
from snnbench.runner.done import Done, reasons
from snnbench.runner.planning import PlannedCase

FACTS = {"name": "default", "hash": "e", "python": "CPython 3.11.7", "devices": ["cpu"]}
PLANNED = PlannedCase(
    synthetic.record().typed_case,
    AdapterInfo(
        "a:B",
        "torch",
        version="2.13.0",
        source_sha256="c" * 64,
        closure={"numpy": "2.1", "torch": "2.13.0"},
    ),
    WorkerEnvironment(FACTS, LocalExecutor()),
)
MEASURE = Measure(blocks=3)


@pytest.fixture
def folder(tmp_path) -> ResultFolder:
    return ResultFolder(tmp_path)


def done_in(folder, measure=MEASURE, machine="m1") -> Done:
    return Done(folder, measure, {"hash": machine})


def remaining_in(done, *planned):
    """The only one of planned cases, or all."""
    remaining = done.remaining(planned)
    return remaining[0] if len(planned) == 1 else remaining


def write(folder, *statuses, planned=PLANNED, live_set=None):
    """Records of the first blocks, as the run that `planned` and MEASURE describe would write
    them."""
    key = done_in(folder).key(planned)
    for block, status in enumerate(statuses):
        made_of = {
            "adapter": planned.adapter.recorded,
            "environment": FACTS,
            "measure": MEASURE.model_dump(),
            "case": planned.case.as_dict(),
            "case_id": planned.id,
            "live_set": live_set,
        }
        folder.write_record(
            synthetic.record(status=status, block=block).model_copy(
                update={"done_key": key, **made_of}
            )
        )


@pytest.mark.parametrize(
    ("known", "words"),
    [(None, "its record does not say which recordings it read"), ("a", "other recordings")],
)
def test_a_record_of_other_recordings_does_not_count(folder, known, words):
    write(folder, "ok")
    ((record,), _), planned = folder.read_records(), replace(PLANNED, recordings="b")
    made_of = {"recordings": known, "done_key": "0" * 12}
    folder.record_path(record.case_id, 0, record.done_key).unlink()
    folder = ResultFolder(folder.path)
    folder.write_record(record.model_copy(update=made_of))
    assert done_in(folder).result(planned, 0) is None
    assert remaining_in(done_in(folder), planned).again == (words,)


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
    remaining = remaining_in(done_in(folder), PLANNED)
    assert (remaining.state, remaining.blocks, remaining.seconds > 0) == (state, blocks, blocks > 0)


def test_of_a_case_that_cannot_run_nothing_is_left(folder):
    remaining = remaining_in(
        done_in(folder), replace(PLANNED, status="unsupported", reason="because")
    )
    assert (remaining.state, remaining.blocks, remaining.seconds) == ("unsupported", 0, 0.0)


OTHERS = {
    "another way of measuring": (PLANNED, Measure(blocks=3, passes=9), "m1"),
    "another adapter file": (
        replace(PLANNED, adapter=replace(PLANNED.adapter, source_sha256="d" * 64)),
        MEASURE,
        "m1",
    ),
    "other packages below it": (
        replace(PLANNED, adapter=replace(PLANNED.adapter, closure={"torch": "2.14.0"})),
        MEASURE,
        "m1",
    ),
    "another version": (
        replace(PLANNED, adapter=replace(PLANNED.adapter, version="2.14.0")),
        MEASURE,
        "m1",
    ),
    "another Python": (
        replace(
            PLANNED,
            environment=WorkerEnvironment({**FACTS, "python": "CPython 3.12.1"}, LocalExecutor()),
        ),
        MEASURE,
        "m1",
    ),
    "an image": (
        replace(
            PLANNED,
            environment=WorkerEnvironment({**FACTS, "image": {"digest": "i"}}, LocalExecutor()),
        ),
        MEASURE,
        "m1",
    ),
    "another machine": (PLANNED, MEASURE, "m2"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_what_differs_is_measured_again(folder, what):
    write(folder, "ok", "ok", "ok")
    planned, measure, machine = OTHERS[what]
    assert remaining_in(done_in(folder, measure, machine), planned).blocks == 3
    assert remaining_in(done_in(folder, Measure(blocks=4, most_blocks=9)), PLANNED).blocks == 1, (
        "more blocks measure only the new ones"
    )


def test_a_package_that_the_framework_does_not_rest_on_changes_nothing(folder):
    write(folder, "ok", "ok", "ok")
    more = replace(
        PLANNED,
        environment=WorkerEnvironment(
            {**FACTS, "hash": "f", "packages": {"unrelated": "1.0"}}, LocalExecutor()
        ),
    )
    assert remaining_in(done_in(folder), more).state == "done"


WHY = {
    "another way of measuring": ("passes 10 → 9",),
    "another adapter file": ("its file, or what that imports, has changed",),
    "other packages below it": ("numpy 2.1 → none, torch 2.13.0 → 2.14.0",),
    "another version": ("torch 2.13.0 → 2.14.0",),
    "another Python": ("CPython 3.11.7 → CPython 3.12.1",),
    "an image": ("another container image",),
    "another machine": ("another machine",),
}


@pytest.mark.parametrize("what", OTHERS)
def test_it_is_said_why_something_is_measured_again(folder, what):
    write(folder, "ok", "ok", "ok")
    planned, measure, machine = OTHERS[what]
    remaining = remaining_in(done_in(folder, measure, machine), planned)
    assert remaining.again == WHY[what]
    assert reasons([remaining, remaining]) == [f"measured again: {WHY[what][0]} (2 cases)"]


def test_a_failure_says_how_it_ended_and_what_is_new_or_done_says_nothing(folder):
    assert remaining_in(done_in(folder), PLANNED).again == ()
    write(folder, "ok", "crash", "ok")
    assert remaining_in(done_in(folder), PLANNED).again == ("it ended with crash",)
    write(folder, "ok", "ok", "ok")
    assert remaining_in(done_in(folder), PLANNED).again == ()
    assert remaining_in(done_in(folder, Measure(blocks=4, most_blocks=9)), PLANNED).again == (), (
        "more blocks are nothing again"
    )


def test_a_record_of_before_there_were_closures_says_that(folder):
    write(folder, "ok")
    (path,) = folder.records.iterdir()
    old = json.loads(path.read_text())
    del old["adapter"]["closure"]
    path.write_text(json.dumps({**old, "done_key": "0" * 12}))
    path.rename(path.with_name(path.name.replace(old["done_key"], "0" * 12)))
    remaining = remaining_in(done_in(ResultFolder(folder.path)), PLANNED)
    assert remaining.again == ("its record does not say on which packages it rests",)


BESIDE = replace(PLANNED, case=replace(PLANNED.case, construction="vanilla"))
ELSEWHERE = replace(PLANNED, case=replace(PLANNED.case, neurons=(PLANNED.case.neurons or 0) + 1))
ALL = PLANNED, BESIDE, ELSEWHERE


@pytest.mark.parametrize(
    ("missing", "works"),
    [("ok", [0, 0, 0]), ("crash", [1, 1, 0]), ("check_failed", [0, 0, 0])],
)
def test_a_finished_case_is_timed_again_beside_one_of_its_group(folder, missing, works):
    """Cases of other groups stay done, and a failure that is a finding is not timed."""
    write(folder, "ok", "ok", "ok", live_set="a" * 12)
    write(folder, "ok", "ok", missing, planned=BESIDE, live_set="a" * 12)
    write(folder, "ok", "ok", "ok", planned=ELSEWHERE, live_set="a" * 12)
    remaining = remaining_in(done_in(folder), *ALL)
    assert [each.blocks for each in remaining] == works
    assert [each.state for each in remaining] == ["to do" if blocks else "done" for blocks in works]
    if works[0]:
        assert [each.again for each in remaining] == [
            ("it is timed together with cases that have no record",),
            ("it ended with crash",),
            (),
        ]


def test_beside_a_case_that_cannot_run_nothing_is_timed_again(folder):
    write(folder, "ok", "ok", "ok", live_set="a" * 12)
    unable = replace(BESIDE, status="unsupported", reason="because")
    assert [each.blocks for each in remaining_in(done_in(folder), PLANNED, unable)] == [0, 0]


def test_a_group_that_was_timed_apart_is_timed_again(folder):
    write(folder, "ok", "ok", "ok", live_set="a" * 12)
    write(folder, "ok", "ok", "ok", planned=BESIDE, live_set="b" * 12)
    for each in remaining_in(done_in(folder), PLANNED, BESIDE):
        assert (each.blocks, each.again) == (3, ("the cases of its group were not timed together",))
