"""Figures: every number is that of results.csv, what may not be compared never meets, and what is left out says why."""

import csv
import io
import json

import numpy as np
import pytest
from support.paths import ROOT
from support.synthetic import example, record, rounds, unmeasured

from snnbench.adapters.base.case import NATIVE
from snnbench.kernels.spec import NEURONS
from snnbench.mistakes import ConfigError
from snnbench.records.rows import rows_of
from snnbench.report.coverage import Conditions
from snnbench.report.figures import FIGURES, Table, coverage_map, figures_of, read_published, substituted
from snnbench.report.figures.launch import verdict
from snnbench.report.files import read_results
from snnbench.report.plots import drawn, paper_spec
from snnbench.report.tables.csv import csv_text
from snnbench.report.theme import DASHES, INKS, PALETTES, SHAPES, looks, styles
from snnbench.stats import crossing, power_law


def table_of(records, baseline="") -> Table:
    rows = rows_of(records)
    return Table(rows, Conditions(rows), baseline)


@pytest.fixture(scope="module")
def examples() -> Table:
    return table_of(example())


def figure(table: Table, id: str):
    return next(found for found in figures_of(table) if found.id == id)


@pytest.mark.parametrize("source", ["example", "quickstart"])
def test_every_number_of_a_figure_is_that_of_the_csv(source, examples):
    if source == "quickstart":
        rows = read_results([ROOT / "results" / "quickstart"]).rows
        table = Table(rows, Conditions(rows))
    else:
        table = examples
    lines = list(csv.DictReader(io.StringIO(csv_text([entry.row for entry in table.entries]))))
    compared = 0
    for found in figures_of(table):
        for panel in found.panels:
            for point, drawn_point in zip(panel.points, panel.data(table), strict=True):
                for name, column in panel.fields.items():
                    written = lines[point["row"]][column]
                    assert written == ("" if drawn_point[name] is None else str(drawn_point[name])), (found.id, column)
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
                    records += rounds(name, neuron=NEURONS[neuron], machine=machine, neurons=size)
    table = table_of(records)
    for found in figures_of(table):
        for panel in found.panels:
            entries = [table.entries[point["row"]] for point in panel.points if "row" in point]
            for axis in ("neuron", "machine"):
                assert len({entry.parts[axis] for entry in entries}) <= 1, found.id
            if found.id == "memory":
                assert len({entry.values["memory_meaning"] for entry in entries}) == 1


def test_tutorials_networks_are_in_their_own_figure_only():
    records = [
        found for name in ("torch", "jax") for neuron in (NEURONS["soft"], NATIVE) for found in rounds(name, neuron=neuron)
    ]
    table = table_of(records)
    apart = {entry.index for entry in table.entries if entry.native}
    assert len(apart) == 2
    for found in figures_of(table):
        rows = {point["row"] for panel in found.panels for point in panel.points if "row" in point}
        assert rows <= apart if found.id == "natives" else not rows & apart, found.id
    (panel,) = figure(table, "natives").panels
    assert len(panel.points) == 2


def test_the_printed_coverage_map_has_every_case(examples):
    (panel,) = coverage_map(examples).panels
    assert len(panel.points) == len(examples.entries) == 192
    words = [point["word"] for point in panel.points]
    assert words.count("unsupported") == 24 and words.count("timeout") == 1 and words.count("#1") == 24
    assert all(content for _, content in drawn(examples, [coverage_map(examples)]))


def test_what_has_nothing_to_show_says_why():
    for records in ([], [unmeasured("torch", "crash")]):
        for found in figures_of(table_of(records)):
            assert not found.panels and found.missing.endswith("."), found.id
    one = figures_of(table_of(rounds("torch")))
    left_out = {found.id for found in one if not found.panels}
    assert left_out == {"scaling", "pareto", "launch", "natives"}
    assert all(panel.points for found in one for panel in found.panels)


def test_a_refused_time_is_nowhere():
    table = table_of(
        [*rounds("torch"), record("norse", "implausible", "too fast"), record("spyx", "check_failed", "wrong", passed=False)]
    )
    wrong = {entry.index for entry in table.entries if entry.row.status != "ok"}
    for found in figures_of(table):
        rows = {point["row"] for panel in found.panels for point in panel.points if "row" in point}
        assert not rows & wrong or found.id == "proof", found.id


