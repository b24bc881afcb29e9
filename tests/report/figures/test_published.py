"""Published figures beside ours: marked, and never ranked."""

import re

import pytest
from support.paths import ROOT
from support.synthetic import blocks, table_of

from snnbench.common.mistakes import ConfigError
from snnbench.report.figures import figures_of, read_published
from snnbench.report.figures.published import COLUMNS


def test_published_figures_are_marked_and_never_ranked(examples):
    theirs = read_published(ROOT / "results" / "published" / "published.csv")
    assert len(theirs) > 1000 and sum(one.nominal for one in theirs) > 100
    records = [r for name in ("torch", "jax") for r in blocks(name, neurons=4096, time_steps=500)]
    table = table_of(records)
    *_, beside = figures_of(table, theirs)
    assert beside.id == "published" and beside.panels
    for panel in beside.panels:
        points = panel.data(table)
        assert {point["ours"] for point in points} == {True, False}
        assert all(point["hardware"] and point["source"] for point in points if not point["ours"])
    assert any(point.get("nominal") for panel in beside.panels for point in panel.points)
    *_, none = figures_of(examples, theirs)
    assert not none.panels and none.missing


CSV = ROOT / "results" / "published" / "published.csv"
PAPERS = {
    # sizes, and how many figures lie beside: of seconds, speed and memory
    "cifar-medium norms": (
        {"time_steps": 10, "batch": 64, "width": 128, "image": 32, "classes": 10, "norm": True},
        (0, 1, 1),
    ),
    "cifar-large no norms": (
        {"time_steps": 8, "batch": 64, "width": 128, "image": 32, "classes": 10, "norm": False},
        (0, 1, 1),
    ),
    "alexnet": (
        {"time_steps": 6, "batch": 16, "width": 64, "image": 224, "classes": 1000},
        (0, 1, 1),
    ),
    "resnet34": (
        {"time_steps": 6, "batch": 16, "width": 64, "image": 224, "classes": 1000},
        (0, 1, 1),
    ),
    "spiking-resnet50": (
        {"time_steps": 32, "batch": 100, "width": 64, "image": 32, "classes": 10},
        (0, 2, 0),
    ),
    "mnist-mlp": (
        {"time_steps": 25, "batch": 128, "neurons": 1000, "image": 28, "classes": 10},
        (0, 1, 0),
    ),
    "sew-resnet18": (
        {"time_steps": 4, "batch": 112, "width": 64, "image": 224, "classes": 1000},
        (4, 0, 0),
    ),
}


def published_beside(records):
    table = table_of(records)
    return table, next(
        one for one in figures_of(table, read_published(CSV)) if one.id == "published"
    )


def vanilla_and_fused(workload, **sizes):
    """Records of torch:vanilla, and of fused, which is twice as fast."""
    slow = blocks("torch", step=0.004, construction="vanilla", workload=workload, **sizes)
    return [*slow, *blocks("fused", step=0.002, workload=workload, **sizes)]


def theirs(figure) -> list[float]:
    return [
        point["value"] for panel in figure.panels for point in panel.points if not point["ours"]
    ]


@pytest.mark.parametrize("network", PAPERS)
def test_the_papers_figures_lie_beside_their_networks_at_their_sizes_alone(network):
    (sizes, wanted), workload = PAPERS[network], network.split()[0]
    table, figure = published_beside(vanilla_and_fused(workload, **sizes))
    found = dict.fromkeys(("s", "speed", "memory"), 0)
    for panel in figure.panels:
        points = panel.data(table)
        assert all(point["value"] > 0 for point in points) and {
            point["ours"] for point in points
        } == {True, False}
        found[panel.names["unit"]] += sum(not point["ours"] for point in points)
    assert tuple(found.values()) == wanted
    for other in ({"batch": 3}, {"width": 7} if "width" in sizes else {"neurons": 7}):
        assert not published_beside(vanilla_and_fused(workload, **sizes | other))[1].panels
    if "norm" in sizes:
        _, other = published_beside(
            vanilla_and_fused(workload, **sizes | {"norm": not sizes["norm"]})
        )
        assert not {*theirs(other)} & {*theirs(figure)}


def test_ratios_of_ours_are_to_the_network_that_calls_layers_step_by_step():
    sizes, _ = PAPERS["alexnet"]
    table, figure = published_beside(vanilla_and_fused("alexnet", **sizes))
    speed, memory = figure.panels
    own = {point["variant"]: point["value"] for point in speed.data(table) if point["ours"]}
    assert own == {"torch:vanilla": 1.0, "fused": pytest.approx(2.0, rel=0.02)}
    assert {point["value"] for point in memory.points if point["ours"]} == {1.0}
    assert theirs(figure) == [1.81, 0.38]
    _, alone = published_beside(blocks("fused", workload="alexnet", **sizes))
    assert not alone.panels, "there is nothing that a ratio could be to"


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        (
            "case",
            "lif",
            "figure 1: case = 'lif': must be a workload and its sizes, such as 'lif N=64 T=10'",
        ),
        ("case", "lif N=64 Q=3", "case = 'lif N=64 Q=3': must be a workload"),
        ("case", "lif N=64;lif N=65", "must be a workload"),
        ("value", "fast", "figure 1: value = 'fast': must be a number above 0"),
        ("value", "0", "must be a number above 0"),
        ("value", "nan", "must be a number above 0"),
        ("value", "1e999", "must be a number above 0"),
    ],
)
def test_a_figure_that_lies_beside_nothing_is_refused_in_a_sentence(tmp_path, column, value, words):
    line = dict.fromkeys(COLUMNS, "") | {
        "case": "lif N=64 T=10",
        "metric": "step_s",
        "value": "0.5",
        "unit": "s",
        column: value,
    }
    path = tmp_path / "p.csv"
    path.write_text(",".join(line) + "\n" + ",".join(line.values()) + "\n")
    with pytest.raises(ConfigError, match=re.escape(words)):
        read_published(path)
    path.write_text(",".join(line) + "\na,b\n")
    with pytest.raises(ConfigError, match="figure 1 has no system"):
        read_published(path)


def test_a_file_that_holds_no_published_figures_is_refused_in_a_sentence(tmp_path):
    path = tmp_path / "p.csv"
    for text in ("", "a,b\n1,2\n"):
        path.write_text(text)
        with pytest.raises(ConfigError, match="must be a CSV file with the columns backend, batch"):
            read_published(path)
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_published(tmp_path / "none.csv")
