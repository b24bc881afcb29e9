"""Winner maps: layers over neurons and time steps, networks over their sizes."""

import pytest
from support.synthetic import blocks, figure, table_of

from snnbench.core.case import WORKLOAD_AXES
from snnbench.report.figures.winners import in_lines
from snnbench.report.plots import drawn

SIZES = {"width": (8, 16), "image": (16, 32), "norm": (True, False)}


def network(framework, workload, step, **sizes):
    """Records of a network with these sizes and no others."""
    return blocks(
        framework, step=step, workload=workload, **{**dict.fromkeys(WORKLOAD_AXES), **sizes}
    )


def a_cell(step, workload, **sizes):
    """Two frameworks at one size of a network, torch the faster."""
    return [
        *network("torch", workload, step, **sizes),
        *network("norse", workload, 2 * step, **sizes),
    ]


@pytest.fixture(scope="module")
def networks():
    records = a_cell(0.0001, "mnist-mlp", neurons=250, image=28, classes=10)
    for width in (16, 8):
        for image in (32, 16):
            records += a_cell(
                1e-6 * width * image, "sew-resnet18", width=width, image=image, classes=10
            )
            for norm in (True, False):
                records += a_cell(
                    1e-5 * width * image,
                    "cifar-small",
                    width=width,
                    image=image,
                    classes=10,
                    norm=norm,
                )
    records += a_cell(
        1e-4, "a-network-of-mine", width=8, image=16
    )  # of an adapter's author, unknown here
    return table_of([*records, *blocks("torch"), *blocks("torch", neurons=64)])


def maps(table, phase="step"):
    return [panel for panel in figure(table, "winners").panels if panel.where["phase"] == phase]


def test_networks_have_a_map_of_their_own_with_a_cell_for_each_network_and_size(networks):
    layers, own = maps(networks)
    assert [point["neurons"] for point in layers.data(networks)] == [64, 256]
    cells = {(point["network"], point["size"]): point["variant"] for point in own.data(networks)}
    assert len(cells) == len(own.points) == 1 + 4 + 8 + 1 and set(cells.values()) == {"torch"}
    assert (
        cells[("mnist-mlp · 28 × 28 pixels", "no width")]
        and cells[("sew-resnet18 · 16 × 16 pixels", "width 8")]
    )
    assert cells[("cifar-small · 32 × 32 pixels · no norms", "width 16")]


def test_networks_stand_in_the_order_of_their_list_and_sizes_from_small_to_large(networks):
    _, own = maps(networks)
    assert (
        own.names["columns_sort"] == ["no width", "width 8", "width 16"] and own.names["cells"] == 3
    )
    lines = own.names["lines_sort"]
    assert list(dict.fromkeys(line.split(" · ")[0] for line in lines)) == [
        "mnist-mlp",
        "cifar-small",
        "sew-resnet18",
        "a-network-of-mine",
    ]
    assert lines[1:5] == [
        f"cifar-small · {size} × {size} pixels · {norm}"
        for size in (16, 32)
        for norm in ("no norms", "norms")
    ]


def test_where_one_size_is_that_of_all_networks_another_makes_the_columns():
    records = [
        one
        for norm in (True, False)
        for one in a_cell(0.001, "cifar-small", width=8, image=16, classes=7, norm=norm)
    ]
    (own,) = maps(table_of(records))
    assert [(point["network"], point["size"]) for point in own.points] == [
        ("cifar-small", "no norms"),
        ("cifar-small", "norms"),
    ]
    (own,) = maps(table_of(a_cell(0.001, "conv-lif", width=8, image=16)))
    assert [(point["network"], point["size"]) for point in own.points] == [("conv-lif", " ")]


def test_of_many_numbers_of_neurons_the_fewer_time_steps_make_the_columns():
    records = [
        one
        for n in (5, 7, 11, 13)
        for steps in (3, 9)
        for one in blocks("torch", neurons=n, time_steps=steps)
    ]
    (turned,) = maps(table_of(records))
    assert (turned.names["across"], turned.names["down"], turned.names["cells"]) == (
        "time_steps",
        "neurons",
        2,
    )
    assert [(point["time_steps"], point["neurons"]) for point in turned.points][:3] == [
        (3, 5),
        (9, 5),
        (3, 7),
    ]
    (wide,) = maps(table_of([one for one in records if one.case["neurons"] < 13]))
    assert (wide.names["across"], wide.names["cells"]) == ("neurons", 3)


def test_cells_are_as_high_as_the_longest_name_asks():
    (plain,) = maps(table_of(blocks("torch")))
    long = {"construction": "lif-torch-without-recurrence"}
    (high,) = maps(table_of([*blocks("rockpool", **long), *blocks("norse", step=1.0)]))
    assert high.points[0]["name"] == ["rockpool:lif-", "torch-", "without-", "recurrence"]
    assert (plain.names["cell_height"], high.names["cell_height"]) == (90, 12 + 6 * 13)
    (level,) = maps(
        table_of(
            [
                *blocks("rockpool", step=0.002, noise=0.005, **long),
                *blocks("norse", step=0.002001, noise=0.005),
            ]
        )
    )
    assert level.names["cell_height"] > 90 and level.points[0]["tied"][0].startswith("tie:")


def test_a_word_that_is_longer_than_a_line_is_broken():
    assert in_lines("anatanexponential:x", 13) == ["anatanexponen", "tial:x"]


def test_other_conditions_have_maps_of_their_own():
    sizes = {"width": 8, "image": 16}
    cells = [
        record
        for steps in (4, 8)
        for record in network("torch", "conv-lif", 0.001, time_steps=steps, **sizes)
    ]
    assert [panel.title for panel in maps(table_of(cells))] == [
        "networks · T = 4 · step",
        "networks · T = 8 · step",
    ]


def test_the_map_of_networks_is_drawn(networks):
    whole = figure(networks, "winners")
    whole.panels = maps(networks)[1:]
    pictures = dict(drawn(networks, [whole]))
    (svg,) = (content.decode() for name, content in pictures.items() if name.endswith(".svg"))
    assert all(text in svg for text in ("cifar-", "mnist-", "resnet18", "no norms", "width 16"))
