"""Scaling over ranks: its own tables, a predicted curve, no ranking over numbers of ranks."""

import io
import re

import pytest
from rich.console import Console
from support.synthetic import blocks, figure, record, table_of

from snnbench.report.page.page import html_text
from snnbench.report.plots import DRAWING, paper_spec
from snnbench.report.ranks import lines_of, notes_of, scalings
from snnbench.report.tables.terminal import print_tables

TERMS = {
    "whole": [0.0039, 0.004, 0.0042],
    "neurons": [0.0002, 0.0003, 0.0004],
    "handover": [0.00005, 0.0001, 0.0002],
}
TERMS |= {
    "reduction": [0.0001, 0.0001, 0.0002],
    "layers": 3,
    "state_bytes": 4096,
    "gradient_bytes": 1 << 18,
}


def of_ranks(framework, ranks, step, parallel="data", terms=None, **case):
    records = blocks(framework, step=step, ranks=ranks, parallel=parallel, **case)
    wait = 0.0004 if parallel == "time" else None
    each = [{"cores": 1, "host_peak_bytes": 1 << 28, "wait_s": wait}] * ranks
    records[0].distributed = {"launcher": "elastic", "backend": "gloo", "ranks": each} | (
        {"terms": terms} if terms else {}
    )
    return records


@pytest.fixture(scope="module")
def table():
    records = [*blocks("torch", step=0.004), *blocks("fused", step=0.001)]
    records += [
        *of_ranks("torch", 2, 0.0025),
        *of_ranks("torch", 4, 0.002),
        *of_ranks("fused", 2, 0.0008),
    ]
    records += of_ranks("torch", 2, 0.0029, "time", TERMS)
    records += of_ranks("torch", 2, 0.005, batch=32)
    return table_of(
        [*records, record("norse", "unsupported", "no state goes in", ranks=2, parallel="time")]
    )


def found(table, strong, parallel, framework="torch"):
    of = [
        one
        for one in scalings(table)
        if (one.strong, one.parallel, one.alone.variant) == (strong, parallel, framework)
    ]
    assert len(of) == 1
    return of[0]


def test_strong_scaling_is_of_one_size(table):
    lines = lines_of(found(table, True, "data"))
    assert [line[1] for line in lines] == ["1", "2", "4"]
    assert [line[3:5] for line in lines] == [
        ["1.00×", "100.0%"],
        ["1.60×", "80.0%"],
        ["2.00×", "50.0%"],
    ]


def test_weak_scaling_is_of_a_size_that_grows_with_the_ranks(table):
    lines = lines_of(found(table, False, "data"))
    assert [line[1] for line in lines] == ["1", "2"] and lines[1][3:5] == ["1.60×", "80.0%"]


def test_what_is_predicted_says_so_and_stands_beside_what_was_measured(table):
    scaling = found(table, True, "time")
    alone, two = lines_of(scaling)
    assert two[6] == "400 µs" and alone[6] == ""
    assert two[7].startswith("2.35 ms (") and alone[7].startswith(
        "4.00 ms ("
    )  # 4/2 + 0.3/2 + 0.1 + 0.1
    best, apart = notes_of(scaling)
    assert best.startswith("torch: best on about 6.08 ranks") and best.endswith(
        "measured on one device, not measured"
    )
    assert apart == "torch: the step of 2 ranks is 25% longer than predicted, not within 15%"
    (entry,) = [
        each
        for each in table.entries
        if each.row.case.parallel == "time" and each.row.proved and each.variant == "torch"
    ]
    assert entry.values["best_ranks"] == pytest.approx(37**0.5) and entry.values[
        "rank_wait_s"
    ] == pytest.approx(0.0004)


def test_no_group_has_two_numbers_of_ranks(table):
    for _, group in table.comparison_groups():
        assert len({(entry.row.case.ranks, entry.row.case.parallel) for entry in group}) == 1


def test_the_curve_is_dashed_and_apart_from_what_was_measured(table):
    drawn = figure(table, "ranks")
    panel = next(
        one for one in drawn.panels if one.title.startswith("strong scaling · time parallel")
    )
    kinds = {
        kind: [point for point in panel.points if point["kind"] == kind]
        for kind in ("measured", "predicted", "ideal")
    }
    assert len(kinds["measured"]) == 2 and [point["ranks"] for point in kinds["predicted"]] == list(
        range(1, 65)
    )
    dashed = [layer for layer in drawn.spec["layer"] if "predicted" in str(layer.get("transform"))]
    assert len(dashed) == 1 and dashed[0]["mark"]["strokeDash"]
    assert not [
        point
        for one in drawn.panels
        if "data parallel" in one.title
        for point in one.points
        if point["kind"] == "predicted"
    ]


def test_terminal_and_page_have_the_tables(table):
    text = io.StringIO()
    print_tables(table, Console(file=text, width=200))
    assert (
        "strong scaling · data parallel" in text.getvalue()
        and "weak scaling: the size grows with the ranks" in text.getvalue()
    )
    page = html_text(table, "ranks")
    assert '<table class="ranks">' in page and "strong scaling · time parallel" in page


def test_without_ranks_there_is_nothing(examples):
    assert not scalings(examples) and not figure(examples, "ranks").panels


def test_the_axis_has_each_number_of_ranks_once():
    records = [*blocks("torch", step=0.004), *of_ranks("torch", 2, 0.003)]
    table = table_of(records)
    drawn = figure(table, "ranks")
    (panel,) = drawn.panels
    svg = DRAWING[".svg"](paper_spec(drawn, panel, table)).decode()
    assert re.findall(r">(\d+)</text>", svg) == ["1", "2"]
