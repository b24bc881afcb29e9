"""Launch-bound or not: verdicts on a framework's times at several sizes."""

import pytest
from support.synthetic import blocks, figure, table_of

from snnbench.report.figures.launch import verdict


@pytest.mark.parametrize(
    "most, returned, least, said",
    [
        (0.95, None, 0.85, "yes"),
        (0.95, None, 0.6, "partly"),
        (0.95, None, 0.1, "unclear"),
        (0.95, None, None, "unclear"),
        (0.2, None, 0.1, "no"),
        (None, None, 0.92, "yes"),
        (None, None, 0.6, "partly"),
        (None, None, -2.0, "unclear"),
        (None, None, None, "unclear"),
        (None, 0.97, None, "yes"),
        (None, 0.1, 0.95, "no"),
        (None, 0.7, 0.95, "partly"),
        (0.3, 0.97, 0.2, "no"),
        (0.9, 0.6, 0.85, "partly"),
    ],
)
def test_launch_bound_or_not(most, returned, least, said):
    assert verdict(most, returned, least) == said


def launched(steps: dict[int, float], noise: float = 0.0) -> list[dict]:
    """The points of a framework with these seconds a step, by numbers of neurons."""
    records = [
        r
        for size, step in steps.items()
        for r in blocks("spikingjelly", neurons=size, step=step, noise=noise)
    ]
    panels = [p for p in figure(table_of(records), "launch").panels if p.where["phase"] == "step"]
    return panels[0].points if panels else []


def test_a_cpu_case_is_judged_by_its_neighbours_in_size():
    points = launched({64: 0.004, 256: 0.0041, 1024: 0.04})
    assert [point["verdict"] for point in points] == ["yes", "yes", "no"]
    least = 1 - (0.0041 / 0.004 - 1) / 3
    assert [point["least"] for point in points] == pytest.approx(
        [least, least * 0.004 / 0.0041, least * 0.1]
    )
    assert [point["most"] for point in points] == [
        None,
        pytest.approx(0.004 / 0.0041),
        pytest.approx(0.1),
    ]
    assert not any(point["unsure"] for point in points)


def test_work_alone_is_never_called_launch_bound():
    assert launched({1000: 1.0, 1200: 1.2}) == []
    assert [point["verdict"] for point in launched({500: 0.5, 600: 0.6, 1024: 1.024})] == [
        "unclear",
        "unclear",
        "no",
    ]


def test_a_share_whose_interval_reaches_over_the_limit_that_decided_is_unsure():
    steps = {64: 0.004, 256: 0.004 * 1.599, 1024: 0.004 / 0.499}
    sure = [(point["verdict"], point["unsure"]) for point in launched(steps)]
    assert sure == [("yes", False), ("partly", False), ("no", False)]
    noisy = {64: 0.004, 256: 0.004 * 1.58, 1024: 0.004 / 0.488}
    assert [(point["verdict"], point["unsure"]) for point in launched(noisy, noise=0.03)] == [
        (word, True) for word, _ in sure
    ]
