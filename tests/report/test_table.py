"""One table for every writer: a metric is one entry, and a workload may lack an axis."""

import csv
import io
import json
import re
from dataclasses import replace

import pytest
from rich.console import Console
from support.synthetic import blocks, disturbed, record, table_of

from snnbench.common import units
from snnbench.records.rows import Row, rows_of
from snnbench.report.columns.metric import NATIVES, SUMMARY, VIEWS, Metric
from snnbench.report.columns.metrics import METRICS
from snnbench.report.figures import figures_of
from snnbench.report.page.page import html_text
from snnbench.report.plots import drawn
from snnbench.report.table import Table, csv_text
from snnbench.report.tables.markdown import markdown_text
from snnbench.report.tables.terminal import print_tables
from snnbench.report.words import axis_of


def printed(table: Table) -> str:
    stream = io.StringIO()
    print_tables(table, Console(file=stream, width=200))
    return stream.getvalue()


def test_a_new_metric_is_one_entry():
    pieces = Metric(
        "pieces_bytes", lambda row: 3 << 20, "bytes", "pieces", "of memory", f"memory {SUMMARY}"
    )
    table = Table(rows_of(blocks("torch") + blocks("jax")), metrics=(*METRICS, pieces))
    head, *lines = csv.reader(io.StringIO(csv_text(table)))
    assert head[-1] == "pieces_bytes" and {line[-1] for line in lines} == {str(3 << 20)}
    assert "| pieces |" in markdown_text(table) and markdown_text(table).count("| 3.00 MiB |") == 2
    assert "pieces" in printed(table) and printed(table).count("3.00 MiB") == 2
    page = html_text(table, "experiment")
    assert re.search(
        r'<th [^>]*class="memory number"\s+data-column="pieces_bytes" title="of memory">', page
    )
    assert page.count('<td class="memory number">3.00 MiB</td>') == 2
    (cases,) = re.findall(r'id="data-cases">(.*?)</script>', page)
    payload = json.loads(cases)
    assert (
        payload["all_columns"][-1] == "pieces_bytes" and payload["same"]["pieces_bytes"] == 3 << 20
    )


def test_every_metric_that_is_shown_has_a_heading_and_a_view_that_exists():
    known = {*VIEWS, SUMMARY, NATIVES, "natives-markdown"}
    for metric in METRICS:
        assert set(metric.views.split()) <= known and bool(metric.head) >= bool(metric.views), (
            metric.name
        )
        if metric.unit in ("s", "bytes"):
            assert metric.name.endswith(f"_{metric.unit}"), "the column's name says the unit"


def image(row: Row) -> Row:
    """Returns the same for a workload without neurons and layers."""
    return replace(row, case=replace(row.case, workload="image", neurons=None, layers=None))


@pytest.mark.parametrize("beside_others", [False, True])
def test_an_axis_that_means_nothing_for_a_workload_is_not_said(beside_others):
    rows = rows_of(
        [
            r
            for name in ("torch", "jax")
            for steps in (50, 100)
            for r in blocks(name, time_steps=steps)
        ]
    )
    others = rows_of(blocks("torch") + blocks("torch", neurons=97)) if beside_others else []
    table = Table([*map(image, rows), *others])
    lines = list(csv.DictReader(io.StringIO(csv_text(table))))
    assert {line["neurons"] + line["layers"] for line in lines if line["workload"] == "image"} == {
        ""
    }
    titles = [
        line
        for text in (markdown_text(table), printed(table))
        for line in text.splitlines()
        if "image" in line and "T =" in line
    ]
    assert len(titles) == 4 and not any("N =" in title or "layer" in title for title in titles)
    assert "image" in html_text(table, "experiment")
    figures = {figure.id: figure for figure in figures_of(table)}
    assert {figures[name].panels != [] for name in ("winners", "times", "scaling", "memory")} == {
        True
    }
    cells = [
        point
        for panel in figures["winners"].panels
        for point in panel.data(table)
        if panel.where["workload"] == "image"
    ]
    assert cells and {point["neurons"] for point in cells} == {" "}
    assert next(drawn(table, [figures["winners"]]))[1].startswith(b"\x89PNG")


def test_a_field_that_no_list_names_is_said_by_its_name():
    assert (axis_of("image_size").head, axis_of("image_size").say(32)) == (
        "image size",
        "image size 32",
    )


