"""results.csv keeps its columns, their order and their units, which users' scripts read."""

import csv
import io

import pytest
from support.paths import GOLDEN
from support.synthetic import record, table_of

from snnbench.records.record import Record
from snnbench.records.rows import rows_of
from snnbench.report.columns.metrics import METRICS
from snnbench.report.table import Table, csv_text


def text() -> str:
    """Returns the table of a proved and a native row."""
    paths = (GOLDEN / "record-2.json", GOLDEN / "record-native-2.json")
    return csv_text(
        Table(rows_of([Record.model_validate_json(path.read_bytes()) for path in paths]))
    )


def test_the_golden_records_give_the_golden_table():
    """`PYTHONPATH=tests python tests/report/test_csv.py` writes the file after a wanted
    change."""
    assert text() == (GOLDEN / "results-2.csv").read_text()


def test_of_a_native_neuron_nothing_is_said_that_only_an_oracle_knows():
    native, proved = csv.DictReader(io.StringIO(text()))
    assert (native["neuron"], proved["neuron"]) == ("native", "soft")
    for column in (
        "rank_low",
        "rank_high",
        "ratio",
        "proved",
        "grad_error",
        "wrong_decisions",
        "spike_mismatch",
        "neuron_decay",
    ):
        assert native[column] == "" and proved[column] != "", column
    for column in ("native", "input_scale"):
        assert native[column] != "" and proved[column] == "", column
    assert float(native["firing_rate"]) > 0
    names = [metric.name for metric in METRICS]
    assert list(native) == names and len(set(names)) == len(names)


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1+1", " =1", "＝1", "=cmd|' /C calc'!A0"]


@pytest.mark.parametrize("formula", FORMULAS)
def test_no_text_is_a_formula_and_numbers_stay_numbers(formula):
    one = record("torch", "error", formula)
    one.warnings.append(formula)
    one.facts.update(spike_mismatch=-0.5, backend="a=b")
    (row,) = csv.DictReader(io.StringIO(csv_text(table_of([one]))))
    assert row["reason"] == row["warnings"] == f"'{formula}"
    assert (row["spike_mismatch"], row["backend"]) == ("-0.5", "a=b")


if __name__ == "__main__":
    (GOLDEN / "results-2.csv").write_text(text())
