"""`import snnbench`: results as objects and DataFrames."""

import subprocess
import sys
from csv import DictReader
from io import StringIO

import pandas
import pytest
from support.paths import SETS, committed
from support.slow import representatives

import snnbench
from snnbench.report.columns.metrics import METRICS
from snnbench.report.files import read_results
from snnbench.report.table import csv_text
from snnbench.report.tables.frame import TYPED, dtype_of


@pytest.fixture(scope="module")
def quickstart():
    return snnbench.load(committed("quickstart"))


@pytest.mark.parametrize("name", representatives(SETS, range(1, len(SETS), 4)))
def test_a_frame_has_what_results_csv_has(name):
    frame = snnbench.load(committed(name)).frame
    lines = [*DictReader(StringIO(csv_text(read_results([committed(name)]).table)))]
    assert [*frame.columns] == [*lines[0]] and len(frame) == len(lines)
    for column in frame.columns:
        written = [line[column] for line in lines]
        assert [not cell for cell in written] == [
            *(frame[column].isna() | (frame[column].astype("object") == ""))
        ]
    assert [float(line["step_s"] or "nan") for line in lines] == pytest.approx(
        [*frame["step_s"]], nan_ok=True
    )
    assert [line["proved"] for line in lines] == [
        "" if value is pandas.NA else str(value).lower() for value in frame["proved"]
    ]


def test_every_column_has_its_declared_type_even_if_it_is_empty(quickstart):
    frame = quickstart.frame
    assert {metric.name: dtype_of(metric) for metric in METRICS} == {
        name: str(dtype) for name, dtype in frame.dtypes.items()
    }
    assert {*TYPED} <= {*frame.columns}, "names a column that there is not"
    assert frame.attrs["units"]["step_s"] == "s" and frame.attrs["snnbench"] == snnbench.__version__
    assert (
        frame.attrs["unreadable"] == frame.attrs["missing"] == []
        and len(frame.attrs["machines"]) == 1
    )


def test_the_fastest_of_every_group_are_found(quickstart):
    fastest = quickstart.fastest()
    assert set(fastest["neuron"]) >= {"soft", "hard"} and (fastest["ratio"].fillna(1.0) < 1.2).all()
    assert len(quickstart) == len([*quickstart]) == len(quickstart.frame) > len(fastest)


def test_a_notebook_shows_the_ranking_tables(quickstart):
    page = quickstart._repr_html_()
    assert repr(quickstart) == f"<snnbench.Results: {len(quickstart)} cases of quickstart>"
    assert page.count("<table>") >= 2 and "fused" in page and "<script" not in page


def test_what_cannot_be_read_is_told_and_the_rest_is_there(tmp_path, quickstart_folder):
    records = tmp_path / "set" / "records"
    records.mkdir(parents=True)
    source = sorted((quickstart_folder / "records").iterdir())
    (records / source[0].name).write_bytes(source[0].read_bytes())
    (records / source[1].name).write_text("{")
    found = snnbench.load(tmp_path / "set")
    assert (
        len(found.frame) == 1
        and len(found.unreadable) == 1
        and found.frame.attrs["unreadable"] == found.unreadable
    )


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(snnbench.ConfigError, match="nothing"):
        snnbench.load(tmp_path / "nothing")
    with pytest.raises(snnbench.ConfigError, match="at least one run"):
        snnbench.load()


def test_the_import_loads_nothing_and_says_what_there_is():
    code = "import sys; before = {*sys.modules}; import snnbench; print({*sys.modules} - before); print(dir(snnbench))"
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/"
    ).stdout
    assert not any(name in out.splitlines()[0] for name in ("numpy", "pandas", "pydantic", "typer"))
    assert all(
        name in out.splitlines()[1]
        for name in ("'load'", "'run'", "'check'", "'Results'", "'Verdict'", "'ConfigError'")
    )
    with pytest.raises(AttributeError, match="no attribute 'lod'"):
        _ = snnbench.lod


def test_without_pandas_the_extra_is_named(quickstart, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    fresh = snnbench.load(committed("quickstart"))
    assert len(fresh) == len(quickstart)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'snnbench\[pandas\]'"):
        _ = fresh.frame


def test_a_list_of_folders_is_a_mistake_that_says_what_would_be_right():
    with pytest.raises(snnbench.ConfigError, match=r"load\(\*folders\)"):
        snnbench.load([committed("quickstart")])
