"""Time over the firing rate of the input, a line for each framework."""

import pytest
from support.synthetic import blocks, figure, table_of

RATES = (0.02, 0.1, None, 0.5)


@pytest.fixture(scope="module")
def table():
    records = []
    for rate in RATES:
        records += blocks("torch", step=0.004, firing=rate)
        own = blocks("fused", step=0.002 * (rate or 0.3) + 0.0004, firing=rate)
        for one in own:
            one.facts |= {
                "product": "table" if rate == 0.5 else "event",
                "product_rate": rate or 0.3,
            }
        records += own
    return table_of([*records, *blocks("jax", input="dense")])


def test_a_line_goes_over_all_rates_also_the_usual_one(table):
    panels = {panel.where["phase"]: panel for panel in figure(table, "firing").panels}
    assert set(panels) == {"step", "forward", "backward", "inference"}
    points = panels["step"].data(table)
    assert [(one["variant"], one["rate"]) for one in points] == [
        (name, r) for name in ("torch", "fused") for r in (0.02, 0.1, 0.3, 0.5)
    ]
    assert panels["step"].names["sizes"] == [0.02, 0.1, 0.3, 0.5]
    assert panels["step"].names["variants"] == ["torch", "fused"], (
        "the slowest at the highest rate stands first, as its line does"
    )


def test_what_a_kernel_took_is_named_with_its_rates(table):
    panel = next(
        panel for panel in figure(table, "firing").panels if panel.where["phase"] == "step"
    )
    assert panel.notes == [
        "fused took the product event at 2.0%, 10.0%, 30.0%.",
        "fused took the product table at 50.0%.",
    ]
    assert {one["product"] for one in panel.data(table)} == {None, "event", "table"}


def test_rates_are_conditions_that_titles_name(table):
    wheres = {entry.parts.get("firing") for entry in table.entries}
    assert wheres == {
        "2 % of the input fires",
        "10 % of the input fires",
        "50 % of the input fires",
        None,
    }


def test_without_several_rates_there_is_no_line(examples):
    assert not figure(examples, "firing").panels and figure(examples, "firing").missing
