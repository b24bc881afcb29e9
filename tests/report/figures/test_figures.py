"""Figures: numbers equal results.csv, incomparable cases never meet, omissions are explained."""

import csv
import io
import re

import pytest
from support.paths import committed
from support.synthetic import blocks, disturbed, figure, record, table_of, unmeasured

from snnbench.core.breakdown import STAGES
from snnbench.core.case import NATIVE
from snnbench.kernels.spec import NEURONS
from snnbench.report.figures import figures_of, substituted
from snnbench.report.figures.slots import _range
from snnbench.report.files import read_results
from snnbench.report.plots import DRAWING, paper_spec
from snnbench.report.table import csv_text


@pytest.mark.parametrize("source", ["example", "quickstart"])
def test_every_number_of_a_figure_is_that_of_the_csv(source, examples):
    table = read_results([committed("quickstart")]).table if source == "quickstart" else examples
    lines = list(csv.DictReader(io.StringIO(csv_text(table))))
    compared = 0
    for each in figures_of(table):
        for panel in each.panels:
            for point, drawn_point in zip(panel.points, panel.data(table), strict=True):
                for name, column in panel.fields.items():
                    written = lines[point["row"]][column]
                    assert written == (
                        "" if drawn_point[name] is None else str(drawn_point[name])
                    ), (each.id, column)
                    compared += 1
                if "row" in point:
                    assert drawn_point["variant"].startswith(lines[point["row"]]["framework"])
    assert compared > 300


def test_what_is_computed_from_the_csv_is_right(examples):
    cold = figure(examples, "cold-start").panels[0]
    for point in cold.points:
        values = examples.entries[point["row"]].values
        assert point["besides_s"] == pytest.approx(values["first_call_s"] - values["compile_s"])
    times = next(p for p in figure(examples, "times").panels if p.where["phase"] == "step")
    for point in times.points[1:]:
        ratio = examples.entries[point["row"]].values["ratio"]
        assert point["ratio_low"] <= ratio <= point["ratio_high"]


def test_only_what_differs_in_nothing_but_the_framework_shares_a_panel():
    records = []
    for neuron in ("soft", "hard"):
        for machine in ("m1", "m2"):
            for size in (97, 193):
                for name in ("torch", "jax"):
                    records += blocks(name, neuron=NEURONS[neuron], machine=machine, neurons=size)
    table = table_of(records)
    for each in figures_of(table):
        for panel in each.panels:
            entries = [table.entries[point["row"]] for point in panel.points if "row" in point]
            for axis in ("neuron", "machine"):
                assert len({entry.parts[axis] for entry in entries}) <= 1, each.id
            if each.id == "memory":
                assert len({entry.values["memory_meaning"] for entry in entries}) == 1


def test_tutorials_networks_are_in_their_own_figure_only():
    records = [
        each
        for name in ("torch", "jax")
        for neuron in (NEURONS["soft"], NATIVE)
        for each in blocks(name, neuron=neuron)
    ]
    table = table_of(records)
    apart = {entry.index for entry in table.entries if entry.native}
    assert len(apart) == 2
    for each in figures_of(table):
        rows = {point["row"] for panel in each.panels for point in panel.points if "row" in point}
        assert rows <= apart if each.id == "natives" else not rows & apart, each.id
    (panel,) = figure(table, "natives").panels
    assert len(panel.points) == 2


def test_what_has_nothing_to_show_says_why():
    for records in ([], [unmeasured("torch", "crash")]):
        for each in figures_of(table_of(records)):
            assert not each.panels and each.missing.endswith("."), each.id
    one = figures_of(table_of(blocks("torch")))
    left_out = {each.id for each in one if not each.panels}
    assert left_out == {
        "scaling",
        "ranks",
        "firing",
        "pareto",
        "stages",
        "kinds",
        "epochs",
        "learning",
        "launch",
        "natives",
        "versions",
        "epoch-stages",
        "kept",
        "break-even",
    }
    assert all(panel.points for each in one for panel in each.panels)


