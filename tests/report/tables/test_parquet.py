"""results.parquet: the frame of results.csv, with its types."""

import sys
from io import BytesIO

import pandas
import pyarrow.parquet
import pytest
from support.paths import committed

import snnbench as own
from snnbench.report.columns.metrics import METRICS
from snnbench.report.tables.frame import dtype_of

SET = committed("quickstart")


@pytest.fixture(scope="module")
def written(snnbench_module):
    ended = snnbench_module("report", SET, "--out", "out", "--write", "csv,parquet")
    assert ended.exit_code == 0, ended.stderr
    assert "results.parquet" in ended.stdout
    return ended.folder / "results.parquet"


def test_pandas_reads_the_frame_back_types_and_units_included(written):
    frame, read = own.load(SET).frame, pandas.read_parquet(written)
    pandas.testing.assert_frame_equal(
        read, frame, check_categorical=False
    )  # pandas forgets what no categories are
    assert read.attrs["units"] == frame.attrs["units"]
    assert {metric.name: dtype_of(metric) for metric in METRICS} == {
        name: str(dtype) for name, dtype in read.dtypes.items()
    }


def test_other_readers_find_the_types_too(written):
    schema = pyarrow.parquet.read_schema(written)
    of = {name: str(schema.field(name).type) for name in schema.names}
    assert [*of] == [metric.name for metric in METRICS]
    assert (of["step_s"], of["neurons"], of["ranked"], of["case_id"]) == (
        "double",
        "int64",
        "bool",
        "large_string",
    )
    assert of["framework"].startswith("dictionary<values=large_string") or of[
        "framework"
    ].startswith("dictionary<values=string")
    assert not any(kind == "null" for kind in of.values()), "an empty column has its type too"


@pytest.mark.parametrize("name", ["pandas", "pyarrow"])
def test_without_it_one_sentence_names_the_extra_and_nothing_is_written(
    snnbench, monkeypatch, name
):
    monkeypatch.setitem(sys.modules, name, None)
    ended = snnbench("report", SET, "--out", "out", "--write", "csv,parquet")
    assert ended.exit_code == 2
    assert ended.message == f"snnbench: Parquet files need {name}: pip install 'snnbench[parquet]'"
    assert not [*ended.folder.glob("results*")]


def test_with_what_is_printed_there_is_none(snnbench):
    ended = snnbench("report", SET, "--format", "csv", "--write", "parquet")
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert "so no parquet" in ended.message


def test_of_no_case_there_is_a_table_all_the_same():
    from snnbench.report.table import Table
    from snnbench.report.tables.frame import parquet_bytes

    empty = pandas.read_parquet(BytesIO(parquet_bytes(Table([]))))
    assert len(empty) == 0 and str(empty["step_s"].dtype) == "float64"
