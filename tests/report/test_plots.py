"""Figures for print: whole specifications, and files in all formats."""

import json
import re

import pytest
from support.paths import committed

from snnbench.report.figures import FIGURES, NAMES, coverage_map, figures_of
from snnbench.report.files import read_results
from snnbench.report.plots import (
    ALL,
    CAPTION,
    COLUMN_WIDTH,
    DRAWING,
    TWO_COLUMNS,
    Choice,
    caption,
    drawn,
    paper_spec,
)


@pytest.fixture(autouse=True)
def coarse(monkeypatch):
    """Draws few pixels, to be fast."""
    monkeypatch.setattr("snnbench.report.plots.PIXELS_PER_INCH", 72)


def unnumbered(name: str) -> str:
    return re.sub(r"-\d\d", "", name, count=1)


def test_the_printed_coverage_map_has_every_case(examples):
    panels = coverage_map(examples).panels
    assert [panel.title for panel in panels] == [
        f"conditions {first} to {first + 7} of 24" for first in (1, 9, 17)
    ]
    words = [point["word"] for panel in panels for point in panel.points]
    assert len(words) == len(examples.entries) == 192
    assert (
        words.count("unsupported") == 24 and words.count("timeout") == 1 and words.count("#1") == 24
    )
    assert all(content for _, content in drawn(examples, [coverage_map(examples)]))


def test_plots_are_drawn_of_every_figure_in_all_formats(examples):
    kinds = {}
    for each in figures_of(examples):
        each.panels = each.panels[:1]
        for name, content in drawn(examples, [each]):
            kinds.setdefault(each.id, {})[name.rsplit(".", 1)[1]] = content
    assert (
        set(kinds) == {f.id for f in figures_of(examples) if f.panels}
        and len(kinds) == len(FIGURES) - 11
    )  # no natives, one firing rate, no training in four figures
    for id, files in kinds.items():
        assert files["png"].startswith(b"\x89PNG") and files["pdf"].startswith(b"%PDF"), id
        assert b"<svg" in files["svg"] and b"NaN" not in files["svg"], id
        column = f'width="{COLUMN_WIDTH}"'.encode()
        assert id == "winners" or column in files["svg"], f"{id}: not as wide as a column"


@pytest.mark.slow
def test_figures_are_chosen_by_name_phase_and_format(examples):
    figures = [coverage_map(examples), *figures_of(examples)]
    assert {each.id for each in figures} == {*NAMES}
    every, few = Choice((ALL,)).panels(figures), Choice().panels(figures)
    assert (
        len(every)
        == sum(len(each.panels) for each in figures)
        == len(few) + Choice().left_out(figures)
    )
    kinds = [(figure.id, panel.where.get("phase")) for figure, _, panel in few]
    assert sorted(kinds, key=str) == sorted(
        {(figure.id, panel.where.get("phase")) for figure, _, panel in every}, key=str
    )
    assert (
        few[0][1] == 1
        and len(few) < 60
        and Choice(phases=("step",)).left_out(figures) < Choice().left_out(figures)
    )
    assert Choice(("times",)).left_out(figures) == 0
    chosen = Choice(("times", "proof"), ("step",), ("svg",))
    panels = chosen.panels(figures)
    assert {figure.id for figure, _, _ in panels} == {"times", "proof"}
    assert {panel.where["phase"] for figure, _, panel in panels if figure.id == "times"} == {"step"}
    names = [
        name for name, _ in drawn(examples, figures, Choice(("times",), ("backward",), ("svg",)))
    ]
    pictures = [name for name in names if name.endswith(".svg")]
    assert [name[: len("times-00")] for name in pictures] == [
        f"times-{number:02}" for number in range(1, len(pictures) + 1)
    ]
    assert all("backward" in name for name in names)
    assert [*names] == [name for each in pictures for name in (each, each[:-4] + CAPTION)]
    every = drawn(examples, figures, Choice(("times",), formats=("svg",)))
    assert {unnumbered(name) for name in names} < {unnumbered(name) for name, _ in every}


def test_names_of_files_tell_panels_apart_without_their_numbers():
    results = read_results([committed("training")])
    figures = figures_of(results.table)
    for each in figures:
        each.panels = each.panels[:40]
    names = [
        name
        for name, _ in drawn(
            results.table, figures, Choice(("roofline", "winners"), formats=("svg",))
        )
        if not name.endswith(CAPTION)
    ]
    assert len(names) > 8 and all(
        re.fullmatch(r"[a-z-]+-\d\d[a-z0-9-]*\.svg", name) for name in names
    ), names
    assert len({*map(unnumbered, names)}) == len(names)


def test_maps_are_at_most_as_wide_as_two_columns(examples):
    for each, most in (
        (figures_of(examples)[0], TWO_COLUMNS),
        (coverage_map(examples), TWO_COLUMNS),
    ):
        for panel in each.panels[:2]:
            svg = DRAWING[".svg"](paper_spec(each, panel, examples)).decode()
            assert COLUMN_WIDTH < float(re.search(r'width="([\d.]+)"', svg)[1]) <= most, each.id


def test_a_specification_for_print_is_whole(examples):
    for each in figures_of(examples):
        for panel in each.panels[:3]:
            text = json.dumps(paper_spec(each, panel, examples))
            assert '"$' not in text.replace('"$schema"', ""), (
                each.id,
                text[text.index('"$') :][:40],
            )


def test_a_plot_that_stands_alone_says_what_its_marks_are(examples):
    keys = {
        "memory": "Hollow: without arguments",
        "proof": "Dashed line: the widest",
        "cold-start": "Ahead after n",
    }
    for each in figures_of(examples):
        if each.id in keys:
            assert keys[each.id] in caption(each, each.panels[0], examples)


def test_a_plot_that_stands_alone_says_what_was_measured_and_where():
    table = read_results([committed("quickstart")]).table
    times = next(each for each in figures_of(table) if each.id == "times")
    title = paper_spec(times, times.panels[0], table)["title"]
    assert (title["text"], title["subtitle"]) == (["Time per call"], ["neuron soft · step"])
    first, common, *marks = caption(times, times.panels[0], table).splitlines()
    assert first == "Time per call: neuron soft · step" and "95 % interval" in marks[0]
    assert marks[-1] == "Of this project: fused."
    assert all(
        text in common for text in ("N = 256", "T = 50", "B = 16", "fp32", "1 core", "threads), ")
    )
    slots = next(each for each in figures_of(table) if each.id == "slots")
    assert slots.panels[0].title == "fused · neuron soft · step · wall time"
    fixed = paper_spec(coverage_map(table), coverage_map(table).panels[0], table)["title"]
    assert fixed["subtitle"][0].endswith(" ·") and fixed["subtitle"][-1] == "1 core"
    drawing = DRAWING[".svg"](paper_spec(times, times.panels[0], table)).decode()
    assert "4.30 ms" in drawing and "4.3 ms" not in drawing, "the digits of a table"


def test_plots_of_data_say_epoch_and_which_data():
    table = read_results([committed("data")]).table
    figures = {each.id: each for each in figures_of(table)}
    assert figures["times"].title == "Time per epoch" and "time per epoch" in json.dumps(
        figures["times"].spec
    )
    titles = [panel.title for each in figures.values() for panel in each.panels]
    assert titles and all("synthetic-ssc" in title and "step" not in title for title in titles)