def test_growth_is_fitted_and_the_lead_changes_where_the_lines_cross():
    assert power_law([10, 100, 1000], [3.0, 300.0, 30000.0]) == pytest.approx(2)
    assert crossing((10, 1000), (1.0, 1.0), (0.1, 10.0)) == pytest.approx((100, 1))
    records = []
    for size, slow, quick in ((64, 0.002, 0.001), (256, 0.002, 0.004), (1024, 0.002, 0.016)):
        records += rounds("torch", neurons=size, step=slow) + rounds("jax", neurons=size, step=quick)
    (panel,) = [p for p in figure(table_of(records), "scaling").panels if p.where["phase"] == "step"]
    assert panel.names["labels"] == ["torch  N^0.00", "jax  N^1.00"]
    (note,) = panel.notes
    assert note.startswith("torch overtakes jax at N ≈ 128 (") and note.endswith("between 64 and 256.")


def test_the_winner_map_has_the_fastest_and_its_memory(examples):
    (panel,) = [
        p
        for p in figure(examples, "winners").panels
        if p.where["phase"] == "step" and p.where["precision"] == "bf16" and p.where["neuron"] == "neuron soft"
    ]
    (cell,) = [point for point in panel.data(examples) if (point["neurons"], point["time_steps"]) == (1024, 500)]
    entry = examples.entries[cell["row"]]
    assert (
        entry.values["rank"] == 1
        and cell["seconds"] == entry.values["step_s"]
        and cell["bytes"] == entry.values["step_peak_memory_bytes"]
    )


def test_who_is_both_fastest_and_leanest_is_told():
    quick, slow = rounds("torch", step=0.001), rounds("norse", step=0.002)
    leaner = [r.model_copy(update={"memory": {p: {**m, "peak_bytes": 1 << 10} for p, m in r.memory.items()}}) for r in slow]
    for others, notes in ((slow, 1), (leaner, 0)):
        panel = figure(table_of(quick + others), "pareto").panels[0]
        assert len(panel.notes) == notes and all("faster than torch, and nobody leaner" in note for note in panel.notes)


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


def launched(steps: dict[int, float]) -> list[dict]:
    """The points for a framework that takes so many seconds a step with so many neurons."""
    records = [r for size, step in steps.items() for r in rounds("spikingjelly", neurons=size, step=step)]
    panels = [p for p in figure(table_of(records), "launch").panels if p.where["phase"] == "step"]
    return panels[0].points if panels else []


def test_a_cpu_case_is_judged_by_its_neighbours_in_size():
    points = launched({64: 0.004, 256: 0.0041, 1024: 0.04})
    assert [point["verdict"] for point in points] == ["yes", "yes", "no"]
    least = 1 - (0.0041 / 0.004 - 1) / 3
    assert [point["least"] for point in points] == pytest.approx([least, least * 0.004 / 0.0041, least * 0.1])
    assert [point["most"] for point in points] == [None, pytest.approx(0.004 / 0.0041), pytest.approx(0.1)]
    assert not any(point["unsure"] for point in points)


def test_work_alone_is_never_called_launch_bound():
    assert launched({1000: 1.0, 1200: 1.2}) == []
    assert [point["verdict"] for point in launched({500: 0.5, 600: 0.6, 1024: 1.024})] == ["unclear", "unclear", "no"]


def test_a_share_whose_interval_reaches_over_the_limit_that_decided_is_unsure():
    points = launched({64: 0.004, 256: 0.004 * 1.599, 1024: 0.004 / 0.499})
    assert [(point["verdict"], point["unsure"]) for point in points] == [("yes", True), ("partly", True), ("no", True)]


def test_a_slow_start_pays_off_after_so_many_calls():
    late = [
        r.model_copy(update={"parts": {**r.parts, "import": r.parts["import"].model_copy(update={"seconds": 2.25})}})
        for r in rounds("jax", step=0.002)
    ]
    (panel,) = figure(table_of(rounds("torch", step=0.004) + late), "cold-start").panels
    said = {point["variant"]: point["pays"] for point in panel.data(table_of(rounds("torch", step=0.004) + late))}
    medians = {"torch": 0.00408, "jax": 0.00204}
    assert said == {"torch": "starts first", "jax": f"ahead after {round(2 / (medians['torch'] - medians['jax']) + 0.5)}"}


