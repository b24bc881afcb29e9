"""Figures of cases that deliver data: parts of an epoch, memory of caches, break-even."""

import re

import pytest
from support.recordings import data_case
from support.synthetic import blocks, figure, table_of

from snnbench.report.figures.delivery import _count
from snnbench.report.plots import Choice, drawn

FACTS = {
    # construction: (seconds of an epoch, of the build, waiting, disk, host, device)
    "naive": (6.0, 0.0, 5.9, 1 << 20, 0, 0),
    "disk": (2.0, 9.0, 1.9, 1 << 19, 0, 0),
    "coo": (0.5, 6.5, 0.4, 0, 0, 1 << 22),
    "memory": (7.0, 6.0, 6.8, 0, 1 << 21, 0),
}


@pytest.fixture(scope="module")
def table():
    records = []
    for construction, (epoch, build, waits, disk, host, device) in FACTS.items():
        axes = {
            name: value
            for name, value in vars(data_case("tonic", construction, behind="fused")).items()
            if name != "framework"
        }
        for one in blocks("tonic", step=epoch, **axes):
            one.parts["build"].seconds = build
            one.facts |= {
                "batches": 3,
                "disk_bytes": disk,
                "host_bytes": host,
                "device_bytes": device,
            }
            one.facts |= {"epoch_wait_s": waits, "epoch_train_s": epoch - waits}
            records.append(one)
    return table_of(records)


def test_an_epoch_is_taken_apart(table):
    (panel,) = figure(table, "epoch-stages").panels
    points = {one["variant"]: one for one in panel.data(table)}
    assert list(points) == ["tonic:coo", "tonic:disk", "tonic:naive", "tonic:memory"], (
        "the shortest epoch stands first"
    )
    assert points["tonic:disk"]["waiting for batches"] == 1.9 and points["tonic:disk"][
        "training on them"
    ] == pytest.approx(0.1)


def test_every_stage_of_every_strategy_can_be_read(table):
    """Training takes 0.1 or 0.2 s here, waiting up to 6.8 s; both stand apart, and once each."""
    (_, svg), _ = drawn(table, [figure(table, "epoch-stages")], Choice(formats=("svg",)))
    texts = re.findall(r">([^<>]+ m?s · [^<>]+ m?s)<", svg.decode())
    assert texts == ["400 ms · 100 ms", "1.90 s · 100 ms", "5.90 s · 100 ms", "6.80 s · 200 ms"]
    training = re.findall(
        r'part: training on them[^>]*time: (\d+) ms"[^>]*translate\(([\d.]+)', svg.decode()
    )
    left, right = (
        {float(x) for told, x in training if told == wanted} for wanted in ("100", "200")
    )
    assert len(training) == len(FACTS) and min(right) - max(left) > 10


def test_bytes_stand_where_they_lie(table):
    (panel,) = figure(table, "kept").panels
    points = {one["variant"]: one for one in panel.data(table)}
    assert {name: (one["bytes"], one["places"]) for name, one in points.items()} == {
        "tonic:naive": (1 << 20, "disk"),
        "tonic:disk": (1 << 19, "disk"),
        "tonic:coo": (1 << 22, "device"),
        "tonic:memory": (1 << 21, "host"),
    }
    assert points["tonic:coo"]["rate"] == pytest.approx(6.0, rel=0.05)


def test_rates_are_written_without_powers_of_ten():
    assert [_count(rate) for rate in (0.0512, 5.3449, 67.22, 2722.9)] == [
        "0.0512",
        "5.34",
        "67.2",
        "2,720",
    ]


def test_a_cache_pays_off_when_it_has_saved_its_build(table):
    (panel,) = figure(table, "break-even").panels
    assert panel.notes == [
        "tonic:coo is ahead of tonic:naive after 2 epochs.",
        "tonic:disk is ahead of tonic:naive after 3 epochs.",
        "tonic:memory never catches up with tonic:naive, which builds faster and delivers faster.",
    ]
    seconds = {(one["variant"], one["epochs"]): one["seconds"] for one in panel.data(table)}
    assert seconds["tonic:disk", 10] == pytest.approx(29, rel=0.05) and seconds[
        "tonic:naive", 1
    ] == pytest.approx(6, rel=0.05)


def test_a_cache_that_is_not_surely_faster_pays_off_nowhere():
    records = []
    for construction, build in (("naive", 0.5), ("disk", 4.0)):
        axes = {
            name: value
            for name, value in vars(data_case("tonic", construction)).items()
            if name != "framework"
        }
        records += blocks("tonic", step=6.0, passes=1, **axes)
        for one in records[-3:]:
            one.facts |= {"batches": 3, "disk_bytes": 1 << 20}
            one.parts["build"].seconds = build
    (panel,) = figure(table_of(records), "break-even").panels
    assert panel.notes == [
        "tonic:disk is not shown to deliver faster than tonic:naive, which builds faster."
    ]


def test_thousands_of_batches_are_written_out():
    axes = {
        name: value
        for name, value in vars(data_case("tonic", "coo")).items()
        if name != "framework"
    }
    records = blocks("tonic", step=0.0016925, passes=1, **axes)
    for one in records:
        one.facts |= {"batches": 3, "disk_bytes": 1 << 20}
    (panel,) = figure(table_of(records), "kept").panels
    assert panel.points[0]["brief"] == "tonic:coo · 1,770/s"


def test_without_deliveries_there_is_nothing_to_show(examples):
    for name in ("epoch-stages", "kept", "break-even"):
        assert (
            not figure(examples, name).panels
            and figure(examples, name).missing == "No case delivers data."
        )


def test_samples_are_counted_over_the_whole_epoch(table):
    for entry in table.entries:
        delivered = 3 * entry.row.case.batch
        assert entry.values["samples_per_s"] == pytest.approx(delivered / entry.values["step_s"])
        assert entry.values["samples_per_s"] == pytest.approx(
            entry.row.case.batch * entry.values["batches_per_s"]
        )