def test_a_refused_time_is_nowhere():
    table = table_of(
        [
            *blocks("torch"),
            record("norse", "implausible", "too fast"),
            record("spyx", "check_failed", "wrong", passed=False),
        ]
    )
    wrong = {entry.index for entry in table.entries if entry.row.status != "ok"}
    for each in figures_of(table):
        rows = {point["row"] for panel in each.panels for point in panel.points if "row" in point}
        assert not rows & wrong or each.id == "proof", each.id


def test_growth_is_fitted_and_the_lead_changes_where_the_lines_cross():
    records = []
    for size, slow, quick in ((64, 0.002, 0.001), (256, 0.002, 0.004), (1024, 0.002, 0.016)):
        records += blocks("torch", neurons=size, step=slow) + blocks(
            "jax", neurons=size, step=quick
        )
    (panel,) = [
        p for p in figure(table_of(records), "scaling").panels if p.where["phase"] == "step"
    ]
    labels = [point["text"].split(" · ")[-1] for point in panel.points if "place" in point]
    assert labels == ["N^0.00 (0.00 → 0.00)", "N^1.00 (1.00 → 1.00)"]
    (note,) = panel.notes
    assert note.startswith("torch overtakes jax at N ≈ 128 (") and note.endswith(
        "between 64 and 256."
    )


def test_the_exponent_in_a_label_is_that_of_all_sizes():
    bent = [
        one
        for size, step in ((64, 0.001), (256, 0.001), (1024, 0.016))
        for one in blocks("torch", neurons=size, step=step)
    ]
    (panel,) = [p for p in figure(table_of(bent), "scaling").panels if p.where["phase"] == "step"]
    (last,) = [point for point in panel.points if "place" in point]
    assert last["brief"] == "torch · N^1.00" and last["text"].endswith(" · N^1.00 (0.00 → 2.00)")


@pytest.mark.parametrize("name", ["training", "data"])
def test_a_logarithmic_axis_has_two_labels_at_least(name):
    """Some of these panels once had one label or none."""
    table = read_results([committed(name)]).table
    for each in figures_of(table):
        if each.id in ("pareto", "epochs", "times", "kept"):
            for panel in each.panels:
                svg = DRAWING[".svg"](paper_spec(each, panel, table)).decode()
                for axis in re.findall(
                    r'aria-label="[XY]-axis titled [^"]*log scale.*?role-axis-title', svg, re.DOTALL
                ):
                    texts = re.findall(
                        r"<text([^>]*)>[^<]+</text>",
                        "".join(re.findall(r"role-axis-label.*?</g>", axis, re.DOTALL)),
                    )
                    assert sum('opacity="0"' not in text for text in texts) >= 2, (
                        each.id,
                        panel.title,
                    )


def test_a_legend_of_parts_lists_only_what_is_there():
    table = read_results([committed("training")]).table
    for panel in figure(table, "stages").panels:
        there = panel.names["there"]
        assert there == [
            part for part in STAGES if any(point.get(part) for point in panel.points)
        ] and len(there) < len(STAGES)
        svg = DRAWING[".svg"](paper_spec(figure(table, "stages"), panel, table)).decode()
        listed = re.findall(
            r"<text[^>]*>([^<]+)</text>",
            "".join(re.findall(r"role-legend-label.*?</g>", svg, re.DOTALL)),
        )
        assert listed == there


def test_a_legend_of_curves_has_whole_symbols():
    table = read_results([committed("training")]).table
    curves = figure(table, "learning")
    svg = DRAWING[".svg"](paper_spec(curves, curves.panels[0], table)).decode()
    symbols = "".join(re.findall(r"role-legend-symbol.*?</g>", svg, re.DOTALL))
    assert "<path" in symbols and "stroke-dasharray" not in symbols


