"""Records become rows, and rows become ranking groups."""

import json

from support.paths import GOLDEN
from support.synthetic import blocks
from support.synthetic import record as record_of

from snnbench.core.case import Case
from snnbench.records.record import Record
from snnbench.records.rows import rows_of
from snnbench.report.coverage import Conditions
from snnbench.report.words import remarks_on


def record(framework: str, loosened: list[str]) -> Record:
    values = json.loads((GOLDEN / "record-2.json").read_text())
    values["case"]["framework"] = framework
    values["case_id"] = Case.from_dict(values["case"]).id
    values["proof"]["loosened"] = loosened
    return Record.model_validate(values)


def test_what_is_proved_by_looser_rules_is_ranked_apart_and_says_so():
    rows = rows_of([record("a", []), record("b", []), record("c", ["fixed point"])])
    assert {row.case.framework: row.standing.place for row in rows}["c"] == 1
    assert sorted(row.standing.place for row in rows if row.case.framework != "c") == [1, 2]
    conditions = Conditions(rows)
    assert [("fixed point" in conditions.full(row)) for row in rows] == [
        row.case.framework == "c" for row in rows
    ]


def test_a_later_run_that_was_only_to_weigh_takes_no_times_away():
    timed, measure = blocks("torch"), {"timed": False, "phases": ["step"]}
    later = {"done_key": "other", "started_at": "2027-01-01T00:00:00+00:00", "parts": {}}
    weighed = [
        each.model_copy(update={**later, "measure": {**each.measure, **measure}})
        for each in timed
        if not each.block
    ]
    assert [row.records for row in rows_of([*weighed, *timed])] == [
        row.records for row in rows_of(timed)
    ]
    remeasured = [each.model_copy(update=later) for each in timed]
    assert all(row.first.done_key == "other" for row in rows_of([*remeasured, *timed]))


def test_a_case_whose_later_block_was_interrupted_is_ranked_by_the_blocks_that_are_complete():
    stopped = [
        record_of(name, "interrupted", "the run was interrupted", block=2)
        for name in ("torch", "jax")
    ]
    left = blocks("norse", count=1, step=0.02)
    rows = rows_of(
        [*blocks("torch", count=2), *blocks("jax", count=2, step=0.009), *left, *stopped]
    )
    ranked = [
        (row.case.framework, row.status, row.standing.place, len(row.records)) for row in rows
    ]
    assert ranked == [("torch", "ok", 1, 2), ("jax", "ok", 2, 2), ("norse", "ok", 3, 1)]
    assert ["interrupted" in row.quality for row in rows] == [True, True, False]
    assert ["interrupted" in remarks_on(row) for row in rows] == [True, True, False]


def test_a_case_whose_first_block_was_interrupted_is_interrupted():
    second = blocks("torch", count=2)[1]
    (row,) = rows_of([record_of("torch", "interrupted", "the run was interrupted"), second])
    assert (row.status, row.standing, row.reason) == (
        "interrupted",
        None,
        "the run was interrupted",
    )
