"""Which records make a row, and who is ranked with whom."""

import json

from support.paths import GOLDEN
from support.synthetic import blocks

from snnbench.adapters.base.case import Case
from snnbench.records.record import Record
from snnbench.records.rows import rows_of
from snnbench.report.coverage import Conditions


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
    assert [("fixed point" in conditions.full(row)) for row in rows] == [row.case.framework == "c" for row in rows]


def test_a_later_run_that_was_only_to_weigh_takes_no_times_away():
    timed, measure = blocks("torch"), {"timed": False, "phases": ["step"]}
    later = {"done_key": "other", "started_at": "2027-01-01T00:00:00+00:00", "parts": {}}
    weighed = [one.model_copy(update={**later, "measure": {**one.measure, **measure}}) for one in timed if not one.block]
    assert [row.records for row in rows_of([*weighed, *timed])] == [row.records for row in rows_of(timed)]
    remeasured = [one.model_copy(update=later) for one in timed]
    assert all(row.first.done_key == "other" for row in rows_of([*remeasured, *timed]))