def test_the_winner_map_has_the_fastest_and_its_memory(examples):
    (panel,) = [
        p
        for p in figure(examples, "winners").panels
        if p.where["phase"] == "step"
        and p.where["precision"] == "bf16"
        and p.where["neuron"] == "neuron soft"
    ]
    (cell,) = [
        point
        for point in panel.data(examples)
        if (point["neurons"], point["time_steps"]) == (1024, 500)
    ]
    entry = examples.entries[cell["row"]]
    assert (
        entry.row.standing.place == 1
        and cell["seconds"] == entry.values["step_s"]
        and cell["bytes"] == entry.values["step_peak_memory_bytes"]
    )


def test_the_fastest_and_leanest_is_named():
    quick, slow = blocks("torch", step=0.001), blocks("norse", step=0.002)
    leaner = [
        r.model_copy(
            update={"memory": {p: {**m, "peak_bytes": 1 << 10} for p, m in r.memory.items()}}
        )
        for r in slow
    ]
    for others, notes in ((slow, 1), (leaner, 0)):
        panel = figure(table_of(quick + others), "pareto").panels[0]
        assert panel.notes == ["torch took the least time and the least memory here."] * notes


def test_the_proof_has_a_panel_for_a_neuron_and_precision_whatever_the_networks():
    table = read_results([committed("networks")]).table
    panels = figure(table, "proof").panels
    assert [panel.title for panel in panels] == [
        "gradient error",
        "spikes that differ",
        "firing rate",
    ]
    assert {len(panel.points) for panel in panels} == {45} and all(
        "width 16" in str(panel.points) for panel in panels
    )


def test_what_is_weighed_and_not_timed_is_in_the_figure_of_memory():
    table = read_results([committed("memory")]).table
    (panel, *_) = figure(table, "memory").panels
    assert len(panel.points) == 12 and panel.data(table)[0]["peak"] <= panel.data(table)[-1]["peak"]
    svg = DRAWING[".svg"](paper_spec(figure(table, "memory"), panel, table)).decode()
    assert ">1019 MiB<" in svg and ">1021 MiB<" in svg, "as in the table"
    assert not figure(table, "pareto").panels and not figure(table, "times").panels


def test_a_clock_that_stands_is_one_number():
    assert _range([2596.13, 2596.2]) == "2,596" and _range([1400.4, 2900.0]) == "1,400 – 2,900"


def trained(framework, curve, accuracy=1.0, step=0.004):
    """Records of a case that trains: its stages and its curve."""
    case = {
        "workload": "mnist-mlp",
        "loss": "cross-entropy",
        "optimizer": "sgd",
        "image": 9,
        "classes": 7,
    }
    case |= {"layers": None, "bias": None}
    apart = {
        "seconds": {"linear": 0.002, "neuron": 0.001, "loss": 0.0005},
        "step_s": 0.0035,
        "unknown": None,
    }
    apart |= {"bytes": {"parameters": 1 << 20, "feature maps": 3 << 20, "workspace": 1 << 20}}
    told = {"breakdown": apart, "learning": {"loss": curve, "accuracy": accuracy}}
    return [
        one.model_copy(update=told if not one.block else {})
        for one in blocks(framework, step=step, **case)
    ]


def test_a_step_taken_apart_is_drawn_part_by_part():
    table = table_of(trained("torch", [2.0]) + trained("jax", [2.0]))
    (panel,) = figure(table, "stages").panels
    (point, _) = panel.data(table)
    assert {name: point[name] for name in ("linear", "neuron", "loss")} == {
        "linear": 0.002,
        "neuron": 0.001,
        "loss": 0.0005,
    }
    (panel,) = figure(table, "kinds").panels
    (point, _) = panel.data(table)
    assert {name: point[name] for name in ("parameters", "feature maps", "workspace")} == dict(
        zip(("parameters", "feature maps", "workspace"), (1, 3, 1), strict=True)
    )


