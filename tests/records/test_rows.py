"""Who is ranked with whom."""

import json

from support.paths import GOLDEN

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