def test_colour_shape_and_dashes_keep_fifty_variants_apart():
    found = styles([f"v{i}" for i in range(50)])
    for theme in PALETTES:
        assert len({(s[theme], s["shape"]) for s in found.values()}) == 50
    assert len(set(map(len, (PALETTES["light"], SHAPES, DASHES)))) == 3
    assert looks(["v3"], found, "dark")["colours"] == [PALETTES["dark"][3]]


SEEN_AS = {
    "all cones": np.eye(3),
    "no red ones": np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]),
    "no green ones": np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]),
}
"""Linear RGB as it looks to somebody (Machado, Oliveira and Fernandes 2009)."""


def lab(colours, sight) -> np.ndarray:
    """CIELAB (D65) of `#rrggbb` colours as `sight` has them."""
    values = np.array([[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in colours]) / 255
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = (np.clip(linear @ sight.T, 0, 1) @ to_xyz.T / [0.9505, 1, 1.089]).T
    x, y, z = (np.where(part > 0.008856, np.cbrt(part), 7.787 * part + 16 / 116) for part in (x, y, z))
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)


@pytest.mark.parametrize("sight", SEEN_AS)
@pytest.mark.parametrize("theme", PALETTES)
def test_colours_stay_apart_for_everybody(theme, sight):
    seen = lab(PALETTES[theme], SEEN_AS[sight])
    apart = np.linalg.norm(seen[:, None] - seen[None], axis=-1) + 1e3 * np.eye(len(seen))
    assert apart.min() > 15, "a difference of 15 in CIELAB is seen at a glance"


@pytest.mark.parametrize("theme", PALETTES)
def test_colours_stand_out_from_the_page(theme):
    lightness = lab((INKS[theme]["page"], *PALETTES[theme]), np.eye(3))[:, 0]
    page, *colours = ((lightness + 16) / 116) ** 3  # luminance, as far as CIELAB's straight part near black is not reached
    contrast = [(max(page, colour) + 0.05) / (min(page, colour) + 0.05) for colour in colours]
    assert min(contrast) >= 3, "what WCAG 2.1 asks of graphics"


def test_names_in_a_specification_are_replaced_and_nothing_else():
    assert substituted({"a": ["$x", "$y", 1], "b": {"c": "$x"}}, {"x": [2]}) == {"a": [[2], "$y", 1], "b": {"c": [2]}}


def test_published_figures_are_marked_and_never_ranked(examples):
    theirs = read_published(ROOT / "results" / "published" / "published.csv")
    assert len(theirs) > 1000 and sum(one.nominal for one in theirs) > 100
    records = [r for name in ("torch", "jax") for r in rounds(name, neurons=4096, time_steps=500)]
    table = table_of(records)
    *_, found = figures_of(table, theirs)
    assert found.id == "published" and found.panels
    for panel in found.panels:
        points = panel.data(table)
        assert {point["ours"] for point in points} == {True, False}
        assert all(point["hardware"] and point["source"] for point in points if not point["ours"])
    assert any(point.get("nominal") for panel in found.panels for point in panel.points)
    *_, none = figures_of(examples, theirs)
    assert not none.panels and none.missing


def test_a_file_that_holds_no_published_figures_is_refused_in_a_sentence(tmp_path):
    path = tmp_path / "p.csv"
    for text in ("", "a,b\n1,2\n"):
        path.write_text(text)
        with pytest.raises(ConfigError, match="must be a CSV file with the columns backend, batch"):
            read_published(path)
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_published(tmp_path / "none.csv")


def test_plots_are_drawn_of_every_figure_in_all_formats(examples):
    kinds = {}
    for found in figures_of(examples):
        found.panels = found.panels[:1]
        for name, content in drawn(examples, [found]):
            kinds.setdefault(found.id, {})[name.rsplit(".", 1)[1]] = content
    assert set(kinds) == {f.id for f in figures_of(examples) if f.panels} and len(kinds) == len(FIGURES) - 1  # no natives
    for id, files in kinds.items():
        assert files["png"].startswith(b"\x89PNG") and files["pdf"].startswith(b"%PDF"), id
        assert b"<svg" in files["svg"] and b"NaN" not in files["svg"], id


def test_a_specification_for_print_is_whole(examples):
    for found in figures_of(examples):
        for panel in found.panels[:3]:
            text = json.dumps(paper_spec(found, panel, examples))
            assert '"$' not in text.replace('"$schema"', ""), (found.id, text[text.index('"$') :][:40])