def test_curves_say_how_far_they_part_and_what_was_learned():
    first = [2.0 - 0.05 * step for step in range(40)]
    second = [loss + (1e-6 if step < 10 else 0.01) for step, loss in enumerate(first)]
    table = table_of(trained("torch", first, 1.0) + trained("jax", second, 0.95))
    (panel,) = figure(table, "learning").panels
    assert len(panel.points) == 80 and panel.points[0]["loss"] == 2.0
    assert panel.notes == [
        (
            "The curves are apart by at most 5e-05 % over 10 and 0.5 % over 40 steps, in per cent "
            "of the first loss."
        ),
        "After training, 95.0% to 100.0% of new samples are classified correctly.",
    ]


def test_an_epoch_is_so_many_steps_as_the_data_set_has_samples():
    table = table_of(trained("torch", [2.0], step=0.004) + trained("norse", [2.0], step=0.008))
    (panel,) = figure(table, "epochs").panels
    seconds = {point["variant"]: point["seconds"] for point in panel.data(table)}
    entry = next(entry for entry in table.entries if entry.variant == "torch")
    assert seconds["torch"] == pytest.approx(60_000 / entry.row.case.batch * entry.values["step_s"])
    assert seconds["norse"] == pytest.approx(2 * seconds["torch"], rel=0.05)


def test_names_in_a_specification_are_replaced_and_nothing_else():
    assert substituted({"a": ["$x", "$y", 1], "b": {"c": "$x"}}, {"x": [2]}) == {
        "a": [[2], "$y", 1],
        "b": {"c": [2]},
    }


def test_a_tie_is_marked_in_the_winner_map():
    near = [
        one
        for name, step in (("jax", 0.002), ("torch", 0.002004))
        for one in blocks(name, step=step, noise=0.005)
    ]
    for records, also in (
        (near, "torch"),
        (blocks("jax", step=0.002) + blocks("torch", step=0.003), ""),
    ):
        for panel in figure(table_of(records), "winners").panels:
            (cell,) = panel.points
            assert cell["also"] in (also, "jax" if also else ""), panel.where["phase"]


def test_ratios_to_a_chosen_baseline_have_intervals_in_every_phase():
    records = [
        one
        for name, step in (("jax", 0.002), ("torch", 0.003))
        for one in blocks(name, step=step, noise=0.005)
    ]
    for panel in figure(table_of(records, baseline="torch"), "times").panels:
        jax, torch = panel.points
        assert (
            jax["ratio_low"] < jax["against_base"] < jax["ratio_high"] < 0.7
            and "against_base" not in torch
        )


def test_slots_are_drawn_with_their_calls_and_what_disturbed_them():
    """On a CPU without what would be a device's clock there, the CPU time of the process."""
    table = table_of(disturbed(blocks("torch", passes=4), every=4))
    assert [panel.names["clock"] for panel in figure(table, "slots").panels] == [
        "wall time",
        "clock of the device",
    ]
    table = table_of(disturbed(blocks("torch", passes=4, device="cuda"), every=4))
    wall, device, *_clock = figure(table, "slots").panels
    slots = [point for point in wall.points if "value" in point]
    assert len(slots) == 12 and len(wall.points) == 12 + 12 * 8 and len(device.points) == 12
    assert [point.get("disturbed") for point in slots] == ["preempted", None, None, None] * 3
    low, high = wall.names["span"]
    assert all(low < point["low"] and point["value"] < high for point in slots)


def test_a_round_number_is_not_left_out_for_its_neighbour():
    """On a short axis from 5 to 10 the last label has no room, and is the one to keep."""
    table = read_results([committed("data")]).table
    kept = figure(table, "kept")
    svg = DRAWING[".svg"](paper_spec(kept, kept.panels[0], table)).decode()
    (axis,) = re.findall(
        r'aria-label="X-axis titled [^"]*log scale.*?role-axis-title', svg, re.DOTALL
    )
    labels = re.findall(
        r"<text([^>]*)>([^<]+)</text>",
        "".join(re.findall(r"role-axis-label.*?</g>", axis, re.DOTALL)),
    )
    assert [text for look, text in labels if 'opacity="0"' not in look] == ["5", "10", "20"]