def test_what_is_the_same_for_all_cases_is_no_condition():
    table = table_of(blocks("torch") + blocks("jax", neurons=97))
    assert table.conditions.varying_axes == ["neurons"] and "fp32" in table.conditions.fixed


def test_remarks_have_a_column_only_where_there_are_any():
    good, bad = blocks("torch", neurons=97), disturbed(blocks("jax"), every=3)
    markdown, terminal = markdown_text(table_of(good)), printed(table_of(good))
    assert "remarks" not in markdown and "remarks" not in terminal
    for text in (markdown_text(table_of(bad)), printed(table_of(bad))):
        assert "remarks" in text and "33% disturbed" in text


def test_remarks_that_have_no_room_stand_below_the_table():
    table = table_of(disturbed(blocks("jax"), every=3))
    stream = io.StringIO()
    print_tables(table, Console(file=stream, width=60))
    assert (
        "remarks" not in stream.getvalue()
        and "  jax: preempted, 33% disturbed" in stream.getvalue()
    )


def test_one_block_is_told_where_the_ranks_stand():
    records = [*blocks("torch", count=1), *blocks("jax", count=1)]
    for text in (markdown_text(table_of(records)), printed(table_of(records))):
        assert (
            "no rank is decided: one block" in text
            and text.count("=1–2") == 2
            and "few blocks" in text
        )
        ratios = re.findall(r"([\d.]+)×", text)
        assert len(ratios) >= 2 and {len(ratio) for ratio in ratios} == {3}, "two digits"


def test_columns_of_what_is_unknown_are_empty():
    (line,) = csv.DictReader(io.StringIO(csv_text(table_of(blocks("torch", count=1)))))
    assert {
        line[name]
        for name in ("step_lo_s", "ratio_low", "p_holm", "loosened", "step_kept_memory_bytes")
    } == {""}
    assert (line["rank_low"], line["rank_high"], line["blocks"], line["slots"], line["ratio"]) == (
        "1",
        "1",
        "1",
        "6",
        "1.0",
    )


def test_what_memory_keeps_between_calls_and_loosened_rules_are_columns():
    first, *others = blocks("torch")
    first.memory["step"]["kept_bytes"] = 4096
    first.proof["loosened"] = ["fixed point", "no gradients"]
    (line,) = csv.DictReader(io.StringIO(csv_text(table_of([first, *others]))))
    assert (line["step_kept_memory_bytes"], line["loosened"]) == (
        "4096",
        "fixed point; no gradients",
    )


def test_a_time_that_contradicts_its_ratio_is_shown_as_the_ratio_says():
    """Of jax only the first, calm block is clean: its own time is below torch's, which took two
    thirds of it in every pass."""
    made = []
    for number, slow in enumerate((1.0, 4.0, 6.0)):
        for name, step in (("jax", 0.003), ("torch", 0.002)):
            made.append(record(name, block=number, step=step * slow))
            for slot in made[-1].timing("step").slots if (name, number) != ("jax", 0) else ():
                slot.disturbed = "preempted"
    table = table_of(made)
    (metric,) = [each for each in METRICS if each.name == "step_s"]
    texts = {entry.variant: (metric.text(entry), entry.values["step_s"]) for entry in table.entries}
    (fastest, seconds), (paired, own) = texts["torch"], texts["jax"]
    assert own < seconds and fastest == units.seconds(seconds)
    assert paired == f"≈ {units.seconds(1.5 * seconds)}"
    calm = table_of([each for name in ("jax", "torch") for each in blocks(name)])
    assert not any("≈" in metric.text(entry) for entry in calm.entries)


def test_a_slower_case_has_no_smaller_time_than_the_fastest():
    """The interval of two blocks holds both orders. torch's time has a third, slow block, too."""
    made = []
    for number, (slow, ratio) in enumerate(((1.0, 0.8), (1.0, 1.4), (9.0, 1.0))):
        made += [
            record(name, block=number, step=0.002 * slow * times)
            for name, times in (("torch", 1.0), ("jax", ratio))
        ]
    for slot in made[-1].timing("step").slots:
        slot.disturbed = "preempted"
    fastest, slower = sorted(rows_of(made), key=lambda row: row.standing.place)
    assert slower.case.framework == "jax" and slower.standing.low < 0.5 < 1 < slower.standing.ratio
    assert slower.estimates["step"].seconds < fastest.estimates["step"].seconds
    assert slower.paired_s == pytest.approx(
        fastest.estimates["step"].seconds * slower.standing.ratio
    )
