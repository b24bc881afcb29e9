"""Labels: each near its point, none on another, all inside the plot."""

import re
from itertools import pairwise
from math import exp, log

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.synthetic import blocks, figure, table_of

from snnbench.report.figures.labels import HEIGHT, LINE, column


def pixels(labels) -> list[float]:
    low, high = map(log, labels.domain)
    return sorted(
        (high - log(place)) / (high - low) * labels.height for place in labels.places.values()
    )


@given(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=40))
@example([981697755.0, 999913425.0, 999962593.0])
@example([999922954.0, 999970960.0])
def test_labels_never_overlap_nor_leave_the_plot(heights):
    labels = column({str(number): height for number, height in enumerate(heights)}, heights)
    at = pixels(labels)
    assert all(after - before > LINE - 0.2 for before, after in pairwise(at))
    assert at[0] >= LINE / 2 - 0.2 and at[-1] <= labels.height - LINE / 2 + 0.2
    assert (
        labels.height >= HEIGHT
        and labels.domain[0] < min(heights)
        and labels.domain[1] > max(heights)
    )
    order = sorted(labels.places, key=labels.places.__getitem__)
    assert [heights[int(name)] for name in order] == sorted(heights), "as their points are"


def test_labels_with_room_stand_at_their_points_and_equal_ones_share_the_distance():
    apart = column({"low": 1.0, "high": exp(1)}, [1.0, exp(1)])
    assert apart.places == pytest.approx({"low": 1.0, "high": exp(1)}, rel=1e-4)
    same = column({"a": exp(0.5), "b": exp(0.5)}, [1.0, exp(1)])
    assert sum(map(log, same.places.values())) == pytest.approx(1.0, abs=1e-4)


def test_labels_have_the_numbers_of_the_csv():
    steps = {64: 0.001, 256: 0.002, 1024: 0.032}
    table = table_of(
        [
            r
            for n, step in steps.items()
            for name in ("torch", "norse")
            for r in blocks(name, neurons=n, step=step)
        ]
    )
    panel = next(
        panel for panel in figure(table, "scaling").panels if panel.where["phase"] == "step"
    )
    said = {
        point["variant"]: (point["brief"], point["text"])
        for point in panel.data(table)
        if "place" in point
    }
    assert set(said) == {"torch", "norse"} and len(panel.points) == 6
    assert re.fullmatch(r"torch · 3[0-9.]+ ms · N\^1\.25 \(0\.50 → 2\.00\)", said["torch"][1])
    assert [point["grows"] for point in panel.points[:3]] == ["–", "N^0.50", "N^2.00"]
    pareto = next(
        panel for panel in figure(table, "pareto").panels if panel.where["phase"] == "step"
    )
    assert all(point["text"].startswith(f"{point['variant']} · ") for point in pareto.data(table))
