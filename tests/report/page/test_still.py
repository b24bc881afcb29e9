"""The map without scripts has the cells, the order and the numbers of the figure."""

import pytest
from support.synthetic import blocks, figure, table_of

from snnbench.common import units
from snnbench.report.page.still import MOST, stills


def measured(steps: dict[str, float], **fields) -> list:
    return [
        one
        for name, step in steps.items()
        for one in blocks(name, step=step, noise=0.005, **fields)
    ]


@pytest.fixture(scope="module")
def table():
    records = [
        one
        for n in (97, 1031)
        for one in measured({"jax": 0.001, "norse": 0.002}, neurons=n, time_steps=37)
    ]
    return table_of(
        [*records, *measured({"jax": 0.002, "torch": 0.002004}, neurons=97, time_steps=101)]
    )


def test_cells_stand_where_they_stand_in_the_figure(table):
    (still,) = stills(table, figure(table, "winners"))
    assert (still.columns, [line for line, _ in still.lines]) == (["97", "1031"], [["101"], ["37"]])
    assert [[cell and cell["name"] for cell in cells] for _, cells in still.lines] == [
        [["jax"], None],
        [["jax"], ["jax"]],
    ]
    tie, alone = still.lines[0][1][0], still.lines[1][1][0]
    assert (tie["texts"][2:], alone["texts"][2:]) == (["tie: torch"], []) and tie["ground"] < alone[
        "ground"
    ]
    entry = next(
        one for one in table.entries if one.variant == "jax" and one.values["time_steps"] == 37
    )
    assert alone["texts"][0] == units.seconds(entry.values["step_s"])


def test_networks_keep_the_order_of_their_list():
    sizes = {
        "workload": "cifar-small",
        "neurons": None,
        "layers": None,
        "bias": None,
        "image": 16,
        "classes": 10,
        "norm": True,
    }
    records = [one for width in (16, 8) for one in measured({"torch": 0.001}, width=width, **sizes)]
    (still,) = stills(table_of(records), figure(table_of(records), "winners"))
    assert still.columns == ["width 8", "width 16"]


def test_many_maps_are_cut():
    records = [
        one for batch in range(1, MOST + 3) for one in measured({"torch": 0.001}, batch=batch)
    ]
    assert len(stills(table_of(records), figure(table_of(records), "winners"))) == MOST
